//! The head of a node's answer: its status, how its body ends, whether the connection lives on.
//!
//! Reading bytes is left to `connection`, the body to `framing`. Invariant: a head that two readers
//! could take for answers of different lengths is none (RFC 9112, section 6.3), and neither is one in
//! a coding that we would have to undo.

use std::mem::MaybeUninit;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
use httparse::{ParserConfig, Response};

use crate::framing::Framing;

/// Most lines of a head. Nodes send ten.
const MOST_LINES: usize = 100;

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct AnswerHead {
    pub(crate) status: StatusCode,
    /// Bytes of the body, where the head says so.
    pub(crate) length: Option<u64>,
    /// The body ends where the connection does, and nothing says that this is its end.
    pub(crate) close_delimited: bool,
    /// What a 401 challenges us to.
    pub(crate) challenges: HeaderMap,
}

/// What was read of an answer's beginning.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// More is to come.
    Part,
    /// A head to be passed over (status 1xx), and its length in bytes.
    Interim(usize),
    /// The head, its length in bytes, and what follows from it.
    Whole { head: AnswerHead, bytes: usize, framing: Framing, keeps_alive: bool },
}

/// What came is not HTTP/1, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotHttp(pub(crate) &'static str);

/// What the lines of a head say that matters here.
#[derive(Default)]
struct Said {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    challenges: HeaderMap,
}

/// Reads the head that `bytes` begin with.
pub(crate) fn read(bytes: &[u8]) -> Result<Beginning, NotHttp> {
    let mut lines = [const { MaybeUninit::uninit() }; MOST_LINES];
    let mut response = Response::new(&mut []);
    let config = ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut lines);
    let bytes = match parsed.map_err(|_| NotHttp("the head cannot be read"))? {
        httparse::Status::Partial => return Ok(Beginning::Part),
        httparse::Status::Complete(bytes) => bytes,
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(NotHttp("the status is none"))?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(NotHttp("another protocol was not asked for"));
    }
    if status.is_informational() {
        return Ok(Beginning::Interim(bytes));
    }
    let mut said = Said::default();
    for line in &*response.headers {
        said.take(line.name, line.value, status)?;
    }
    said.beginning(status, bytes, response.version == Some(1))
}

