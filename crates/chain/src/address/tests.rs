use super::*;
use crate::{CashAddr, find};

fn decode(slug: &str, network: &str, text: &str) -> Result<Destination, NotAnAddress> {
    let chain = find(slug).unwrap();
    let network = chain.network(network).unwrap();
    network.addresses.decode(text, &chain.format.unwrap())
}

/// The canonical form of an address on a main network, if it is one.
fn canonical(slug: &str, text: &str) -> Option<String> {
    let found = decode(slug, "mainnet", text).ok()?;
    find(slug).unwrap().mainnet().addresses.encode(&found)
}

fn script(slug: &str, text: &str) -> String {
    const_hex::encode(decode(slug, "mainnet", text).unwrap().script())
}

#[test]
fn litecoin_addresses_that_begin_like_bech32() {
    let text = "LTC1eqUzePT9uvpvb413Ejd6P8Cx1Ei8Di";
    let hash = "57630115300a625f5deaab64100faa5506c1422f";
    assert_eq!(script("ltc", text), format!("76a914{hash}88ac"));
    assert_eq!(canonical("ltc", text).as_deref(), Some(text));
}

#[test]
fn both_litecoin_script_forms_are_one() {
    let text = "MAVWzxXm8KGkZTesqLtqywzrvbs96FEoKy";
    assert_eq!(script("ltc", text), "a9141c6fbaf46d64221e80cbae182c33ddf81b9294ac87");
    let Ok(Destination::ScriptHash(hash)) = decode("ltc", "mainnet", text) else { panic!() };
    let old = base58check::encode(0x05, &hash);
    assert!(old.starts_with('3'));
    assert_eq!(canonical("ltc", &old).as_deref(), Some(text));
}

#[test]
fn scripts_of_the_mimblewimble_extension_have_no_address() {
    for version in [8, 9] {
        let program = WitnessProgram::new(version, &[7; 32]).unwrap();
        let (prefix, version) = (bech32::Hrp::parse("ltc").unwrap(), version);
        let version = bech32::Fe32::try_from(version).unwrap();
        let text = bech32::segwit::encode(prefix, version, program.program()).unwrap();
        assert_eq!(decode("ltc", "mainnet", &text), Err(NotAnAddress), "{text}");
    }
}

#[test]
fn dogecoin() {
    for text in ["DHZYinsaM9nW5piCMN639ELRKbZomThPnZ", "9tg1kVUk339Tk58ewu5T8QT82Z6cE4UvSU"] {
        assert_eq!(canonical("doge", text).as_deref(), Some(text));
    }
}

