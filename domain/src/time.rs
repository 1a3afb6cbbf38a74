//! Points in time: microseconds since the Unix epoch in memory and storage, RFC 3339 UTC with
//! milliseconds on the wire. Rules take the time as an argument; callers read it from a [`Clock`].

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

/// Seconds in a day of UTC.
pub const DAY_S: i64 = 86_400;

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// The first day that RFC 3339 can write, in days since -0400-03-01.
const FIRST_DAY: i64 = ERA_DAYS - 60;
/// The last one.
const LAST_DAY: i64 = ERA_DAYS + 3_652_364;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The end of the year 9999, the last that RFC 3339 can write.
    pub const LAST: Self = Self(253_402_300_799_999_999);

    /// The point `seconds` later (earlier when negative); saturates at the ends.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(MICROS_PER_SECOND)))
    }

    /// The beginning of its millisecond: as finely as times are shown.
    #[must_use]
    pub const fn as_shown(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000))
    }

    /// Whole seconds since `earlier`, negative when `earlier` is later.
    #[must_use]
    pub const fn seconds_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).div_euclid(MICROS_PER_SECOND)
    }

    /// Appends the 24 characters `2026-01-31T23:59:59.123Z` to `out`.
    pub fn write_rfc3339(self, out: &mut String) {
        let millis = self.0.div_euclid(1_000);
        let days = millis.div_euclid(86_400_000);
        // Narrow from here on: a row has two times, and a list many rows.
        let of_day = millis.rem_euclid(86_400_000) as u32;
        // Howard Hinnant's `civil_from_days`, for the proleptic Gregorian calendar.
        let z = (days + 719_468 + ERA_DAYS).clamp(FIRST_DAY, LAST_DAY) as u32;
        let era = z / 146_097;
        let doe = z % 146_097;
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let day = doy - (153 * mp + 2) / 5 + 1;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        let year = yoe + era * 400 + u32::from(month <= 2) - 400;
        let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
        let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
        let pairs = [year / 100, year % 100, month, day, hour, minute, second, milli / 10];
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (at, pair) in [0, 2, 5, 8, 11, 14, 17, 20].into_iter().zip(pairs) {
            text[at] = digit(pair / 10);
            text[at + 1] = digit(pair);
        }
        text[22] = digit(milli);
        out.push_str(str::from_utf8(&text).unwrap_or_default());
    }
}

/// The last decimal digit of a number that is not negative.
const fn digit(value: u32) -> u8 {
    b'0' + (value % 10) as u8
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(24);
        self.write_rfc3339(&mut text);
        f.write_str(&text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a member wants that holds a time.
const EXPECTED: &str = "expected a time as RFC 3339 has it, such as 2027-01-31T12:00:00Z";

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        match text.parse::<jiff::Timestamp>() {
            Ok(instant) => Ok(Self(instant.as_microsecond())),
            Err(_) => on_the_last_day(&text).ok_or_else(|| serde::de::Error::custom(EXPECTED)),
        }
    }
}

/// A time close to [`Timestamp::LAST`], where people mean that something never ends: jiff's instants
/// stop 26 hours before, so that each has a date in every time zone.
fn on_the_last_day(text: &str) -> Option<Timestamp> {
    let pieces = jiff::fmt::temporal::Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset()?;
    let local = pieces.date().to_datetime(pieces.time()?);
    let since = local.duration_since(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0));
    let micros = i64::try_from(since.as_micros()).ok()?;
    let at = Timestamp(micros - i64::from(offset.seconds()) * MICROS_PER_SECOND);
    (at <= Timestamp::LAST).then_some(at)
}

/// Where the present comes from: the system's clock, or one that a test moves.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `start` until [`Clock::set`] moves it.
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(start.0))))
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(manual) => Timestamp(manual.load(Ordering::Acquire)),
            None => Timestamp(jiff::Timestamp::now().as_microsecond()),
        }
    }

    /// Moves a manual clock; without effect on the system's.
    pub fn set(&self, to: Timestamp) {
        if let Some(manual) = &self.0 {
            manual.store(to.0, Ordering::Release);
        }
    }
}
