use std::sync::atomic::AtomicU64;

use tokio::task::JoinSet;

use super::*;

fn gate(slots: usize) -> Arc<Gate> {
    with_wait(slots, Duration::from_secs(20))
}

fn with_wait(slots: usize, wait: Duration) -> Arc<Gate> {
    Gate::new(GateCaps::new(slots, 200, None), wait)
}

/// Lets all tasks run until each of them waits for something.
async fn settled() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn is_empty(gate: &Gate) -> bool {
    let state = gate.lock();
    let empty = |uses: &Uses| {
        uses.total == 0 && uses.internal == 0 && uses.heavy == 0 && uses.accounts.is_empty()
    };
    state.queue.is_empty() && empty(&state.slots) && empty(&state.open) && gate.in_flight() == 0
}

#[tokio::test]
async fn caps_follow_from_slots() {
    let caps = GateCaps::new(16, 200, None);
    assert_eq!((caps.reserved, caps.heavy, caps.account), (2, 4, 8));
    let caps = GateCaps::new(2, 200, Some(2));
    assert_eq!((caps.reserved, caps.heavy, caps.account, caps.connections), (1, 1, 1, 2));
    let caps = GateCaps::new(1, 200, None);
    assert_eq!((caps.reserved, caps.heavy, caps.account), (0, 1, 1));
}

#[tokio::test]
async fn customers_leave_two_slots_to_probes() {
    let gate = with_wait(4, Duration::from_millis(20));
    let _a = gate.enter(1, Weight::Light).await.unwrap();
    let _b = gate.enter(2, Weight::Light).await.unwrap();
    assert_eq!(gate.enter(3, Weight::Light).await.unwrap_err(), Busy);
    let _c = gate.enter(0, Weight::Internal).await.unwrap();
    let _d = gate.enter(0, Weight::Internal).await.unwrap();
    assert_eq!(gate.enter(0, Weight::Internal).await.unwrap_err(), Busy);
}

#[tokio::test]
async fn account_holds_half_at_most() {
    let gate = with_wait(8, Duration::from_millis(20));
    let mut mine = Vec::new();
    for _ in 0..4 {
        mine.push(gate.enter(7, Weight::Light).await.unwrap());
    }
    assert_eq!(gate.enter(7, Weight::Light).await.unwrap_err(), Busy);
    let other = gate.enter(8, Weight::Light).await.unwrap();
    mine.pop();
    mine.push(gate.enter(7, Weight::Light).await.unwrap());
    drop((mine, other));
    assert!(is_empty(&gate));
}

#[tokio::test]
async fn heavy_calls_hold_a_quarter_and_light_ones_pass_them() {
    let gate = gate(8);
    let first = gate.enter(1, Weight::Heavy).await.unwrap();
    let _second = gate.enter(2, Weight::Heavy).await.unwrap();
    let waiting = {
        let gate = Arc::clone(&gate);
        tokio::spawn(async move { gate.enter(3, Weight::Heavy).await })
    };
    settled().await;
    assert!(!waiting.is_finished());
    let _light = gate.enter(3, Weight::Light).await.unwrap();
    drop(first);
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test]
async fn queue_is_served_first_in_first_out() {
    let gate = gate(4);
    let held =
        [gate.enter(1, Weight::Light).await.unwrap(), gate.enter(2, Weight::Light).await.unwrap()];
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..20_u64 {
        let (gate, served) = (Arc::clone(&gate), Arc::clone(&served));
        tasks.spawn(async move {
            let lease = gate.enter(100 + number, Weight::Light).await.unwrap();
            served.lock().unwrap().push(number);
            drop(lease);
        });
        settled().await;
    }
    drop(held);
    while tasks.join_next().await.is_some() {}
    assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
    assert!(is_empty(&gate));
}