/// BIP 173 and BIP 350 vectors, and pay-to-anchor.
#[test]
fn witness_programs() {
    let cases = [
        (
            "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
            "0014751e76e8199196d454941c45d1b3a323f1433bd6",
        ),
        (
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
            "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        ),
        ("BC1SW50QGDZ25J", "6002751e"),
        ("bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", "5210751e76e8199196d454941c45d1b3a323"),
        ("bc1pfeessrawgf", "51024e73"),
    ];
    for (text, expected) in cases {
        assert_eq!(script("btc", text), expected);
        assert_eq!(canonical("btc", text), Some(text.to_ascii_lowercase()));
    }
}

#[test]
fn what_is_no_witness_address() {
    let cases = [
        "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", // another network
        "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9", // another chain
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", // checksum
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4", // mixed case
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", // bech32 for version 1
        "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", // and for 16
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh", // bech32m for version 0
        "bc1rw5uspcuh",                               // too short a program
        "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",       // length of version 0
        "bc1gmk9yu",                                  // empty
        "",
        "bc1",
        "ltcmweb1qq",
    ];
    for text in cases {
        assert_eq!(decode("btc", "mainnet", text), Err(NotAnAddress), "{text}");
    }
}

#[test]
fn every_form_of_a_bitcoin_cash_address_is_one() {
    let text = "bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2";
    let forms = [
        text.to_owned(),
        text.to_uppercase(),
        text.replace("bitcoincash:", ""),
        text.replace("bitcoincash:", "").to_uppercase(),
        "bitcoincash:zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe".to_owned(),
        "zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe".to_owned(),
        "1PQPheJQSauxRPTxzNMUco1XmoCyPoEJCp".to_owned(),
    ];
    for form in forms {
        assert_eq!(canonical("bch", &form).as_deref(), Some(text), "{form}");
    }
}

#[test]
fn a_prefix_belongs_to_its_network() {
    let ecash = "ecash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r";
    let cash = "bitcoincash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p55xarv2r5";
    assert_eq!(decode("xec", "mainnet", ecash), decode("bch", "mainnet", cash));
    assert_eq!(canonical("xec", ecash).as_deref(), Some(ecash));
    let wrong = [
        ("bch", "mainnet", ecash),
        ("bch", "mainnet", "bitcoincash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r"),
        ("bch", "mainnet", "qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r"),
        ("bch", "testnet", cash),
        ("bch", "regtest", cash),
        ("xec", "mainnet", cash),
        ("xec", "testnet", ecash),
        ("bch", "mainnet", "bitcoincash:Qqxgjelx8qk85t9xfk8g2zlunxmhxms6p55xarv2r5"),
        ("bch", "mainnet", "BITCOINCASH:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p55xarv2r5"),
        ("bch", "mainnet", "bitcoincash:bitcoincash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p55xarv2r5"),
        ("bch", "mainnet", "bitcoincash:"),
        ("bch", "mainnet", ":"),
    ];
    for (slug, network, text) in wrong {
        assert_eq!(decode(slug, network, text), Err(NotAnAddress), "{slug} {network} {text}");
    }
}

#[test]
fn token_forms_and_long_script_hashes_are_of_bitcoin_cash_alone() {
    let long = Destination::ScriptHash32([7; 32]);
    let address = find("bch").unwrap().mainnet().addresses.encode(&long).unwrap();
    assert_eq!(decode("bch", "mainnet", &address), Ok(long));
    assert_eq!(find("xec").unwrap().mainnet().addresses.encode(&long), None);
    let with_tokens = CashAddr { prefix: "ecash", tokens: true };
    let forged = cash_addr::encode(&with_tokens, &long).unwrap();
    assert_eq!(decode("xec", "mainnet", &forged), Err(NotAnAddress));
}

/// The vectors of the CashAddr specification with hashes of 20 bytes.
#[test]
fn legacy_and_new_forms() {
    let pairs = [
        (
            "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
            "bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
        ),
        (
            "1KXrWXciRDZUpQwQmuM1DbwsKDLYAYsVLR",
            "bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy",
        ),
        (
            "3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC",
            "bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq",
        ),
        (
            "31nwvkZwyPdgzjBJZXfDmSWsC4ZLKpYyUw",
            "bitcoincash:pqq3728yw0y47sqn6l2na30mcw6zm78dzq5ucqzc37",
        ),
    ];
    for (legacy, text) in pairs {
        assert_eq!(canonical("bch", legacy).as_deref(), Some(text));
        assert_eq!(decode("btc", "mainnet", legacy), decode("bch", "mainnet", text));
        assert_eq!(decode("btc", "testnet", legacy), Err(NotAnAddress));
        assert_eq!(decode("btc", "mainnet", text), Err(NotAnAddress));
    }
}

#[test]
fn what_is_no_base58_address() {
    let good = "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu";
    let long = "1".repeat(10_000);
    let bad = [
        "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggv",
        "1bpei6dfdaufd7gtittlsdbeyjvcoavggu",
        "11BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
        "BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
        " 1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu",
        "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu\0",
        "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVgg\u{fc}",
        "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", // a private key
        &long,
    ];
    assert!(decode("btc", "mainnet", good).is_ok());
    for text in bad {
        assert_eq!(decode("btc", "mainnet", text), Err(NotAnAddress), "{text}");
    }
}

#[test]
fn other_families_have_no_such_addresses() {
    let eth = find("eth").unwrap().mainnet();
    let text = "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu";
    let format = find("btc").unwrap().format.unwrap();
    assert_eq!(eth.addresses.decode(text, &format), Err(NotAnAddress));
}
