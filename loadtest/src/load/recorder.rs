//! What came of the requests: histograms and counts of one thread, merged at the end. Nothing is
//! shared while it is being measured.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;

/// Largest latency that is told apart, microseconds; longer ones count as this.
pub const LATENCY_US_MAX: u64 = 600_000_000;
/// Significant digits of the main histograms.
const DIGITS: u8 = 3;
/// Significant digits where there are many histograms: each app's and each second's.
const DIGITS_SMALL: u8 = 2;
/// Apps up to which each has a histogram of its own; beyond it only counts, to bound memory.
const APP_HISTOGRAMS_MAX: usize = 1_000;
/// Seconds of the timeline; later ones are counted in the last.
const TIMELINE_SECONDS_MAX: usize = 3_600;

/// One request's outcome.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Which app it went to.
    pub lane: usize,
    /// When it was meant to be sent, from the start of what is measured.
    pub intended: Duration,
    /// When it was sent.
    pub sent: Duration,
    /// When its answer was complete, or given up.
    pub done: Duration,
    /// None if it was answered as wanted, else the error's code.
    pub error: Option<&'a str>,
}

/// One app's part.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// Requests sent to it.
    pub sent: u64,
    /// Answered as wanted.
    pub ok: u64,
    /// Of these, after the window.
    pub ok_after: u64,
    /// Latency, corrected in an open loop.
    pub latency: Option<Histogram<u32>>,
}

/// One second of the timeline.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Answered as wanted.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Latency, corrected in an open loop.
    pub latency: Option<Histogram<u32>>,
}

/// Everything that one thread saw.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// From the intended time to the answer. Empty in a closed loop.
    pub corrected: Histogram<u64>,
    /// From sending to the answer.
    pub service: Histogram<u64>,
    /// How late the generator itself sent what it was free to send.
    pub lateness: Histogram<u64>,
    /// Requests that the schedule wanted.
    pub intended: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answered as wanted.
    pub ok: u64,
    /// Of these, after the window.
    pub ok_after: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Failures by code.
    pub errors: BTreeMap<String, u64>,
    /// By app.
    pub lanes: Vec<Lane>,
    /// By second.
    pub timeline: Vec<Second>,
    /// When the last answer came.
    pub last: Duration,
    /// Time in which answers count for the throughput, where it was set beforehand.
    pub window: Option<Duration>,
    is_open: bool,
}

fn main_histogram() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_US_MAX, DIGITS)
        .unwrap_or_else(|_| unreachable!("constant bounds"))
}

/// A histogram for things of which there are many.
#[must_use]
fn small_histogram() -> Histogram<u32> {
    Histogram::new_with_max(LATENCY_US_MAX, DIGITS_SMALL)
        .unwrap_or_else(|_| unreachable!("constant bounds"))
}

/// Whole microseconds, at least one.
#[must_use]
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1)
}

impl Recorder {
    /// For requests to `lanes` apps.
    #[must_use]
    pub fn new(lanes: usize, is_open: bool) -> Self {
        Self {
            corrected: main_histogram(),
            service: main_histogram(),
            lateness: main_histogram(),
            intended: 0,
            sent: 0,
            ok: 0,
            ok_after: 0,
            dropped: 0,
            errors: BTreeMap::new(),
            lanes: vec![Lane::default(); lanes],
            timeline: Vec::new(),
            last: Duration::ZERO,
            window: None,
            is_open,
        }
    }

    /// Tells answers within so much time from later ones.
    #[must_use]
    pub const fn within(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }

