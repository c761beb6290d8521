//! Plans: what an account may use, by name.
//!
//! One plan serves both services (decision B16). Names are compared without case. Invariant: the
//! numbers of every plan in [`Plans`] are in the ranges that the counters are built for, so
//! nothing behind it checks them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Highest burst a plan may have, in requests per second.
pub(crate) const MAX_REQUESTS_PER_SECOND: u32 = 100_000;
/// Highest daily, monthly or key-daily allowance, in units.
pub(crate) const MAX_UNITS: u64 = 10_000_000_000_000;
/// Most calls a batch may hold.
pub(crate) const MAX_BATCH_SIZE: u32 = 10_000;
/// Most requests in flight.
pub(crate) const MAX_CONCURRENCY: u32 = 1_000_000;
/// The plan name that means no access.
pub const NO_PLAN: &str = "none";

/// What an account on this plan may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name as it was written; compared without case.
    pub name: String,
    /// Refill rate and burst of the bucket, in calls (decision B4).
    pub requests_per_second: u32,
    /// Units a UTC day; absent means no such quota.
    pub daily: Option<u64>,
    /// Units a UTC month; absent means no such quota.
    pub monthly: Option<u64>,
    /// Most calls in one batch.
    pub batch_size: u32,
    /// Most requests in flight, twice the burst unless said (decision B11).
    pub concurrency: u32,
    /// Slugs of the chains; absent means all.
    pub chains: Option<Vec<String>>,
    /// Price a month in US dollars, shown only.
    pub price_usd: Option<u32>,
}

/// A `[plan.NAME]` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanConfig {
    /// Refill rate and burst, in calls per second.
    pub requests_per_second: u32,
    /// Units a UTC day; absent means no such quota.
    pub daily: Option<u64>,
    /// Units a UTC month; absent means no such quota.
    pub monthly: Option<u64>,
    /// Most calls in one batch; 50 unless said.
    pub batch_size: Option<u32>,
    /// Most requests in flight; twice the burst unless said.
    pub concurrency: Option<u32>,
    /// Slugs of the chains; absent means all.
    pub chains: Option<Vec<String>>,
    /// Price a month in US dollars, shown only.
    pub price_usd: Option<u32>,
}

/// A plan that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The name is empty, longer than 32, has other characters than letters, digits, `-`, `_`,
    /// or is `none`.
    #[error("plan {0:?}: a name has 1 to 32 letters, digits, - or _, and is not \"none\"")]
    Name(String),
    /// Two plans of one name.
    #[error("plan {0:?} is given twice (names are compared without case)")]
    Twice(String),
    /// A number is out of range.
    #[error("plan {plan:?}: {field} = {given}, but must be 1 to {max}")]
    Number {
        /// The plan.
        plan: String,
        /// The field.
        field: &'static str,
        /// The number given.
        given: u64,
        /// The highest one allowed.
        max: u64,
    },
    /// A list without a chain: nobody could use the plan.
    #[error("plan {0:?}: chains names none; leave it out for all")]
    NoChain(String),
    /// A chain that nobody knows.
    #[error("plan {plan:?}: chains must be a list of known chains, not {given:?}")]
    Chains {
        /// The plan.
        plan: String,
        /// The slug that is no chain.
        given: String,
    },
}

/// A plan with what the hot path needs of it.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) plan: Plan,
    /// Bit `ordinal` is set for each chain of the plan.
    pub(crate) chains: u32,
}

/// Every plan on offer: the built-in ones and the operator's own.
#[derive(Clone, Debug)]
pub struct Plans {
    by_lower_name: BTreeMap<String, Arc<Offer>>,
}

impl Default for Plans {
    /// Free, Starter and Pro, with the numbers of the specification for both services
    /// (docs/contract.md, decisions B16 and E12).
    fn default() -> Plans {
        let mut plans = Plans { by_lower_name: BTreeMap::new() };
        for (name, burst, daily, monthly, batch_size, price) in [
            ("Free", 5, 10_000, 300_000, 5, 0),
            ("Starter", 15, 200_000, 5_000_000, 20, 25),
            ("Pro", 40, 1_000_000, 25_000_000, 50, 79),
        ] {
            plans.insert(Plan {
                name: name.to_owned(),
                requests_per_second: burst,
                daily: Some(daily),
                monthly: Some(monthly),
                batch_size,
                concurrency: 2 * burst,
                chains: None,
                price_usd: Some(price),
            });
        }
        plans
    }
}

