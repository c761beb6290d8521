//! A usage file of a former format that there is no room to write anew: nothing of it is left out, and
//! nothing else is held up by it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use meter::{CopyError, Storage, StoreError, copy};
use testkit::make_former_usage_file;

use crate::rig::*;

const NOON: &str = "2026-11-29T12:00:00Z";

/// Has the next attempt to write the gateway's file anew find no room.
fn fill(dir: &Path) {
    symlink("/dev/full", dir.join("usage-gateway.new")).unwrap();
}

/// A store whose gateway has counted three units in a file of a former format, and is not running.
fn rig() -> Rig {
    let mut rig = Rig::new(wide(), NOON);
    rig.admit(3, 3).unwrap();
    // Ended without a word: they are in the file alone.
    let running = rig.meter.take().unwrap();
    let home = tempfile::tempdir().unwrap();
    for file in fs::read_dir(rig.dir.path()).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), home.path().join(file.file_name())).unwrap();
    }
    drop(running);
    make_former_usage_file(&home.path().join("usage-gateway.map")).unwrap();
    let admin = meter::Admin::open(home.path(), rig.plans.clone(), rig.clock.clone()).unwrap();
    Rig { admin, dir: home, ..rig }
}

#[test]
fn what_the_other_service_has_counted_is_recorded() {
    let mut rig = rig();
    fill(rig.dir.path());
    rig.restart();
    let caller = rig.caller_of(&rig.key, EXPLORER).unwrap();
    drop(at_once(rig.meter().admit(&caller, btc(), 1, 1)).unwrap());
    assert!(rig.admit(1, 1).is_err());
    assert!(matches!(rig.meter().record().unwrap_err(), StoreError::Full(_)));
    // Read from the store alone.
    fill(rig.dir.path());
    rig.meter = None;
    fs::remove_file(rig.dir.path().join("usage-explorer.map")).unwrap();
    let usage = rig.admin.usage("acme", None).unwrap();
    assert_eq!((usage.gateway.today, usage.explorer.today), (3, 1));
}

#[test]
fn no_copy_is_made_without_what_it_has_counted() {
    let rig = rig();
    let target = tempfile::tempdir().unwrap();
    let copied = || {
        let from = Storage::embedded(rig.dir.path()).unwrap();
        copy(&from, &Storage::embedded(target.path()).unwrap(), &rig.clock)
    };
    fill(rig.dir.path());
    let refused = copied().unwrap_err();
    assert!(matches!(refused, CopyError::Store(StoreError::Full(_))), "{refused}");
    assert_eq!(copied().unwrap().gateway_units, 3);
}
