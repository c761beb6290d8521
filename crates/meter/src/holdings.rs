//! What this process holds of the units that a store lends, and when it borrows and returns.
//!
//! Each look finds what has to be told: a lease that is half spent is filled up to what the account
//! uses in [`AHEAD`], one that rests is returned, one of a day that begins soon is borrowed ahead. What
//! is told is always the whole amount that may have been used. Invariant: `held` is what was spent of
//! a lease and what is left of it; it grows only by what the store has committed, and shrinks only by
//! what was taken out of the lease before.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lending::KindView;
use crate::purse::{Purse, Wanted};
use crate::store::StoreError;
use crate::store::lender::{Ask, Kind, Lender, Lent, PotName, fair};
use crate::{Replica, Service};

/// A lease lasts so long at the speed of the last seconds, where the cap has that much: the store may
/// be away for that time.
const AHEAD: Duration = Duration::from_secs(90);
/// The least that is borrowed ahead, where the cap has it.
const LEAST: u64 = 128;
/// A lease that nobody spends is returned after so long.
const REST: Duration = Duration::from_secs(60);
/// The same where the store has no more of it for others.
const REST_AT_THE_END: Duration = Duration::from_secs(2);
/// What others were lent is looked up so often for a lease that is spent, and for one that rests.
const VIEW: Duration = Duration::from_secs(1);
const VIEW_AT_REST: Duration = Duration::from_secs(5);
/// The speed is that of the last seconds.
const SPEED_MS: u64 = 4000;
const SHORTEST_MS: u64 = 20;
/// That there is no more is believed for so long.
const DRY: Duration = Duration::from_secs(1);
/// Seconds before midnight from which on the next day's leases are borrowed.
const AHEAD_OF_MIDNIGHT_SECS: u64 = 120;
/// Caps that are told of at once.
const BATCH: usize = 200;

/// When it is looked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Since some beginning.
    pub(crate) mono: Duration,
    /// The UTC day.
    pub(crate) day: u32,
    /// Until the next one.
    pub(crate) secs_to_next_day: u64,
    /// Is it known that this replica has used nothing of the next one?
    pub(crate) tomorrow_is_new: bool,
}

/// Who borrows, and among how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Borrower {
    pub(crate) service: Service,
    pub(crate) replica: Replica,
    pub(crate) live: u32,
}

/// Every lease of a service in this process.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    open: BTreeMap<PotName, Holding>,
}

#[derive(Debug)]
struct Holding {
    purse: Purse,
    cap: u64,
    /// Spent and left.
    held: u64,
    /// Left when the speed was last taken, and when.
    left_then: u64,
    then: Duration,
    per_minute: u64,
    spent_at: Duration,
    told_at: Duration,
    /// What the store could lend when it was last asked.
    pool: u64,
    /// More is needed.
    wanted: bool,
    /// The store takes more for held than is held.
    untold: bool,
}

impl Holdings {
    /// Takes up what a call found short.
    pub(crate) fn want(&mut self, Wanted { purse, stamp, cap }: Wanted, now: Moment) {
        let name = purse.name(stamp);
        // Where a clock was set back by days its word may still be another stamp's.
        let former = purse.term(stamp).stamp().filter(|former| *former != stamp);
        if let Some(former) = former.map(|stamp| PotName { stamp, ..name })
            && let Some(holding) = self.open.get_mut(&former)
        {
            holding.withdraw(former, u64::MAX);
        }
        // What was used before is known by now; rows that are read later have what is held in them.
        purse.tally().charge(stamp, 0);
        let holding = self.open.entry(name).or_insert_with(|| Holding::new(purse, now.mono));
        holding.cap = cap;
        holding.wanted = true;
    }

    /// Borrows and returns what is due; all are looked at, or only those that were wanted.
    pub(crate) fn look(
        &mut self,
        lender: &dyn Lender,
        who: Borrower,
        now: Moment,
        all: bool,
    ) -> Result<(), StoreError> {
        if all {
            self.look_ahead(now);
            self.forget(now);
        }
        let due = self.open.iter_mut().filter(|(_, holding)| all || holding.wanted);
        let asks = due.filter_map(|(name, one)| one.ask(*name, now, who.live));
        let asks: Vec<Ask> = asks.collect();
        self.tell(lender, who, now, &asks)
    }

