//! Points in time: microseconds since the Unix epoch in memory and storage, RFC 3339 UTC with
//! milliseconds on the wire. Rules take the time as an argument; callers read it from a [`Clock`].
//!
//! A clock may be wrong for a while and then be set right, so a time that was stored can lie ahead of
//! the present. What is only a little ahead ([`STEP_BACK_S`]) is believed; what is further ahead is
//! not, and never holds anything up.

use std::{
    fmt,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;

/// Seconds in a day of UTC.
pub const DAY_S: i64 = 86_400;

/// A clock that is set back by no more than so many seconds is taken to have stood still meanwhile. When
/// it is set back further it was wrong before, and what it says from then on counts.
pub const STEP_BACK_S: i64 = 60;

/// Most digits of a fraction of a second that are read.
const FRACTION_DIGITS_MAX: usize = 9;

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

    /// The calendar day of UTC that it is on, counted from 1970-01-01.
    #[must_use]
    pub const fn utc_day(self) -> i32 {
        // 64 bits of microseconds are some hundred million days.
        self.0.div_euclid(DAY_S * MICROS_PER_SECOND) as i32
    }

    /// The beginning of its millisecond: as finely as times are shown.
    #[must_use]
    pub const fn as_shown(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000))
    }

    /// Whether this is further ahead of `now` than a small step of the clock explains: whoever stored
    /// it had a clock that was wrong, or `now` is.
    #[must_use]
    pub const fn is_ahead_of(self, now: Self) -> bool {
        self.0 > now.plus_seconds(STEP_BACK_S).0
    }

    /// Reads a time as RFC 3339 has it and nothing else: no other form of ISO 8601. Parts of a
    /// microsecond are cut off, but for the first one of a millisecond, so that a time within a
    /// millisecond is never taken for its beginning.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        if !has_shape(text) {
            return None;
        }
        match text.parse::<jiff::Timestamp>() {
            Ok(instant) => {
                let micros = instant.as_microsecond();
                let cut = instant.as_nanosecond() - i128::from(micros) * 1_000;
                // Before 1970 what is cut off is negative.
                let micros = micros - i64::from(cut < 0);
                Some(Self(micros + i64::from(cut != 0 && micros.rem_euclid(1_000) == 0)))
            }
            Err(_) => on_the_last_day(text),
        }
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
            text[at..at + 2].copy_from_slice(&DIGITS[pair as usize % 100]);
        }
        text[22] = DIGITS[milli as usize % 10][1];
        out.push_str(str::from_utf8(&text).unwrap_or_default());
    }
}

/// The numbers from 0 to 99 in two digits each.
const DIGITS: [[u8; 2]; 100] = {
    let mut digits = [*b"00"; 100];
    let mut number = 0;
    while number < digits.len() {
        digits[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    digits
};

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
        Self::parse_rfc3339(&text).ok_or_else(|| serde::de::Error::custom(EXPECTED))
    }
}

/// Whether a text looks as the grammar of RFC 3339 (section 5.6) has it. Which days and hours there
/// are is not looked at, but for those of the offset.
fn has_shape(text: &str) -> bool {
    let is = |text: &[u8], shape: &[u8]| {
        text.len() == shape.len()
            && text.iter().zip(shape).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                letter => byte.eq_ignore_ascii_case(letter),
            })
    };
    let Some((moment, rest)) = text.as_bytes().split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let mut offset = rest;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=FRACTION_DIGITS_MAX).contains(&digits) {
            return false;
        }
        offset = &fraction[digits..];
    }
    let is_offset = match offset {
        [b'+' | b'-', time @ ..] => {
            is(time, b"00:00") && time[..2] < b"24"[..] && time[3..] < b"60"[..]
        }
        utc => is(utc, b"Z"),
    };
    is(moment, b"0000-00-00T00:00:00") && is_offset
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
pub struct Clock(Option<Arc<Manual>>);

/// A clock that stands until it is moved.
#[derive(Debug)]
struct Manual {
    now: AtomicI64,
    /// Microseconds that it was moved on in all, however often it was set back.
    elapsed: AtomicI64,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `start` until [`Clock::set`] moves it.
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Some(Arc::new(Manual { now: AtomicI64::new(start.0), elapsed: AtomicI64::new(0) })))
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(manual) => Timestamp(manual.now.load(Ordering::Acquire)),
            None => Timestamp(jiff::Timestamp::now().as_microsecond()),
        }
    }

    /// Time that has passed since some moment of this process: it never goes back, whatever the clock
    /// is set to. What has to wait for a while, and is not kept, waits by this.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
        match &self.0 {
            Some(manual) => {
                Duration::from_micros(manual.elapsed.load(Ordering::Acquire).unsigned_abs())
            }
            None => STARTED.elapsed(),
        }
    }

    /// Moves a manual clock; without effect on the system's.
    pub fn set(&self, to: Timestamp) {
        if let Some(manual) = &self.0 {
            let before = manual.now.swap(to.0, Ordering::AcqRel);
            manual.elapsed.fetch_add(to.0.saturating_sub(before).max(0), Ordering::AcqRel);
        }
    }
}
