//! Who is let in: HTTP Basic and HTTP Digest from the side of the node.
//!
//! What a refusal looks like is the dialect's. Invariant: a nonce is good on its own connection
//! only, and no counter is taken twice.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

use crate::options::Auth;
use crate::wire::Request;

/// What monerod calls itself (epee, contrib/epee/src/http_auth.cpp `auth_realm`).
pub(crate) const REALM: &str = "monero-rpc";

/// The Digest state of one connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    nonce: Option<String>,
    counter: u64,
}

/// May this request pass?
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// Wrong or missing Basic credentials.
    Basic,
    /// Wrong, missing or stale Digest credentials: the fresh nonce, and whether only that was
    /// wrong.
    Digest {
        nonce: String,
        stale: bool,
    },
}

/// Looks at the credentials of a request.
pub(crate) fn check(auth: &Auth, session: &mut Session, request: &Request) -> Verdict {
    let presented = request.authorization.as_deref().unwrap_or_default();
    match auth {
        Auth::None => Verdict::Allowed,
        Auth::Basic { user, password } => {
            let wanted = STANDARD.encode(format!("{user}:{password}"));
            match presented.split_once(' ') {
                Some((scheme, given))
                    if scheme.eq_ignore_ascii_case("basic") && given.trim() == wanted =>
                {
                    Verdict::Allowed
                }
                _ => Verdict::Basic,
            }
        }
        Auth::Digest { user, password } => {
            let right = response_is_right(user, password, session, &request.verb, presented);
            if right == Some(true) {
                return Verdict::Allowed;
            }
            let nonce = fresh_nonce();
            *session = Session { nonce: Some(nonce.clone()), counter: 0 };
            Verdict::Digest { nonce, stale: right == Some(false) }
        }
    }
}

/// `Some(false)` for right credentials on an old nonce or counter, `None` for anything wrong.
fn response_is_right(
    user: &str,
    password: &str,
    session: &mut Session,
    verb: &str,
    presented: &str,
) -> Option<bool> {
    let fields = presented.strip_prefix("Digest ")?;
    let field = |name: &str| {
        fields.split(',').find_map(|field| {
            let (found, value) = field.trim().split_once('=')?;
            (found == name).then(|| value.trim_matches('"'))
        })
    };
    let (nonce, nc, cnonce) = (field("nonce")?, field("nc")?, field("cnonce")?);
    if field("username")? != user || field("realm")? != REALM || field("qop")? != "auth" {
        return None;
    }
    let secret = hash(&format!("{user}:{REALM}:{password}"));
    let target = hash(&format!("{verb}:{}", field("uri")?));
    let wanted = hash(&format!("{secret}:{nonce}:{nc}:{cnonce}:auth:{target}"));
    if field("response")? != wanted {
        return None;
    }
    let counter = u64::from_str_radix(nc, 16).ok()?;
    if session.nonce.as_deref() != Some(nonce) || counter <= session.counter {
        return Some(false);
    }
    session.counter = counter;
    Some(true)
}

fn hash(text: &str) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fresh_nonce() -> String {
    let mut nonce = [0; 16];
    // Without the system's randomness a constant nonce still plays a node.
    let _ = getrandom::fill(&mut nonce);
    STANDARD.encode(nonce)
}
