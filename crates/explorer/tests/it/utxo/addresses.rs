//! One address in all its forms, and texts that are none.

use chain::Hash32;
use chain::utxo::Destination;
use replay::Phase;
use serde_json::{Value, json};

use crate::utxo::rig::{Client, Plan};

/// The letters of Bech32 and CashAddr.
const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const PATHS: [&str; 3] = ["", "/txs", "/utxo"];

fn base58(version: u8, hash: &[u8]) -> String {
    let mut bytes = [&[version], hash].concat();
    let sum = *Hash32::sha256d(&[&bytes]).wire();
    bytes.extend_from_slice(&sum[..4]);
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let letters = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    digits.iter().rev().map(|digit| char::from(letters[*digit as usize])).collect()
}

/// What follows the colon of a CashAddr.
fn cash(prefix: &str, version: u8, hash: &[u8]) -> String {
    let bytes = [&[version], hash].concat();
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1)).collect();
    let mut digits: Vec<u8> = bits
        .chunks(5)
        .map(|five| (0..5).fold(0, |sum, n| sum << 1 | five.get(n).unwrap_or(&0)))
        .collect();
    let mut sum: u64 = 1;
    let padded = prefix.bytes().map(|letter| letter & 31).chain([0]).chain(digits.iter().copied());
    for digit in padded.chain([0; 8]) {
        let top = sum >> 35;
        sum = (sum & 0x07_ffff_ffff) << 5 ^ u64::from(digit);
        let terms =
            [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470_u64];
        for (place, term) in terms.into_iter().enumerate() {
            sum ^= if top >> place & 1 == 1 { term } else { 0 };
        }
    }
    sum ^= 1;
    digits.extend((0..8).rev().map(|place| (sum >> (5 * place)) as u8 & 31));
    digits.iter().map(|digit| char::from(LETTERS[usize::from(*digit)])).collect()
}

/// Every form of an address on a test network, the canonical one first.
fn forms(slug: &str, canonical: &str) -> Vec<String> {
    let chain = chain::find(slug).unwrap();
    let network = chain.network("regtest").unwrap();
    let found = network.addresses.decode(canonical, chain.format().unwrap()).unwrap();
    let (hash, versions, kinds): (Vec<u8>, &[u8], &[u8]) = match &found {
        Destination::PubkeyHash(hash) => (hash.to_vec(), &[0x6f], &[0, 2 << 3]),
        Destination::ScriptHash(hash) if slug == "ltc" => (hash.to_vec(), &[0x3a, 0xc4], &[]),
        Destination::ScriptHash(hash) => (hash.to_vec(), &[0xc4], &[1 << 3, 3 << 3]),
        Destination::ScriptHash32(_)
        | Destination::Ed25519KeyHash(_)
        | Destination::SchnorrKeyHash(_) => unreachable!("none was recorded"),
        Destination::Witness(_) => {
            return vec![canonical.to_owned(), canonical.to_uppercase()];
        }
    };
    let mut forms = vec![canonical.to_owned()];
    forms.extend(versions.iter().map(|version| base58(*version, &hash)));
    let prefix = match slug {
        "bch" => "bchreg",
        "xec" => "ecregtest",
        _ => return forms,
    };
    for kind in kinds.iter().take(if slug == "bch" { 2 } else { 1 }) {
        let body = cash(prefix, *kind, &hash);
        let whole = format!("{prefix}:{body}");
        forms.extend([body.to_uppercase(), whole.to_uppercase(), whole.replace(':', "%3A")]);
        forms.extend([body, whole]);
    }
    forms
}

async fn bad(client: &mut Client, slug: &str, text: &str) {
    for path in PATHS {
        client.refused(&format!("/api/v1/{slug}/address/{text}{path}"), 400, "BAD_REQUEST").await;
    }
    let found = client.ok(&format!("/api/v1/{slug}/search/{text}")).await;
    assert_eq!(found, json!({ "kind": "none" }), "{slug} {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_an_address_gives_the_same_body() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let rig = Plan::of(&[slug]).start().await;
        let mut client = rig.client().await;
        let expected = testkit::expected(slug, Phase::A);
        let (mut first, mut seen) = (std::collections::BTreeSet::new(), 0);
        for canonical in expected["addresses"].as_object().unwrap().keys() {
            let forms = forms(slug, canonical);
            for path in PATHS {
                let ask = |form: &str| format!("/api/v1/{slug}/address/{form}{path}");
                let plain = client.ok(&ask(canonical)).await;
                for form in &forms {
                    assert_eq!(client.ok(&ask(form)).await, plain, "{form}");
                }
            }
            for form in &forms {
                let found = client.ok(&format!("/api/v1/{slug}/search/{form}")).await;
                assert_eq!(found, json!({ "kind": "address", "address": canonical }), "{form}");
                first.insert(form.chars().next().unwrap());
            }
            seen += forms.len();
        }
        let wanted: &[char] = match slug {
            "btc" => &['2', 'b', 'B'],
            "ltc" => &['Q', '2', 'r', 'R'],
            "doge" => &['2'],
            "bch" => &['2', 'b', 'B', 'q', 'Q', 'z', 'Z', 'p', 'P', 'r', 'R'],
            _ => &['2', 'e', 'E', 'q', 'Q', 'p', 'P'],
        };
        assert!(wanted.iter().all(|letter| first.contains(letter)), "{slug}: {first:?} {seen}");
        assert!(first.contains(&'m') || first.contains(&'n'), "{slug}: {first:?}");
    }
}

