//! Units that an account used, read from the rows.
//!
//! Live rows are read from the usage files first, recorded ones from the store after: a row that
//! is moved from one to the other meanwhile is in the store before it leaves the file, so none is
//! missed; a live row stands for the recorded one of its replica and name, so none counts twice. Live rows of
//! other machines are not seen before they are recorded.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;

use super::error::AdminError;
use super::view::{account_id, key_id};
use crate::folder::Folder;
use crate::store::{Account, CountedRow, RowName, Store};
use crate::usage_file::{LiveRow, Slot, UsageFile};
use crate::utc::first_day_of_month;
use crate::{Replica, Service, Utc};

/// How often a read that met the recording of new rows is tried again.
const TRIES: usize = 8;

/// Units of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageView {
    /// `acc_N`.
    pub account: String,
    /// On the gateway.
    pub gateway: ServiceUsage,
    /// On the explorer.
    pub explorer: ServiceUsage,
    /// Hour by hour, oldest first.
    pub hours: Vec<HourView>,
}

/// Units on one service, as its quotas count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServiceUsage {
    /// Since 00:00 UTC.
    pub today: u64,
    /// Since 00:00 UTC on the first.
    pub month: u64,
}

/// Units of one key on one chain in one UTC hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HourView {
    /// Its beginning.
    pub hour: Utc,
    /// `gateway` or `explorer`.
    pub service: &'static str,
    /// `key_N`.
    pub key: String,
    /// Slug of the chain.
    pub chain: String,
    /// How many.
    pub units: u64,
}

/// Units of each replica, by hour, service and row.
type Rows = BTreeMap<(u32, Service, RowName), BTreeMap<Replica, u64>>;
/// Live rows of the services of this folder.
type Live = Vec<(Service, Replica, LiveRow)>;

pub(super) fn read(
    folder: &Folder,
    store: &dyn Store,
    account: &Account,
    now: Utc,
    since: Option<Utc>,
) -> Result<UsageView, AdminError> {
    let today = now.day() * 24..(now.day() + 1) * 24;
    let month = first_day_of_month(now.month()) * 24..first_day_of_month(now.month() + 1) * 24;
    let since = since.map_or(month.start, Utc::hour);
    let rows = rows(folder, store, account.id, since.min(month.start))?;
    let sum = |service, hours: &Range<u32>| {
        let of = rows.iter().filter(|((hour, of, _), _)| *of == service && hours.contains(hour));
        of.map(|(_, units)| sum_of(units)).sum()
    };
    let both = |service| ServiceUsage { today: sum(service, &today), month: sum(service, &month) };
    let hours = rows.iter().map(|(name, units)| (name, sum_of(units)));
    let hours = hours.filter(|((hour, ..), units)| *hour >= since && *units > 0);
    Ok(UsageView {
        account: account_id(account.id),
        gateway: both(Service::Gateway),
        explorer: both(Service::Explorer),
        hours: hours.map(|((_, service, name), units)| hour(*service, name, units)).collect(),
    })
}

/// Units of one row over its replicas.
fn sum_of(units: &BTreeMap<Replica, u64>) -> u64 {
    units.values().sum()
}

fn hour(service: Service, name: &RowName, units: u64) -> HourView {
    HourView {
        hour: Utc::from_secs(u64::from(name.hour) * 3600),
        service: service.as_str(),
        key: key_id(name.key),
        chain: name.chain.as_str().to_owned(),
        units,
    }
}

fn rows(folder: &Folder, store: &dyn Store, account: u64, from: u32) -> Result<Rows, AdminError> {
    let mut live = live(folder, store, account, from)?;
    for _ in 0..TRIES {
        let recorded = store.usage(account, from)?;
        let mut rows = Rows::new();
        for CountedRow { service, replica, row } in recorded {
            let units = rows.entry((row.name.hour, service, row.name)).or_default();
            units.insert(replica, row.units);
        }
        for (service, replica, row) in &live {
            let units = rows.entry((row.name.hour, *service, row.name)).or_default();
            let units = units.entry(*replica).or_default();
            *units = if row.unsettled { *units + row.units } else { row.units };
        }
        // A row that was settled between the two reads would have counted twice.
        let again = self::live(folder, store, account, from)?;
        if unsettled(&live).eq(unsettled(&again)) {
            return Ok(rows);
        }
        live = again;
    }
    Err(AdminError::Store(crate::StoreError::Failed("usage is being recorded".to_owned())))
}

fn unsettled(live: &Live) -> impl Iterator<Item = (Service, RowName)> {
    live.iter().filter(|(.., row)| row.unsettled).map(|(service, _, row)| (*service, row.name))
}

fn live(folder: &Folder, store: &dyn Store, account: u64, from: u32) -> Result<Live, AdminError> {
    let identity = store.identity()?;
    let mut live = Vec::new();
    for service in Service::ALL {
        let Some(file) = UsageFile::look(&folder.usage(service), service, identity)? else {
            continue;
        };
        live.extend(file.rows().filter_map(|(_, slot)| match slot {
            Slot::Row(row) if row.name.account == account && row.name.hour >= from => {
                Some((service, file.replica(), row))
            }
            _ => None,
        }));
    }
    Ok(live)
}
