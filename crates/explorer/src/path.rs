//! The path table: every endpoint of every family, with one match on family.
//!
//! Leaves arguments to the handlers. Invariant: a path is known or not before a key is looked at;
//! whether a chain's family has it is decided before an argument is read (decision E13).

use chain::Family;
use http::Method;

use crate::refusal::{Reason, Refusal};

/// An endpoint of some family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    Status,
    Blocks,
    Block,
    BlockTxs,
    Tx,
    Address,
    AddressTxs,
    AddressUtxo,
    Gas,
    Contract,
    Mempool,
    Search,
    OutputsCheck,
}

impl Endpoint {
    /// Every endpoint, in the order of the table.
    pub(crate) const ALL: [Endpoint; 13] = [
        Endpoint::Status,
        Endpoint::Blocks,
        Endpoint::Block,
        Endpoint::BlockTxs,
        Endpoint::Tx,
        Endpoint::Address,
        Endpoint::AddressTxs,
        Endpoint::AddressUtxo,
        Endpoint::Gas,
        Endpoint::Contract,
        Endpoint::Mempool,
        Endpoint::Search,
        Endpoint::OutputsCheck,
    ];

    /// Its name in logs and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Endpoint::Status => "status",
            Endpoint::Blocks => "blocks",
            Endpoint::Block => "block",
            Endpoint::BlockTxs => "block_txs",
            Endpoint::Tx => "tx",
            Endpoint::Address => "address",
            Endpoint::AddressTxs => "address_txs",
            Endpoint::AddressUtxo => "address_utxo",
            Endpoint::Gas => "gas",
            Endpoint::Contract => "contract",
            Endpoint::Mempool => "mempool",
            Endpoint::Search => "search",
            Endpoint::OutputsCheck => "outputs_check",
        }
    }

    /// Whether it is asked with a body.
    pub(crate) fn takes_body(self) -> bool {
        self == Endpoint::OutputsCheck
    }

    /// Whether chains of a family have it.
    pub(crate) fn is_of(self, family: Family) -> bool {
        use Endpoint::{
            Address, AddressTxs, AddressUtxo, Block, BlockTxs, Blocks, Contract, Gas, Mempool,
            OutputsCheck, Search, Status, Tx,
        };
        match (self, family) {
            (Status | Blocks | Block | BlockTxs | Tx | Mempool | Search, _) => true,
            (Address | AddressTxs, Family::Utxo(_) | Family::Account) => true,
            (AddressUtxo, Family::Utxo(_)) => true,
            (Gas | Contract, Family::Account) => true,
            (OutputsCheck, Family::Ring) => true,
            (Address | AddressTxs, Family::Ring)
            | (AddressUtxo, Family::Account | Family::Ring)
            | (Gas | Contract, Family::Utxo(_) | Family::Ring)
            | (OutputsCheck, Family::Utxo(_) | Family::Account) => false,
        }
    }
}

/// A path that some family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// The chain's name, not yet looked up.
    pub(crate) slug: &'a str,
    /// The endpoint.
    pub(crate) endpoint: Endpoint,
    /// The one argument in the path, as it came; empty where there is none.
    pub(crate) argument: &'a str,
}

