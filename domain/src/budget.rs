//! Budgets of writes (part 2.2 `anonWriteBudget`, contract part 5): how many writes one network and
//! all visitors together have left today, of those who have no right but that of `anyone`.
//!
//! A pure state machine over counters of one app: reserve when a write is decided, give back when
//! it did not happen, and put the counters that moved into the same commit as the rows. What is
//! not here: how an address becomes a network's number (`sealed`).

use std::{
    collections::{BTreeMap, HashMap},
    ops::RangeInclusive,
    sync::Arc,
};

use serde_json::json;

use crate::{Error, ErrorCode, Result, Timestamp, manifest::AnonWriteBudget, timezone::Zone};

/// Networks counted one by one in an app and day. Further ones share [`SHARED_BUCKETS`] counters:
/// a flood of addresses costs bounded memory, and is never counted more leniently.
pub const NETWORKS_MAX: usize = 10_000;
/// Counters that the networks beyond [`NETWORKS_MAX`] share.
pub const SHARED_BUCKETS: u64 = 1_024;

/// The days whose counters may matter at `now`, whatever an app's timezone. Yesterday is today still in
/// the one farthest west; the day after tomorrow is tomorrow already in the one farthest east.
#[must_use]
pub const fn live_days(now: Timestamp) -> RangeInclusive<i32> {
    let today = now.utc_day();
    today - 1..=today + 2
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetScope {
    /// All visitors together who are counted: `perAppDay`.
    App,
    /// One network, by the keyed hash of its address, which is not 0: `perIpPerDay`.
    Network(u64),
}

impl BudgetScope {
    /// The name in `details.scope`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::App => "perAppDay",
            Self::Network(_) => "perIpPerDay",
        }
    }
}

/// One counter as storage holds it; the key is all but `count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRecord {
    /// The collection's name.
    pub collection: Arc<str>,
    /// What it counts.
    pub scope: BudgetScope,
    /// The calendar day in the app's timezone, counted from 1970-01-01.
    pub day: i32,
    /// Writes on that day.
    pub count: u32,
}

/// One write that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a reservation whose write does not happen must be given back"]
pub struct Reservation {
    collection: Arc<str>,
    network: u64,
    day: i32,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    app: u32,
    networks: HashMap<u64, u32>,
}

/// The counters of an app for one day: the present one when they were used last.
#[derive(Debug, Clone)]
pub struct BudgetCounters {
    day: i32,
    counts: BTreeMap<Arc<str>, Counts>,
    networks: usize,
    /// Those of the day that was counted before, for a clock that is set back to it.
    past: Option<Box<Self>>,
}

impl Default for BudgetCounters {
    fn default() -> Self {
        Self { day: i32::MIN, counts: BTreeMap::new(), networks: 0, past: None }
    }
}

impl BudgetCounters {
    /// The counters as storage held them, on the day `today`. Earlier days are over. The next one has
    /// not come yet: the clock was a little ahead, or the timezone moved west. Its counters are
    /// today's, and storage has to learn that: they are returned as such, for when that day comes they
    /// would count for it as well. Those of days further ahead, when the clock was wrong, count for
    /// nothing.
    #[must_use]
    pub fn load(
        today: i32,
        records: impl IntoIterator<Item = BudgetRecord>,
    ) -> (Self, Vec<BudgetRecord>) {
        let mut counters = Self { day: today, ..Self::default() };
        let mut moved = Vec::new();
        let days = today..=today.saturating_add(1);
        for record in records.into_iter().filter(|record| days.contains(&record.day)) {
            let counts = counters.counts.entry(record.collection.clone()).or_default();
            match record.scope {
                BudgetScope::App => counts.app = record.count,
                BudgetScope::Network(network) => {
                    let known = counts.networks.insert(network, record.count);
                    counters.networks += usize::from(known.is_none());
                }
            }
            if record.day != today {
                moved.push(BudgetRecord { day: today, ..record });
            }
        }
        (counters, moved)
    }

    /// The day that is counted.
    #[must_use]
    pub const fn day(&self) -> i32 {
        self.day
    }

    /// Counts for `today` from now on, also when that is an earlier day than before; all counters, if
    /// it is, so that storage learns which day they are of.
    #[must_use]
    pub fn move_back(&mut self, today: i32) -> Vec<BudgetRecord> {
        if today >= self.day {
            return Vec::new();
        }
        self.turn_to(today);
        let of = |(collection, counts): (&Arc<str>, &Counts)| {
            let record = |(scope, count)| BudgetRecord {
                collection: collection.clone(),
                scope,
                day: today,
                count,
            };
            let networks = counts.networks.iter();
            let networks =
                networks.map(|(network, count)| (BudgetScope::Network(*network), *count));
            std::iter::once((BudgetScope::App, counts.app))
                .chain(networks)
                .map(record)
                .collect::<Vec<_>>()
        };
        self.counts.iter().flat_map(of).collect()
    }

