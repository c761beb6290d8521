//! A running replayed node.
//!
//! Joins a recording, a dialect and a listener. Invariant: the node ends when its [`Replay`] is
//! dropped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use chain::Dialect;

use crate::auth::{self, Verdict};
use crate::chunks::Chunks;
use crate::core::Age;
use crate::node::Node;
use crate::options::{Auth, Phase, ReplayOptions, Take};
use crate::player::{Logged, Player};
use crate::recording::Unreadable;
use crate::server::Server;
use crate::sources;
use crate::wire::{Reply, Request};
use crate::{anvil, core, dcrd, geth, monerod, websocket, zebrad};

/// Why a replayed node cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such recording.
    #[error("there is no recording of {0}")]
    Unknown(String),
    /// The recording cannot be used.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
}

/// The wire a recorded node speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    Core(Age),
    Zebrad,
    Dcrd,
    Geth,
    Anvil,
    Monerod,
}

/// The wire of a chain's recording.
pub(crate) fn speech(slug: &str, take: Take) -> Option<Speech> {
    Some(match chain::find(slug)?.dialect {
        Dialect::Core => Speech::Core(Age::Modern),
        Dialect::LegacyCore => Speech::Core(Age::Legacy),
        Dialect::Zebrad => Speech::Zebrad,
        Dialect::Dcrd => Speech::Dcrd,
        Dialect::Geth if take == Take::Main => Speech::Geth,
        Dialect::Geth => Speech::Anvil,
        Dialect::Monerod => Speech::Monerod,
    })
}

/// A recorded node that listens.
#[derive(Debug)]
pub struct Replay {
    node: Arc<RecordedNode>,
    server: Server,
    scheme: &'static str,
}

impl Replay {
    /// Starts the recorded node of a chain on the current runtime. The first start of a recording
    /// unpacks it, beside the runtime.
    pub async fn start(slug: &str, options: ReplayOptions) -> Result<Replay, ReplayError> {
        let unknown = || ReplayError::Unknown(slug.to_owned());
        let speech = speech(slug, options.take).ok_or_else(unknown)?;
        let (wanted, take) = (slug.to_owned(), options.take);
        let recording = tokio::task::spawn_blocking(move || sources::recording(&wanted, take))
            .await
            .ok()
            .flatten()
            .ok_or_else(unknown)??;
        let methods = chain::find(slug).map(|chain| chain.methods());
        let player = Player::new(recording, methods, &options);
        let (auth, websocket) = (options.auth, options.websocket);
        let node = Arc::new(RecordedNode { speech, auth, websocket, player });
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let server = Server::start(options.listen, options.tls, node.clone())
            .await
            .map_err(|error| ReplayError::Listen(options.listen, error))?;
        Ok(Replay { node, server, scheme })
    }

    /// Where it is reached, without a path: `http://127.0.0.1:39201`.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.server.address())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Shows another state of the chain from the next call on.
    pub fn set_phase(&self, phase: Phase) {
        self.node.player.set_phase(phase);
    }

    /// Calls so far: each readable call of a batch counts, also one that was not recorded.
    pub fn calls(&self) -> u64 {
        self.node.player.calls()
    }

    /// Connections so far, each with its handshake where it is over TLS.
    pub fn connections(&self) -> u64 {
        self.server.connections()
    }

    /// The last calls, oldest first.
    pub fn log(&self) -> Vec<Logged> {
        self.node.player.log()
    }

    /// Ends the listener and its connections; dropping does the same.
    pub fn stop(self) {}
}

/// What answers: the recording behind its dialect.
#[derive(Debug)]
struct RecordedNode {
    speech: Speech,
    auth: Auth,
    websocket: bool,
    player: Player,
}

impl Node for RecordedNode {
    type Session = auth::Session;

    fn answer(&self, session: &mut auth::Session, request: &Request) -> Reply {
        match (auth::check(&self.auth, session, request), self.speech) {
            (Verdict::Allowed, Speech::Dcrd) if self.websocket && dcrd::upgrades(request) => {
                websocket::granted(request.websocket_key.as_deref().unwrap_or_default())
            }
            (Verdict::Allowed, speech) => answer(speech, &self.player, request),
            (Verdict::Digest { nonce, stale }, _) => monerod::denied(&nonce, stale),
            (Verdict::Basic, Speech::Zebrad) => zebrad::denied(),
            (Verdict::Basic, Speech::Dcrd) => dcrd::denied(),
            (Verdict::Basic, _) => core::denied(),
        }
    }

    fn message(&self, text: &str) -> Option<Chunks> {
        dcrd::message(&self.player, text)
    }
}

fn answer(speech: Speech, player: &Player, request: &Request) -> Reply {
    match speech {
        Speech::Core(age) => core::answer(player, age, request),
        Speech::Zebrad => zebrad::answer(player, request),
        Speech::Dcrd => dcrd::answer(player, request),
        Speech::Geth => geth::answer(player, request),
        Speech::Anvil => anvil::answer(player, request),
        Speech::Monerod => monerod::answer(player, request),
    }
}
