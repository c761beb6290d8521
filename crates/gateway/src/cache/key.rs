//! All of a call but its id: what must be the same, byte for byte, for two calls to share an answer.

use bytes::{BufMut, Bytes, BytesMut};
use chain::Chain;

use crate::call::Call;

/// A byte that UTF-8 has not, between members.
const BETWEEN: u8 = 0xff;

/// What is asked, of which chain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(Bytes);

impl Key {
    /// The chain, and the raw members of the call apart from its id. `jsonrpc` is one of them, since
    /// nodes answer each version in its own form.
    pub(crate) fn of(chain: &Chain, call: &Call<'_>) -> Key {
        let mut out = BytesMut::with_capacity(call.written_len());
        out.put_u8(chain.ordinal as u8);
        out.extend_from_slice(call.method.name.as_bytes());
        for member in [call.envelope.jsonrpc, call.envelope.params] {
            out.put_u8(BETWEEN);
            out.extend_from_slice(member.unwrap_or_default());
        }
        Key(out.freeze())
    }

    /// Bytes that it takes up.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(super) fn named(name: &str) -> Key {
        Key(Bytes::copy_from_slice(name.as_bytes()))
    }
}
