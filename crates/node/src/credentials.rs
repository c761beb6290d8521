//! What we present to a node, and the files it comes from.
//!
//! When it is presented is left to `attempt`. Invariant: a secret leaves this file only inside a
//! header value that is marked sensitive, inside the lines of a request head, or inside a Digest
//! response.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::{ArcSwap, ArcSwapOption};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST, HeaderValue};

use crate::{Auth, NodeConfig};

/// The credentials for one node as they stand now.
pub(crate) struct Credentials {
    source: Source,
    /// The host, without credentials.
    bare: HeaderMap,
    current: ArcSwap<Presented>,
    /// Grows with every change of `current`.
    generation: AtomicU64,
    /// Time and length of the file when it was read.
    stamp: Mutex<Option<(SystemTime, u64)>>,
    /// Why the file gave nothing when it was read.
    unread: ArcSwapOption<String>,
}

/// What is presented with a request.
#[derive(Default)]
pub(crate) struct Presented {
    /// The header of every request, `Authorization` included where it is Basic.
    pub(crate) headers: HeaderMap,
    /// The same as lines of a request head.
    pub(crate) lines: Vec<u8>,
    /// User and password to answer a Digest challenge with.
    pub(crate) digest: Option<DigestLogin>,
}

/// User and password of Digest.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DigestLogin {
    pub(crate) user: String,
    pub(crate) password: String,
}

enum Source {
    Nothing,
    Password { auth: Auth, user: String, password: String },
    PasswordFile { auth: Auth, user: String, path: PathBuf },
    Cookie(PathBuf),
}

impl Source {
    fn path(&self) -> Option<&PathBuf> {
        match self {
            Source::Nothing | Source::Password { .. } => None,
            Source::PasswordFile { path, .. } | Source::Cookie(path) => Some(path),
        }
    }
}