    /// What is held, by kinds.
    pub(crate) fn view(&self) -> [KindView; 3] {
        let mut view = [Kind::Month, Kind::Day, Kind::KeyDay]
            .map(|kind| KindView { name: kind.as_str(), ..KindView::default() });
        for (name, one) in &self.open {
            let left = one.purse.term(name.stamp).left(name.stamp).unwrap_or(0);
            let kind = &mut view[name.kind as usize];
            kind.leases += u64::from(left > 0);
            kind.units = kind.units.saturating_add(left);
        }
        view
    }

    /// Returns everything that is left.
    pub(crate) fn return_all(
        &mut self,
        lender: &dyn Lender,
        who: Borrower,
        now: Moment,
    ) -> Result<(), StoreError> {
        let returned = self.open.iter_mut().filter_map(|(name, one)| one.give_up(*name));
        let asks: Vec<Ask> = returned.collect();
        self.tell(lender, who, now, &asks)
    }

    fn tell(
        &mut self,
        lender: &dyn Lender,
        who: Borrower,
        now: Moment,
        asks: &[Ask],
    ) -> Result<(), StoreError> {
        for batch in asks.chunks(BATCH) {
            let lent = lender.lend(who.service, who.replica, who.live, batch)?;
            for (ask, lent) in batch.iter().zip(lent) {
                if let Some(holding) = self.open.get_mut(&ask.pot) {
                    holding.take(ask, lent, now.mono);
                }
            }
        }
        Ok(())
    }

    /// Opens the leases of the day and month that begin soon, for those who are at work.
    fn look_ahead(&mut self, now: Moment) {
        if now.secs_to_next_day > AHEAD_OF_MIDNIGHT_SECS || !now.tomorrow_is_new {
            return;
        }
        let at_work = |one: &&Holding| now.mono.saturating_sub(one.spent_at) < REST;
        let next: Vec<_> = self
            .open
            .iter()
            .filter(|(name, one)| name.stamp == name.kind.stamp_of_day(now.day) && at_work(one))
            .map(|(name, one)| {
                let stamp = name.kind.stamp_of_day(now.day + 1);
                let wanted = Wanted { purse: one.purse.clone(), stamp, cap: one.cap };
                (PotName { stamp, ..*name }, wanted, one.per_minute)
            })
            .filter(|(next, ..)| !self.open.contains_key(next))
            .collect();
        for (name, wanted, per_minute) in next {
            self.want(wanted, now);
            if let Some(holding) = self.open.get_mut(&name) {
                holding.per_minute = per_minute;
            }
        }
    }

    /// Closes the leases of stamps that are over, once that is told. Should the clock be set back,
    /// what was spent of them stands in their tallies.
    fn forget(&mut self, now: Moment) {
        self.open.retain(|name, one| {
            let closed = is_over(*name, now.day) && !one.untold && one.is_spent(*name);
            if closed {
                one.purse.tally().charge(name.stamp, one.held);
            }
            !closed
        });
    }
}

impl Holding {
    fn new(purse: Purse, now: Duration) -> Holding {
        Holding {
            purse,
            cap: 0,
            held: 0,
            left_then: 0,
            then: now,
            per_minute: 0,
            spent_at: now,
            told_at: Duration::ZERO,
            pool: 0,
            wanted: false,
            untold: false,
        }
    }

    /// What the store is to be told now, if anything.
    fn ask(&mut self, name: PotName, now: Moment, live: u32) -> Option<Ask> {
        let purse = self.purse.clone();
        let term = purse.term(name.stamp);
        // Before it is looked, so that what is said from now on is looked after next time.
        term.heard();
        let wanted = std::mem::take(&mut self.wanted);
        if is_over(name, now.day) {
            return self.give_up(name);
        }
        term.begin(name.stamp);
        let left = term.left(name.stamp)?;
        self.measure(left, now.mono);
        let (waiting, ahead) = (term.waiting(), name.stamp != name.kind.stamp_of_day(now.day));
        if ahead {
            self.spent_at = now.mono;
        }
        let rest = if self.pool == 0 { REST_AT_THE_END } else { REST };
        if waiting == 0 && !wanted && now.mono.saturating_sub(self.spent_at) >= rest {
            return self.give_up(name);
        }
        let left = if waiting == 0 { left - self.give_excess(name, left, live) } else { left };
        let view = if self.spent_at < self.told_at { VIEW_AT_REST } else { VIEW };
        let seen = now.mono.saturating_sub(self.told_at) < view;
        if !wanted && !self.untold && waiting <= left && left >= term.low() && seen {
            return None;
        }
        let at_hand = (self.per_minute * AHEAD.as_secs() / 60).max(LEAST);
        // Who stands at nothing gets one at least.
        let need = waiting.saturating_sub(left).max(u64::from(left == 0 && wanted));
        Some(self.asking(name, left, at_hand, need))
    }

