//! Raw blocks and transactions of recorded nodes against the same nodes' JSON.

use chain::AddressError;
use chain::utxo::{
    Block, Destination, Header, Input, Kind, Layout, OutPoint, Output, ScriptClass, StakeHeader,
    Transaction,
};
use replay::Phase;
use serde_json::Value;
use testkit::Recording;

fn bytes(hex: &str) -> Vec<u8> {
    const_hex::decode(hex).unwrap()
}

fn check(slug: &str) {
    for phase in [Phase::A, Phase::B] {
        let recording = Recording::of(slug, phase);
        assert!(recording.raw.len() > 100, "{slug}");
        for (raw, json) in recording.raw.iter().zip(&recording.blocks) {
            check_block(&recording, raw, json);
        }
        let mut alone = 0;
        for (txid, raw) in &recording.raw_transactions {
            let transaction = Transaction::decode(raw, recording.chain.format().unwrap()).unwrap();
            if let Some(json) = recording.transactions.get(txid) {
                check_transaction(&recording, &transaction, txid, json);
                alone += 1;
            }
        }
        assert!(alone > 100, "{slug}");
    }
}

fn check_block(recording: &Recording, raw: &[u8], json: &Value) {
    let block = Block::decode(raw, recording.chain.format().unwrap()).unwrap();
    assert!(block.is_whole(), "{}", block.header.hash);
    assert_eq!(json["hash"], block.header.hash.to_string());
    assert_eq!(json["merkleroot"], block.header.merkle_root.to_string());
    assert_eq!(json["version"], block.header.version);
    assert_eq!(json["time"], block.header.time);
    assert_eq!(json["nonce"].to_string().trim_matches('"'), block.header.nonce.to_string());
    let format = *recording.chain.format().unwrap();
    let again = block.header.hash_of_fields(&format);
    assert_eq!(again, (format.layout != Layout::Shielded).then_some(block.header.hash));
    assert_eq!(json["bits"], format!("{:08x}", block.header.bits));
    assert_eq!(Header::at_front(raw, &format).unwrap().0, block.header);
    // One node says 0 of genesis.
    if json["size"] != 0 {
        assert_eq!(json["size"], block.size, "{}", block.header.hash);
    }
    if let Some(previous) = json["previousblockhash"].as_str() {
        assert_eq!(block.header.previous.to_string(), previous);
    }
    if let Some(stake) = block.header.stake {
        check_stake_header(&stake, &block, json);
    }
    let listed = Recording::listed(json);
    assert_eq!(listed.len(), block.transactions.len());
    for (place, transaction) in block.transactions.iter().enumerate() {
        let txid = listed[place];
        assert_eq!(transaction.kind().is_stake(), place >= block.regular, "{txid}");
        assert_eq!(block.txids[place].to_string(), txid);
        assert_eq!(transaction.is_coinbase(), place == 0);
        // The genesis coinbase is in no answer of its own.
        if let Some(json) = recording.transactions.get(txid) {
            let mut json = json.clone();
            // One that is mined again, or waits again, tells the heights of its inputs anew, which
            // are outside of the id.
            let here = json["blockhash"] == block.header.hash.to_string();
            if format.layout == Layout::Staked && !here {
                json["hex"] = Value::Null;
            }
            check_transaction(recording, transaction, txid, &json);
        }
    }
}

fn check_transaction(
    recording: &Recording,
    transaction: &Transaction<'_>,
    txid: &str,
    json: &Value,
) {
    assert_eq!(transaction.txid().to_string(), txid);
    assert_eq!(json["version"], transaction.version);
    assert_eq!(json["locktime"], transaction.lock_time);
    if json.get("size").is_some() {
        assert_eq!(json["size"], transaction.size(), "{txid}");
    }
    if let Some(expiry) = json.get("expiry").or(json.get("expiryheight")) {
        assert_eq!(*expiry, transaction.expiry().unwrap_or(0), "{txid}");
    }
    if json.get("vsize").is_some() {
        assert_eq!(json["vsize"], transaction.vsize(), "{txid}");
    }
    if let Some(hex) = json["hex"].as_str() {
        assert_eq!(bytes(hex), transaction.raw(), "{txid}");
    }
    let inputs = Recording::canonical(&json["vin"]);
    assert_eq!(inputs.len(), transaction.inputs().len());
    for (input, json) in transaction.inputs().zip(inputs) {
        check_input(&input, json);
        assert_eq!(
            json.get("amountin").map(|amount| recording.amount(amount)),
            input.amount,
            "{txid}"
        );
    }
    let outputs = Recording::canonical(&json["vout"]);
    assert_eq!(outputs.len(), transaction.outputs().len());
    let mut sum = 0;
    for (output, json) in transaction.outputs().zip(outputs) {
        check_output(recording, &output, json, transaction.kind());
        sum += u128::from(output.value);
    }
    assert_eq!(transaction.value_out(), sum);
}

