//! What a chain adds to Bitcoin's format, as switches.
//!
//! Invariant: a switch says what bytes mean, never which chain it is.

/// The format of a chain's blocks, transactions and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// How headers and transactions are written and named.
    pub layout: Layout,
    /// Transactions may carry witnesses (BIP 144); `vsize` means something.
    pub witness: bool,
    /// Transactions and blocks may carry MimbleWimble extension data (LIP 3).
    pub mweb: bool,
    /// A header may be followed by the proof of work of a parent chain.
    pub aux_pow: bool,
    /// The chain's node prints the version of a transaction without a sign.
    pub unsigned_version: bool,
    /// Output scripts may begin with a CashToken prefix (CHIP-2022-02).
    pub tokens: bool,
    /// How the chain's node names output scripts.
    pub scripts: ScriptRules,
}

/// How headers and transactions are written, and by which hashes they are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Bitcoin's: a header of 80 bytes, double SHA-256.
    Plain,
    /// Transactions move value into and out of shielded pools, beside inputs and outputs; a header
    /// ends with an Equihash solution of its own length. Double SHA-256, from version 5 of a
    /// transaction on a tree of BLAKE2b hashes (ZIP 244).
    Shielded,
    /// Holders of stakes vote on blocks: a header of 180 bytes, two trees of transactions, what
    /// signs a transaction apart from what it does. BLAKE-256.
    Staked,
}

/// How a node names output scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptRules {
    /// Which witness programs have a name.
    pub witness: WitnessNames,
    /// Pay-to-anchor is named `anchor`.
    pub anchor: bool,
    /// Peg-ins and the carried-over sum of the MimbleWimble extension have a name.
    pub mweb: bool,
    /// A script hash may have 32 bytes.
    pub script_hash_32: bool,
    /// Which pushes count as public keys.
    pub keys: KeyPushes,
    /// The largest number of keys of a bare multisig script.
    pub multisig_keys: u8,
    /// Scripts may have a tag of a stake transaction and keys of other curves; the names are
    /// those of the node that knows them.
    pub stake: bool,
}

/// Which witness programs have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessNames {
    /// None, the chain never had them.
    None,
    /// Those of version 0: the node has the names though the chain never enabled witnesses.
    Version0,
    /// Those of every version.
    All,
}

/// Which pushes count as public keys in `pubkey` and `multisig` scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPushes {
    /// Any push of 33 to 65 bytes, and any push of 20 bytes as a key hash: Core up to 0.16.
    AnyOf33To65,
    /// 33 or 65 bytes with a fitting first byte: Core since 0.17.
    FittingFirstByte,
    /// The same, pushed by the shortest opcode.
    FittingFirstByteMinimal,
}
