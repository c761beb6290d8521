//! B2: the order of the forms, and what counts as no key.

use super::*;
use http::HeaderValue;

fn headers(pairs: &[(&'static str, &'static [u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

#[test]
fn the_own_header_wins_over_bearer_over_the_path() {
    let all = headers(&[("x-api-key", b"a"), ("authorization", b"Bearer b")]);
    assert_eq!(presented_key(&all, Some("c")), Some("a"));
    let bearer = headers(&[("authorization", b"Bearer b")]);
    assert_eq!(presented_key(&bearer, Some("c")), Some("b"));
    assert_eq!(presented_key(&headers(&[]), Some("c")), Some("c"));
    assert_eq!(presented_key(&headers(&[]), None), None);
}

#[test]
fn an_empty_value_is_a_missing_key() {
    let empty = headers(&[("x-api-key", b""), ("authorization", b"Bearer   ")]);
    assert_eq!(presented_key(&empty, Some("")), None);
    assert_eq!(presented_key(&empty, Some("c")), Some("c"));
    let blank = headers(&[("x-api-key", b"  "), ("authorization", b"Bearer b")]);
    assert_eq!(presented_key(&blank, None), Some("b"));
}

#[test]
fn schemes_have_no_case_and_any_spaces() {
    for value in [&b"bearer k"[..], b"BEARER k", b"Bearer      k", b"  bEaReR k  "] {
        let headers = {
            let mut headers = HeaderMap::new();
            headers.insert("authorization", HeaderValue::from_bytes(value).unwrap());
            headers
        };
        assert_eq!(presented_key(&headers, None), Some("k"));
    }
    for other in [&b"Basic k"[..], b"Bearerk", b"Bearer", b"Bear", b"", b"Digest x", b"\xff\xff"] {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_bytes(other).unwrap());
        assert_eq!(presented_key(&headers, None), None, "{other:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_a_key_that_nobody_has() {
    let odd = headers(&[("x-api-key", b"\xff\xfe"), ("authorization", b"Bearer b")]);
    assert_eq!(presented_key(&odd, None), Some("?"));
}