fn check_input(input: &Input<'_>, json: &Value) {
    assert_eq!(json["sequence"], input.sequence);
    if let Some(coinbase) = json["coinbase"].as_str() {
        assert_eq!(input.previous, OutPoint::NULL);
        assert_eq!(bytes(coinbase), input.script);
    } else if let Some(script) = json["stakebase"].as_str().or(json["treasuryspend"].as_str()) {
        assert_eq!(input.previous, OutPoint::NULL);
        assert_eq!(bytes(script), input.script);
    } else if json["treasurybase"] == true {
        assert_eq!((input.previous, input.script), (OutPoint::NULL, &[][..]));
    } else {
        assert_eq!(json["tree"] == 1, input.from_stake_tree);
        assert_eq!(json["txid"], input.previous.txid.to_string());
        assert_eq!(json["vout"], input.previous.vout);
        assert_eq!(bytes(json["scriptSig"]["hex"].as_str().unwrap()), input.script);
    }
}

fn check_stake_header(stake: &StakeHeader, block: &Block<'_>, json: &Value) {
    assert_eq!(json["stakeroot"], stake.root.to_string());
    assert_eq!(json["votebits"], stake.vote_bits);
    assert_eq!(json["voters"], stake.voters);
    assert_eq!(json["height"], stake.height);
    assert_eq!(json["size"], stake.size);
    let votes = block.transactions.iter().filter(|one| one.kind() == Kind::Vote).count();
    assert_eq!(votes, usize::from(stake.voters));
}

fn check_output(recording: &Recording, output: &Output<'_>, json: &Value, kind: Kind) {
    let format = *recording.chain.format().unwrap();
    let addresses = &recording.on().addresses;
    let rules = &format.scripts;
    let script = &json["scriptPubKey"];
    assert_eq!(recording.amount(&json["value"]), output.value);
    assert_eq!(bytes(script["hex"].as_str().unwrap()), output.script);
    let place = json["n"].as_u64().unwrap() as usize;
    let class = ScriptClass::of_output(output.script, output.script_version, kind, place, rules);
    assert_eq!(script["type"], class.as_str());
    check_token(output, &json["tokenData"]);
    let destination = Destination::of_script(output.script, rules);
    let address = destination.and_then(|found| addresses.encode(&found));
    assert_eq!(destination.is_some(), address.is_some());
    // Nodes also name the addresses of bare keys, alone or in a multisig, and whom a ticket's
    // vote will pay.
    let named = match class {
        ScriptClass::Pubkey
        | ScriptClass::PubkeyEd25519
        | ScriptClass::PubkeySchnorr
        | ScriptClass::Multisig
        | ScriptClass::StakeCommitment => None,
        _ => script["address"].as_str().or(script["addresses"][0].as_str()),
    };
    assert_eq!(address.as_deref(), named, "{script}");
    if rules.stake && named.is_none() && class != ScriptClass::StakeCommitment {
        for of_key in script["addresses"].as_array().into_iter().flatten() {
            let read = addresses.decode(of_key.as_str().unwrap(), &format);
            assert_eq!(read, Err(AddressError::BareKey));
        }
    }
    if let (Some(destination), Some(address)) = (destination, address) {
        assert_eq!(addresses.decode(&address, &format), Ok(destination));
        assert_eq!(destination.script(), rules.counted(output.script));
    }
}

fn check_token(output: &Output<'_>, json: &Value) {
    let Some(token) = output.token else {
        assert!(json.is_null());
        return;
    };
    assert_eq!(json["category"], token.category.to_string());
    assert_eq!(json["amount"], token.amount.to_string());
    assert_eq!(json.get("nft").is_some(), token.nft.is_some());
    if let Some(nft) = token.nft {
        assert_eq!(json["nft"]["capability"], nft.capability.as_str());
        assert_eq!(bytes(json["nft"]["commitment"].as_str().unwrap()), nft.commitment);
    }
}

#[test]
fn of_bitcoin() {
    check("btc");
}

#[test]
fn of_litecoin() {
    check("ltc");
}

#[test]
fn of_dogecoin() {
    check("doge");
}

#[test]
fn of_zcash() {
    check("zec");
}

#[test]
fn of_decred() {
    check("dcr");
}

#[test]
fn of_bitcoin_cash() {
    check("bch");
}

#[test]
fn of_ecash() {
    check("xec");
}

