//! The real program, started in a folder of its own.

pub mod stage;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Long enough for any machine; nothing waits that long unless it is broken.
pub const LONG: Duration = Duration::from_secs(60);

/// A folder with a configuration.
pub struct Folder {
    dir: TempDir,
}

impl Folder {
    pub fn with(config: &str) -> Folder {
        let folder = Folder { dir: tempfile::tempdir().unwrap() };
        folder.configure(config);
        folder
    }

    pub fn configure(&self, config: &str) {
        fs::write(self.path().join("portolan.toml"), config).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portolan"));
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PORTOLAN__")) {
            command.env_remove(name);
        }
        // Tests run side by side: none may want the address that an explorer has by default.
        if words.contains(&"serve") {
            command.env("PORTOLAN__EXPLORER__LISTEN", "127.0.0.1:0");
        }
        command
    }

    pub fn run(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output().unwrap())
    }

    /// Runs with `--json` and returns the one value that it prints.
    pub fn json(&self, words: &[&str]) -> Value {
        let said = self.run(&[words, &["--json"]].concat());
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        said.json()
    }

    /// Starts a program that runs until it is told to end.
    pub fn start(&self, words: &[&str]) -> Running {
        self.start_command(self.command(words))
    }

    pub fn start_command(&self, mut command: Command) -> Running {
        let log = self.path().join("stderr");
        let mut child =
            command.stdout(Stdio::piped()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Running { child, out, log }
    }
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    fn of(output: Output) -> Said {
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one JSON value on standard output.
    pub fn json(&self) -> Value {
        assert!(self.out.ends_with('\n') && self.out.trim_end().lines().count() == 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A running program.
pub struct Running {
    child: Child,
    pub out: BufReader<ChildStdout>,
    log: std::path::PathBuf,
}

impl Running {
    /// The next line on standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the log holds `text`.
    pub fn wait_for_log(&self, text: &str) -> String {
        wait(&format!("{text:?} in the log"), || {
            let log = self.log();
            log.contains(text).then_some(log)
        })
    }

    /// The address that a line of the log ending in `what` names.
    pub fn address(&self, what: &str) -> SocketAddr {
        let log = self.wait_for_log(what);
        let line = log.lines().find(|line| line.contains(what)).unwrap();
        let (_, address) = line.split_once("address=").unwrap();
        address.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        wait("the end of the program", || self.child.try_wait().unwrap())
    }

    /// Whatever else was printed.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again until there is an answer.
pub fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Sends one request on a connection of its own. `None`: nobody listens.
pub fn http(address: SocketAddr, verb: &str, path: &str, key: &str, body: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LONG)).unwrap();
    let length = body.len();
    let request = format!(
        "{verb} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\nx-api-key: {key}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8(answer).unwrap();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.get(9..12)?.parse().ok()?;
    let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
        unchunked(body)
    } else {
        body.to_owned()
    };
    Some(Answer { status, head: head.to_owned(), body })
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body += &after[..size];
        rest = after[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    body
}

/// Posts one call.
pub fn call(address: SocketAddr, chain: &str, key: &str, body: &str) -> Answer {
    http(address, "POST", &format!("/v1/rpc/{chain}"), key, body).expect("somebody listens")
}

/// Asks the explorer.
#[allow(dead_code, reason = "not every test that starts the program asks its explorer")]
pub fn ask(address: SocketAddr, path: &str, key: &str) -> Answer {
    http(address, "GET", path, key, "").expect("somebody listens")
}
