//! The constants by which a network writes its addresses, one type per family of encodings.
//!
//! Encoding and decoding are left to the codecs that read these. Invariant: where a field is a
//! list, its first entry is the one that is printed and the others are read only.

/// The address constants of one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressParams {
    /// Base58Check with one version byte, Bech32 and CashAddr: Bitcoin and its near relatives.
    Bitcoin(BitcoinAddresses),
    /// Base58Check with two version bytes, unified and shielded forms: Zcash.
    Zcash(ZcashAddresses),
    /// Base58 with two version bytes and a BLAKE-256 checksum: Decred.
    Decred(DecredAddresses),
    /// Monero's block-wise base58 with a one-byte tag.
    Monero(MoneroAddresses),
    /// `0x` and 40 hex digits, the same on every network: Ethereum.
    Ethereum,
}

/// Address constants of Bitcoin's near relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitcoinAddresses {
    /// Base58Check version of pay-to-pubkey-hash.
    pub p2pkh: u8,
    /// Base58Check versions of pay-to-script-hash; the first is printed, all are read.
    pub p2sh: &'static [u8],
    /// Human-readable part of segregated-witness addresses (BIP 173, BIP 350). `None`: the chain
    /// has no witness programs.
    pub segwit: Option<&'static str>,
    /// Human-readable part of MimbleWimble stealth addresses, which no output on the chain shows.
    pub mweb: Option<&'static str>,
    /// CashAddr. Where there is one it is printed, and base58 is only read.
    pub cashaddr: Option<CashAddr>,
}

/// CashAddr constants of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CashAddr {
    /// Prefix without the colon.
    pub prefix: &'static str,
    /// A prefix that is read too: of wallets that hold tokens of the chain. It has no form of its
    /// own on test networks.
    pub token_prefix: Option<&'static str>,
    /// Script hashes of 32 bytes and the token-aware types (`z…`, `r…`) are read too.
    pub tokens: bool,
}

/// Address constants of Zcash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZcashAddresses {
    /// Base58Check version of pay-to-pubkey-hash (`t1`, `tm`).
    pub p2pkh: [u8; 2],
    /// Base58Check version of pay-to-script-hash (`t3`, `t2`).
    pub p2sh: [u8; 2],
    /// Human-readable part of transparent-source-only addresses (ZIP 320, Bech32m); each stands
    /// for a pay-to-pubkey-hash.
    pub tex: &'static str,
    /// Human-readable part of Sapling addresses (Bech32).
    pub sapling: &'static str,
    /// Human-readable part of unified addresses (ZIP 316, Bech32m).
    pub unified: &'static str,
    /// Base58Check version of Sprout addresses.
    pub sprout: [u8; 2],
}

/// Address constants of Decred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecredAddresses {
    /// Version of a bare public key (`Dk`).
    pub pubkey: [u8; 2],
    /// Version of pay-to-pubkey-hash, ECDSA on secp256k1 (`Ds`).
    pub pubkey_hash: [u8; 2],
    /// Version of pay-to-pubkey-hash, Ed25519 (`De`).
    pub pubkey_hash_ed25519: [u8; 2],
    /// Version of pay-to-pubkey-hash, Schnorr on secp256k1 (`DS`).
    pub pubkey_hash_schnorr: [u8; 2],
    /// Version of pay-to-script-hash (`Dc`).
    pub script_hash: [u8; 2],
}

/// Address tags of Monero, varints of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoneroAddresses {
    /// Tag of a primary address.
    pub standard: u8,
    /// Tag of a primary address with a payment id.
    pub integrated: u8,
    /// Tag of a subaddress.
    pub subaddress: u8,
}
