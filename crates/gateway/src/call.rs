//! A call that may be forwarded: an envelope without a flaw whose method is offered.
//!
//! The node never gets the client's bytes: the envelope is written anew from the raw spans of its
//! four members, so that nothing a node might read otherwise than we do can pass (decision G6).

use bytes::{BufMut, Bytes, BytesMut};
use chain::{Dialect, Heavy, Method};
use node::Ids;

use crate::envelope::Envelope;
use crate::json::{Scan, unescape};

/// Bodies up to so many bytes are kept for their ids until their answers ended.
const KEPT_BODY: usize = 4 << 10;

/// A call that passed every check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) envelope: Envelope<'a>,
    pub(crate) method: &'a Method,
}

impl Call<'_> {
    /// Writes the envelope for the node. Absent members stay absent.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        let mut mark: &[u8] = b"{";
        let mut member = |name: &[u8], value: &[u8], quoted: bool| {
            out.extend_from_slice(mark);
            out.extend_from_slice(name);
            if quoted {
                out.put_u8(b'"');
            }
            out.extend_from_slice(value);
            if quoted {
                out.put_u8(b'"');
            }
            mark = b",";
        };
        if let Some(jsonrpc) = self.envelope.jsonrpc {
            member(b"\"jsonrpc\":", jsonrpc, false);
        }
        if let Some(id) = self.envelope.id {
            member(b"\"id\":", id, false);
        }
        member(b"\"method\":", self.method.name.as_bytes(), true);
        if let Some(params) = self.envelope.params {
            member(b"\"params\":", params, false);
        }
        out.put_u8(b'}');
    }

    /// Upper bound of what [`Call::write`] writes, in bytes.
    pub(crate) fn written_len(&self) -> usize {
        let span = |raw: Option<&[u8]>| raw.map_or(0, <[u8]>::len);
        let Envelope { jsonrpc, id, params, .. } = self.envelope;
        48 + span(jsonrpc) + span(id) + self.method.name.len() + span(params)
    }

    /// The body that the node gets for this call alone.
    pub(crate) fn body(&self) -> Bytes {
        if self.method.path {
            let params = self.envelope.params.filter(|raw| !is_empty(raw)).unwrap_or(b"{}");
            return Bytes::copy_from_slice(params);
        }
        let mut out = BytesMut::with_capacity(self.written_len());
        self.write(&mut out);
        out.freeze()
    }

    /// What the answer to `body`, which is [`Call::body`], must bear. Of a small body the id is a part,
    /// so that nothing is copied; a large one is not kept for its id.
    pub(crate) fn ids(&self, body: &Bytes) -> Ids {
        if self.method.path {
            return Ids::None;
        }
        if body.len() > KEPT_BODY {
            return Ids::One(self.id());
        }
        // It stands behind the version, as `write` has it.
        let before = self.envelope.jsonrpc.map_or(0, |raw| "\"jsonrpc\":,".len() + raw.len());
        let start = "{\"id\":".len() + before;
        Ids::One(self.envelope.id.map(|id| body.slice(start..start + id.len())))
    }

    /// The raw id, if there is one.
    pub(crate) fn id(&self) -> Option<Bytes> {
        self.envelope.id.map(Bytes::copy_from_slice)
    }

    /// Does a node of `dialect` answer this call? Calls without an id may get no answer
    /// (decision G9; research on each node's habit).
    pub(crate) fn is_answered(&self, dialect: Dialect) -> bool {
        let Envelope { jsonrpc, id, .. } = self.envelope;
        match dialect {
            Dialect::LegacyCore | Dialect::Monerod => true,
            // It makes no answer with an id that is neither a number nor a string
            // (dcrd, dcrjson/jsonrpc.go, `IsValidIDType`).
            Dialect::Dcrd => id.is_some_and(|id| !matches!(id, b"null" | b"true" | b"false")),
            Dialect::Core | Dialect::Zebrad | Dialect::Geth => {
                id.is_some() || jsonrpc.is_none_or(|raw| unescape(raw) != "\"2.0\"")
            }
        }
    }

    /// Does the call count against the cap of heavy calls (decision G1)?
    pub(crate) fn is_heavy(&self, dialect: Dialect) -> bool {
        match self.method.heavy {
            Heavy::Never => false,
            Heavy::Always => true,
            Heavy::FromVerbosity2 => self.writes_out_transactions(dialect),
        }
    }

    /// Is the verbosity of a `getblock` one that writes out whole transactions?
    fn writes_out_transactions(&self, dialect: Dialect) -> bool {
        let Some(params) = self.envelope.params else { return false };
        let mut scan = Scan::inside(params, 0);
        if params[0] == b'{' {
            return named_verbosity(&mut scan).is_none_or(is_two_or_more);
        }
        let place = if dialect == Dialect::Dcrd { 2 } else { 1 };
        let Some(raw) = item(&mut scan, place) else { return false };
        if dialect == Dialect::Dcrd { raw == b"true" } else { is_two_or_more(raw) }
    }
}

/// Are raw parameters null or an empty array, which says no more than absent ones (decision G13)?
fn is_empty(params: &[u8]) -> bool {
    match params {
        [b'n', ..] => true,
        [b'[', inside @ .., b']'] => inside.trim_ascii().is_empty(),
        _ => false,
    }
}

/// Item `place` of the array that `scan` stands before.
pub(crate) fn item<'a>(scan: &mut Scan<'a>, place: usize) -> Option<&'a [u8]> {
    scan.enter(b'[').ok()?;
    if scan.leave(b']') {
        return None;
    }
    for _ in 0..place {
        scan.value().ok()?;
        scan.expect(b',').ok()?;
    }
    scan.value().ok()
}

/// The member that gives the verbosity in named parameters; None if there is none, or an odd one.
fn named_verbosity<'a>(scan: &mut Scan<'a>) -> Option<&'a [u8]> {
    scan.enter(b'{').ok()?;
    if scan.leave(b'}') {
        return Some(b"1");
    }
    let mut found: Option<&[u8]> = Some(b"1");
    loop {
        let name = unescape(scan.name().ok()?);
        let value = scan.value().ok()?;
        match name.as_ref() {
            "verbosity" | "verbose" => found = Some(value),
            "args" => return None,
            _ => (),
        }
        if scan.leave(b'}') {
            return found;
        }
        scan.expect(b',').ok()?;
    }
}

/// Is a raw verbosity 2 or more? `false`, `true`, `0`, `1` and null are not; what is odd is.
fn is_two_or_more(raw: &[u8]) -> bool {
    !matches!(raw, b"0" | b"1" | b"true" | b"false" | b"null")
}

#[cfg(test)]
mod tests;
