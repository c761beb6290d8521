//! Holds every replayed node against every line of its recording, over HTTP.

use replay::{Phase, Recorded, RecordedKind, Replay, ReplayOptions, Take, recorded_take};
use testkit::{Answer, Connection};

const JSON: (&str, &str) = ("Content-Type", "application/json");

async fn ask(
    connection: &mut Option<Connection>,
    replay: &Replay,
    line: &Recorded,
    id: &str,
) -> Answer {
    let verb = if line.kind() == RecordedKind::Rest { "GET" } else { "POST" };
    if connection.is_none() {
        *connection = Some(Connection::open(replay.address()).await.unwrap());
    }
    let open = connection.as_mut().unwrap();
    open.request(verb, line.path(), &[JSON], &line.request(id)).await.unwrap();
    let answer = open.answer().await.unwrap();
    if answer.header("connection") == Some("close") {
        *connection = None;
    }
    answer
}

async fn every_line(slug: &str, take: Take, id: &str) -> usize {
    let options = ReplayOptions { take, log_calls: 0, ..ReplayOptions::default() };
    let open = Replay::start(slug, options.clone()).await.unwrap();
    let closed = Replay::start(slug, ReplayOptions { restricted: true, ..options }).await.unwrap();
    let (mut to_open, mut to_closed) = (None, None);
    let mut lines = 0;
    for line in recorded_take(slug, take).unwrap() {
        open.set_phase(line.phase());
        closed.set_phase(line.phase());
        let answer = match line.restricted() {
            true => ask(&mut to_closed, &closed, &line, id).await,
            false => ask(&mut to_open, &open, &line, id).await,
        };
        let called = format!("{:?} {} {}", line.phase(), line.method(), line.params());
        assert_eq!(answer.status, line.status(), "{called}");
        assert!(answer.body == line.body(id), "{called}\n{}", answer.text());
        if let Some(recorded) = line.recorded_body()
            && (id == "0" || line.kind() != RecordedKind::Call)
        {
            assert!(answer.body == recorded, "{called}\n{}", answer.text());
        }
        lines += 1;
    }
    assert!(open.calls() > 0);
    lines
}

macro_rules! every_line {
    ($($test:ident: $slug:literal $take:ident $lines:literal;)+) => {$(
        #[tokio::test]
        async fn $test() {
            assert_eq!(every_line($slug, Take::$take, "0").await, $lines);
            assert_eq!(every_line($slug, Take::$take, "\"seven\"").await, $lines);
        }
    )+};
}

every_line! {
    btc: "btc" Main 2496;
    ltc: "ltc" Main 5342;
    doge: "doge" Main 2908;
    bch: "bch" Main 1893;
    xec: "xec" Main 1947;
    zec: "zec" Main 1859;
    dcr: "dcr" Main 7924;
    geth: "eth" Main 1281;
    anvil: "eth" Anvil 830;
    anvil_reorganised: "eth" AnvilReorg 84;
}

/// The whole bodies of monerod were recorded with `"id":"0"`.
#[tokio::test]
async fn xmr() {
    assert_eq!(every_line("xmr", Take::Main, "\"0\"").await, 376);
    assert_eq!(every_line("xmr", Take::Main, "7").await, 376);
    let whole = recorded_take("xmr", Take::Main).unwrap().filter_map(|line| {
        (line.kind() == RecordedKind::Call).then_some(())?;
        Some((line.body("\"0\""), line.recorded_body()?))
    });
    assert_eq!(whole.inspect(|(put, recorded)| assert!(put == recorded)).count(), 4);
}

/// What was not recorded again after the reorganisation answers as before it.
#[tokio::test]
async fn phase_b_falls_back() {
    for slug in ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"] {
        let replay = Replay::start(slug, ReplayOptions::default()).await.unwrap();
        let genesis = br#"{"id":1,"method":"getblockhash","params":[0]}"#;
        let count = br#"{"id":1,"method":"getblockcount","params":[]}"#;
        let mut seen = Vec::new();
        for phase in [Phase::A, Phase::B] {
            replay.set_phase(phase);
            let url = replay.url();
            seen.push((
                testkit::post(&url, &[], genesis).await.unwrap().body,
                testkit::post(&url, &[], count).await.unwrap().body,
            ));
        }
        assert_eq!(seen[0].0, seen[1].0);
        assert_ne!(seen[0].1, seen[1].1);
        assert_eq!(replay.calls(), 4);
    }
}
