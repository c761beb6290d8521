//! The header of a usage file: whose it is.
//!
//! Its words: mark, format, service, slots a segment, identity of the store, number of the replica,
//! check. Formats 1 and 2 had no number.

use super::layout::{SEGMENT_SLOTS, hash};
use crate::{Replica, Service};

/// Words of a header.
pub(super) const WORDS: usize = 7;
/// Which of them has the store's identity.
pub(super) const IDENTITY: usize = 4;
pub(super) const MARK: u64 = u64::from_le_bytes(*b"PTLUSAGE");
pub(super) const FORMAT: u64 = 3;
/// Format 1, with units as they are.
pub(super) const PLAIN: u64 = 1;
/// Format 2, with units as they are now.
pub(super) const UNNUMBERED: u64 = 2;

/// The header of a new file.
pub(super) fn header(service: Service, identity: u64, replica: Replica) -> Vec<u64> {
    let segment = SEGMENT_SLOTS as u64;
    closed(&[MARK, FORMAT, service.place() as u64, segment, identity, replica.number()])
}

/// The words of a header with their check.
fn closed(words: &[u64]) -> Vec<u64> {
    let mut header = words.to_vec();
    header.push(hash(words));
    header
}

/// Whose file it is, if it is one of this service and store.
pub(super) fn owner(
    found: &[u64; WORDS],
    service: Service,
    identity: u64,
) -> Result<Replica, &'static str> {
    let replica = Replica::from_number(found[5]);
    let expected = header(service, identity, replica);
    match () {
        () if found[0] == MARK.swap_bytes() => Err("it comes from a machine of other byte order"),
        () if found[0] != MARK => Err("it is no usage file"),
        () if found[1] > FORMAT => Err("a newer Portolan wrote it"),
        () if is_former(found) => Err("an older Portolan wrote it, and the next start reads it"),
        () if closed(&found[..6]) != *found => Err("its header is damaged"),
        () if found[2] != expected[2] => Err("it counts for the other service"),
        () if found[4] != identity => Err("it belongs to another store"),
        () if *found != *expected => Err("it has another format"),
        () => Ok(replica),
    }
}

/// A header of a former format.
pub(super) fn former(format: u64, service: Service, identity: u64) -> Vec<u64> {
    closed(&[MARK, format, service.place() as u64, SEGMENT_SLOTS as u64, identity])
}

/// Are two headers, of whichever formats, of one service and one store?
pub(super) fn have_one_owner(one: &[u64], other: &[u64]) -> bool {
    [0, 2, IDENTITY].iter().all(|word| one[*word] == other[*word])
}

/// Is that the begin of a whole header of a former format?
pub(super) fn is_former(found: &[u64]) -> bool {
    [PLAIN, UNNUMBERED].contains(&found[1]) && closed(&found[..5]) == found[..6]
}
