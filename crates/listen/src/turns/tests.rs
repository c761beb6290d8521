use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;

use tokio::task::{LocalSet, yield_now};

use super::*;

const PIECE: usize = 32 << 10;

async fn one(turns: &mut Turns, way: Way, bytes: usize) {
    poll_fn(|cx| turns.poll(way, cx)).await;
    turns.moved(way, bytes);
}

#[tokio::test]
async fn others_come_in_between_however_many_move_much() {
    let moved = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    for connection in 0..100 {
        let moved = Rc::clone(&moved);
        local.spawn_local(async move {
            let mut turns = Turns::here();
            let way = if connection % 2 == 0 { Way::In } else { Way::Out };
            // They never lack bytes, so that nothing but their turn stops them.
            loop {
                one(&mut turns, way, PIECE).await;
                moved.set(moved.get() + PIECE);
            }
        });
    }
    let most = local.run_until(async {
        // What each may move without waiting is over first.
        while moved.get() < 100 * SMALL_BYTES {
            yield_now().await;
        }
        for _ in 0..10 {
            yield_now().await;
        }
        let mut most = 0;
        for _ in 0..1000 {
            let before = moved.get();
            yield_now().await;
            most = most.max(moved.get() - before);
        }
        most
    });
    let most = most.await;
    // A look at the others may fall together with two rounds.
    assert!((1..=2 * (ROUND_TURNS + 1) * PIECE).contains(&most), "{most}");
}

#[tokio::test]
async fn all_who_move_much_come_on_alike() {
    let counts: Vec<Rc<Cell<usize>>> = (0..10).map(|_| Rc::default()).collect();
    let local = LocalSet::new();
    for count in counts.clone() {
        local.spawn_local(async move {
            let mut turns = Turns::here();
            loop {
                one(&mut turns, Way::In, PIECE).await;
                count.set(count.get() + 1);
            }
        });
    }
    local
        .run_until(async {
            while counts[0].get() < 1000 {
                yield_now().await;
            }
        })
        .await;
    let all: Vec<usize> = counts.iter().map(|count| count.get()).collect();
    assert!(all.iter().all(|count| count.abs_diff(1000) <= 2 * ROUND_TURNS), "{all:?}");
}

#[tokio::test]
async fn who_moves_little_or_turns_round_never_waits() {
    let mut greedy = Turns::here();
    greedy.moved(Way::In, 10 * ROUND_BYTES);
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(greedy.poll(Way::In, cx), Poll::Pending);
    // Its answer is another matter.
    assert_eq!(greedy.poll(Way::Out, cx), Poll::Ready(()));
    let mut small = Turns::here();
    small.moved(Way::In, 1000);
    assert_eq!(small.poll(Way::In, cx), Poll::Ready(()));
    for _ in 0..1000 {
        small.moved(Way::In, SMALL_BYTES / 2);
        small.moved(Way::Out, SMALL_BYTES / 2);
        assert_eq!(small.poll(Way::Out, cx), Poll::Ready(()));
        assert_eq!(small.poll(Way::In, cx), Poll::Ready(()));
    }
}

#[tokio::test]
async fn who_is_gone_holds_nobody_up() {
    let mut first = Turns::here();
    first.moved(Way::In, 10 * ROUND_BYTES);
    for _ in 0..100 {
        let mut gone = Turns::here();
        gone.moved(Way::In, 10 * ROUND_BYTES);
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(gone.poll(Way::In, cx), Poll::Pending);
    }
    one(&mut first, Way::In, PIECE).await;
    // With nobody there any more a single one goes on round after round.
    for _ in 0..1000 {
        one(&mut first, Way::In, PIECE).await;
    }
}