    /// Returns all that is left, if that is not told yet.
    fn give_up(&mut self, name: PotName) -> Option<Ask> {
        self.withdraw(name, u64::MAX);
        self.untold.then(|| self.asking(name, 0, 0, 0))
    }

    /// Returns what is more than twice of what would be lent now; says how much.
    fn give_excess(&mut self, name: PotName, left: u64, live: u32) -> u64 {
        let fair = fair(self.pool.saturating_add(left), live).max(1);
        match left > 2 * fair {
            true => self.withdraw(name, left - fair),
            false => 0,
        }
    }

    fn asking(&self, pot: PotName, left: u64, at_hand: u64, need: u64) -> Ask {
        let alone = self.purse.tally().used(pot.stamp);
        Ask { pot, cap: self.cap, hold: self.held.saturating_add(alone), left, at_hand, need }
    }

    /// How fast it is spent.
    fn measure(&mut self, left: u64, now: Duration) {
        let ms = now.saturating_sub(self.then).as_millis() as u64;
        if ms < SHORTEST_MS {
            return;
        }
        let spent = self.left_then.saturating_sub(left);
        if spent > 0 {
            self.spent_at = now;
        }
        let (weight, per_minute) = (ms.min(SPEED_MS), spent.saturating_mul(60_000) / ms);
        let both = self
            .per_minute
            .saturating_mul(SPEED_MS - weight)
            .saturating_add(per_minute.saturating_mul(weight));
        self.per_minute = both / SPEED_MS;
        (self.left_then, self.then) = (left, now);
    }

    /// Takes units out of the lease, which are to be returned; says how many.
    fn withdraw(&mut self, name: PotName, most: u64) -> u64 {
        let back = self.purse.term(name.stamp).withdraw(name.stamp, most);
        self.held = self.held.saturating_sub(back);
        self.left_then = self.left_then.saturating_sub(back);
        self.untold |= back > 0;
        back
    }

    fn is_spent(&self, name: PotName) -> bool {
        self.purse.term(name.stamp).left(name.stamp).is_none_or(|left| left == 0)
    }

    /// Takes in what the store has committed.
    fn take(&mut self, ask: &Ask, lent: Lent, now: Duration) {
        let PotName { stamp, .. } = ask.pot;
        let more = lent.mine.saturating_sub(ask.hold);
        (self.untold, self.told_at) = (false, now);
        if self.purse.term(stamp).put(stamp, more) {
            self.held = self.held.saturating_add(more);
            self.left_then = self.left_then.saturating_add(more);
        } else {
            self.untold = more > 0;
        }
        self.pool = ask.cap.saturating_sub(lent.others).saturating_sub(lent.mine);
        // The cap is lower than it was: what is over it is nobody's to spend.
        let over = lent.others.saturating_add(lent.mine).saturating_sub(ask.cap);
        if over > 0 {
            self.withdraw(ask.pot, over);
        }
        let term = self.purse.term(stamp);
        let left = term.left(stamp).unwrap_or(0);
        let low = if self.pool == 0 { 0 } else { left.div_ceil(2) };
        term.show(ask.cap, self.pool, low);
        if self.pool == 0 && term.waiting() > left {
            term.run_dry((now + DRY).as_millis() as u64);
        }
    }
}

/// Neither the stamp of the day nor the one after it.
fn is_over(name: PotName, day: u32) -> bool {
    let current = name.kind.stamp_of_day(day);
    !(current..=current.saturating_add(1)).contains(&name.stamp)
}

#[cfg(test)]
mod tests;
