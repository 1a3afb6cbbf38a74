//! Is it better, worse, or noise? One named method for every figure.
//!
//! The Mann-Whitney U test, two-sided and exact unless a side has very many runs: the share of all
//! ways to split the pooled runs in two that are at least as lopsided as the one seen. It assumes
//! nothing about how runs are distributed, which five of them could not show anyway. A difference
//! counts when that share is at most [`ALPHA`] and the medians differ by more than the smallest
//! effect that matters.

use super::sample::{median, spread};

/// The share of lopsided splits below which a difference is no accident.
pub const ALPHA: f64 = 0.05;
/// Fewest runs on each side with which the test can ever reach [`ALPHA`] (2 of 70 splits).
pub const RUNS_MIN: usize = 4;
/// Most runs on a side that are counted exactly; beyond it the normal approximation is close.
const EXACT_MAX: usize = 20;

/// What is said of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// The difference is no larger than the noise.
    WithinNoise,
    /// Too few runs to say anything.
    TooFewRuns,
}

/// A judgement with what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Median of A.
    pub before: f64,
    /// Median of B.
    pub after: f64,
    /// `(B - A) / A` of the medians; 0 when A's is 0.
    pub change: f64,
    /// The wider of the two sides' spreads, as a share of its median: the noise.
    pub noise: f64,
    /// The test's p-value; none with too few runs.
    pub p_value: Option<f64>,
}

/// Judges B against A. `effect_min` is the smallest relative change of the median that matters.
/// None when a side is empty.
#[must_use]
pub fn judge(a: &[f64], b: &[f64], higher_is_better: bool, effect_min: f64) -> Option<Judgement> {
    let (before, after) = (median(a)?, median(b)?);
    let change = if before == 0.0 { 0.0 } else { (after - before) / before };
    let noise = relative_spread(a, before).max(relative_spread(b, after));
    let enough = a.len() >= RUNS_MIN && b.len() >= RUNS_MIN;
    let p_value = enough.then(|| mann_whitney(a, b));
    let verdict = match p_value {
        None => Verdict::TooFewRuns,
        Some(p) if p > ALPHA || (before != 0.0 && change.abs() < effect_min) => {
            Verdict::WithinNoise
        }
        Some(_) if after == before => Verdict::WithinNoise,
        Some(_) if (after > before) == higher_is_better => Verdict::Better,
        Some(_) => Verdict::Worse,
    };
    Some(Judgement { verdict, before, after, change, noise, p_value })
}

fn relative_spread(values: &[f64], median: f64) -> f64 {
    match spread(values) {
        Some((low, high)) if median != 0.0 => (high - low) / median.abs(),
        _ => 0.0,
    }
}

/// The two-sided p-value of the Mann-Whitney U test. Ties count half.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let wins = |x: &f64, y: &f64| match x.partial_cmp(y) {
        Some(std::cmp::Ordering::Greater) => 1.0,
        Some(std::cmp::Ordering::Less) => 0.0,
        _ => 0.5,
    };
    let u: f64 = a.iter().flat_map(|x| b.iter().map(move |y| wins(x, y))).sum();
    let pairs = (a.len() * b.len()) as f64;
    let smaller = u.min(pairs - u);
    if a.len() > EXACT_MAX || b.len() > EXACT_MAX {
        return normal_tail(smaller, a.len(), b.len());
    }
    let counts = splits_by_u(a.len(), b.len());
    let total: f64 = counts.iter().sum();
    // A tie's half is rounded up, which errs on the side of noise.
    let up_to = smaller.ceil() as usize;
    let tail: f64 = counts.iter().take(up_to + 1).sum();
    (2.0 * tail / total).min(1.0)
}

/// How many ways to split `n + m` different values give each U, by the recurrence of Mann and
/// Whitney: the largest value belongs to one side or to the other.
fn splits_by_u(n: usize, m: usize) -> Vec<f64> {
    // table[j] holds the counts for (i, j) while i grows.
    let mut table: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        for j in 1..=m {
            let mut counts = vec![0.0; i * j + 1];
            for (u, count) in table[j].iter().enumerate() {
                counts[u + j] += count;
            }
            for (u, count) in table[j - 1].iter().enumerate() {
                counts[u] += count;
            }
            table[j] = counts;
        }
    }
    table.swap_remove(m)
}

fn normal_tail(u: f64, n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let mean = n * m / 2.0;
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    // With the correction for continuity.
    let z = ((mean - u - 0.5) / deviation).max(0.0);
    complementary_error(z / std::f64::consts::SQRT_2)
}

/// Abramowitz and Stegun 7.1.26; good to 1.5e-7.
fn complementary_error(x: f64) -> f64 {
    const TERMS: [f64; 5] =
        [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    sum * (-x * x).exp()
}
