//! One call over a kept connection and its one right answer, for the programs that make load.
//!
//! Invariant: only an answer of status 200 with the expected bytes is right.

use std::error::Error;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Whatever ends a program of the bench.
pub type Failure = Box<dyn Error + Send + Sync>;

const CALL: &str = r#"{"jsonrpc":"1.0","id":1,"method":"getblockcount","params":[]}"#;
const ANSWER: &[u8] = br#"{"result":1,"error":null,"id":1}"#;

/// The bytes of the call.
pub fn call(chain: &str, key: &str) -> String {
    format!(
        "POST /v1/rpc/{chain} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{CALL}",
        CALL.len()
    )
}

/// Reads one answer and tells whether it is the right one.
///
/// # Errors
/// The connection breaks, or there is no length.
pub async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<bool, Failure> {
    buffer.clear();
    let (mut body_at, mut length) = (0, 0);
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        if body_at == 0 {
            let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            body_at = end + 4;
            let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
            let (_, rest) =
                head.split_once("content-length: ").ok_or("an answer without a length")?;
            length = rest.split("\r\n").next().unwrap_or_default().parse()?;
        }
        if buffer.len() >= body_at + length {
            return Ok(
                buffer.starts_with(b"HTTP/1.1 200") && buffer[body_at..].trim_ascii_end() == ANSWER
            );
        }
    }
}

/// The value below which that share of sorted ones lie; nothing of none is zero.
pub fn quantile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or_default()
}
