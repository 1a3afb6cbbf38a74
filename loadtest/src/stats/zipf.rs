//! Skewed popularity: which app a request goes to when few apps get most of them.

use rand::Rng;

/// Zipf's distribution over `n` apps: the k-th most popular is drawn with weight `1 / k^exponent`.
/// An exponent of 0 is uniform.
#[derive(Debug, Clone)]
pub struct Zipf {
    /// Running sums of the weights, the last being 1.
    cumulative: Vec<f64>,
}

impl Zipf {
    /// Over `n` apps, at least one.
    #[must_use]
    pub fn new(n: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=n.max(1))
            .map(|k| {
                sum += (k as f64).powf(-exponent);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|value| *value /= sum);
        Self { cumulative }
    }

    /// The index of an app, 0 being the most popular.
    pub fn draw(&self, random: &mut impl Rng) -> usize {
        let point: f64 = random.random();
        let index = self.cumulative.partition_point(|bound| *bound <= point);
        index.min(self.cumulative.len() - 1)
    }

    /// The share of requests that app `index` is drawn for.
    #[must_use]
    pub fn share(&self, index: usize) -> f64 {
        let before = index.checked_sub(1).map_or(0.0, |before| self.cumulative[before]);
        self.cumulative[index] - before
    }
}
