//! A line to the server of shared buckets: the script is loaded and run on it.
//!
//! Commands are put together and answers taken apart here, since the crate's own way to run a script asserts
//! what a server has said. Invariants: whatever the server says is an answer in range or an error; the
//! connection is closed with the last who holds its line, whatever is unanswered; an error's text is
//! short, on one line, and without the password.

use std::fmt;
use std::sync::LazyLock;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, RedisConnectionInfo, RedisError, Script,
    ServerErrorKind, Value, cmd,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use super::bounded::Bounded;

/// What is run on a bucket.
const CODE: &str = include_str!("take.lua");
static HASH: LazyLock<String> = LazyLock::new(|| Script::new(CODE).get_hash().to_owned());
/// Letters of what a server says that are told.
const LONGEST: usize = 200;

/// A connection that any number of calls may use at once.
#[derive(Debug)]
pub(super) struct Line {
    connection: MultiplexedConnection,
    driver: AbortHandle,
    teller: Teller,
}

/// Shows what a server says; it knows the password, and a server may say what it was told.
struct Teller(Option<String>);

impl Teller {
    fn show(&self, error: &RedisError) -> String {
        self.show_text(&error.to_string())
    }

    fn show_text(&self, text: &str) -> String {
        match &self.0 {
            Some(secret) => told(&text.replace(secret, "…")),
            None => told(text),
        }
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

impl Line {
    /// Enters a server. The connection runs in a task of its own as long as somebody holds the line.
    pub(super) async fn enter(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        settings: &RedisConnectionInfo,
    ) -> Result<Line, String> {
        // Whoever asks has a patience of its own.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let stream = Bounded::new(stream);
        let entered = MultiplexedConnection::new_with_config(settings, stream, config).await;
        let secret = settings.password().filter(|password| !password.is_empty());
        let teller = Teller(secret.map(str::to_owned));
        let (connection, driver) = entered.map_err(|error| teller.show(&error))?;
        Ok(Line { connection, driver: tokio::spawn(driver).abort_handle(), teller })
    }

    /// Tells the server the script. What it says to that is not looked at: it is run before a call
    /// relies on it.
    pub(super) async fn load(&self) -> Result<(), String> {
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(CODE);
        self.ask(&load).await.map(drop).map_err(|error| self.teller.show(&error))
    }

    /// Runs the script on a bucket: whether the tokens were taken, and what is missing. A server that has
    /// forgotten it is told it again.
    pub(super) async fn run(&self, key: &str, numbers: [u32; 3]) -> Result<(bool, u64), String> {
        let mut run = cmd("EVALSHA");
        run.arg(HASH.as_str()).arg(1).arg(key).arg(&numbers);
        let answer = match self.ask(&run).await {
            Err(error) if is_forgotten(&error) => {
                self.load().await?;
                self.ask(&run).await
            }
            answer => answer,
        };
        let answer = answer.map_err(|error| self.teller.show(&error))?;
        if let Value::Array(items) = answer
            && let [Value::Int(taken @ (0 | 1)), Value::Int(missing @ 0..)] = items[..]
        {
            return Ok((taken == 1, missing.cast_unsigned()));
        }
        Err("it says what cannot be".to_owned())
    }

    async fn ask(&self, command: &Cmd) -> Result<Value, RedisError> {
        let mut connection = self.connection.clone();
        connection.send_packed_command(command).await?.extract_error()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn is_forgotten(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// What a server has said, to be shown.
fn told(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut shown: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_shown_short_and_without_the_password() {
        let teller = Teller(Some("hunter2".into()));
        assert_eq!(teller.show_text("ERR hunter2\r\nno"), "ERR …  no");
        assert_eq!(teller.show_text(&"é".repeat(300)).chars().count(), LONGEST + 1);
        assert!(!format!("{teller:?}").contains("hunter2"));
    }
}
