//! Writers that fail, stall, or take half a line.

use std::sync::Mutex;

use super::*;

const LONG: Duration = Duration::from_secs(60);

/// What a writer took.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that goes through a list: how many bytes it takes, or what it fails with.
struct Moody(Vec<Result<usize, ErrorKind>>, Vec<u8>);

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mood = if self.0.is_empty() { Ok(bytes.len()) } else { self.0.remove(0) };
        let most = mood.map_err(io::Error::from)?.min(bytes.len());
        self.1.extend(&bytes[..most]);
        Ok(most)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_are_written_in_order() {
    let (lines, queue) = Queue::new();
    let paper = Paper::default();
    queue.write_to(paper.clone());
    lines.put(b"one\n");
    lines.put(b"two\n");
    lines.wait(LONG);
    assert_eq!(*paper.0.lock().unwrap(), b"one\ntwo\n");
}

#[test]
fn line_after_a_torn_one_stands_alone() {
    let mut out = Moody(vec![Ok(2), Err(ErrorKind::StorageFull)], Vec::new());
    let mut torn = false;
    assert!(!write_line(&mut out, b"first\n", &mut torn));
    assert!(write_line(&mut out, b"second\n", &mut torn));
    assert_eq!(out.1, b"fi\nsecond\n");
}

#[test]
fn writer_without_room_is_tried_again() {
    let moods = vec![Err(ErrorKind::WouldBlock), Ok(1), Err(ErrorKind::Interrupted)];
    let mut out = Moody(moods, Vec::new());
    assert!(write_line(&mut out, b"line\n", &mut false));
    assert_eq!(out.1, b"line\n");
}

#[test]
fn writer_that_stalls_holds_up_nobody_and_what_waits_is_bounded() {
    struct Stalled(mpsc::Receiver<()>);
    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Ends with the test.
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (lines, queue) = Queue::new();
    let (go_on, stalled) = mpsc::channel();
    queue.write_to(Stalled(stalled));
    let (line, before) = (vec![b'x'; 1 << 20], lost_lines());
    (0..10).for_each(|_| lines.put(&line));
    assert!(lines.waiting.load(Ordering::Acquire) <= MOST_BYTES);
    assert!(lost_lines() >= before + 7, "{} lines were lost", lost_lines() - before);
    drop(go_on);
    lines.wait(LONG);
    assert_eq!(lines.waiting.load(Ordering::Acquire), 0);
}

#[test]
fn lines_without_a_writer_are_lost_and_counted() {
    let (lines, queue) = Queue::new();
    drop(queue);
    let before = lost_lines();
    lines.put(b"nobody\n");
    assert!(lost_lines() > before);
    assert_eq!(lines.waiting.load(Ordering::Acquire), 0);
}
