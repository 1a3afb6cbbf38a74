//! Fairness among apps.

/// Jain's index of what each got (Jain, Chiu, Hawe 1984): `(sum x)^2 / (n * sum x^2)`. One means
/// that all got the same; `1/n` that one got everything. None when nobody got anything.
#[must_use]
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
