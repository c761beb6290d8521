//! For how long the answer to a read stays right: a mark of each method.
//!
//! What the parameters of a call then say is read by the gateway. Invariant: a method without a mark
//! is never answered from memory, and a mark promises no more than holds on every node of the chain.
//!
//! Sources, read for each mark: the places named at the head of each method file. What a mempool, a
//! clock, a peer or chance has a part in bears no mark, even where it seldom shows:
//! `getblockchaininfo` (progress by the clock), `getmininginfo` and `get_info` (waiting
//! transactions), `getrawtransaction` without a block, `joinpsbts` (shuffles), `getchaintips`.

/// For how long the answer to a method stays right. Parameters are counted from 1, as in the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cacheable {
    /// Not at all.
    Never,
    /// For ever: it depends on the parameters alone.
    Always,
    /// Until the tip changes.
    Tip,
    /// The first parameter is a height. For ever once that is deep enough, else until the tip
    /// changes.
    Height,
    /// For ever where this parameter is the hash of a block, else until the tip changes.
    Hash(u8),
    /// For ever where the first parameter is the hash of a block and the second says that its raw
    /// bytes are wanted (0 or `false`), else until the tip changes.
    Raw,
    /// For ever where the second parameter says that raw bytes are wanted and the third is the hash
    /// of a block, else not at all: a mempool has a part in it.
    RawInBlock,
    /// This parameter is a block of an account chain. For ever where it is a hash or a number that is
    /// deep enough; until the tip changes where it is another number or a tag; not at all where it is
    /// absent, `pending` or an object.
    Tag(u8),
    /// The first parameter is a filter of logs: until the tip changes, unless it names what is
    /// pending.
    Logs,
}

impl Cacheable {
    /// The mark `cache=word` of a method file.
    pub(crate) fn of_mark(word: &str) -> Option<Cacheable> {
        Some(match word {
            "always" => Cacheable::Always,
            "tip" => Cacheable::Tip,
            "height" => Cacheable::Height,
            "hash-1" => Cacheable::Hash(1),
            "hash-2" => Cacheable::Hash(2),
            "raw" => Cacheable::Raw,
            "raw-in-block" => Cacheable::RawInBlock,
            "tag-1" => Cacheable::Tag(1),
            "tag-2" => Cacheable::Tag(2),
            "tag-3" => Cacheable::Tag(3),
            "logs" => Cacheable::Logs,
            _ => return None,
        })
    }
}
