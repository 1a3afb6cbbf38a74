//! The arithmetic: fairness, skew, medians, the judgement between two samples, the search for a
//! saturation point. Numbers in, numbers out; no clock, no socket.

mod jain;
mod judge;
mod knee;
mod sample;
mod zipf;

pub use jain::jain_index;
pub use judge::{ALPHA, Judgement, RUNS_MIN, Verdict, judge, mann_whitney};
pub use knee::{Bound, KneeSearch, Observed, Step};
pub use sample::{median, quantile, spread};
pub use zipf::Zipf;

/// Milliseconds of microseconds.
#[must_use]
pub const fn ms(us: u64) -> f64 {
    us as f64 / 1000.0
}
