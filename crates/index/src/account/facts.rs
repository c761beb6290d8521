//! Blocks and transactions as rows hold them and readers see them.
//!
//! Leaves bytes to `rows`, where they come from to `assembly`. Invariant: amounts are in the
//! smallest unit and have 256 bits; a fee was checked not to exceed them before it was stored.

use chain::account::{Address, Hash, TokenTransfer, U256, is_malformed_transfer, token_transfers};

/// A block without its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockFacts {
    /// Height.
    pub height: u32,
    /// Hash.
    pub hash: Hash,
    /// Hash of the block before; zeros at genesis.
    pub parent: Hash,
    /// Root of the state after it.
    pub state_root: Hash,
    /// Who gets its fees.
    pub miner: Address,
    /// Seconds since 1970.
    pub time: u64,
    /// Transactions.
    pub tx_count: u32,
    /// Gas that its transactions used.
    pub gas_used: u64,
    /// Gas that they could use.
    pub gas_limit: u64,
    /// Base fee of a unit of gas; none before London.
    pub base_fee: Option<U256>,
    /// Difficulty; 0 since the Merge.
    pub difficulty: U256,
    /// Fees of all transactions.
    pub total_fees: U256,
    /// Values of all transactions, failed ones too (decision A2).
    pub total_value: U256,
    /// What it created: the rewards of miner and uncles.
    pub issuance: U256,
    /// Bytes, as the node counts them.
    pub size: u64,
    /// Withdrawals; none before Shanghai.
    pub withdrawals: Option<u32>,
    /// Blob gas over target so far; none before Cancun.
    pub excess_blob_gas: Option<u64>,
    /// What its maker wrote into it.
    pub extra_data: Vec<u8>,
}

/// Whether a transaction did what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did.
    Success,
    /// It failed and changed nothing but its fee.
    Failed,
    /// Before Byzantium, where nothing decides it (decision A3).
    Unknown,
}

/// What a transaction paid for blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobCost {
    /// Blob gas that it used.
    pub gas_used: u64,
    /// Price of a unit of it.
    pub gas_price: U256,
}

/// A transaction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Hash.
    pub hash: Hash,
    /// Sender.
    pub from: Address,
    /// Receiver; none where it creates a contract.
    pub to: Option<Address>,
    /// EIP-2718 type.
    pub kind: u8,
    /// How many the sender had sent before.
    pub nonce: u64,
    /// What it moves.
    pub value: U256,
    /// Gas that it may use.
    pub gas_limit: u64,
    /// Price of gas as the node gives it.
    pub gas_price: U256,
    /// Most it pays for a unit of gas (types 2 and above).
    pub max_fee: Option<U256>,
    /// Call data, or the code that creates a contract.
    pub input: Vec<u8>,
    /// Whether it did what it should.
    pub status: Status,
    /// Gas that it used.
    pub gas_used: u64,
    /// What it paid for a unit of gas.
    pub effective_gas_price: U256,
    /// What it paid for blobs (type 3).
    pub blob: Option<BlobCost>,
    /// The contract that it created, if it did what it should.
    pub created: Option<Address>,
    /// Place of its first log among those of the block.
    pub first_log: u32,
    /// Its logs.
    pub log_count: u32,
}

impl Transaction {
    /// Takes what decides whether it failed, where its receipt does not: a creation that failed has
    /// created nothing.
    pub(crate) fn settle(&mut self, failed: bool) {
        self.status = if failed { Status::Failed } else { Status::Success };
        self.created = self.created.filter(|_| !failed);
    }

    /// What it cost: gas and blobs (decision A2). `None` where that has more than 256 bits.
    pub(crate) fn checked_fee(&self) -> Option<U256> {
        let gas = U256::from(self.gas_used).checked_mul(self.effective_gas_price)?;
        match self.blob {
            Some(blob) => gas.checked_add(U256::from(blob.gas_used).checked_mul(blob.gas_price)?),
            None => Some(gas),
        }
    }

    /// What it cost: gas and blobs.
    pub fn fee(&self) -> U256 {
        self.checked_fee().unwrap_or(U256::MAX)
    }
}

/// A log of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract.
    pub address: Address,
    /// Up to four words to look for.
    pub topics: Vec<[u8; 32]>,
    /// Everything else.
    pub data: Vec<u8>,
}

impl Log {
    /// The transfers of tokens that it tells.
    pub fn transfers(&self) -> Vec<TokenTransfer> {
        token_transfers(self.address, &self.topics, &self.data)
    }

    /// Whether it claims to tell of such transfers, and is of another shape.
    pub(crate) fn is_malformed(&self) -> bool {
        is_malformed_transfer(self.address, &self.topics, &self.data)
    }
}

/// What a call inside of a transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// It moved an amount.
    Call,
    /// It created a contract at an address made of creator and nonce.
    Create,
    /// It created a contract at an address made of creator, salt and code.
    Create2,
    /// It ended a contract.
    SelfDestruct,
}

impl OperationKind {
    /// The word used in answers (decision A4).
    pub fn as_str(self) -> &'static str {
        match self {
            OperationKind::Call => "call",
            OperationKind::Create => "create",
            OperationKind::Create2 => "create2",
            OperationKind::SelfDestruct => "selfdestruct",
        }
    }
}

/// A call inside of a transaction that moved an amount, or created or ended a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it did.
    pub kind: OperationKind,
    /// Who did it.
    pub from: Address,
    /// To whom; the contract that was created; who got what a contract left.
    pub to: Address,
    /// How much.
    pub value: U256,
}

/// A block with everything that is stored of it before it is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The block.
    pub(crate) facts: BlockFacts,
    /// Its transactions in order, each with its logs.
    pub(crate) transactions: Vec<(Transaction, Vec<Log>)>,
}

/// What a trace of a transaction tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// Whether the transaction failed.
    pub(crate) failed: bool,
    /// Depth first, in order of execution.
    pub(crate) operations: Vec<Operation>,
}

/// How a contract came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creation {
    /// Who created it, directly.
    pub creator: Address,
    /// Height of the block.
    pub height: u32,
    /// Place of the transaction in it.
    pub index: u32,
}
