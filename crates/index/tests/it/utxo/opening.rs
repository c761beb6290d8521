//! What a folder may hold.

use index::utxo::{HashKey, Identity, Store};
use index::{IndexError, Memory};

use crate::utxo::rig::{Rig, chain, key};

fn open(
    dir: &std::path::Path,
    slug: &str,
    network: &str,
    key: Option<HashKey>,
) -> Result<Store, IndexError> {
    let chain = chain(slug);
    let network = chain.network(network).unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    match key {
        Some(key) => Store::open_with_key(dir, chain, network, &memory, key),
        None => Store::open(dir, chain, network, &memory),
    }
}

#[test]
fn a_strangers_folder_is_refused() {
    let rig = Rig::forged("btc");
    assert!(matches!(
        open(rig.dir.path(), "btc", "regtest", None).err(),
        Some(IndexError::InUse { .. })
    ));
    let Rig { store, dir } = rig;
    let (tip, rows) = (store.tip(), store.dir());
    assert_eq!(rows, dir.path());
    drop(store);
    let refusals = [
        ("ltc", "regtest", None, "an index of btc regtest", "an index of ltc regtest"),
        ("bch", "regtest", None, "an index of btc regtest", "an index of bch regtest"),
        ("btc", "mainnet", None, "an index of btc regtest", "an index of btc mainnet"),
        ("btc", "regtest", Some(HashKey::new([1; 16])), "another hash key", "btc regtest"),
        ("xmr", "mainnet", None, "no index", "xmr"),
    ];
    for (slug, network, key, found, wanted) in refusals {
        let refusal = open(dir.path(), slug, network, key).err().unwrap();
        let IndexError::Stranger { dir: told, found: of, wanted: to } = &refusal else {
            panic!("{refusal}")
        };
        assert_eq!(told, dir.path());
        assert!(of.contains(found) && to.contains(wanted), "{refusal}");
        assert!(refusal.to_string().contains("portolan index info"), "{refusal}");
    }
    let identity = Store::identity(dir.path()).unwrap().unwrap();
    let btc = chain("btc");
    assert_eq!(identity, Identity::new(btc, btc.network("regtest").unwrap()));
    // It is still what it was.
    assert_eq!(open(dir.path(), "btc", "regtest", Some(key())).unwrap().tip(), tip);
    assert_eq!(open(dir.path(), "btc", "regtest", None).unwrap().tip(), tip);
}

#[test]
fn a_new_folder_draws_a_key_of_its_own() {
    let raw = testkit::genesis(chain("btc")).unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Store::identity(dir.path()).unwrap(), None);
        let mut store = open(dir.path(), "btc", "regtest", None).unwrap();
        assert_eq!(store.tip(), None);
        assert!(index::utxo::View::of(&store).is_none());
        let format = *store.format();
        store.connect(&chain::utxo::Block::decode(&raw, &format).unwrap()).unwrap();
        store
            .rows(|table, key, value| {
                if (table, key) == ("meta", b"hash_key") {
                    seen.push(value.to_vec());
                }
            })
            .unwrap();
    }
    assert_ne!(seen[0], seen[1]);
    assert_eq!((seen.len(), seen[0].len()), (2, 16));
}

#[test]
fn a_backup_is_the_same_index() {
    let rig = Rig::forged("doge");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    rig.store.backup(&copy).unwrap();
    let copy = open(&copy, "doge", "regtest", None).unwrap();
    assert_eq!(rig.store.same_rows(&copy).unwrap(), None);
    let Rig { mut store, dir: _dir } = rig;
    store.disconnect().unwrap();
    let difference = store.same_rows(&copy).unwrap().unwrap();
    assert_eq!((difference.table, difference.first.is_none()), ("meta", true));
    assert!(difference.to_string().starts_with("meta 746970: no row against "));
}

/// Files of a store in which a byte that was changed keeps it from opening.
fn files_that_matter(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let matters = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("MANIFEST") || name.ends_with(".sst")
    };
    let files: Vec<_> = entries.filter(matters).collect();
    assert!(files.len() > 1, "{files:?}");
    files
}

#[test]
fn damage_is_told_as_damage_and_never_as_use_by_another_process() {
    let rig = Rig::forged("btc");
    let Rig { store, dir } = rig;
    drop(store);
    // Opened once more, so that its rows are in files.
    drop(open(dir.path(), "btc", "regtest", None).unwrap());
    for file in files_that_matter(dir.path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let size = std::fs::metadata(&file).unwrap().len() as usize;
        let mut told = 0;
        for place in (0..size).step_by(size / 30 + 1) {
            let copy = tempfile::tempdir().unwrap();
            for entry in std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap) {
                std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[place] ^= 0x55;
            std::fs::write(copy.path().join(name), bytes).unwrap();
            // A change of a byte that is not looked at keeps nothing from opening.
            let Some(error) = open(copy.path(), "btc", "regtest", None).err() else { continue };
            told += u32::from(error.is_damage());
            assert!(!matches!(error, IndexError::InUse { .. }), "{name}: {error}");
        }
        assert!(told > 0 || !name.starts_with("MANIFEST"), "no damage of {name} was told");
    }
}

#[test]
fn a_folder_that_cannot_be_opened_is_in_use_only_if_somebody_has_it_open() {
    let rig = Rig::forged("btc");
    assert!(Store::is_open(rig.dir.path()));
    let Rig { store, dir } = rig;
    drop(store);
    assert!(!Store::is_open(dir.path()));
    assert!(!Store::is_open(&dir.path().join("nothing")));
    // The name of a folder says nothing.
    let odd = tempfile::tempdir().unwrap();
    let block = odd.path().join("block lock hold by current process");
    std::fs::write(&block, "a file").unwrap();
    let error = open(&block, "btc", "regtest", None).err().unwrap();
    assert!(matches!(error, IndexError::File { .. }), "{error}");
}
