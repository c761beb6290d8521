//! B13: rows on their way from the file to the store, and back after trouble.

use std::sync::Arc;
use std::thread;

use super::*;
use crate::store::ChainName;
use crate::{Clock, Hands, Replica, Utc, sqlite::Sqlite};

const HOUR: u32 = 500_000;

struct Rig {
    dir: tempfile::TempDir,
    store: Sqlite,
    clock: Clock,
    hands: Hands,
}

impl Rig {
    fn new() -> Rig {
        let dir = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&Folder::open(dir.path()).unwrap()).unwrap();
        let (clock, hands) = Clock::test(u64::from(HOUR) * 3600);
        Rig { dir, store, clock, hands }
    }

    fn open(&self) -> Ledger {
        let folder = Folder::open(self.dir.path()).unwrap();
        Ledger::open(&folder, Service::Gateway, &self.store, self.clock.now()).unwrap()
    }

    fn record(&self, ledger: &Ledger) {
        ledger.record(&self.store, self.clock.now()).unwrap();
    }

    /// Over all replicas.
    fn recorded(&self, name: RowName) -> u64 {
        let rows = self.store.usage(name.account, name.hour).unwrap();
        rows.iter()
            .filter(|counted| counted.row.name == name)
            .map(|counted| counted.row.units)
            .sum()
    }

    fn map(&self) -> std::path::PathBuf {
        self.dir.path().join("usage-gateway.map")
    }
}

fn name(key: u64, hour: u32) -> RowName {
    RowName { hour, account: 1, key, chain: ChainName::new("btc").unwrap() }
}

fn charge(ledger: &Ledger, name: RowName, units: u64) -> u32 {
    let slot = ledger.slot(name).unwrap();
    assert!(ledger.file.add(slot, &name, units));
    slot
}

fn live(ledger: &Ledger) -> usize {
    ledger.file.rows().filter(|(_, slot)| *slot != Slot::Free).count()
}

#[test]
fn recording_twice_changes_nothing_and_follows_refunds() {
    let rig = Rig::new();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 5);
    rig.record(&ledger);
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 5);
    ledger.file.take_back(slot, &name(1, HOUR), 2);
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 3);
}

#[test]
fn a_slot_is_freed_when_its_row_is_recorded_over_and_idle() {
    let rig = Rig::new();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 5);
    rig.record(&ledger);
    for _ in 0..2 {
        rig.hands.advance(Duration::from_secs(3600));
        rig.record(&ledger);
        assert_eq!(live(&ledger), 1);
    }
    // Two hours idle and three hours on, but touched again by a late refund.
    ledger.file.take_back(slot, &name(1, HOUR), 1);
    rig.hands.advance(Duration::from_secs(3600));
    rig.record(&ledger);
    assert_eq!(live(&ledger), 1);
    rig.hands.advance(Duration::from_secs(7200));
    rig.record(&ledger);
    assert_eq!(live(&ledger), 0);
    assert_eq!(rig.recorded(name(1, HOUR)), 4);
    // Its remembered place takes nothing any more, and the row goes on where it ended.
    assert!(!ledger.file.add(slot, &name(1, HOUR), 1));
    charge(&ledger, name(1, HOUR), 2);
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 6);
}

#[test]
fn a_clock_that_jumps_frees_no_slot_of_a_request_in_flight() {
    let rig = Rig::new();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 5);
    rig.record(&ledger);
    rig.hands.set_utc(u64::from(HOUR + 1000) * 3600);
    rig.record(&ledger);
    ledger.file.take_back(slot, &name(1, HOUR), 5);
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 0);
}

#[test]
fn a_lost_usage_file_goes_on_from_what_was_recorded() {
    let rig = Rig::new();
    let ledger = rig.open();
    charge(&ledger, name(1, HOUR), 5);
    rig.record(&ledger);
    drop(ledger);
    std::fs::remove_file(rig.map()).unwrap();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 2);
    assert_eq!(
        ledger.file.read(slot),
        Slot::Row(LiveRow { name: name(1, HOUR), units: 2, unsettled: true })
    );
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 7);
}