    /// Counts a request that was sent.
    ///
    /// Latency is kept of what succeeded, and of what got no answer in time: leaving the latter out
    /// would make a hanging server look fast. A refusal is counted by its code; it is no latency.
    pub fn record(&mut self, sample: Sample<'_>) {
        self.intended += 1;
        self.sent += 1;
        self.last = self.last.max(sample.done);
        let has_latency = matches!(sample.error, None | Some("timeout"));
        let service = micros(sample.done.saturating_sub(sample.sent));
        let corrected = micros(sample.done.saturating_sub(sample.intended));
        let shown = if self.is_open { corrected } else { service };
        if has_latency {
            self.service.saturating_record(service);
            if self.is_open {
                self.corrected.saturating_record(corrected);
            }
        }
        let is_ok = sample.error.is_none();
        let is_after = is_ok && self.window.is_some_and(|window| sample.done > window);
        let has_histogram = self.lanes.len() <= APP_HISTOGRAMS_MAX;
        if let Some(lane) = self.lanes.get_mut(sample.lane) {
            lane.sent += 1;
            lane.ok += u64::from(is_ok);
            lane.ok_after += u64::from(is_after);
            if has_latency && has_histogram {
                lane.latency.get_or_insert_with(small_histogram).saturating_record(shown);
            }
        }
        self.ok_after += u64::from(is_after);
        match sample.error {
            None => self.ok += 1,
            Some(code) => match self.errors.get_mut(code) {
                Some(count) => *count += 1,
                None => {
                    self.errors.insert(code.to_owned(), 1);
                }
            },
        }
        let second = self.second(sample.done);
        if is_ok {
            second.ok += 1;
        } else {
            second.errors += 1;
        }
        if has_latency {
            second.latency.get_or_insert_with(small_histogram).saturating_record(shown);
        }
    }

    /// Counts a request that was never sent.
    pub fn record_dropped(&mut self, intended: Duration) {
        self.intended += 1;
        self.dropped += 1;
        self.second(intended).dropped += 1;
    }

    /// Notes how late the generator sent a request for which a connection was waiting.
    pub fn record_lateness(&mut self, late: Duration) {
        self.lateness.saturating_record(micros(late));
    }

    fn second(&mut self, at: Duration) -> &mut Second {
        let index =
            usize::try_from(at.as_secs()).unwrap_or(usize::MAX).min(TIMELINE_SECONDS_MAX - 1);
        if self.timeline.len() <= index {
            self.timeline.resize_with(index + 1, Second::default);
        }
        &mut self.timeline[index]
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: &Self) {
        let same = "histograms of one shape";
        self.corrected.add(&other.corrected).unwrap_or_else(|_| unreachable!("{same}"));
        self.service.add(&other.service).unwrap_or_else(|_| unreachable!("{same}"));
        self.lateness.add(&other.lateness).unwrap_or_else(|_| unreachable!("{same}"));
        self.intended += other.intended;
        self.sent += other.sent;
        self.ok += other.ok;
        self.ok_after += other.ok_after;
        self.dropped += other.dropped;
        self.last = self.last.max(other.last);
        for (code, count) in &other.errors {
            *self.errors.entry(code.clone()).or_default() += count;
        }
        for (mine, theirs) in self.lanes.iter_mut().zip(&other.lanes) {
            mine.sent += theirs.sent;
            mine.ok += theirs.ok;
            mine.ok_after += theirs.ok_after;
            merge_small(&mut mine.latency, theirs.latency.as_ref());
        }
        if self.timeline.len() < other.timeline.len() {
            self.timeline.resize_with(other.timeline.len(), Second::default);
        }
        for (mine, theirs) in self.timeline.iter_mut().zip(&other.timeline) {
            mine.ok += theirs.ok;
            mine.errors += theirs.errors;
            mine.dropped += theirs.dropped;
            merge_small(&mut mine.latency, theirs.latency.as_ref());
        }
    }
}

fn merge_small(mine: &mut Option<Histogram<u32>>, theirs: Option<&Histogram<u32>>) {
    if let Some(theirs) = theirs {
        let mine = mine.get_or_insert_with(small_histogram);
        mine.add(theirs).unwrap_or_else(|_| unreachable!("histograms of one shape"));
    }
}
