//! One holder a service, named in the refusal.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_service_is_held_once_and_the_error_names_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(&dir.path().join("a/b")).unwrap();
    let lock = folder.lock(Service::Gateway).unwrap();
    let error = folder.lock(Service::Gateway).unwrap_err().to_string();
    assert!(error.contains("gateway is already served"), "{error}");
    assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
    let other = folder.lock(Service::Explorer).unwrap();
    // As a child has it between its start and its program.
    let _copy = lock.file.try_clone().unwrap();
    drop(lock);
    drop(folder.lock(Service::Gateway).unwrap());
    drop(other);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&folder.0.join("gateway.lock")), 0o600);
    drop(crate::sqlite::Sqlite::open(&folder).unwrap());
    assert_eq!(mode(&folder.database()), 0o600);
}
