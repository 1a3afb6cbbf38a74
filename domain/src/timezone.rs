//! The timezone of an app (IANA names) and its calendar days, which budgets count by. The time
//! zone database is the one compiled in: the same on every host, with or without tzdata.

use std::{fmt, sync::LazyLock};

use jiff::{
    ToSpan as _,
    civil::Date,
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::{Error, Result, Timestamp, text::quoted};

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Most characters of a timezone name that is looked up.
const NAME_CHARS_MAX: usize = 64;
const EPOCH: Date = Date::constant(1970, 1, 1);

/// A timezone that exists.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// UTC, the zone of an app that names none.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Reads an IANA name, `Europe/Berlin`, in any letter case.
    ///
    /// # Errors
    /// `invalid_request` for a name that the database does not have.
    pub fn parse(name: &str) -> Result<Self> {
        let known = name.len() <= NAME_CHARS_MAX && !name.eq_ignore_ascii_case("etc/unknown");
        let zone = if known { DATABASE.get(name).ok() } else { None };
        zone.map(Self).ok_or_else(|| {
            Error::invalid(format!(
                "`timezone` must be an IANA name such as `Europe/Berlin`, not {}",
                quoted(name)
            ))
        })
    }

    /// Its name as the database spells it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The calendar day at `at`, counted from 1970-01-01.
    #[must_use]
    pub fn day(&self, at: Timestamp) -> i32 {
        let at = jiff::Timestamp::from_microsecond(at.0).unwrap_or_default();
        let date = self.0.to_datetime(at).date();
        // Two dates of jiff's range are always less than 2^31 days apart.
        EPOCH.until(date).map_or(0, |span| span.get_days())
    }

    /// When a calendar day begins: midnight, or the first moment after it where midnight is
    /// skipped by a change of clocks.
    #[must_use]
    pub fn start_of_day(&self, day: i32) -> Timestamp {
        let start = EPOCH.checked_add(i64::from(day).days());
        start
            .and_then(|date| date.to_zoned(self.0.clone()))
            .map_or(Timestamp(i64::MAX), |start| Timestamp(start.timestamp().as_microsecond()))
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}