#[test]
fn rows_of_a_killed_process_are_recorded_when_the_next_one_opens() {
    let rig = Rig::new();
    let ledger = rig.open();
    for key in 0..5000 {
        charge(&ledger, name(key, HOUR), key + 1);
    }
    assert_eq!(ledger.file.len(), 2 * SEGMENT_SLOTS);
    // Nothing of it was recorded: a kill leaves the file alone.
    drop(ledger);
    let ledger = rig.open();
    assert_eq!(live(&ledger), 5000);
    assert_eq!(rig.recorded(name(4999, HOUR)), 5000);
    charge(&ledger, name(4999, HOUR), 1);
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(4999, HOUR)), 5001);
}

#[test]
fn a_damaged_slot_is_left_out_and_the_others_stay() {
    let rig = Rig::new();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 5);
    charge(&ledger, name(2, HOUR), 6);
    let offset = 256 * 1024 + slot as usize * 64;
    drop(ledger);
    let mut bytes = std::fs::read(rig.map()).unwrap();
    bytes[offset + 8] ^= 1;
    std::fs::write(rig.map(), bytes).unwrap();
    let ledger = rig.open();
    assert_eq!(live(&ledger), 1);
    assert_eq!((rig.recorded(name(1, HOUR)), rig.recorded(name(2, HOUR))), (0, 6));
}

#[test]
fn a_freed_slot_that_a_power_loss_brings_back_counts_once() {
    let rig = Rig::new();
    let ledger = rig.open();
    charge(&ledger, name(1, HOUR), 5);
    rig.record(&ledger);
    charge(&ledger, name(2, HOUR), 1);
    drop(ledger);
    // The same row in two slots: the old one as it was freed, the new one settled or not.
    for (unsettled, expected) in [(true, 7), (false, 8)] {
        drop(file_with_twin(&rig, unsettled));
        let ledger = rig.open();
        assert_eq!(rig.recorded(name(1, HOUR)), expected);
        assert_eq!(live(&ledger), 2);
        drop(ledger);
    }

    fn file_with_twin(rig: &Rig, unsettled: bool) -> UsageFile {
        let identity = rig.store.identity().unwrap();
        let file = UsageFile::open(&rig.map(), Service::Gateway, identity).unwrap();
        let twin = 4000;
        file.begin(twin, name(1, HOUR));
        file.add(twin, &name(1, HOUR), if unsettled { 2 } else { 8 });
        if !unsettled {
            file.settle(twin, 0);
        }
        file
    }
}

#[test]
fn the_unsettled_mark_survives_charges() {
    let rig = Rig::new();
    let ledger = rig.open();
    let slot = charge(&ledger, name(1, HOUR), 3);
    ledger.file.take_back(slot, &name(1, HOUR), 3);
    let Slot::Row(row) = ledger.file.read(slot) else { panic!("no row") };
    assert_eq!((row.units, row.unsettled), (0, true));
}

#[test]
fn threads_charge_while_rows_are_recorded_and_none_is_lost() {
    let rig = Rig::new();
    let ledger = Arc::new(rig.open());
    thread::scope(|scope| {
        for key in 0..4 {
            let ledger = Arc::clone(&ledger);
            scope.spawn(move || {
                for round in 0..20_000_u32 {
                    charge(&ledger, name(key, HOUR + round / 5000), 1);
                }
            });
        }
        for _ in 0..20 {
            rig.record(&ledger);
        }
    });
    rig.record(&ledger);
    for key in 0..4 {
        for hour in 0..4 {
            assert_eq!(rig.recorded(name(key, HOUR + hour)), 5000);
        }
    }
    assert_eq!(Utc::from_secs(u64::from(HOUR) * 3600).hour(), HOUR);
}

#[test]
fn a_row_that_is_damaged_while_it_is_counted_goes_on_from_what_was_recorded() {
    use std::io::{Read, Seek, SeekFrom, Write};
    let rig = Rig::new();
    let ledger = rig.open();
    charge(&ledger, name(1, HOUR), 5);
    charge(&ledger, name(2, HOUR), 5);
    rig.record(&ledger);
    // A bit of the first slot's units flips, in the page that the process has mapped.
    let mut file = std::fs::File::options().read(true).write(true).open(rig.map()).unwrap();
    let units = 4096 * 64 + 5 * 8;
    let mut word = [0; 8];
    file.seek(SeekFrom::Start(units)).unwrap();
    file.read_exact(&mut word).unwrap();
    word[4] ^= 0x40;
    file.seek(SeekFrom::Start(units)).unwrap();
    file.write_all(&word).unwrap();
    rig.record(&ledger);
    assert_eq!(rig.recorded(name(1, HOUR)), 5);
    charge(&ledger, name(1, HOUR), 2);
    charge(&ledger, name(2, HOUR), 1);
    rig.record(&ledger);
    assert_eq!((rig.recorded(name(1, HOUR)), rig.recorded(name(2, HOUR))), (7, 6));
}

