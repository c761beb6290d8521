//! Transactions that no wallet would make: right or refused, and bounded.

use chain::ring::{Address, AddressKind, Key, LAST_VERSION};
use curve25519_dalek::{EdwardsPoint, Scalar};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::ring::rig::{Rig, body, items};
use crate::ring::stub::{StubRing, varint};

/// A wallet's keys.
pub struct Wallet {
    view: Scalar,
    spend: EdwardsPoint,
}

fn hash_to_scalar(parts: &[&[u8]]) -> Scalar {
    let mut hasher = Keccak256::new();
    parts.iter().for_each(|part| hasher.update(part));
    Scalar::from_bytes_mod_order(hasher.finalize().into())
}

pub fn public(secret: &Scalar) -> [u8; 32] {
    EdwardsPoint::mul_base(secret).compress().0
}

pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `8 · secret · point`, which both sides know.
fn shared(secret: &Scalar, point: &EdwardsPoint) -> [u8; 32] {
    (secret * point).mul_by_cofactor().compress().0
}

impl Wallet {
    pub fn new(number: u64) -> Wallet {
        let (view, spend) = (Scalar::from(1000 + number), Scalar::from(2000 + number));
        Wallet { view, spend: EdwardsPoint::mul_base(&spend) }
    }

    pub fn view_key(&self) -> String {
        text(self.view.as_bytes())
    }

    pub fn address(&self) -> String {
        let keys = (Key(self.spend.compress().0), Key(public(&self.view)));
        address(keys.0, keys.1)
    }

    /// The one-time key of an output that `secret` pays to it.
    fn one_time(&self, secret: &Scalar, index: u64) -> [u8; 32] {
        let shared = shared(secret, &EdwardsPoint::mul_base(&self.view));
        let scalar = hash_to_scalar(&[&shared, &varint(index)]);
        (EdwardsPoint::mul_base(&scalar) + self.spend).compress().0
    }
}

fn address(spend: Key, view: Key) -> String {
    let network = chain::find("xmr").unwrap().network("regtest").unwrap();
    let chain::AddressParams::Monero(network) = &network.addresses else { panic!("no network") };
    Address { kind: AddressKind::Standard, spend, view }.encode(network)
}

/// A coinbase that pays these amounts to these keys.
pub fn coinbase(version: u8, height: u64, outputs: &[(u64, [u8; 32])], extra: &[u8]) -> Vec<u8> {
    let mut out = vec![version];
    out.extend(varint(height + 60));
    out.extend([1, 0xff]);
    out.extend(varint(height));
    out.extend(written(outputs, extra));
    if version == 2 {
        out.push(0);
    }
    out
}

fn written(outputs: &[(u64, [u8; 32])], extra: &[u8]) -> Vec<u8> {
    let mut out = varint(outputs.len() as u64);
    for (amount, key) in outputs {
        out.extend(varint(*amount));
        out.push(2);
        out.extend(key);
    }
    out.extend(varint(extra.len() as u64));
    out.extend(extra);
    out
}

/// A transaction's input: an amount, and the differences of its ring.
pub type Input = (u64, Vec<u64>);

/// The key image of an input of the transaction with that mark.
pub fn image(mark: u8, place: usize) -> [u8; 32] {
    std::array::from_fn(|at| if at == 0 { mark } else { place as u8 })
}

/// The prefix of a transaction that spends.
pub fn spending(version: u8, mark: u8, inputs: &[Input], outputs: &[(u64, [u8; 32])]) -> Vec<u8> {
    let mut out = vec![version, 0];
    out.extend(varint(inputs.len() as u64));
    for (place, (amount, offsets)) in inputs.iter().enumerate() {
        out.push(2);
        out.extend(varint(*amount));
        out.extend(varint(offsets.len() as u64));
        offsets.iter().for_each(|offset| out.extend(varint(*offset)));
        out.extend(image(mark, place));
    }
    out.extend(written(outputs, &[]));
    out
}

/// The same of version 1, with as many signatures as there must be.
pub fn open(mark: u8, inputs: &[Input], outputs: &[(u64, [u8; 32])]) -> Vec<u8> {
    let mut out = spending(1, mark, inputs, outputs);
    out.extend(vec![0; 64 * inputs.iter().map(|input| input.1.len()).sum::<usize>()]);
    out
}

