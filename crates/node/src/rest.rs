//! Raw blocks, by REST where a node has it and by JSON-RPC where it has not.
//!
//! Decoding is left to the caller, when a missing route is asked for again to `optional_route`.
//! Invariant: no block is given under another block's hash.
//!
//! Source: Bitcoin Core, src/rest.cpp and src/httpserver.cpp: a path that nothing is registered
//! for answers 404 without a body, so REST that is off does; a block that is not there answers 404
//! with a text.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use chain::Dialect;
use chain::utxo::Header;
use http::StatusCode;
use serde_json::value::RawValue;

use crate::call::result;
use crate::node::Node;
use crate::optional_route::OptionalRoute;
use crate::{Busy, CallError, Cause, NodeError, Weight, says_busy};

/// As which Core family nodes refuse a verbosity that is no boolean (Dogecoin Core before 1.14.7).
const WANTS_BOOLEAN: &str = "not a boolean";

impl OptionalRoute {
    /// Gets `path`, unless the route is known to be missing.
    async fn get(&self, node: &Arc<Node>, path: &str) -> Result<Option<Bytes>, CallError> {
        if !self.may_be_there() {
            return Ok(None);
        }
        let (status, body) = match node.get(path, Weight::Internal).await {
            Ok(answer) => answer,
            Err(CallError::Node(NodeError { cause: Cause::Unauthorized, .. })) => {
                self.note_missing();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match status {
            StatusCode::OK => return Ok(Some(body)),
            _ if says_busy(status, &body) => return Err(Busy.into()),
            StatusCode::FORBIDDEN => self.note_missing(),
            StatusCode::NOT_FOUND if !says_block_is_missing(&body) => self.note_missing(),
            // The block is not there, or the node is starting: the RPC says which.
            _ => {}
        }
        Ok(None)
    }
}

impl Node {
    /// The bytes of a block by its hash (64 hex digits as shown), whether it is in the best chain
    /// or not: by REST where the node has it, else by `getblock`.
    ///
    /// Litecoin's block includes its extension block, unless the node runs with another
    /// `-rpcserialversion` than its own.
    ///
    /// # Errors
    /// Those of [`call`](Node::call); `Rpc` where the node does not have the block (-5) or has
    /// pruned it (-1), `Shape` where it gives something else than this block.
    pub async fn raw_block(self: &Arc<Node>, hash: &str) -> Result<Bytes, CallError> {
        let path = rest_path("block", hash)?;
        if self.may_have_rest()
            && let Some(block) = self.routes.block.get(self, &path).await?
        {
            if self.is_block(&block, hash) {
                return Ok(block);
            }
            // Whatever answers there, it is no REST of a node.
            self.routes.block.note_missing();
        }
        let block = self.get_block(hash).await?;
        let right = self.is_block(&block, hash);
        right.then_some(block).ok_or(CallError::Shape { status: StatusCode::OK })
    }

    async fn get_block(self: &Arc<Node>, hash: &str) -> Result<Bytes, CallError> {
        let flag = &self.routes.boolean_verbosity;
        let boolean = self.chain().dialect == Dialect::Dcrd || flag.load(Relaxed);
        match self.get_block_as(hash, boolean).await {
            Err(CallError::Rpc { message, .. }) if !boolean && message.contains(WANTS_BOOLEAN) => {
                flag.store(true, Relaxed);
                self.get_block_as(hash, true).await
            }
            outcome => outcome,
        }
    }

    async fn get_block_as(self: &Arc<Node>, hash: &str, boolean: bool) -> Result<Bytes, CallError> {
        let verbosity = if boolean { "false" } else { "0" };
        let params = format!(r#"["{hash}",{verbosity}]"#);
        let (status, answer) = self.ask_rpc("getblock", &params, Weight::Internal).await?;
        from_hex(result(status, &answer)?).ok_or(CallError::Shape { status })
    }

    fn may_have_rest(&self) -> bool {
        matches!(self.chain().dialect, Dialect::Core | Dialect::LegacyCore)
    }

    /// Whether bytes begin with the header of this block. Where the format is not known here, that
    /// is left to who reads it.
    fn is_block(&self, block: &[u8], hash: &str) -> bool {
        let Some(format) = self.chain().format() else { return true };
        Header::at_front(block, format)
            .is_ok_and(|(header, _)| header.hash.to_string().eq_ignore_ascii_case(hash))
    }
}

/// The path of something of a block.
fn rest_path(what: &str, hash: &str) -> Result<String, NodeError> {
    if hash.len() != 64 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(NodeError::unsent(Cause::Malformed, "the hash is no block hash"));
    }
    Ok(format!("/rest/{what}/{hash}.bin"))
}

/// Whether a 404 is a node's word on a block rather than on the route. A web server's own page
/// says "Not Found", with capitals.
fn says_block_is_missing(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&body[..body.len().min(512)]);
    text.contains("not found") || text.contains("not available")
}

/// The bytes of a JSON text of hex digits, decoded where they stand.
fn from_hex(text: &RawValue) -> Option<Bytes> {
    let digits = text.get().strip_prefix('"')?.strip_suffix('"')?;
    const_hex::decode(digits).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_nodes_word_on_the_block_keeps_the_route() {
        assert!(says_block_is_missing(b"00ff not found\r\n"));
        assert!(says_block_is_missing(b"00ff not available (pruned data)\r\n"));
        for body in [&b""[..], b"<html><title>404 Not Found</title>", b"404 page", b"\xff\xfe"] {
            assert!(!says_block_is_missing(body));
        }
    }

    #[test]
    fn hex_and_hashes_are_checked() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(from_hex(&raw("\"00fF\"")).unwrap().as_ref(), [0, 255]);
        for bad in ["\"0\"", "\"zz\"", "12", "null", "\"\\u0030\""] {
            assert!(from_hex(&raw(bad)).is_none(), "{bad}");
        }
        assert_eq!(rest_path("block", &"a".repeat(64)).unwrap().len(), 80);
        for bad in ["", "ab", &"g".repeat(64), &format!("../{}", "a".repeat(61))] {
            assert!(rest_path("block", bad).is_err());
        }
    }
}
