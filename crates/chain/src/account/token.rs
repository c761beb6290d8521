//! Transfers of tokens, as logs tell them: ERC-20, ERC-721 and ERC-1155 by their strict shapes.
//!
//! Sources: ERC-20, ERC-721, ERC-1155; EIP-7708 for logs that are no tokens. Leaves symbols to
//! `abi`. Invariant: a log that does not fit its shape is skipped alone (decision A5); what is read
//! never exceeds what the log holds.

use super::{Address, U256};

/// `Transfer(address,address,uint256)`.
const TRANSFER: [u8; 32] =
    topic("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// `TransferSingle(address,address,address,uint256,uint256)`.
const SINGLE: [u8; 32] = topic("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");
/// `TransferBatch(address,address,address,uint256[],uint256[])`.
const BATCH: [u8; 32] = topic("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb");

/// Who says that ether itself moved (EIP-7708), also in simulations; that is no token.
const SYSTEM: [Address; 2] = [system([0xff, 0xfe]), Address([0xee; 20])];

const fn system([fill, last]: [u8; 2]) -> Address {
    let mut bytes = [fill; 20];
    bytes[19] = last;
    Address(bytes)
}

const fn topic(digits: &str) -> [u8; 32] {
    let digits = digits.as_bytes();
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < 32 {
        bytes[at] = nibble(digits[2 * at]) << 4 | nibble(digits[2 * at + 1]);
        at += 1;
    }
    bytes
}

const fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit - b'a' + 10,
    }
}

/// Which standard a transfer is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// An amount of one currency.
    Erc20,
    /// One thing with a number.
    Erc721,
    /// An amount of one of many things.
    Erc1155,
}

impl Standard {
    /// The word used in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Standard::Erc20 => "erc20",
            Standard::Erc721 => "erc721",
            Standard::Erc1155 => "erc1155",
        }
    }
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenTransfer {
    /// The contract.
    pub token: Address,
    /// Who had it; zero where it was made.
    pub from: Address,
    /// Who has it; zero where it was destroyed.
    pub to: Address,
    /// How much, in the token's smallest unit; 1 of a thing with a number.
    pub amount: U256,
    /// Which thing, where there are several.
    pub id: Option<U256>,
    /// The standard.
    pub standard: Standard,
}

/// The transfers that a log of `token` tells; none where it tells of none, or not in their shape.
pub fn token_transfers(token: Address, topics: &[[u8; 32]], data: &[u8]) -> Vec<TokenTransfer> {
    if SYSTEM.contains(&token) {
        return Vec::new();
    }
    match topics {
        [TRANSFER, rest @ ..] => transfer(token, rest, data).into_iter().collect(),
        [SINGLE, _, from, to] if data.len() == 64 => {
            let (id, amount) = (word(data, 0), word(data, 32));
            vec![multi(token, from, to, id.unwrap_or_default(), amount.unwrap_or_default())]
        }
        [BATCH, _, from, to] => batch(token, from, to, data).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Whether a log claims by its first topic to tell of transfers of tokens, and does not: it is of
/// another shape, and is skipped alone.
pub fn is_malformed_transfer(token: Address, topics: &[[u8; 32]], data: &[u8]) -> bool {
    if SYSTEM.contains(&token) {
        return false;
    }
    match topics {
        [TRANSFER, rest @ ..] => transfer(token, rest, data).is_none(),
        [SINGLE, rest @ ..] => rest.len() != 3 || data.len() != 64,
        [BATCH, _, from, to] => batch(token, from, to, data).is_none(),
        [BATCH, ..] => true,
        _ => false,
    }
}

/// A transfer of one kind: which, is told by how much of it is indexed.
fn transfer(token: Address, topics: &[[u8; 32]], data: &[u8]) -> Option<TokenTransfer> {
    let thing = |from, to, id| TokenTransfer {
        token,
        from: Address::of_word(from),
        to: Address::of_word(to),
        amount: U256::from(1),
        id: Some(id),
        standard: Standard::Erc721,
    };
    match (topics, data.len()) {
        ([from, to], 32) => Some(TokenTransfer {
            token,
            from: Address::of_word(from),
            to: Address::of_word(to),
            amount: word(data, 0)?,
            id: None,
            standard: Standard::Erc20,
        }),
        ([from, to, id], 0) => Some(thing(from, to, U256::from_be_bytes(*id))),
        // Contracts from before the standard index nothing.
        ([], 96) => {
            let (from, to) = (data.first_chunk()?, data.get(32..64)?.first_chunk()?);
            Some(thing(from, to, word(data, 64)?))
        }
        _ => None,
    }
}

fn multi(token: Address, from: &[u8; 32], to: &[u8; 32], id: U256, amount: U256) -> TokenTransfer {
    let (from, to) = (Address::of_word(from), Address::of_word(to));
    TokenTransfer { token, from, to, amount, id: Some(id), standard: Standard::Erc1155 }
}

/// Two lists of the same length, each within the data.
fn batch(
    token: Address,
    from: &[u8; 32],
    to: &[u8; 32],
    data: &[u8],
) -> Option<Vec<TokenTransfer>> {
    let (ids, amounts) = (list(data, 0)?, list(data, 32)?);
    if ids.len() != amounts.len() {
        return None;
    }
    let pairs = ids.chunks_exact(32).zip(amounts.chunks_exact(32));
    pairs.map(|(id, amount)| Some(multi(token, from, to, word(id, 0)?, word(amount, 0)?))).collect()
}

/// The bytes of the list that the word at `at` points to.
fn list(data: &[u8], at: usize) -> Option<&[u8]> {
    let place = |at| word(data, at).and_then(|word| usize::try_from(word).ok());
    let start = place(at)?;
    let length = place(start)?.checked_mul(32)?;
    let first = start.checked_add(32)?;
    data.get(first..first.checked_add(length)?)
}

fn word(data: &[u8], at: usize) -> Option<U256> {
    data.get(at..at.checked_add(32)?)?.first_chunk::<32>().map(|word| U256::from_be_bytes(*word))
}

#[cfg(test)]
mod tests;
