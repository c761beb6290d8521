//! What is taken for hyper's own refusal, and what is not.

use bytes::Bytes;

use super::*;

const BARE: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: Sat, 28 Nov 2026 01:25:40 GMT\r\n\r\n";

#[test]
fn bare_head_is_found() {
    assert_eq!(bare_refusal(BARE), Some(0));
}

#[test]
fn bare_head_behind_an_unsent_answer_is_found() {
    let mut written = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec();
    let answer = written.len();
    written.extend_from_slice(BARE);
    assert_eq!(bare_refusal(&written), Some(answer));
}

#[test]
fn answers_of_a_service_are_left_alone() {
    for written in [
        &b"HTTP/1.1 204 No Content\r\nx-request-id: a\r\n\r\n"[..],
        b"HTTP/1.1 404 Not Found\r\nX-Request-Id: a\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 8\r\n\r\n{}\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"\r\n\r\n",
        b"",
    ] {
        assert_eq!(bare_refusal(written), None, "{}", written.escape_ascii());
    }
}

#[test]
fn rendered_refusal_says_its_length_and_closes() {
    let refusal = HttpRefusal {
        content_type: "application/json",
        request_id: "id-1".into(),
        body: Bytes::from_static(b"{\"a\":1}"),
    };
    let text = String::from_utf8(render(&refusal)).unwrap();
    assert_eq!(
        text,
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nx-request-id: id-1\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}"
    );
}
