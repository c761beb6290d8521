//! The numbers of our advisory locks, all in one list, so that none is given twice.

use crate::Service;

/// The space of our advisory locks: "PTLN".
pub(super) const LOCKS: i32 = 0x5054_4c4e;
/// The lock of whoever takes steps of the schema, among [`LOCKS`].
pub(super) const STEPPING: i32 = 0;

/// The lock of whoever counts a service, among [`LOCKS`].
pub(super) fn of_service(service: Service) -> i32 {
    match service {
        Service::Gateway => 1,
        Service::Explorer => 2,
    }
}
