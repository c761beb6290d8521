use super::*;
use crate::utxo::WitnessProgram;
use crate::{CashAddr, find};

fn exactly(slug: &str, network: &str, text: &str) -> Result<Destination, AddressError> {
    let chain = find(slug).unwrap();
    let network = chain.network(network).unwrap();
    network.addresses.decode(text, chain.format().unwrap())
}

/// What a text leads to, where a wrong checksum is as good as any other mistake.
fn decode(slug: &str, network: &str, text: &str) -> Result<Destination, AddressError> {
    exactly(slug, network, text).map_err(|why| match why {
        AddressError::Checksum => AddressError::Unknown,
        why => why,
    })
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
    let old = base58check::encode(&[0x05], &hash, base58check::Sum::Sha256);
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
        assert_eq!(decode("ltc", "mainnet", &text), Err(AddressError::Unknown), "{text}");
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
        assert_eq!(decode("btc", "mainnet", text), Err(AddressError::Unknown), "{text}");
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
        assert_eq!(
            decode(slug, network, text),
            Err(AddressError::Unknown),
            "{slug} {network} {text}"
        );
    }
}

#[test]
fn token_forms_and_long_script_hashes_are_of_bitcoin_cash_alone() {
    let long = Destination::ScriptHash32([7; 32]);
    let address = find("bch").unwrap().mainnet().addresses.encode(&long).unwrap();
    assert_eq!(decode("bch", "mainnet", &address), Ok(long));
    assert_eq!(find("xec").unwrap().mainnet().addresses.encode(&long), None);
    let with_tokens = CashAddr { prefix: "ecash", token_prefix: None, tokens: true };
    let forged = cash_addr::encode(&with_tokens, &long).unwrap();
    assert_eq!(decode("xec", "mainnet", &forged), Err(AddressError::Unknown));
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
        assert_eq!(decode("btc", "testnet", legacy), Err(AddressError::Unknown));
        assert_eq!(decode("btc", "mainnet", text), Err(AddressError::Unknown));
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
        assert_eq!(decode("btc", "mainnet", text), Err(AddressError::Unknown), "{text}");
    }
}

#[test]
fn other_families_have_no_such_addresses() {
    let eth = find("eth").unwrap().mainnet();
    let text = "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu";
    let format = *find("btc").unwrap().format().unwrap();
    assert_eq!(eth.addresses.decode(text, &format), Err(AddressError::Unknown));
}

/// Pairs of zcash_address: the empty hash and vectors of ZIP 320.
#[test]
fn zcash_has_one_form_for_each_transparent_destination() {
    let plain = "t1VmmGiyjVNeCjxDZzg7vZmd99WyzVby9yC";
    let exchange = "tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte";
    for text in [plain, exchange, &exchange.to_uppercase()] {
        assert_eq!(canonical("zec", text).as_deref(), Some(plain), "{text}");
    }
    let script = "t3JZcvsuaXE6ygokL4XUiZSTrQBUoPYFnXJ";
    assert_eq!(canonical("zec", script).as_deref(), Some(script));
    let on_testnet = "textest1qyqszqgpqyqszqgpqyqszqgpqyqszqgpfcjgfy";
    let found = decode("zec", "testnet", on_testnet).unwrap();
    let addresses = &find("zec").unwrap().network("testnet").unwrap().addresses;
    assert_eq!(addresses.encode(&found).as_deref(), Some("tm9ofD7kHR7AF8MsJomEzLqGcrLCBkD9gDj"));
    for (network, text) in [
        ("mainnet", on_testnet),
        ("regtest", on_testnet),
        ("testnet", exchange),
        ("testnet", plain),
        ("mainnet", "tm9ofD7kHR7AF8MsJomEzLqGcrLCBkD9gDj"),
        ("mainnet", "tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgtf"),
        ("mainnet", "Tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte"),
        ("mainnet", "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu"),
    ] {
        assert_eq!(decode("zec", network, text), Err(AddressError::Unknown), "{network} {text}");
    }
}