impl<'a> Path<'a> {
    /// Finds a path in the table; none where no family has it, or not with this verb.
    pub(crate) fn of(method: &Method, path: &'a str) -> Option<Path<'a>> {
        let mut parts = path.strip_prefix("/api/v1/")?.split('/');
        let slug = parts.next().filter(|slug| !slug.is_empty())?;
        let rest = [parts.next(), parts.next(), parts.next(), parts.next()];
        if parts.next().is_some() {
            return None;
        }
        let (endpoint, argument) = match rest {
            [Some("status"), None, ..] => (Endpoint::Status, ""),
            [Some("blocks"), None, ..] => (Endpoint::Blocks, ""),
            [Some("block"), Some(block), None, _] => (Endpoint::Block, block),
            [Some("block"), Some(block), Some("txs"), None] => (Endpoint::BlockTxs, block),
            [Some("tx"), Some(tx), None, _] => (Endpoint::Tx, tx),
            [Some("tx"), Some(tx), Some("outputs"), Some("check")] => (Endpoint::OutputsCheck, tx),
            [Some("address"), Some(address), None, _] => (Endpoint::Address, address),
            [Some("address"), Some(address), Some("txs"), None] => (Endpoint::AddressTxs, address),
            [Some("address"), Some(address), Some("utxo"), None] => {
                (Endpoint::AddressUtxo, address)
            }
            [Some("gas"), None, ..] => (Endpoint::Gas, ""),
            [Some("contract"), Some(address), None, _] => (Endpoint::Contract, address),
            [Some("mempool"), None, ..] => (Endpoint::Mempool, ""),
            [Some("search"), Some(query), None, _] => (Endpoint::Search, query),
            _ => return None,
        };
        let takes_argument = !matches!(
            endpoint,
            Endpoint::Status | Endpoint::Blocks | Endpoint::Gas | Endpoint::Mempool
        );
        // An empty argument would be a path that ends with a slash, which is another path.
        if takes_argument && argument.is_empty() {
            return None;
        }
        let verb = match endpoint.takes_body() {
            true => method == Method::POST,
            false => method == Method::GET || method == Method::HEAD,
        };
        verb.then_some(Path { slug, endpoint, argument })
    }
}

/// The refusal of a path that no family has, or not with this verb; it says what is near.
pub(crate) fn unknown(method: &Method, path: &str) -> Refusal {
    let known = |verb: Method, path: &str| Path::of(&verb, path).is_some();
    let any = |path: &str| known(Method::GET, path) || known(Method::POST, path);
    let text = if *method != Method::GET && known(Method::GET, path) {
        "this path is asked with GET or HEAD"
    } else if known(Method::POST, path) {
        "this path is asked with POST"
    } else if any(path.trim_end_matches('/')) {
        "no such path; without the slash at its end there is one"
    } else if any(&path.to_ascii_lowercase()) {
        "no such path; in lower case there is one"
    } else if any(&path.trim_end_matches('/').to_ascii_lowercase()) {
        "no such path; in lower case and without the slash at its end there is one"
    } else {
        return Reason::EndpointNotFound.into();
    };
    Refusal::saying(Reason::EndpointNotFound, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<(&str, Endpoint, &str)> {
        Path::of(&Method::GET, path).map(|path| (path.slug, path.endpoint, path.argument))
    }

    #[test]
    fn paths_of_all_families_are_known_and_others_are_not() {
        assert_eq!(of("/api/v1/btc/status"), Some(("btc", Endpoint::Status, "")));
        assert_eq!(of("/api/v1/btc/block/7/txs"), Some(("btc", Endpoint::BlockTxs, "7")));
        assert_eq!(of("/api/v1/x/address/a/utxo"), Some(("x", Endpoint::AddressUtxo, "a")));
        assert_eq!(of("/api/v1/eth/gas"), Some(("eth", Endpoint::Gas, "")));
        assert_eq!(of("/api/v1/eth/contract/0x"), Some(("eth", Endpoint::Contract, "0x")));
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/api/v1/",
            "/api/v1/btc",
            "/api/v1/btc/",
            "/api/v1//status",
            "/api/v1/btc/status/",
            "/api/v1/btc/Status",
            "/api/v2/btc/status",
            "/api/v1/btc/block",
            "/api/v1/btc/block/",
            "/api/v1/btc/block/7/",
            "/api/v1/btc/block/7/txs/",
            "/api/v1/btc/address/a/txs/1",
            "/api/v1/btc/tx/a/outputs",
            "/api/v1/btc/search/",
            "//api/v1/btc/status",
            "/api/v1/btc/mempool/x",
            "/api/v1/btc/tx/a/outputs/check",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
        let post = |path| Path::of(&Method::POST, path).map(|path| path.endpoint);
        assert_eq!(post("/api/v1/xmr/tx/a/outputs/check"), Some(Endpoint::OutputsCheck));
        assert_eq!(post("/api/v1/btc/status"), None);
        assert_eq!(Path::of(&Method::HEAD, "/api/v1/btc/status").map(|p| p.slug), Some("btc"));
    }

    #[test]
    fn what_is_near_an_unknown_path_is_told() {
        let told = |verb: Method, path: &str| String::from_utf8(unknown(&verb, path).body().into());
        for (verb, path, words) in [
            (Method::GET, "/api/v1/btc/status/", "path; without the slash at its end there"),
            (Method::GET, "/api/v1/btc/address/a//", "path; without the slash at its end there"),
            (Method::GET, "/api/v1/btc/Status", "path; in lower case there"),
            (Method::GET, "/api/v1/btc/Address/a/", "path; in lower case and without the slash"),
            (Method::GET, "/API/v1/btc/status/", "path; in lower case and without the slash"),
            (Method::POST, "/api/v1/btc/status", "asked with GET or HEAD"),
            (Method::GET, "/api/v1/xmr/tx/a/outputs/check", "asked with POST"),
            (Method::GET, "/api/v1/btc/nonsense/", "\"no such path\""),
        ] {
            let text = told(verb, path).unwrap();
            assert!(text.contains(words), "{path}: {text}");
        }
    }

    #[test]
    fn each_family_has_its_own() {
        let count = |family| Endpoint::ALL.iter().filter(|e| e.is_of(family)).count();
        assert_eq!(count(chain::find("btc").unwrap().family), 10);
        assert_eq!(count(Family::Account), 11);
        assert_eq!(count(Family::Ring), 8);
    }
}
