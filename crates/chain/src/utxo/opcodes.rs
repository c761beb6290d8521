//! Walks the opcodes of a script.
//!
//! Source: Bitcoin Core, src/script/script.h, `GetScriptOp`.

pub(super) const OP_0: u8 = 0x00;
pub(super) const OP_PUSHDATA1: u8 = 0x4c;
pub(super) const OP_PUSHDATA2: u8 = 0x4d;
pub(super) const OP_PUSHDATA4: u8 = 0x4e;
pub(super) const OP_1: u8 = 0x51;
pub(super) const OP_8: u8 = 0x58;
pub(super) const OP_9: u8 = 0x59;
pub(super) const OP_16: u8 = 0x60;
pub(super) const OP_RETURN: u8 = 0x6a;
pub(super) const OP_DUP: u8 = 0x76;
pub(super) const OP_EQUAL: u8 = 0x87;
pub(super) const OP_EQUALVERIFY: u8 = 0x88;
pub(super) const OP_HASH160: u8 = 0xa9;
pub(super) const OP_HASH256: u8 = 0xaa;
pub(super) const OP_CHECKSIG: u8 = 0xac;
pub(super) const OP_CHECKMULTISIG: u8 = 0xae;

// Where stakes vote: dcrd, txscript/opcode.go.
pub(super) const OP_SSTX: u8 = 0xba;
pub(super) const OP_SSGEN: u8 = 0xbb;
pub(super) const OP_SSRTX: u8 = 0xbc;
pub(super) const OP_SSTXCHANGE: u8 = 0xbd;
pub(super) const OP_CHECKSIGALT: u8 = 0xbe;
/// What stands before OP_CHECKSIGALT: the number of a kind of signature.
pub(super) const OP_ED25519: u8 = OP_1;
pub(super) const OP_SCHNORR: u8 = OP_1 + 1;
pub(super) const OP_TADD: u8 = 0xc1;
pub(super) const OP_TSPEND: u8 = 0xc2;
pub(super) const OP_TGEN: u8 = 0xc3;

/// One opcode with what it pushes.
#[derive(Clone, Copy)]
pub(super) struct Op<'a> {
    pub(super) code: u8,
    pub(super) data: &'a [u8],
}

impl Op<'_> {
    /// The number that OP_1 to OP_16 push.
    pub(super) fn small_integer(self) -> Option<u8> {
        (OP_1..=OP_16).contains(&self.code).then(|| self.code - OP_1 + 1)
    }

    /// Whether the data is pushed by the shortest opcode.
    pub(super) fn is_minimal(self) -> bool {
        match *self.data {
            [] => self.code == OP_0,
            // A number that has an opcode of its own.
            [1..=16 | 0x81] => false,
            _ => {
                let shortest = match self.data.len() {
                    length @ 0..=75 => length as u8,
                    76..=0xff => OP_PUSHDATA1,
                    0x100..=0xffff => OP_PUSHDATA2,
                    _ => OP_PUSHDATA4,
                };
                self.code == shortest
            }
        }
    }
}

/// The opcodes of a script, up to its end or the first push that goes past it.
#[derive(Clone)]
pub(super) struct Ops<'a> {
    rest: &'a [u8],
}

impl<'a> Ops<'a> {
    pub(super) fn new(script: &'a [u8]) -> Ops<'a> {
        Ops { rest: script }
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = Op<'a>;

    fn next(&mut self) -> Option<Op<'a>> {
        let (&code, rest) = self.rest.split_first()?;
        let (length, rest) = match code {
            OP_PUSHDATA1 => {
                rest.split_first_chunk().map(|(n, r)| (u8::from_le_bytes(*n).into(), r))?
            }
            OP_PUSHDATA2 => {
                rest.split_first_chunk().map(|(n, r)| (u16::from_le_bytes(*n).into(), r))?
            }
            OP_PUSHDATA4 => {
                let (length, rest) = rest.split_first_chunk()?;
                (usize::try_from(u32::from_le_bytes(*length)).ok()?, rest)
            }
            direct @ ..OP_PUSHDATA1 => (direct.into(), rest),
            _ => (0, rest),
        };
        let (data, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Op { code, data })
    }
}

/// Whether a script does nothing but push, without a push past its end.
pub(super) fn is_push_only(script: &[u8]) -> bool {
    let mut ops = Ops::new(script);
    ops.by_ref().all(|op| op.code <= OP_16) && ops.is_done()
}
