//! Which outputs of a transaction belong to an address, and how much they hold, for whoever has a
//! view key of the receiver or the transaction key of the sender.
//!
//! Sources: monero, src/crypto/crypto.cpp and src/wallet/wallet2.cpp, `check_tx_key_helper`.
//! Leaves finding the transaction to the crates above. Invariant: an amount is told only if the
//! transaction holds it against us; the work grows with the size of the transaction and no faster;
//! every secret that is made here is wiped.

mod amount;
mod derivation;
mod secret;

pub use secret::{BadKey, KeyKind, SecretKey};

use curve25519_dalek::{EdwardsPoint, Scalar};

use super::address::{Address, AddressKind};
use super::bytes32::Key;
use super::extra::Extra;
use super::point::point;
use super::transaction::{Output, RingCt, Transaction};
use derivation::Derivation;

/// How many public keys of a transaction are tried. Wallets write one, a few once wrote two.
const MOST_KEYS: usize = 64;

/// How many pairs of an output and a public key are tried where there are several keys. A
/// coinbase of a pool has thousands of outputs and one key.
const MOST_PAIRS: usize = 16_384;

/// What belongs to an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The outputs, by their place.
    pub matches: Vec<Match>,
    /// The sum of their amounts that are known, in the smallest unit.
    pub total: u128,
}

/// An output that belongs to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its place in the transaction, from 0.
    pub index: usize,
    /// Its one-time public key.
    pub public_key: Key,
    /// How much it holds; `None` where what is written of the amount does not open the commitment.
    pub amount: Option<u64>,
}

/// Says which outputs belong to an address by a key.
///
/// A key that does not fit the address or the transaction opens nothing, which is no error. By a
/// view key an output counts even if its amount does not open (decision R1). A transaction key is
/// another's claim: it counts only for what opens, and where amounts are public, so that nothing
/// is to be opened, only if it is the one that the transaction was made with (decision R11).
pub fn check(
    transaction: &Transaction<'_>,
    address: &Address,
    kind: KeyKind,
    key: &SecretKey,
) -> Answer {
    let extra = transaction.parse_extra();
    let Some(search) = Search::new(transaction, &extra, address, kind, key) else {
        return Answer::default();
    };
    let outputs = transaction.outputs.iter().enumerate();
    let matches: Vec<Match> =
        outputs.filter_map(|(index, output)| search.look(index, output)).collect();
    let total = matches.iter().filter_map(|found| found.amount).map(u128::from).sum();
    Answer { matches, total }
}

/// What is the same for every output.
struct Search<'a> {
    transaction: &'a Transaction<'a>,
    extra: &'a Extra<'a>,
    kind: KeyKind,
    secret: &'a Scalar,
    /// The address's public spend key.
    spend: EdwardsPoint,
    /// What sender and receiver share, for each public key of the transaction.
    shared: Vec<Derivation>,
    /// The public key that an output must have of its own, where nothing else tells that a
    /// transaction key is the one that it was made with.
    bound: Option<Key>,
}

impl<'a> Search<'a> {
    /// `None` where the key does not fit the address.
    fn new(
        transaction: &'a Transaction<'a>,
        extra: &'a Extra<'a>,
        address: &Address,
        kind: KeyKind,
        key: &'a SecretKey,
    ) -> Option<Search<'a>> {
        let (spend, view, secret) = (point(&address.spend)?, point(&address.view)?, key.scalar());
        // What a secret key is multiplied with to have its public key.
        let base_times = |secret: &Scalar| match address.kind {
            AddressKind::Standard | AddressKind::Integrated(_) => EdwardsPoint::mul_base(secret),
            AddressKind::Subaddress => secret * spend,
        };
        let (shared, bound) = match kind {
            KeyKind::View if base_times(secret) != view => return None,
            KeyKind::View => (derive_all(transaction, extra, secret), None),
            KeyKind::Transaction => {
                let shared = vec![Derivation::new(secret, &view)];
                let public = transaction.has_public_amounts();
                let bound = public.then(|| Key(base_times(secret).compress().0));
                (shared, bound.filter(|bound| !extra.public_keys.contains(bound)))
            }
        };
        Some(Search { transaction, extra, kind, secret, spend, shared, bound })
    }

    /// The output, if it is the address's.
    fn look(&self, index: usize, output: &Output) -> Option<Match> {
        let additional = self.extra.additional_keys.get(index);
        if self.bound.is_some() && self.bound.as_ref() != additional {
            return None;
        }
        let own = match (self.kind, additional.and_then(point)) {
            (KeyKind::View, Some(key)) => Some(Derivation::new(self.secret, &key)),
            _ => None,
        };
        let mut shared = self.shared.iter().chain(&own);
        let scalar = shared.find_map(|shared| shared.opens(index, output, &self.spend))?;
        let amount = match self.transaction.ring_ct {
            _ if self.transaction.has_public_amounts() => Some(output.amount),
            RingCt::Known(rct) => amount::open(&rct, index, &scalar),
            RingCt::Absent | RingCt::Null | RingCt::Opaque(_) | RingCt::Unread => None,
        };
        match (self.kind, amount) {
            (KeyKind::Transaction, None) => None,
            _ => Some(Match { index, public_key: output.key, amount }),
        }
    }
}

/// What a view key shares with the sender by each public key that is a point.
fn derive_all(
    transaction: &Transaction<'_>,
    extra: &Extra<'_>,
    secret: &Scalar,
) -> Vec<Derivation> {
    let keys = &extra.public_keys;
    let most = (MOST_PAIRS / transaction.outputs.len().max(1)).clamp(1, MOST_KEYS);
    let first_of_its_kind = |(place, key): (usize, &'_ Key)| !keys[..place].contains(key);
    let keys = keys.iter().enumerate().take(MOST_KEYS).filter(|one| first_of_its_kind(*one));
    let points = keys.filter_map(|(_, key)| point(key)).take(most);
    points.map(|key| Derivation::new(secret, &key)).collect()
}

#[cfg(test)]
mod tests;