    /// Counts one write of `network` into `collection` at `now`.
    ///
    /// # Errors
    /// `collection_write_budget_exceeded` with `details` `{scope, limit, resets_at}`; nothing is
    /// counted then.
    pub fn reserve(
        &mut self,
        collection: &Arc<str>,
        budget: &AnonWriteBudget,
        network: u64,
        now: Timestamp,
        zone: &Zone,
    ) -> Result<Reservation> {
        self.turn_to(zone.day(now));
        let network = self.bucket(collection, network);
        let counts = self.counts.get(collection);
        let of_network = counts.and_then(|counts| counts.networks.get(&network)).copied();
        for (scope, limit, count) in [
            (BudgetScope::Network(network), budget.per_ip_per_day, of_network.unwrap_or(0)),
            (BudgetScope::App, budget.per_app_day, counts.map_or(0, |counts| counts.app)),
        ] {
            if let Some(limit) = limit
                && u64::from(count) >= limit
            {
                let resets_at = zone.start_of_day(self.day.saturating_add(1));
                return Err(exceeded(collection, scope, limit, resets_at));
            }
        }
        let counts = self.counts.entry(collection.clone()).or_default();
        counts.app = counts.app.saturating_add(1);
        // Counted whether or not it is bounded today: a budget that is declared at noon then
        // knows the morning.
        let count = counts.networks.entry(network).or_insert(0);
        *count = count.saturating_add(1);
        self.networks += usize::from(of_network.is_none());
        Ok(Reservation { collection: collection.clone(), network, day: self.day })
    }

    /// Takes a write back that was reserved and did not happen. Without effect once the day has
    /// turned.
    pub fn give_back(&mut self, reservation: &Reservation) {
        if reservation.day != self.day {
            return;
        }
        let Some(counts) = self.counts.get_mut(&reservation.collection) else { return };
        counts.app = counts.app.saturating_sub(1);
        if let Some(count) = counts.networks.get_mut(&reservation.network) {
            *count = count.saturating_sub(1);
        }
    }

    /// The two counters that a reservation moved, as they stand now; none once the day has
    /// turned. Of several reservations in one commit the last word on a counter is the right one.
    #[must_use]
    pub fn records(&self, reservation: &Reservation) -> Option<[BudgetRecord; 2]> {
        let Reservation { collection, network, day } = reservation;
        let counts = self.counts.get(collection).filter(|_| *day == self.day)?;
        let record =
            |scope, count| BudgetRecord { collection: collection.clone(), scope, day: *day, count };
        let of_network = counts.networks.get(network).copied().unwrap_or(0);
        Some([
            record(BudgetScope::App, counts.app),
            record(BudgetScope::Network(*network), of_network),
        ])
    }

    /// A later day begins with empty counters, also where it comes with a timezone that is moved east.
    /// An earlier one goes on with what is counted, and with what was counted on it before: a clock
    /// that goes backwards, or a timezone moved west, refills no budget, and none stays spent until a
    /// day comes again that was counted too early.
    fn turn_to(&mut self, day: i32) {
        if day > self.day {
            let past = std::mem::take(self);
            let past = Self { past: None, ..past };
            *self = Self { past: Some(Box::new(past)), ..Self::default() };
        } else if day < self.day
            && let Some(past) = self.past.take_if(|past| past.day >= day)
        {
            self.merge(*past);
        }
        self.day = day;
    }

    /// Of each counter the larger one holds.
    fn merge(&mut self, other: Self) {
        for (collection, other) in other.counts {
            let counts = self.counts.entry(collection).or_default();
            counts.app = counts.app.max(other.app);
            for (network, count) in other.networks {
                let known = counts.networks.entry(network).or_insert(0);
                *known = count.max(*known);
            }
        }
        self.networks = self.counts.values().map(|counts| counts.networks.len()).sum();
    }

    /// The counter of a network: its own while there is room, else a shared one. Keyed hashes
    /// this small do not occur, so shared counters have numbers of their own. None is 0: that is
    /// the app's own counter in storage.
    fn bucket(&self, collection: &str, network: u64) -> u64 {
        let network = network.max(1);
        let known = self.counts.get(collection).is_some_and(|c| c.networks.contains_key(&network));
        if known || self.networks < NETWORKS_MAX { network } else { 1 + network % SHARED_BUCKETS }
    }
}

fn exceeded(collection: &str, scope: BudgetScope, limit: u64, resets_at: Timestamp) -> Error {
    let whose = match scope {
        BudgetScope::App => "of all visitors",
        BudgetScope::Network(_) => "of your network",
    };
    Error::new(
        ErrorCode::CollectionWriteBudgetExceeded,
        format!(
            "the {limit} writes {whose} to `{collection}` are used up for today: members are not \
             counted"
        ),
    )
    .with_details(json!({ "scope": scope.as_str(), "limit": limit, "resets_at": resets_at }))
}