impl Said {
    fn take(&mut self, name: &str, value: &[u8], status: StatusCode) -> Result<(), NotHttp> {
        if name.eq_ignore_ascii_case("content-length") {
            // A list of equal lengths is one length.
            for text in value.split(|byte| *byte == b',') {
                let length = number(text.trim_ascii()).ok_or(NotHttp("the length is none"))?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err(NotHttp("there are two lengths"));
                }
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            let known = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
            if !known || self.chunked {
                return Err(NotHttp("the Transfer-Encoding is not chunked alone"));
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case("connection") {
            let has = |word: &[u8]| {
                let mut words = value.split(|byte| *byte == b',');
                words.any(|it| it.trim_ascii().eq_ignore_ascii_case(word))
            };
            self.close |= has(b"close");
            self.keep_alive |= has(b"keep-alive");
        } else if status == StatusCode::UNAUTHORIZED
            && name.eq_ignore_ascii_case("www-authenticate")
            && let Ok(value) = HeaderValue::from_bytes(value)
        {
            self.challenges.append(WWW_AUTHENTICATE, value);
        }
        Ok(())
    }

    /// `is_new`: the node speaks HTTP/1.1, where connections live on unless told otherwise.
    fn beginning(
        self,
        status: StatusCode,
        bytes: usize,
        is_new: bool,
    ) -> Result<Beginning, NotHttp> {
        if self.chunked && !is_new {
            return Err(NotHttp("HTTP/1.0 knows no Transfer-Encoding"));
        }
        if self.chunked && self.length.is_some() {
            return Err(NotHttp("there are a length and chunks"));
        }
        let bare = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let framing = match self.length {
            _ if bare => Framing::of_length(0),
            _ if self.chunked => Framing::chunked(),
            Some(length) => Framing::of_length(length),
            None => Framing::UntilClose,
        };
        let length = if bare { Some(0) } else { self.length };
        let close_delimited = !self.chunked && length.is_none();
        // A body may follow all the same, and would be taken for the next answer.
        let doubtful = bare && (self.chunked || self.length.is_some_and(|length| length > 0));
        let keeps_alive = !self.close && !doubtful && (is_new || self.keep_alive);
        let head = AnswerHead { status, length, close_delimited, challenges: self.challenges };
        Ok(Beginning::Whole { head, bytes, framing, keeps_alive })
    }
}

/// A number of decimal digits alone.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, length, framing and whether the connection lives on.
    fn whole(text: &str) -> (u16, Option<u64>, String, bool) {
        match read(text.as_bytes()) {
            Ok(Beginning::Whole { head, bytes, framing, keeps_alive }) => {
                assert_eq!(bytes, text.len());
                let framing = format!("{framing:?}");
                (head.status.as_u16(), head.length, framing, keeps_alive)
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }

    fn refused(text: &str) -> bool {
        read(text.as_bytes()).is_err()
    }

    #[test]
    fn end_of_the_body_is_told() {
        let (status, length, framing, lives) =
            whole("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        assert_eq!((status, length, framing.as_str(), lives), (200, Some(7), "Length(7)", true));
        let (_, length, framing, lives) =
            whole("HTTP/1.1 500 x\r\ntransfer-encoding: Chunked\r\n\r\n");
        assert_eq!((length, framing.as_str(), lives), (None, "Chunked(Size)", true));
        let (_, length, framing, _) = whole("HTTP/1.1 200\r\n\r\n");
        assert_eq!((length, framing.as_str()), (None, "UntilClose"));
        let (_, length, framing, _) = whole("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n");
        assert_eq!((length, framing.as_str()), (Some(0), "Over"));
    }

    #[test]
    fn connection_lives_on_as_the_node_says() {
        let lives = |version: &str, lines: &str| {
            whole(&format!("HTTP/{version} 200 OK\r\nContent-Length: 1\r\n{lines}\r\n")).3
        };
        assert!(lives("1.1", "") && lives("1.1", "Connection: keep-alive\r\n"));
        assert!(!lives("1.1", "Connection: Close\r\n"));
        assert!(!lives("1.1", "Connection: x, close\r\n"));
        assert!(!lives("1.0", "") && lives("1.0", "Connection: Keep-Alive\r\n"));
    }

    #[test]
    fn status_without_a_body_that_tells_of_one_is_the_last() {
        for status in [204, 304] {
            let lives = |line: &str| {
                let (_, length, framing, lives) =
                    whole(&format!("HTTP/1.1 {status} x\r\n{line}\r\n"));
                assert_eq!((length, framing.as_str()), (Some(0), "Over"));
                lives
            };
            assert!(lives("") && lives("Content-Length: 0\r\n"));
            assert!(!lives("Content-Length: 9\r\n"));
            assert!(!lives("Transfer-Encoding: chunked\r\n"));
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        assert!(refused(&with("Content-Length: 1\r\nContent-Length: 2\r\n")));
        assert!(!refused(&with("Content-Length: 1\r\nContent-Length: 1\r\n")));
        assert!(!refused(&with("Content-Length: 1, 1\r\n")));
        for length in ["", "-1", "+1", "1 2", "0x1", "1,2", "99999999999999999999", "1,"] {
            assert!(refused(&with(&format!("Content-Length: {length}\r\n"))), "{length}");
        }
        for coding in ["gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "identity", ""]
        {
            assert!(refused(&with(&format!("Transfer-Encoding: {coding}\r\n"))), "{coding}");
        }
        let chunked = "Transfer-Encoding: chunked\r\n";
        assert!(refused(&with(&chunked.repeat(2))));
        assert!(refused(&with(&format!("{chunked}Content-Length: 1\r\n"))));
        assert!(refused(&with(&format!("Content-Length: 1\r\n{chunked}"))));
        assert!(refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
        assert!(refused("HTTP/1.1 101 Switching\r\n\r\n"));
        assert!(refused("SSH-2.0-OpenSSH_9.9\r\n\r\n"));
    }

    #[test]
    fn lines_that_others_read_otherwise_are_refused() {
        let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        for lines in [
            "Content-Length: 1\r\n 2\r\n",
            "X: y\r\n\tContent-Length: 1\r\n",
            " Content-Length: 1\r\n",
            "Content-Length : 1\r\n",
            "Content-Length\r\n",
            "Content Length: 1\r\n",
            ": 1\r\n",
            "X: a\0b\r\n",
            "X: a\rContent-Length: 1\r\n",
        ] {
            assert!(refused(&with(lines)), "{lines:?}");
        }
        assert!(!refused(&with(&"X: y\r\n".repeat(MOST_LINES))));
        assert!(refused(&with(&"X: y\r\n".repeat(MOST_LINES + 1))));
        for line in ["HTTP/2.0 200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 099 OK"] {
            assert!(refused(&format!("{line}\r\n\r\n")), "{line}");
        }
    }

    #[test]
    fn beginnings_and_interim_heads_are_told_apart() {
        assert!(matches!(read(b"HTTP/1.1 200 O"), Ok(Beginning::Part)));
        let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
        assert!(matches!(read(text), Ok(Beginning::Interim(25))));
    }

    #[test]
    fn challenges_are_those_of_a_401() {
        let text = |status: u16| {
            let line = "WWW-Authenticate: Digest realm=x\r\n";
            format!("HTTP/1.1 {status} x\r\n{line}{line}Content-Length: 0\r\n\r\n")
        };
        for (status, count) in [(401, 2), (200, 0)] {
            let Ok(Beginning::Whole { head, .. }) = read(text(status).as_bytes()) else {
                panic!("{status}")
            };
            assert_eq!(head.challenges.len(), count);
        }
    }
}