#[test]
fn tokens_and_merged_mining_and_extension_blocks_were_among_them() {
    let has = |slug: &str, what: fn(&Block<'_>) -> bool| {
        let recording = Recording::of(slug, Phase::B);
        let format = *recording.chain.format().unwrap();
        recording.raw.iter().filter(|raw| what(&Block::decode(raw, &format).unwrap())).count()
    };
    let tokens = |block: &Block<'_>| {
        block.transactions.iter().flat_map(|t| t.outputs()).any(|output| output.token.is_some())
    };
    assert!(has("bch", tokens) > 0);
    assert_eq!(has("doge", |block| block.header.version & 0x100 != 0), 3);
    assert!(has("ltc", |block| block.extension.is_some()) > 20);
}

/// What litecoind gives with `rpcserialversion=1`, and with 0: the same block with less.
#[test]
fn a_litecoin_block_without_extension_or_witnesses_is_the_same_block() {
    let recording = Recording::of("ltc", Phase::B);
    let format = *recording.chain.format().unwrap();
    let with_extension = |raw: &&Vec<u8>| Block::decode(raw, &format).unwrap().extension.is_some();
    for raw in recording.raw.iter().filter(with_extension) {
        let full = Block::decode(raw, &format).unwrap();
        for witnesses in [true, false] {
            let less = stripped(raw, &full, witnesses);
            let block = Block::decode(&less, &format).unwrap();
            assert!(block.is_whole());
            assert_eq!((block.header, &block.txids), (full.header, &full.txids));
            assert_eq!((block.extension, block.size), (None, less.len()));
            for (a, b) in block.transactions.iter().zip(&full.transactions) {
                assert!(a.outputs().eq(b.outputs()) && a.inputs().eq(b.inputs()));
                assert!(!witnesses || a.vsize() == b.vsize());
            }
        }
    }
}

fn stripped(raw: &[u8], block: &Block<'_>, witnesses: bool) -> Vec<u8> {
    let mut bytes = raw[..80].to_vec();
    bytes.push(u8::try_from(block.transactions.len()).unwrap());
    for transaction in &block.transactions {
        let raw = transaction.raw();
        let marked = raw[4] == 0;
        if marked && (transaction.is_hogex() || !witnesses) {
            bytes.extend(&raw[..4]);
            bytes.extend(body(transaction));
            bytes.extend(&raw[raw.len() - 4..]);
        } else {
            bytes.extend(raw);
        }
    }
    bytes
}

/// Inputs and outputs in their wire form.
fn body(transaction: &Transaction<'_>) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(transaction.inputs().len()).unwrap()];
    for input in transaction.inputs() {
        bytes.extend(input.previous.txid.wire());
        bytes.extend(input.previous.vout.to_le_bytes());
        bytes.push(u8::try_from(input.script.len()).unwrap());
        bytes.extend(input.script);
        bytes.extend(input.sequence.to_le_bytes());
    }
    bytes.push(u8::try_from(transaction.outputs().len()).unwrap());
    for output in transaction.outputs() {
        bytes.extend(output.value.to_le_bytes());
        bytes.push(u8::try_from(output.script.len()).unwrap());
        bytes.extend(output.script);
    }
    bytes
}

/// Kinds, votes and sums of every transaction, waiting ones too, against what was worked out apart
/// from this program.
#[test]
fn kinds_and_votes_and_what_inputs_bring_are_as_expected() {
    for phase in [Phase::A, Phase::B] {
        let recording = Recording::of("dcr", phase);
        let format = *recording.chain.format().unwrap();
        let mut votes = 0;
        for list in ["txs", "mempool"] {
            for (txid, fact) in recording.expected[list].as_object().unwrap() {
                let Some(raw) = recording.raw_transactions.get(txid) else { continue };
                let transaction = Transaction::decode(raw, &format).unwrap();
                let kind = transaction.kind();
                assert_eq!(fact["type"], kind.as_str(), "{txid}");
                assert_eq!(fact["tree"] == 1, kind.is_stake(), "{txid}");
                assert_eq!(fact["value_out"], transaction.value_out().to_string(), "{txid}");
                let brought: u64 = transaction.inputs().filter_map(|input| input.amount).sum();
                let brought = kind.has_value_in().then(|| brought.to_string());
                assert_eq!(fact["value_in"].as_str(), brought.as_deref(), "{txid}");
                let vote = transaction.vote().map(|vote| {
                    serde_json::json!({
                        "approves": vote.approves(),
                        "vote_bits": vote.bits,
                        "vote_version": vote.version,
                        "votes_block_hash": vote.block_hash.to_string(),
                        "votes_height": vote.block_height,
                    })
                });
                votes += usize::from(vote.is_some());
                assert_eq!(fact.get("stake"), vote.as_ref(), "{txid}");
            }
        }
        assert!(votes > 500);
    }
}