impl Credentials {
    /// Reads the settings; a file that is not there yet is no error, the node may be starting.
    ///
    /// # Errors
    /// Settings that contradict each other, or a host or password that no header can carry.
    pub(crate) fn new(config: &NodeConfig, authority: &str) -> Result<Credentials, &'static str> {
        let mut bare = HeaderMap::new();
        let host = HeaderValue::from_str(authority).map_err(|_| "the host of url is no host")?;
        bare.insert(HOST, host);
        let credentials = Credentials {
            source: source(config)?,
            bare,
            current: ArcSwap::default(),
            generation: AtomicU64::new(0),
            stamp: Mutex::new(None),
            unread: ArcSwapOption::empty(),
        };
        credentials.read_again();
        Ok(credentials)
    }

    /// What to present now.
    pub(crate) fn presented(&self) -> arc_swap::Guard<Arc<Presented>> {
        self.current.load()
    }

    /// A number that tells whether what is presented changed since it was last asked for.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The file that should hold our secret and does not, and why, as far as the last reading
    /// showed. Path and the system's word; nothing of what a file holds.
    pub(crate) fn unread(&self) -> Option<Arc<String>> {
        self.unread.load_full()
    }

    /// Reads the file again if its time or length changed.
    pub(crate) fn refresh(&self) {
        if self.source.path().is_some() && self.stamp() != *self.stamp_seen() {
            self.read_again();
        }
    }

    /// Reads the file again, whatever its time says.
    pub(crate) fn read_again(&self) {
        let stamp = self.stamp();
        *self.stamp_seen() = stamp;
        let mut fresh = self.present();
        fresh.write_lines();
        let old = self.current.load();
        if fresh.headers != old.headers || fresh.digest != old.digest {
            self.current.store(Arc::new(fresh));
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    fn stamp(&self) -> Option<(SystemTime, u64)> {
        let facts = fs::metadata(self.source.path()?).ok()?;
        Some((facts.modified().ok()?, facts.len()))
    }

    fn stamp_seen(&self) -> std::sync::MutexGuard<'_, Option<(SystemTime, u64)>> {
        self.stamp.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self) -> Presented {
        let mut presented = Presented { headers: self.bare.clone(), ..Presented::default() };
        let file = |path: &PathBuf| self.read(path);
        let (auth, user, password) = match &self.source {
            Source::Nothing => return presented,
            Source::Cookie(path) => {
                // The file is `user:password` on a line.
                presented.insert_basic(&file(path));
                return presented;
            }
            Source::Password { auth, user, password } => (auth, user, password.clone()),
            Source::PasswordFile { auth, user, path } => (auth, user, file(path)),
        };
        match auth {
            Auth::Basic => presented.insert_basic(&format!("{user}:{password}")),
            Auth::Digest => {
                presented.digest = Some(DigestLogin { user: user.clone(), password });
            }
        }
        presented
    }

    /// The first line of a file; empty where there is none, which is noted.
    fn read(&self, path: &Path) -> String {
        let text = fs::read_to_string(path);
        let problem = match &text {
            Ok(text) if text.trim().is_empty() => Some("it is empty".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        self.unread
            .store(problem.map(|problem| Arc::new(format!("{}: {problem}", path.display()))));
        text.unwrap_or_default().trim_end_matches(['\r', '\n']).to_owned()
    }
}

impl Presented {
    fn write_lines(&mut self) {
        for (name, value) in &self.headers {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                self.lines.extend_from_slice(part);
            }
        }
    }

    fn insert_basic(&mut self, pair: &str) {
        if pair.is_empty() {
            return;
        }
        let text = format!("Basic {}", STANDARD.encode(pair));
        let mut value = HeaderValue::from_str(&text).expect("base64 is visible ASCII");
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
    }
}

fn source(config: &NodeConfig) -> Result<Source, &'static str> {
    let auth = config.auth;
    let source = match (&config.user, &config.password, &config.password_file, &config.cookie) {
        (None, None, None, None) => Source::Nothing,
        (None, None, None, Some(path)) => Source::Cookie(path.clone()),
        (Some(user), Some(password), None, None) => {
            Source::Password { auth, user: user.clone(), password: password.expose().to_owned() }
        }
        (Some(user), None, Some(path), None) => {
            Source::PasswordFile { auth, user: user.clone(), path: path.clone() }
        }
        (_, _, _, Some(_)) => return Err("cookie stands alone, without user and password"),
        (None, ..) => return Err("a password needs a user"),
        (Some(_), None, None, None) => return Err("a user needs password or password_file"),
        (_, Some(_), Some(_), _) => return Err("give password or password_file, not both"),
    };
    let named = matches!(source, Source::Password { .. } | Source::PasswordFile { .. });
    if auth == Auth::Digest && !named {
        return Err("digest needs user and password");
    }
    if auth == Auth::Basic && config.user.as_deref().is_some_and(|user| user.contains(':')) {
        return Err("a user holds no colon");
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn authorization(credentials: &Credentials) -> Option<String> {
        let presented = credentials.presented();
        let value = presented.headers.get(AUTHORIZATION)?;
        assert!(value.is_sensitive());
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn password_file_is_read_again_when_it_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        let config = NodeConfig {
            user: Some("u".into()),
            password_file: Some(path.clone()),
            ..NodeConfig::new("http://n")
        };
        let credentials = Credentials::new(&config, "n").unwrap();
        assert_eq!(authorization(&credentials).unwrap(), "Basic dTo=");
        fs::write(&path, "pass\n").unwrap();
        credentials.refresh();
        assert_eq!(authorization(&credentials).unwrap(), "Basic dTpwYXNz");
        let before = credentials.generation();
        credentials.read_again();
        assert_eq!(credentials.generation(), before);
    }

    #[test]
    fn cookie_that_is_not_there_yet_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".cookie");
        let config = NodeConfig { cookie: Some(path.clone()), ..NodeConfig::new("http://n") };
        let credentials = Credentials::new(&config, "n").unwrap();
        assert_eq!(authorization(&credentials), None);
        let unread = credentials.unread().unwrap();
        assert!(unread.contains(".cookie: No such file"), "{unread}");
        fs::write(&path, "\n").unwrap();
        credentials.refresh();
        assert!(credentials.unread().unwrap().ends_with("it is empty"));
        fs::write(&path, "__cookie__:abc").unwrap();
        credentials.refresh();
        assert_eq!(credentials.unread(), None);
        assert_eq!(authorization(&credentials).unwrap(), "Basic X19jb29raWVfXzphYmM=");
    }

    #[test]
    fn contradicting_settings_are_refused() {
        let base = NodeConfig::new("http://n");
        let user = || Some("u".to_owned());
        let password = || Some(Secret::new("p"));
        let bad = [
            NodeConfig { user: user(), ..base.clone() },
            NodeConfig { password: password(), ..base.clone() },
            NodeConfig { user: user(), cookie: Some("c".into()), ..base.clone() },
            NodeConfig {
                user: user(),
                password: password(),
                password_file: Some("f".into()),
                ..base.clone()
            },
            NodeConfig { auth: Auth::Digest, ..base.clone() },
            NodeConfig { user: Some("a:b".into()), password: password(), ..base.clone() },
        ];
        for config in bad {
            assert!(Credentials::new(&config, "n").is_err());
        }
    }
}
