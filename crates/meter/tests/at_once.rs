//! The path of each request: with counters of this process it waits for nothing and allocates
//! nothing, though the meter could wait.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "it/rig.rs"]
mod rig;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use meter::KeyOptions;
use rig::*;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what a thread asks of it.
struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came; the counter is a plain
// number of the thread, made without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + 1);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory is of `System` with this layout, as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocated() -> u64 {
    ALLOCATED.get()
}

const NOON: &str = "2026-11-28T12:00:00Z";

#[test]
fn a_request_waits_for_nothing_and_allocates_nothing() {
    check(&Rig::new(wide(), NOON));
}

#[test]
fn nor_does_one_whose_account_is_in_postgresql_also_while_that_is_away() {
    let mut server = testkit::Postgres::start().unwrap();
    let postgres = Some(database(&server, "at_once"));
    let rig = Rig::on(postgres, wide(), NOON, KeyOptions::default());
    check(&rig);
    server.stop();
    check(&rig);
}

fn check(rig: &Rig) {
    let request = || {
        let caller = at_once(rig.meter().caller(Some(&rig.key), GATEWAY, HOME, None)).unwrap();
        let mut place = rig.meter().enter(&caller).unwrap();
        at_once(rig.meter().prepay(&caller, &mut place)).unwrap();
        at_once(rig.meter().admit_in(&caller, Some(place), btc(), 2, 2)).unwrap().refund(1);
        at_once(rig.meter().admit(&caller, btc(), 1, 1)).unwrap();
    };
    // The first makes the slot of the row, and what threads remember.
    request();
    let before = allocated();
    (0..100).for_each(|_| request());
    assert_eq!(allocated() - before, 0);
    // The counter counts.
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(allocated() - before, 1);
}