/// The vectors of unified addresses (zcash-test-vectors): with and without a transparent receiver,
/// with receivers that nobody knows yet.
#[test]
fn a_unified_address_is_read_by_its_transparent_receiver() {
    let with = [
        (
            "u1l8xunezsvhq8fgzfl7404m450nwnd76zshscn6nfys7vyz2ywyh4cc5daaq0c7q2su5lqfh23sp7fkf3kt27ve5948mzpfdvckzaect2jtte308mkwlycj2u0eac077wu70vqcetkxf",
            "7bb83570b8fae146e03c5331a020b1e0892f631d",
        ),
        (
            "u1pg2aaph7jp8rpf6yhsza25722sg5fcn3vaca6ze27hqjw7jvvhhuxkpcg0ge9xh6drsgdkda8qjq5chpehkcpxf87rnjryjqwymdheptpvnljqqrjqzjwkc2ma6hcq666kgwfytxwac8eyex6ndgr6ezte66706e3vaqrd25dzvzkc69kw0jgywtd0cmq52q5lkw6uh7hyvzjse8ksx",
            "cad268758c5e71493066446b98e71df9d1d6a5ca",
        ),
        (
            "u1en8ysypun4gdkdnu8zqqg6k73ankr9ffwfzg08wtzg9z939w0wupewemfrc8a630e8gc4uqucym0l4v44fszy3et4veyypt3jsyp0whfpfsn2lw30kj8nepe6wvvasf00wklh85u9v8glqndupmamk9z2ja9sanf70pp4yxvkt3dmyzxa0kkhv2c9pxmkghrxqk0590azvya3nzrtevj449nu3laskrhf7c7nj9cyw7ty38mccg4znrr876guu6pzndx7ngwzhmlsn8d89saf5araaacrhr9958xr6z23mj4qtzzn98whdpu8u7n8fhf5d2vypljda62q73du44sf0e0kxmq3gvgkta0qqgq9w6r403gc5jz2any02etmwlttkv84hgh95czhdf2jugk3u36ke0kchcthg240",
            "06974d8bcd8ba8ef89ce36a653d93868251c2e3d",
        ),
    ];
    for (text, hash) in with {
        assert_eq!(script("zec", text), format!("76a914{hash}88ac"));
        assert!(canonical("zec", text).unwrap().starts_with("t1"));
        assert_eq!(decode("zec", "testnet", text), Err(AddressError::Unknown));
        let changed =
            text.replacen("1l8", "1l9", 1).replacen("1pg", "1pq", 1).replacen("1en", "1eq", 1);
        assert_eq!(decode("zec", "mainnet", &changed), Err(AddressError::Unknown));
    }
}

#[test]
fn an_address_of_shielded_pools_alone_is_told_apart() {
    let cases = [
        (
            "mainnet",
            "u1ay3aawlldjrmxqnjf5medr5ma6p3acnet464ht8lmwplq5cd3ugytcmlf96rrmtgwldc75x94qn4n8pgen36y8tywlq6yjk7lkf3fa8wzjrav8z2xpxqnrnmjxh8tmz6jhfh425t7f3vy6p4pd3zmqayq49efl2c4xydc0gszg660q9p",
        ),
        (
            "mainnet",
            "u1uehkuaq6rpfgt4ed5zpvhczg9apgpmyk5eq9qg23j8w7jxkhdnqzacte6gu8zgzfzgxy48ryzus3wnkhfxrxmlhs34xde3f34uxcnv3y6dsgj288vu56xs9f6ghvqsgkhuwtz4kkfxj8pa27v5p3ttlst340zvwx9nj6s0zw8p3wwk3zh37dwc7znqz52gj2fpaapzxzyagah0aeyxwa9fxxvyyj6w989v96ymsgf7s8s6ej9346p60fcjzzynvf9rmxevumdvt8l9mvhdfz4u5j4h7e0zjr2sde7fu7z9s02447qg6qzllm22egnx6ej6qczkkk2ygvpy08un9ggp853sddp6vskrlar6sygxec5f6c2t2eu9zmc728esy4sj9z853gxuplr6hw7lpcwzk20d85vuflnhlfv8nr3020r0v9z83ryudsyjv66rttxq2cscqlrdxakrmpjptzcf",
        ),
        (
            "mainnet",
            "zs1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqpq6d8g",
        ),
        (
            "testnet",
            "ztestsapling1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqfhgwqu",
        ),
        (
            "regtest",
            "zregtestsapling1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqknpr3m",
        ),
        (
            "mainnet",
            "zc8E5gYid86n4bo2Usdq1cpr7PpfoJGzttwBHEEgGhGkLUg7SPPVFNB2AkRFXZ7usfphup5426dt1buMmY3fkYeRrQGLa8y",
        ),
        (
            "testnet",
            "ztJ1EWLKcGwF2S4NA17pAJVdco8Sdkz4AQPxt1cLTEfNuyNswJJc2BbBqYrsRZsp31xbVZwhF7c7a2L9jsF3p3ZwRWpqqyS",
        ),
    ];
    for (network, text) in cases {
        assert_eq!(decode("zec", network, text), Err(AddressError::Shielded), "{text}");
        let elsewhere = if network == "mainnet" { "testnet" } else { "mainnet" };
        assert_eq!(decode("zec", elsewhere, text), Err(AddressError::Unknown), "{text}");
        let (start, last) = text.split_at(text.len() - 1);
        let changed = format!("{start}{}", if last == "q" { "p" } else { "q" });
        assert_eq!(decode("zec", network, &changed), Err(AddressError::Unknown), "{changed}");
    }
}

