//! Words are shared, bounded and persistent.

use std::sync::atomic::Ordering;

use super::*;

#[test]
fn two_mappings_see_the_same_words_and_the_file_keeps_them() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(8192).unwrap();
    let one = Words::map(&file, 4096, 512).unwrap();
    let two = Words::map(&file, 4096, 512).unwrap();
    one.get(511).unwrap().store(7, Ordering::Release);
    assert_eq!(two.get(511).unwrap().fetch_add(1, Ordering::AcqRel), 7);
    one.sync().unwrap();
    drop((one, two));
    let again = Words::map(&file, 4096, 512).unwrap();
    assert_eq!(again.get(511).unwrap().load(Ordering::Acquire), 8);
    assert!(again.get(512).is_none());
    assert!(again.get(usize::MAX).is_none());
}

#[test]
fn a_short_file_is_an_error() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(4097).unwrap();
    assert_eq!(Words::map(&file, 4096, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn room_is_on_the_disk_before_the_first_write() {
    use std::os::unix::fs::MetadataExt;
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let before = file.metadata().unwrap().blocks() * 512;
    let words = Words::map(&file, 0, (1 << 20) / 8).unwrap();
    let after = file.metadata().unwrap().blocks() * 512;
    assert!(before < 1 << 20 && after >= 1 << 20, "{before} {after}");
    assert!(words.get(0).is_some());
}
