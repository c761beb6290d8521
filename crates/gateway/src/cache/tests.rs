use bytes::Bytes;
use chain::Dialect;

use super::stamp::TIP_LIFE;
use super::*;

fn question(name: &str, kind: Kind, account: u64) -> Question {
    Question { key: Key::named(name), kind, account, tip: 0, sent: None }
}

fn said(size: usize) -> Said {
    let text = format!("{{\"result\":\"{}\",\"id\":1}}", "0".repeat(size));
    Said::of(&Bytes::from(text), Dialect::Core, false).unwrap()
}

fn lead(cache: &Arc<Cache>, question: &Question) -> Lead {
    match cache.look(question) {
        Look::Lead(lead) => lead,
        _ => panic!("somebody asked already"),
    }
}

fn ask(cache: &Arc<Cache>, question: &Question, size: usize) {
    lead(cache, question).said(said(size));
}

#[test]
fn an_answer_is_given_to_whoever_asks_the_same() {
    let cache = Cache::new(1 << 20);
    ask(&cache, &question("a", Kind::Final, 1), 10);
    assert_eq!(cache.known(&question("a", Kind::Final, 2)).unwrap().len(), said(10).len());
    assert!(cache.known(&question("b", Kind::Final, 2)).is_none());
    cache.renew(1 << 20);
    assert!(cache.known(&question("a", Kind::Final, 1)).is_none());
    assert_eq!((cache.bytes(), cache.len()), (0, 0));
}

#[test]
fn what_was_asked_before_a_reload_is_not_kept_after_it() {
    let cache = Cache::new(1 << 20);
    let lead = lead(&cache, &question("a", Kind::Final, 1));
    cache.renew(1 << 20);
    lead.said(said(10));
    assert!(cache.known(&question("a", Kind::Final, 1)).is_none());
}

#[test]
fn what_changes_with_the_tip_ends_with_it_and_before_a_send() {
    let cache = Cache::new(1 << 20);
    ask(&cache, &question("a", Kind::Tip, 1), 10);
    assert!(cache.known(&question("a", Kind::Tip, 1)).is_some());
    assert!(cache.known(&Question { tip: 1, ..question("a", Kind::Tip, 1) }).is_none());
    drop(cache.sends.begin(1, 0));
    let sent = cache.sends.last(1, 0);
    assert!(sent.is_some() && cache.sends.last(1, 1).is_none() && cache.sends.last(2, 0).is_none());
    assert!(cache.known(&Question { sent, ..question("a", Kind::Tip, 1) }).is_none());
    ask(&cache, &Question { sent, ..question("a", Kind::Tip, 1) }, 10);
    assert!(cache.known(&Question { sent, ..question("a", Kind::Tip, 1) }).is_some());
    let old = Stamp {
        kind: Kind::Tip,
        begun: Instant::now().checked_sub(2 * TIP_LIFE).unwrap(),
        tip: 0,
        era: 0,
    };
    let question = question("a", Kind::Tip, 1);
    assert!(!old.fits(&question, 0, Instant::now()));
    assert!(Stamp { kind: Kind::Final, ..old }.fits(&question, 0, Instant::now()));
}

#[tokio::test]
async fn those_who_join_are_told_whatever_happens() {
    let cache = Cache::new(1 << 20);
    let join = |question: &Question| match cache.look(question) {
        Look::Join(waiting) => waiting,
        _ => panic!("nobody asks"),
    };
    let question = question("a", Kind::Tip, 1);
    let first = lead(&cache, &question);
    let waiting = join(&question);
    drop(first);
    assert!(matches!(waiting.end().await, End::Gone));
    let second = lead(&cache, &question);
    let waiting = join(&question);
    second.nothing();
    assert!(matches!(waiting.end().await, End::Nothing));
    let third = lead(&cache, &question);
    let waiting = join(&question);
    // Whoever sent something since does not join, and the first ones get theirs all the same.
    let after = Question { sent: Some(Instant::now()), ..self::question("a", Kind::Tip, 1) };
    let fourth = lead(&cache, &after);
    third.said(said(10));
    assert!(matches!(waiting.end().await, End::Said(_)));
    assert!(cache.known(&after).is_none(), "the answer is from before the send");
    let waiting = join(&after);
    fourth.said(said(20));
    assert!(matches!(waiting.end().await, End::Said(said) if said.len() == self::said(20).len()));
    assert!(cache.flights().is_empty());
}

#[test]
fn all_of_it_stays_within_its_bound() {
    let most = 1 << 20;
    let cache = Cache::new(most);
    for account in 0..16 {
        for n in 0..200 {
            ask(&cache, &question(&format!("{account} {n}"), Kind::Final, account), 2000);
        }
    }
    assert!(cache.bytes() <= most as u64 && cache.len() > 100, "{} {}", cache.bytes(), cache.len());
    ask(&cache, &question("huge", Kind::Final, 1), most / LARGEST + 1);
    assert!(cache.known(&question("huge", Kind::Final, 1)).is_none());
    cache.renew(most);
    assert!(cache.shares.is_empty());
}

#[test]
fn an_account_that_asks_for_much_loses_its_own() {
    let most = 1 << 20;
    let cache = Cache::new(most);
    let others = |cache: &Arc<Cache>| {
        let kept =
            |n: &u64| cache.known(&question(&format!("other {n}"), Kind::Final, 2)).is_some();
        (0..100).filter(kept).count()
    };
    (0..100).for_each(|n| ask(&cache, &question(&format!("other {n}"), Kind::Final, 2), 2000));
    assert_eq!(others(&cache), 100);
    for n in 0..5000 {
        ask(&cache, &question(&format!("greedy {n}"), Kind::Final, 1), 2000);
    }
    assert_eq!(others(&cache), 100);
    let greedy = (0..5000)
        .filter(|n| cache.known(&question(&format!("greedy {n}"), Kind::Final, 1)).is_some());
    assert!((90..=(most / SHARE / 2000)).contains(&greedy.count()));
}
