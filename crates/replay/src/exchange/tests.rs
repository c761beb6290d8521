use super::*;

fn line(text: &str, format: Format) -> (Vec<u8>, Result<Option<Exchange>, ()>) {
    let mut buffer = text.as_bytes().to_vec();
    let span = Span { start: 0, end: buffer.len() };
    let line = read(&mut buffer, span, format, Phase::A);
    (buffer, line)
}

fn part(buffer: &[u8], span: Span) -> String {
    String::from_utf8_lossy(&buffer[span.start..span.end]).into_owned()
}

#[test]
fn texts_are_decoded_in_place() {
    let (buffer, line) = line(
        r#"{"phase":"B","method":"m","params":["\"]",{"a":[]}],"status":200,"result":"{\"a\":\"\\u00e9\\n\u00e9\ud83d\ude00\"}"}"#,
        Format::Transcript,
    );
    let line = line.unwrap().unwrap();
    assert_eq!((line.phase, line.status), (Phase::B, 200));
    let Asked::Call { method, params, .. } = line.asked else { panic!() };
    assert_eq!(part(&buffer, method), "m");
    assert_eq!(part(&buffer, params), r#"["\"]",{"a":[]}]"#);
    let Said::Result(result) = line.said else { panic!() };
    assert_eq!(part(&buffer, result), "{\"a\":\"\\u00e9\\n\u{e9}\u{1f600}\"}");
}

#[test]
fn every_kind_is_told_apart() {
    let kinds = [
        (r#"{"request":"[]","status":500,"body":"x\n"}"#, "posted"),
        (r#"{"rest":"/rest/a.bin","status":200,"hex":"00ff"}"#, "rest"),
        (r#"{"method":"m","params":[],"status":404,"body":"e"}"#, "error body"),
        (r#"{"path": "/a.bin", "request_hex": "01", "http": 200, "response_hex": "02"}"#, "binary"),
    ];
    for (text, kind) in kinds {
        let (_, line) = line(text, Format::Transcript);
        let line = line.unwrap().unwrap();
        let found = match (line.asked, line.said) {
            (Asked::Posted(_), Said::Body(_)) => "posted",
            (Asked::Rest(_), Said::Body(_)) => "rest",
            (Asked::Call { .. }, Said::ErrorBody(_)) => "error body",
            (Asked::Binary { .. }, Said::Body(_)) => "binary",
            _ => "other",
        };
        assert_eq!(found, kind);
    }
}

#[test]
fn plain_results_stay_json() {
    let (buffer, line) =
        line(r#"{"method":"m","params":null,"result": [1, "x"] , "x":1}"#, Format::Plain);
    let line = line.unwrap().unwrap();
    assert!(matches!(line.asked, Asked::Call { params: Span { start: 0, end: 0 }, .. }));
    let Said::Result(result) = line.said else { panic!() };
    assert_eq!(part(&buffer, result), "[1, \"x\"]");
}

#[test]
fn other_nodes_are_left_out_and_junk_is_refused() {
    assert!(matches!(line(r#"{"method":"m","node":"x","result":1}"#, Format::Plain).1, Ok(None)));
    for text in ["", "{", "{}", r#"{"method":"m"}"#, r#"{"result":1}"#, r#"{"hex":"0"}"#, "{\"a\\"]
    {
        assert!(line(text, Format::Plain).1.is_err(), "{text}");
    }
}