/// One of each kind by the same hash: the versions of dcrd, chaincfg/mainnetparams.go.
#[test]
fn decred_has_a_form_for_each_kind_of_key() {
    let hash = [0x27; 20];
    let addresses = &find("dcr").unwrap().mainnet().addresses;
    let kinds = [
        ("Ds", Destination::PubkeyHash(hash)),
        ("Dc", Destination::ScriptHash(hash)),
        ("De", Destination::Ed25519KeyHash(hash)),
        ("DS", Destination::SchnorrKeyHash(hash)),
    ];
    for (start, destination) in kinds {
        let text = addresses.encode(&destination).unwrap();
        assert!(text.starts_with(start), "{text}");
        assert_eq!(decode("dcr", "mainnet", &text), Ok(destination));
        for network in ["testnet", "simnet", "regnet"] {
            assert_eq!(decode("dcr", network, &text), Err(AddressError::Unknown));
        }
    }
    assert_eq!(addresses.encode(&Destination::ScriptHash32([1; 32])), None);
    let known = "DsTEnRLDEjQNeQ4A47fdS2pqtaFrGNzkqNa";
    assert_eq!(script("dcr", known), "76a91418f10131a859912119c4a8510199f87f0a4cec2488ac");
    for bad in ["DsTEnRLDEjQNeQ4A47fdS2pqtaFrGNzkqNb", "dsTEnRLDEjQNeQ4A47fdS2pqtaFrGNzkqNa", "Ds"]
    {
        assert_eq!(decode("dcr", "mainnet", bad), Err(AddressError::Unknown));
    }
}

#[test]
fn a_wrong_checksum_is_told_as_such() {
    for (slug, network, text) in [
        ("btc", "mainnet", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"),
        ("btc", "mainnet", "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggv"),
        ("bch", "mainnet", "bitcoincash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r"),
        ("xec", "mainnet", "etoken:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r"),
    ] {
        assert_eq!(exactly(slug, network, text), Err(AddressError::Checksum), "{text}");
    }
    for (slug, network, text) in [
        ("btc", "mainnet", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"),
        ("btc", "mainnet", "hello"),
        ("btc", "mainnet", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4"),
        ("bch", "mainnet", "ecash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r"),
        ("btc", "mainnet", ""),
    ] {
        assert_eq!(exactly(slug, network, text), Err(AddressError::Unknown), "{text}");
    }
}

/// The same hash behind the prefix of wallets that hold tokens; the sum covers the prefix.
#[test]
fn a_token_address_of_ecash_is_the_same_address() {
    let ecash = "ecash:qqxgjelx8qk85t9xfk8g2zlunxmhxms6p5dtfghs9r";
    let token = CashAddr { prefix: "etoken", token_prefix: None, tokens: false };
    let found = decode("xec", "mainnet", ecash).unwrap();
    let text = cash_addr::encode(&token, &found).unwrap();
    assert!(text.starts_with("etoken:q"), "{text}");
    for form in [text.clone(), text.to_uppercase(), text.replace("etoken:", "")] {
        assert_eq!(canonical("xec", &form).as_deref(), Some(ecash), "{form}");
    }
    assert_eq!(decode("bch", "mainnet", &text), Err(AddressError::Unknown));
}

#[test]
fn a_script_hash_of_32_bytes_has_a_base58_form_on_bitcoin_cash() {
    let hash = [7; 32];
    let payload = [&[5][..], &hash].concat();
    let sum = crate::Hash32::sha256d(&[&payload]);
    let text = bs58::encode([&payload[..], &sum.wire()[..4]].concat()).into_string();
    assert_eq!(decode("bch", "mainnet", &text), Ok(Destination::ScriptHash32(hash)));
    assert_eq!(canonical("bch", &text).unwrap().find("bitcoincash:p"), Some(0));
    for slug in ["btc", "ltc", "doge", "xec"] {
        assert_eq!(decode(slug, "mainnet", &text), Err(AddressError::Unknown), "{slug}");
    }
}

#[test]
fn a_mimblewimble_address_is_told_apart() {
    use bech32::{Bech32, ByteIterExt, Fe32, Fe32IterExt, Hrp};
    let text = |prefix: &str, bytes: usize| -> String {
        let keys = vec![2u8; bytes];
        let digits = keys.iter().copied().bytes_to_fes();
        let prefix = Hrp::parse(prefix).unwrap();
        digits.with_checksum::<Bech32>(&prefix).with_witness_version(Fe32::Q).chars().collect()
    };
    let address = text("ltcmweb", 66);
    assert_eq!(exactly("ltc", "mainnet", &address), Err(AddressError::Stealth));
    assert_eq!(exactly("ltc", "regtest", &text("tmweb", 66)), Err(AddressError::Stealth));
    assert_eq!(exactly("ltc", "regtest", &address), Err(AddressError::Unknown));
    assert_eq!(exactly("btc", "mainnet", &address), Err(AddressError::Unknown));
    assert_eq!(exactly("ltc", "mainnet", &text("ltcmweb", 32)), Err(AddressError::Unknown));
    let last = address.char_indices().last().unwrap().0;
    let changed = format!("{}{}", &address[..last], if address.ends_with('q') { 'p' } else { 'q' });
    assert_eq!(exactly("ltc", "mainnet", &changed), Err(AddressError::Checksum));
}