#[test]
fn rows_that_the_store_has_no_room_for_count_from_the_file() {
    let rig = Rig::new();
    let limit = |pages: &str| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        rig.store.write(|writer| Ok(writer.execute_batch(&sql)?)).unwrap();
    };
    let sum = |ledger: &Ledger| -> u64 {
        let totals = ledger.totals(&rig.store, HOUR..HOUR + 1).unwrap();
        totals.iter().map(|total| total.units).sum()
    };
    let ledger = rig.open();
    charge(&ledger, name(0, HOUR), 7);
    rig.record(&ledger);
    // As many pages as there are by now.
    limit("1");
    charge(&ledger, name(0, HOUR), 2);
    for key in 1..=2000 {
        charge(&ledger, name(key, HOUR), 1);
    }
    let full = ledger.record(&rig.store, rig.clock.now());
    assert!(matches!(full, Err(StoreError::Full(_))), "{full:?}");
    ledger.record_or_keep(&rig.store, rig.clock.now()).unwrap();
    assert_eq!((rig.recorded(name(0, HOUR)), sum(&ledger)), (7, 2009));
    drop(ledger);
    // The next start counts them too, and records them once there is room.
    let ledger = rig.open();
    assert_eq!((rig.recorded(name(0, HOUR)), sum(&ledger)), (7, 2009));
    assert!(!ledger.open_days.is_open(HOUR / 24), "a day that has rows must be read");
    limit("1000000");
    rig.record(&ledger);
    assert_eq!((rig.recorded(name(0, HOUR)), sum(&ledger)), (9, 2009));
}

#[test]
fn rows_of_a_former_file_wait_for_room_and_count_once() {
    let rig = Rig::new();
    let identity = rig.store.identity().unwrap();
    let (one, two, three) = (name(1, HOUR), name(2, HOUR), name(3, HOUR));
    let rows = [(one, 7, true), (two, 3, false)];
    crate::usage_file::tests::make_unnumbered(&rig.map(), identity, &rows);
    let before = [UsageRow { name: one, units: 10 }, UsageRow { name: two, units: 2 }];
    rig.store.record(Service::Gateway, Replica::FIRST, &before).unwrap();
    let former = std::fs::read(rig.map()).unwrap();
    let fill = || crate::usage_file::tests::fill(&rig.map());
    let pause = || thread::sleep(Duration::from_millis(250));
    let units = |ledger: &Ledger| {
        let mut totals = ledger.totals(&rig.store, HOUR..HOUR + 1).unwrap();
        totals.sort_by_key(|total| total.key);
        totals.iter().map(|total| (total.key, total.units)).collect::<Vec<_>>()
    };
    // Ended twice without having found room: nothing has changed.
    for _ in 0..2 {
        fill();
        let ledger = rig.open();
        assert_eq!(units(&ledger), [(1, 17), (2, 3)]);
        for name in [one, three] {
            pause();
            fill();
            assert!(has_no_room(&ledger.slot(name).unwrap_err()));
        }
        pause();
        fill();
        let full = ledger.record(&rig.store, rig.clock.now()).unwrap_err();
        assert!(matches!(full, StoreError::Full(_)), "{full}");
        assert_eq!((rig.recorded(one), rig.recorded(two)), (10, 2));
        assert!(std::fs::read(rig.map()).unwrap() == former);
    }
    fill();
    let ledger = rig.open();
    pause();
    charge(&ledger, one, 1);
    charge(&ledger, three, 1);
    assert_eq!(units(&ledger), [(1, 18), (2, 3), (3, 1)]);
    rig.record(&ledger);
    drop(ledger);
    let ledger = rig.open();
    assert_eq!(units(&ledger), [(1, 18), (2, 3), (3, 1)]);
    assert_eq!((rig.recorded(one), rig.recorded(two), rig.recorded(three)), (18, 3, 1));
    drop(ledger);
    // By nobody asked, recording finds the room too.
    std::fs::write(rig.map(), &former).unwrap();
    fill();
    let ledger = rig.open();
    pause();
    rig.record(&ledger);
    assert!(!ledger.file.waits());
}