pub async fn in_sync(node: &StubRing) -> Rig {
    let rig = Rig::start(node.url()).await;
    rig.in_sync_at(node.next() as u32 - 1).await;
    rig
}

/// Places of what a check finds, and the sum.
pub async fn found(
    rig: &Rig,
    hash: &str,
    address: &str,
    kind: &str,
    key: &str,
) -> (Vec<u64>, Value) {
    let answer = rig.check(hash, address, kind, key).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = body(&answer);
    let places = items(&answer["matches"]).iter().map(|one| one["index"].as_u64().unwrap());
    (places.collect(), answer["total"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reward_of_hundreds_of_outputs_is_looked_through() {
    let node = StubRing::start().await;
    let (wallet, other, secret) = (Wallet::new(1), Wallet::new(2), Scalar::from(77_u64));
    let outputs = (0..600).map(|place| match place % 2 {
        1 => (place, wallet.one_time(&secret, place)),
        _ => (place, other.one_time(&secret, place)),
    });
    let outputs: Vec<(u64, [u8; 32])> = outputs.collect();
    let extra = [&[1][..], &public(&secret)].concat();
    let hash = node.mine(&coinbase(2, 1, &outputs, &extra), &[]).remove(0);
    let rig = in_sync(&node).await;
    let odd: Vec<u64> = (0..600).filter(|place| place % 2 == 1).collect();
    let expected = (odd.clone(), json!(odd.iter().sum::<u64>().to_string()));
    let key = text(secret.as_bytes());
    for (kind, key) in [("viewkey", &wallet.view_key()), ("txkey", &key)] {
        assert_eq!(found(&rig, &hash, &wallet.address(), kind, key).await, expected);
    }
    let (even, _) = found(&rig, &hash, &other.address(), "txkey", &key).await;
    assert_eq!(even.len(), 300, "an output of amount 0 is listed too");
    let shown = rig.ok(&format!("tx/{hash}")).await;
    assert_eq!((&shown["output_count"], &shown["coinbase"]), (&json!(600), &json!(true)));
    assert_eq!(items(&shown["outputs"]).len(), 600);
    assert_eq!(shown["outputs"][3], json!({"public_key": text(&outputs[3].1), "amount": "3"}));
    assert_eq!(shown["visible_out"], (0..600).sum::<u64>().to_string());
    assert_eq!(rig.ok("block/1").await["reward"], shown["visible_out"]);
}

/// What is found with each kind of `extra`.
#[tokio::test(flavor = "multi_thread")]
async fn odd_extras_are_read_as_wallets_read_them() {
    let node = StubRing::start().await;
    let (wallet, secret) = (Wallet::new(1), Scalar::from(77_u64));
    let key = |bytes: [u8; 32]| [&[1][..], &bytes].concat();
    let right = key(public(&secret));
    let wrong = key(public(&Scalar::from(78_u64)));
    // y = 2 is on no point of the curve.
    let no_point = key(std::array::from_fn(|at| if at == 0 { 2 } else { 0 }));
    let nonce = |nonce: &[u8]| [&[2, nonce.len() as u8][..], nonce].concat();
    let clear = [&[0][..], &[0xab; 32]].concat();
    let encrypted = [1, 1, 2, 3, 4, 5, 6, 7, 8];
    let cases: [(Vec<u8>, bool, Option<String>); 12] = [
        (right.clone(), true, None),
        ([wrong.clone(), right.clone()].concat(), true, None),
        ([right.clone(), wrong.clone()].concat(), true, None),
        ([no_point.clone(), right.clone()].concat(), true, None),
        // What is malformed ends the reading, and what stands before it counts.
        ([&right[..], &[2, 200, 1]].concat(), true, None),
        ([&right[..], &[0x77, 1, 2, 3]].concat(), true, None),
        ([&[0x77][..], &right].concat(), false, None),
        (right[..20].to_vec(), false, None),
        (Vec::new(), false, None),
        ([right.clone(), nonce(&clear)].concat(), true, Some("ab".repeat(32))),
        (
            [nonce(&encrypted), nonce(&clear), right.clone()].concat(),
            true,
            Some("0102030405060708".into()),
        ),
        // The first nonce counts, and it is no payment id.
        ([nonce(&[7; 4]), nonce(&clear), right.clone()].concat(), true, None),
    ];
    let mut hashes = Vec::new();
    for (place, (extra, ..)) in cases.iter().enumerate() {
        let outputs = [(5, wallet.one_time(&secret, 0)), (7, no_point[1..].try_into().unwrap())];
        hashes.push(node.mine(&coinbase(2, place as u64 + 1, &outputs, extra), &[]).remove(0));
    }
    let rig = in_sync(&node).await;
    for ((extra, is_found, payment_id), hash) in cases.iter().zip(&hashes) {
        let expected = if *is_found { (vec![0], json!("5")) } else { (Vec::new(), json!("0")) };
        let what = text(extra);
        let by_view = found(&rig, hash, &wallet.address(), "viewkey", &wallet.view_key()).await;
        assert_eq!(by_view, expected, "{what}");
        // Of a coinbase a transaction's key has to be the one that it was made with.
        let by_tx = found(&rig, hash, &wallet.address(), "txkey", &text(secret.as_bytes())).await;
        assert_eq!(by_tx, expected, "{what}");
        let shown = rig.ok(&format!("tx/{hash}")).await;
        assert_eq!(shown["extra"], what);
        assert_eq!(shown.get("payment_id").cloned(), payment_id.clone().map(Value::from));
        assert_eq!(shown["outputs"][1]["public_key"], text(&no_point[1..]));
    }
}

/// Whoever may choose key and address together finds one that fits any output; the key has to be
/// the transaction's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_made_up_claim_on_a_reward_finds_nothing() {
    let node = StubRing::start().await;
    let (wallet, secret) = (Wallet::new(1), Scalar::from(77_u64));
    let extra = [&[1][..], &public(&secret)].concat();
    let one_time = wallet.one_time(&secret, 0);
    let hash = node.mine(&coinbase(2, 1, &[(5, one_time)], &extra), &[]).remove(0);
    let rig = in_sync(&node).await;
    let (made_up, view) = (Scalar::from(99_u64), Scalar::from(5_u64));
    let shared = shared(&made_up, &EdwardsPoint::mul_base(&view));
    let scalar = hash_to_scalar(&[&shared, &varint(0)]);
    let output = curve25519_dalek::edwards::CompressedEdwardsY(one_time).decompress().unwrap();
    let spend = output - EdwardsPoint::mul_base(&scalar);
    let claimed = address(Key(spend.compress().0), Key(public(&view)));
    let none = (Vec::new(), json!("0"));
    let key = text(made_up.as_bytes());
    assert_eq!(found(&rig, &hash, &claimed, "txkey", &key).await, none);
    // And a view key that fits the chosen address does not fit the transaction.
    assert_eq!(found(&rig, &hash, &claimed, "viewkey", &text(view.as_bytes())).await, none);
}

/// Version 1 and the rings of its amounts, a type of later versions, and a transaction that is so
/// long that it is made in pieces.
#[tokio::test(flavor = "multi_thread")]
async fn rings_of_public_amounts_later_types_and_endless_rings_are_shown() {
    let node = StubRing::start().await;
    let keys: Vec<[u8; 32]> = (0..6_u64).map(|it| public(&Scalar::from(50 + it))).collect();
    let first =
        node.mine(&coinbase(1, 1, &[(70, keys[0]), (30, keys[1]), (70, keys[2])], &[]), &[]);
    let small = open(1, &[(70, vec![0, 1]), (30, vec![0])], &[(60, keys[3])]);
    let mut later = spending(2, 2, &[(0, vec![0, 1])], &[(0, keys[4])]);
    later.extend([9, 1, 2, 3]);
    // Many members, and rings that end and begin inside of a piece.
    let sizes = [700_usize, 1, 512, 513, 2000, 3];
    let inputs: Vec<Input> = sizes.iter().map(|size| (70, vec![0; *size])).collect();
    let outputs: Vec<(u64, [u8; 32])> = (0..1500).map(|_| (0, keys[5])).collect();
    let endless = open(3, &inputs, &outputs);
    let reward = coinbase(2, 2, &[(1, keys[0])], &vec![0x77; 100_000]);
    let second = node.mine_as(LAST_VERSION + 1, &reward, &[small, later, endless], &[]);
    let rig = in_sync(&node).await;
    let member =
        |key: usize| json!({"height": 1, "public_key": text(&keys[key]), "tx_hash": first[0]});
    let small = rig.ok(&format!("tx/{}", second[1])).await;
    assert_eq!(
        (&small["fee"], &small["version"], &small["rct_type"]),
        (&json!("40"), &json!(1), &json!(0))
    );
    assert_eq!(small["ring_size"], 2);
    let image = |mark, place| text(&image(mark, place));
    let expected = json!([
        {"key_image": image(1, 0), "amount": "70", "ring": [member(0), member(2)]},
        {"key_image": image(1, 1), "amount": "30", "ring": [member(1)]},
    ]);
    assert_eq!(small["inputs"], expected);
    assert_eq!(small["outputs"], json!([{"public_key": text(&keys[3]), "amount": "60"}]));
    let later = rig.ok(&format!("tx/{}", second[2])).await;
    assert_eq!(
        (&later["rct_type"], later.get("fee"), later.get("ring_size")),
        (&json!(9), None, None)
    );
    assert_eq!(later["inputs"], json!([{"key_image": image(2, 0), "ring": []}]));
    assert_eq!(later["outputs"], json!([{"public_key": text(&keys[4])}]));
    let answer = rig.get(&format!("tx/{}", second[3])).await;
    assert!(answer.body.len() > 700_000, "{}", answer.body.len());
    let endless = body(&answer);
    let rings = items(&endless["inputs"]).iter().map(|input| items(&input["ring"]).len());
    assert_eq!(rings.collect::<Vec<_>>(), sizes);
    let mut all = items(&endless["inputs"]).iter().flat_map(|input| items(&input["ring"]));
    assert!(all.all(|found| *found == member(0)));
    assert_eq!(items(&endless["outputs"]).len(), 1500);
    assert_eq!(endless["input_count"], sizes.len());
    let list = rig.ok("block/2/txs").await;
    let hashes: Vec<&Value> = items(&list["txs"]).iter().map(|tx| &tx["hash"]).collect();
    assert_eq!(json!(hashes), json!(second));
    assert_eq!(list["txs"][0]["extra"], "77".repeat(100_000));
}

/// A node may keep a transaction in its pool whose ring has outputs of popped blocks.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_were_taken_away_are_left_out_of_a_waiting_ring() {
    let node = StubRing::start().await;
    let keys: Vec<[u8; 32]> = (0..4_u64).map(|it| public(&Scalar::from(50 + it))).collect();
    let mut made = Vec::new();
    for (height, key) in (1..).zip(&keys[..3]) {
        made.push(node.mine(&coinbase(2, height, &[(5, *key)], &[]), &[]).remove(0));
    }
    let waiting = open(4, &[(0, vec![0, 2]), (0, vec![1]), (0, vec![2])], &[(0, keys[3])]);
    let hash = node.wait(&waiting);
    let rig = in_sync(&node).await;
    let member =
        |at: usize| json!({"height": at + 1, "public_key": text(&keys[at]), "tx_hash": made[at]});
    let shows = async |rings: Value| {
        let shown = rig.ok(&format!("tx/{hash}")).await;
        let inputs = items(&shown["inputs"]);
        let found: Vec<&Value> = inputs.iter().map(|input| &input["ring"]).collect();
        assert_eq!(json!(found), rings);
        assert_eq!((&shown["ring_size"], &shown["input_count"]), (&json!(2), &json!(3)));
        assert_eq!((&shown["confirmations"], shown.get("block_height")), (&json!(0), None));
        let list = rig.ok("mempool").await;
        assert_eq!(
            (&list["txs"][0]["hash"], &list["txs"][0]["ring_size"]),
            (&json!(hash), &json!(2))
        );
    };
    shows(json!([[member(0), member(2)], [member(1)], [member(2)]])).await;
    node.pop();
    rig.in_sync_at(2).await;
    shows(json!([[member(0)], [member(1)], []])).await;
    node.pop();
    rig.in_sync_at(1).await;
    shows(json!([[member(0)], [], []])).await;
}
