//! The table of chains and networks with itself.

use std::collections::HashSet;

use chain::{AddressParams, Chain, Network, NetworkKind};

fn all() -> impl Iterator<Item = (&'static Chain, &'static Network)> {
    chain::ALL.iter().flat_map(|chain| chain.networks.iter().map(move |network| (*chain, network)))
}

#[test]
fn ordinals_are_places_and_slugs_are_found() {
    let slugs: Vec<&str> = chain::ALL.iter().map(|chain| chain.slug).collect();
    assert_eq!(slugs, ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr", "eth", "xmr"]);
    for (place, chain) in chain::ALL.into_iter().enumerate() {
        assert_eq!(chain.ordinal, place);
        assert_eq!(chain::find(chain.slug), Some(chain));
        assert_eq!(chain::find(&chain.slug.to_uppercase()), None);
        assert_eq!(format!("{chain:?}"), chain.slug);
    }
    assert_eq!(chain::find("bsv"), None);
}

#[test]
fn units() {
    let decimals: Vec<u8> = chain::ALL.iter().map(|chain| chain.decimals).collect();
    assert_eq!(decimals, [8, 8, 8, 8, 2, 8, 8, 18, 12]);
}

#[test]
fn every_chain_has_one_main_network_and_a_private_one() {
    for chain in chain::ALL {
        let of = |kind| chain.networks.iter().filter(move |network| network.kind == kind).count();
        assert_eq!(of(NetworkKind::Main), 1, "{chain:?}");
        assert!(of(NetworkKind::Regtest) >= 1, "{chain:?}");
        assert_eq!(chain.mainnet().name, "mainnet", "{chain:?}");
        assert_eq!(chain.mainnet().kind, NetworkKind::Main, "{chain:?}");
    }
}

#[test]
fn network_names_are_unique_within_a_chain_and_found() {
    for chain in chain::ALL {
        let names: HashSet<&str> = chain.networks.iter().map(|network| network.name).collect();
        assert_eq!(names.len(), chain.networks.len(), "{chain:?}");
        for network in chain.networks {
            assert_eq!(chain.network(network.name).unwrap().name, network.name);
        }
    }
}

#[test]
fn hashes_are_lower_case_hex_of_32_bytes() {
    for (chain, network) in all() {
        let digits = |hash: &'static str| match chain.slug {
            "eth" => hash.strip_prefix("0x").expect("eth hashes start with 0x"),
            _ => hash,
        };
        for hash in network.genesis.into_iter().chain(network.fork_block.map(|fork| fork.hash)) {
            let digits = digits(hash);
            assert_eq!(digits.len(), 64, "{chain:?} {}", network.name);
            assert!(digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')), "{hash}");
        }
    }
}

/// Where two chains start from the same block, something else has to tell their nodes apart.
#[test]
fn networks_with_one_genesis_are_told_apart() {
    let rows: Vec<_> = all().filter(|(_, network)| network.genesis.is_some()).collect();
    for (i, (chain, network)) in rows.iter().enumerate() {
        for (other, twin) in &rows[i + 1..] {
            if network.genesis != twin.genesis || (chain.slug, other.slug) == ("xmr", "xmr") {
                continue;
            }
            let what = format!("{chain:?} {} and {other:?} {}", network.name, twin.name);
            match (network.fork_block, twin.fork_block) {
                (Some(a), Some(b)) => assert_ne!(a.hash, b.hash, "{what}"),
                (None, None) => {
                    let (Some(a), Some(b)) = (network.user_agent, twin.user_agent) else {
                        panic!("{what}");
                    };
                    assert!(!a.iter().any(|agent| b.contains(agent)), "{what}");
                }
                _ => panic!("{what}"),
            }
        }
    }
}

#[test]
fn address_parameters_are_of_the_chains_family_of_encodings() {
    for (chain, network) in all() {
        let right = match chain.slug {
            "zec" => matches!(network.addresses, AddressParams::Zcash(_)),
            "dcr" => matches!(network.addresses, AddressParams::Decred(_)),
            "eth" => matches!(network.addresses, AddressParams::Ethereum),
            "xmr" => matches!(network.addresses, AddressParams::Monero(_)),
            _ => matches!(network.addresses, AddressParams::Bitcoin(_)),
        };
        assert!(right, "{chain:?} {}", network.name);
    }
}
