//! How often people are told what others did: so many to one of them, and so many that one account causes,
//! whomever they are for, so that nobody tells strangers things by this service. Letters and pushes are counted
//! apart, by the same settings. What is not here: links to sign in, which people ask for themselves (`mail`).

use std::{hash::Hash, num::NonZeroU32};

use governor::{Quota, clock::MonotonicClock};
use rookery_domain::id::HumanId;

use crate::{config, gcra::Rates};

/// Counters of those who are told, and of those who cause it.
const COUNTERS: usize = 1 << 14;

/// What may be told of one kind.
#[derive(Debug, Default)]
pub(crate) struct NoticeRates {
    /// By who is told, where that is bounded.
    told: Option<Rates>,
    /// By the account that causes it, where that is bounded.
    caused: Option<Rates>,
}

impl NoticeRates {
    /// As the settings have it.
    #[must_use]
    pub(crate) fn of(settings: &config::Mail) -> Self {
        Self {
            told: per_hour(settings.notices_per_hour),
            caused: per_hour(settings.notices_per_account),
        }
    }

    /// Counts one to `to`, which `by` causes where that counts.
    ///
    /// # Errors
    /// Why it may not leave.
    pub(crate) fn count(&self, to: impl Hash, by: Option<HumanId>) -> Result<(), &'static str> {
        if by.is_some_and(|by| is_over(self.caused.as_ref(), by)) {
            return Err("whoever it tells of has caused enough of them lately");
        }
        match is_over(self.told.as_ref(), to) {
            true => Err("whom it is for was told enough of them lately"),
            false => Ok(()),
        }
    }
}

/// So many an hour for each; none where `most` is 0, which is no bound.
#[must_use]
pub(crate) fn per_hour(most: u32) -> Option<Rates> {
    Some(Rates::new(Quota::per_hour(NonZeroU32::new(most)?), COUNTERS, MonotonicClock))
}

fn is_over(rates: Option<&Rates>, key: impl Hash) -> bool {
    rates.is_some_and(|rates| rates.count(key).retry_after_s.is_some())
}