/// The same text with one of its letters exchanged.
fn mistyped(text: &str, place: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    bytes[place] = if bytes[place] == b'q' { b'p' } else { b'q' };
    String::from_utf8(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_no_address_here_are_refused() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let rig = Plan::of(&[slug]).start().await;
        let mut client = rig.client().await;
        let expected = testkit::expected(slug, Phase::A);
        for canonical in expected["addresses"].as_object().unwrap().keys() {
            for place in [canonical.len() - 1, canonical.len() - 12] {
                bad(&mut client, slug, &mistyped(canonical, place)).await;
            }
            bad(&mut client, slug, &canonical[1..]).await;
            bad(&mut client, slug, &canonical[..canonical.len() - 1]).await;
            bad(&mut client, slug, &format!("{canonical}q")).await;
            bad(&mut client, slug, &format!("{canonical}%00")).await;
            let mut mixed = canonical.to_owned();
            let last = mixed.rfind(|letter: char| letter.is_ascii_lowercase()).unwrap();
            mixed[last..=last].make_ascii_uppercase();
            bad(&mut client, slug, &mixed).await;
        }
        for text in strangers(slug) {
            bad(&mut client, slug, &text).await;
        }
        for path in PATHS {
            // Spaces are trimmed in a search alone.
            let spaced = format!("/api/v1/{slug}/address/%20{}{path}", unused(slug)[0]);
            client.refused(&spaced, 400, "BAD_REQUEST").await;
        }
    }
}

/// Addresses of other networks and chains, and what only looks like one.
fn strangers(slug: &str) -> Vec<String> {
    let hash = [9; 20];
    let mut all: Vec<String> = [0x00, 0x05, 0x1e, 0x16, 0x30, 0x32]
        .iter()
        .map(|version| base58(*version, &hash))
        .collect();
    let cash_forms = [("bitcoincash", 0), ("bchtest", 0), ("ecash", 0), ("ectest", 0)];
    for (prefix, version) in cash_forms {
        let body = cash(prefix, version, &hash);
        all.extend([format!("{prefix}:{body}"), body]);
    }
    for (own, prefix) in [("bch", "bchreg"), ("xec", "ecregtest")] {
        if slug != own {
            all.push(format!("{prefix}:{}", cash(prefix, 0, &hash)));
        }
    }
    if slug != "bch" {
        // Tokens are of Bitcoin Cash alone.
        all.push(format!("ecregtest:{}", cash("ecregtest", 2 << 3, &hash)));
        all.push(format!("ecregtest:{}", cash("ecregtest", 1 << 3 | 3, &[9; 32])));
    }
    // The checksum of one prefix under another, a type that is none, two prefixes.
    all.push(format!("bchreg:{}", cash("bitcoincash", 0, &hash)));
    all.push(format!("bchreg:{}", cash("bchreg", 7 << 3, &hash)));
    all.push(format!("bchreg:bchreg:{}", cash("bchreg", 0, &hash)));
    all.push(format!("BCHREG:{}", cash("bchreg", 0, &hash)));
    all.extend(
        [
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
            "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9",
            "tmweb1qq2737nmyaw9f36sgsx585zv9aj9d6cfmwfj43jmgt098w304srfuwqansth3e7wvpa20klfffd2l4vgvxgl63hskmwkr2m3g38nszyxtnqvq2gns",
            "0x52908400098527886E0F7030069857D2E4169EE7",
        ]
        .map(str::to_owned),
    );
    all
}

/// An address that nobody used, in several forms.
fn unused(slug: &str) -> Vec<String> {
    let hash = [9; 20];
    let canonical = match slug {
        "bch" => format!("bchreg:{}", cash("bchreg", 0, &hash)),
        "xec" => format!("ecregtest:{}", cash("ecregtest", 0, &hash)),
        _ => base58(0x6f, &hash),
    };
    forms(slug, &canonical)
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_text_is_no_address_is_told() {
    let rig = Plan::of(&["ltc"]).start().await;
    let mweb = "tmweb1qq2737nmyaw9f36sgsx585zv9aj9d6cfmwfj43jmgt098w304srfuwqansth3e7wvpa20klfffd2l4vgvxgl63hskmwkr2m3g38nszyxtnqvq2gns";
    let mut mistyped = base58(0x6f, &[9; 20]);
    let last = mistyped.pop().unwrap();
    mistyped.push(if last == '1' { '2' } else { '1' });
    let cases = [
        (mweb, "a MimbleWimble address"),
        (&mistyped, "checksum"),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "not an address of this network"),
    ];
    for (text, why) in cases {
        for path in PATHS {
            let answer = rig.get(&format!("/api/v1/ltc/address/{text}{path}")).await;
            assert_eq!(answer.status, 400, "{text}");
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains(why), "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_nobody_used_is_not_found() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let rig = Plan::of(&[slug]).start().await;
        let mut client = rig.client().await;
        let forms = unused(slug);
        for form in &forms {
            for path in PATHS {
                let ask = format!("/api/v1/{slug}/address/{form}{path}");
                client.refused(&ask, 404, "NOT_FOUND").await;
            }
            let found = client.ok(&format!("/api/v1/{slug}/search/{form}")).await;
            assert_eq!(found, json!({ "kind": "address", "address": forms[0] }));
        }
        let past = format!("/api/v1/{slug}/address/{}/txs?page=7", forms[0]);
        client.refused(&past, 404, "NOT_FOUND").await;
        let malformed = format!("/api/v1/{slug}/address/{}/txs?page=0", forms[0]);
        client.refused(&malformed, 400, "BAD_REQUEST").await;
    }
}
