//! Many blocks in epee's portable storage, as `get_blocks.bin` gives them.
//!
//! Source: monero, docs/PORTABLE_STORAGE.md; src/rpc/core_rpc_server_commands_defs.h,
//! `COMMAND_RPC_GET_BLOCKS_FAST`. Invariant: fields stand in alphabetical order, and empty lists
//! are left out, as monerod does it.

const HEAD: [u8; 9] = [1, 0x11, 1, 1, 1, 1, 2, 1, 1];
const U64: u8 = 5;
const STRING: u8 = 10;
const BOOL: u8 = 11;
const OBJECT: u8 = 12;
const ARRAY: u8 = 0x80;

/// A block with its transactions and the places of their outputs, the coinbase's first.
#[derive(Debug, Default)]
pub(super) struct SpanBlock {
    pub(super) block: Vec<u8>,
    pub(super) transactions: Vec<Vec<u8>>,
    pub(super) output_indices: Vec<Vec<u64>>,
}

/// The height that a request names, 0 if none; nothing where it is no portable storage.
pub(super) fn start_height(request: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"\x0cstart_height\x05";
    let entries = request.strip_prefix(&HEAD)?;
    let at = entries.windows(NAME.len()).position(|part| part == NAME);
    let Some(at) = at else { return Some(0) };
    let height = entries.get(at + NAME.len()..)?.first_chunk()?;
    Some(u64::from_le_bytes(*height))
}

/// The answer with blocks from a height on, of a chain of `count` blocks.
pub(super) fn answer(blocks: &[SpanBlock], start: u64, count: u64) -> Vec<u8> {
    let mut out = HEAD.to_vec();
    number(&mut out, 8);
    name(&mut out, "blocks", OBJECT | ARRAY);
    number(&mut out, blocks.len());
    for block in blocks {
        number(&mut out, if block.transactions.is_empty() { 1 } else { 2 });
        name(&mut out, "block", STRING);
        text(&mut out, &block.block);
        if !block.transactions.is_empty() {
            name(&mut out, "txs", STRING | ARRAY);
            number(&mut out, block.transactions.len());
            block.transactions.iter().for_each(|transaction| text(&mut out, transaction));
        }
    }
    name(&mut out, "credits", U64);
    out.extend_from_slice(&0_u64.to_le_bytes());
    name(&mut out, "current_height", U64);
    out.extend_from_slice(&count.to_le_bytes());
    name(&mut out, "output_indices", OBJECT | ARRAY);
    number(&mut out, blocks.len());
    blocks.iter().for_each(|block| indices(&mut out, &block.output_indices));
    name(&mut out, "start_height", U64);
    out.extend_from_slice(&start.to_le_bytes());
    name(&mut out, "status", STRING);
    text(&mut out, b"OK");
    name(&mut out, "top_hash", STRING);
    text(&mut out, b"");
    name(&mut out, "untrusted", BOOL);
    out.push(0);
    out
}

fn indices(out: &mut Vec<u8>, of_transactions: &[Vec<u64>]) {
    number(out, 1);
    name(out, "indices", OBJECT | ARRAY);
    number(out, of_transactions.len());
    for indices in of_transactions {
        number(out, 1);
        name(out, "indices", U64 | ARRAY);
        number(out, indices.len());
        indices.iter().for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
    }
}

fn name(out: &mut Vec<u8>, name: &str, kind: u8) {
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.push(kind);
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// A number below 2^30, whose two lowest bits tell how long it is.
fn number(out: &mut Vec<u8>, value: usize) {
    let shifted = (value as u32) << 2;
    match value {
        0..64 => out.push(shifted as u8),
        64..0x4000 => out.extend_from_slice(&(shifted as u16 | 1).to_le_bytes()),
        _ => out.extend_from_slice(&(shifted | 2).to_le_bytes()),
    }
}