#[tokio::test]
async fn waiter_that_goes_away_leaves_nothing_behind() {
    let gate = gate(4);
    let held =
        [gate.enter(1, Weight::Light).await.unwrap(), gate.enter(2, Weight::Light).await.unwrap()];
    let mut waiters = Vec::new();
    for account in 10..30 {
        let gate = Arc::clone(&gate);
        waiters.push(tokio::spawn(async move { gate.enter(account, Weight::Light).await }));
    }
    settled().await;
    assert_eq!(gate.in_flight(), 22);
    // Half of them leave while they wait, the others in the moment they are let in.
    waiters.iter().step_by(2).for_each(|waiter| waiter.abort());
    settled().await;
    assert_eq!(gate.in_flight(), 12);
    drop(held);
    waiters.iter().for_each(|waiter| waiter.abort());
    for waiter in waiters {
        drop(waiter.await);
    }
    settled().await;
    assert!(is_empty(&gate));
}

#[tokio::test]
async fn wait_ends_and_is_remembered() {
    let gate = with_wait(1, Duration::from_millis(20));
    assert!(!gate.contended_within(Duration::from_secs(60)));
    let _held = gate.enter(1, Weight::Light).await.unwrap();
    assert_eq!(gate.enter(2, Weight::Light).await.unwrap_err(), Busy);
    assert!(gate.contended_within(Duration::from_secs(60)));
    assert_eq!(gate.in_flight(), 1);
}

#[tokio::test]
async fn freed_slot_serves_the_next_while_the_answer_is_open() {
    let gate = Gate::new(GateCaps::new(1, 2, None), Duration::from_millis(20));
    let mut first = gate.enter(1, Weight::Light).await.unwrap();
    first.free_slot();
    let mut second = gate.enter(1, Weight::Light).await.unwrap();
    // No account holds more than half of the open answers: the slot stays held.
    second.free_slot();
    assert_eq!(gate.enter(2, Weight::Light).await.unwrap_err(), Busy);
    drop(second);
    let mut third = gate.enter(2, Weight::Light).await.unwrap();
    third.free_slot();
    assert_eq!((gate.open_answers(), gate.in_flight()), (2, 0));
    drop((first, third));
    assert!(is_empty(&gate));
}

#[tokio::test]
async fn open_answers_count_as_connections_where_the_node_counts_them() {
    let gate = Gate::new(GateCaps::new(2, 200, Some(2)), Duration::from_millis(20));
    let mut first = gate.enter(1, Weight::Light).await.unwrap();
    first.free_slot();
    assert_eq!(gate.enter(2, Weight::Light).await.unwrap_err(), Busy, "one is kept back");
    let _probe = gate.enter(0, Weight::Internal).await.unwrap();
    assert_eq!(gate.enter(0, Weight::Internal).await.unwrap_err(), Busy);
}

/// What many callers hold at once, as they see it.
#[derive(Default)]
struct Held {
    all: AtomicU64,
    external: AtomicU64,
    heavy: AtomicU64,
    accounts: [AtomicU64; 4],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn caps_hold_under_many_tasks() {
    let gate = gate(12);
    let held = Arc::new(Held::default());
    let mut tasks = JoinSet::new();
    for number in 0..400_usize {
        let (gate, held) = (Arc::clone(&gate), Arc::clone(&held));
        tasks.spawn(async move {
            let account = number % 4;
            let weight =
                [Weight::Light, Weight::Heavy, Weight::Light, Weight::Internal, Weight::Light]
                    [number % 5];
            // Every seventh gives up early, at whatever moment that is.
            let patience = Duration::from_micros(if number % 7 == 0 { 300 } else { 20_000_000 });
            let entering = gate.enter(account as u64, weight);
            let Ok(lease) = tokio::time::timeout(patience, entering).await else { return };
            let lease = lease.unwrap();
            let count = |counter: &AtomicU64, most: u64| {
                assert!(counter.fetch_add(1, Ordering::SeqCst) < most);
            };
            count(&held.all, 12);
            if weight != Weight::Internal {
                count(&held.external, 10);
                count(&held.accounts[account], 6);
            }
            if weight == Weight::Heavy {
                count(&held.heavy, 3);
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
            held.all.fetch_sub(1, Ordering::SeqCst);
            if weight != Weight::Internal {
                held.external.fetch_sub(1, Ordering::SeqCst);
                held.accounts[account].fetch_sub(1, Ordering::SeqCst);
            }
            if weight == Weight::Heavy {
                held.heavy.fetch_sub(1, Ordering::SeqCst);
            }
            drop(lease);
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert!(is_empty(&gate));
}