impl Plans {
    /// The built-in plans and the operator's own; an own plan of a built-in name replaces it.
    pub fn with<I>(own: I) -> Result<Plans, PlanError>
    where
        I: IntoIterator<Item = (String, PlanConfig)>,
    {
        let mut plans = Plans::default();
        let mut seen = Vec::new();
        for (name, config) in own {
            let plan = config.checked(name)?;
            let lower = plan.name.to_ascii_lowercase();
            if seen.contains(&lower) {
                return Err(PlanError::Twice(plan.name));
            }
            seen.push(lower);
            plans.insert(plan);
        }
        Ok(plans)
    }

    /// The plan of that name, compared without case.
    pub fn find(&self, name: &str) -> Option<&Plan> {
        self.by_lower_name.get(&name.to_ascii_lowercase()).map(|offer| &offer.plan)
    }

    /// Every plan, cheapest burst first.
    pub fn iter(&self) -> impl Iterator<Item = &Plan> {
        let mut plans: Vec<&Plan> = self.by_lower_name.values().map(|offer| &offer.plan).collect();
        plans.sort_by_key(|plan| (plan.requests_per_second, &plan.name));
        plans.into_iter()
    }

    pub(crate) fn offer(&self, name: &str) -> Option<Arc<Offer>> {
        self.by_lower_name.get(&name.to_ascii_lowercase()).cloned()
    }

    fn insert(&mut self, plan: Plan) {
        let chains = chain_bits(plan.chains.as_deref());
        self.by_lower_name.insert(plan.name.to_ascii_lowercase(), Arc::new(Offer { plan, chains }));
    }
}

impl Offer {
    /// What an account without a plan gets on the explorer: no chain at all, so that the refusal
    /// is CHAIN_NOT_IN_PLAN after the chain itself was found (decision B16).
    pub(crate) fn nothing() -> Arc<Offer> {
        Arc::new(Offer {
            plan: Plan {
                name: NO_PLAN.to_owned(),
                requests_per_second: 1,
                daily: None,
                monthly: None,
                batch_size: 1,
                concurrency: 1,
                chains: Some(Vec::new()),
                price_usd: None,
            },
            chains: 0,
        })
    }
}

/// The bit set of a list of slugs; no list means every chain.
pub(crate) fn chain_bits(slugs: Option<&[String]>) -> u32 {
    match slugs {
        None => u32::MAX,
        Some(slugs) => slugs
            .iter()
            .filter_map(|slug| chain::find(slug))
            .fold(0, |bits, chain| bits | 1 << chain.ordinal),
    }
}

impl PlanConfig {
    fn checked(self, name: String) -> Result<Plan, PlanError> {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let named = (1..=32).contains(&name.len()) && name.chars().all(letters);
        if !named || name.eq_ignore_ascii_case(NO_PLAN) {
            return Err(PlanError::Name(name));
        }
        let concurrency = self.concurrency.unwrap_or(self.requests_per_second.saturating_mul(2));
        let plan = Plan {
            name,
            requests_per_second: self.requests_per_second,
            daily: self.daily,
            monthly: self.monthly,
            batch_size: self.batch_size.unwrap_or(50),
            concurrency,
            chains: self.chains,
            price_usd: self.price_usd,
        };
        plan.check_numbers()?;
        plan.check_chains()?;
        Ok(plan)
    }
}

impl Plan {
    fn check_numbers(&self) -> Result<(), PlanError> {
        let burst = u64::from(self.requests_per_second);
        for (field, given, max) in [
            ("requests_per_second", burst, u64::from(MAX_REQUESTS_PER_SECOND)),
            ("daily", self.daily.unwrap_or(1), MAX_UNITS),
            ("monthly", self.monthly.unwrap_or(1), MAX_UNITS),
            ("batch_size", u64::from(self.batch_size), u64::from(MAX_BATCH_SIZE)),
            ("concurrency", u64::from(self.concurrency), u64::from(MAX_CONCURRENCY)),
        ] {
            if !(1..=max).contains(&given) {
                return Err(PlanError::Number { plan: self.name.clone(), field, given, max });
            }
        }
        Ok(())
    }

    fn check_chains(&self) -> Result<(), PlanError> {
        let Some(slugs) = &self.chains else { return Ok(()) };
        if slugs.is_empty() {
            return Err(PlanError::NoChain(self.name.clone()));
        }
        match slugs.iter().find(|slug| chain::find(slug).is_none()) {
            Some(given) => Err(PlanError::Chains { plan: self.name.clone(), given: given.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
