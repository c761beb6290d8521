//! What an operator should change so that a node answers us at all.
//!
//! Invariant: advice names the node's own option, and shows neither credential nor path, but for
//! the path of a file of ours that cannot be read.

use std::sync::Arc;

use chain::Dialect;
use http::StatusCode;

use crate::node::Node;
use crate::says::Refusal;
use crate::{CallError, Cause, NodeError, Verdict};

/// Advice where the node gave no answer.
pub(super) async fn without_answer(node: &Arc<Node>, error: &CallError) -> Vec<String> {
    let CallError::Node(failed) = error else {
        return vec!["the node is too busy to answer: give it fewer slots".to_owned()];
    };
    let mut advice = unread_file(node);
    if let Some(refusal) = failed.refusal {
        advice.push(refused(node, refusal).await);
    } else if node.state().verdict == Verdict::Refused {
        advice.push(refused(node, Refusal::HungUp).await);
        if !node.connections.speaks_tls() {
            advice.push("or it speaks TLS: then write https:// in url".to_owned());
        }
    } else {
        advice.extend(unreachable(node, failed));
    }
    advice
}

/// Advice about a file of ours, also where the node lets us in without.
pub(super) fn unread_file(node: &Node) -> Vec<String> {
    let unread = node.credentials.unread();
    unread
        .map(|file| format!("the file of its credentials cannot be read: {file}"))
        .into_iter()
        .collect()
}

async fn refused(node: &Arc<Node>, refusal: Refusal) -> String {
    let dialect = node.chain().dialect;
    let host = &node.connections.address().host;
    let todo = match refusal {
        Refusal::Credentials | Refusal::HungUp => credentials(dialect).to_owned(),
        Refusal::EnginePort => {
            "that is its port for consensus clients: use the one of --http.port (8545)".to_owned()
        }
        Refusal::Address if dialect == Dialect::Geth => "is there a proxy before it?".to_owned(),
        Refusal::Address => address(node).await.to_owned(),
        Refusal::HostName => {
            format!("start it with --http.vhosts={host}, or write its IP address in url")
        }
        Refusal::SpeaksTls if dialect == Dialect::Dcrd => {
            format!("write https:// in url, and {}", tls(dialect))
        }
        Refusal::SpeaksTls => "write https:// in url".to_owned(),
        Refusal::SpeaksPlain => "write http:// in url, or is this another port?".to_owned(),
        Refusal::NoSuchHost => format!("is {host} written right, and known to this machine?"),
    };
    format!("{refusal}: {todo}")
}

/// Bitcoin Core says 403 for an address before it looks at the request, and for a user only after;
/// a request without a call tells them apart.
async fn address(node: &Arc<Node>) -> &'static str {
    match node.get_quietly("/").await {
        Ok((StatusCode::METHOD_NOT_ALLOWED, _)) => {
            "rpcwhitelist keeps these calls from our user: add the chain's methods to it"
        }
        _ => "allow this machine's address with rpcallowip",
    }
}

fn unreachable(node: &Node, failed: &NodeError) -> Vec<String> {
    let dialect = node.chain().dialect;
    let hung_up = failed.cause == Cause::Broken && !failed.got_bytes;
    let mut advice = match failed.cause {
        // As OpenSSL does where it hears no TLS.
        _ if hung_up && !node.connections.speaks_tls() => {
            vec![
                "it hung up without a byte: does it speak TLS? Then write https:// in url. Or is this \
                 the port of its peers, and not that of its RPC?"
                    .to_owned(),
            ]
        }
        Cause::Connect | Cause::TimedOutFirstByte | Cause::TimedOutWhole => {
            vec![format!("is it running and may this machine reach it? {}", listening(dialect))]
        }
        Cause::Tls => vec![tls(dialect).to_owned()],
        Cause::Unauthorized => vec![credentials(dialect).to_owned()],
        Cause::Malformed | Cause::Broken => {
            vec![
                "is this the port of its RPC, and not that of its peers, and is it http or https?"
                    .to_owned(),
            ]
        }
        Cause::Stray | Cause::TooLarge => {
            vec![
                "its answers are not those to our questions: is there a proxy before it?"
                    .to_owned(),
            ]
        }
        Cause::Busy | Cause::SlowReader => Vec::new(),
    };
    if let Some(port) = node.network().default_port
        && failed.cause == Cause::Connect
        && port != node.connections.address().port
    {
        advice.push(format!("its port is {port} unless it is told otherwise"));
    }
    advice
}

fn listening(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Core | Dialect::LegacyCore => "It needs server=1, rpcbind and rpcallowip.",
        Dialect::Zebrad => "It needs rpc.listen_addr in zebrad.toml: without it there is no RPC.",
        Dialect::Dcrd => "It needs rpclisten, rpcuser and rpcpass.",
        Dialect::Geth => "It needs --http, --http.addr and --http.port.",
        Dialect::Monerod => "It needs --rpc-bind-ip and --confirm-external-bind.",
    }
}

fn tls(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Dcrd => {
            "set ca to a copy of the node's rpc.cert; if the name differs, set server_name, or make \
             the certificate anew with --altdnsnames"
        }
        _ => {
            "set ca to the authority that signed the node's certificate, or server_name to its \
             name; where it speaks plain HTTP, write http:// in url"
        }
    }
}

fn credentials(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Core | Dialect::LegacyCore => {
            "set user and password as in its rpcauth, or cookie to its .cookie file, readable for us"
        }
        Dialect::Zebrad => "set cookie to the file .cookie in its rpc.cookie_dir, readable for us",
        Dialect::Dcrd => "set user and password as its rpcuser and rpcpass",
        Dialect::Geth => "its 8545 port needs no credentials; is there a proxy before it?",
        Dialect::Monerod => "set auth to digest, user and password as in its --rpc-login",
    }
}
