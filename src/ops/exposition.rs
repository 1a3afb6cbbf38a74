//! The Prometheus text format (version 0.0.4): families, samples, histograms, and nothing of what
//! the numbers mean.

use std::fmt::{Display, Write as _};

/// The content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a family holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Goes up only.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by bucket.
    Histogram,
}

/// A document in the making. Writing to it cannot fail.
#[derive(Debug, Default)]
pub struct Exposition(String);

/// Labels of a sample.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// Begins a family: all its samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Writes one sample.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.0.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.0, " {value}");
    }

    /// Writes a family of one sample without labels.
    pub fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// Writes a histogram of durations, see [`Self::histogram`]; bounds and sum in microseconds.
    pub fn seconds(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        bounds_us: &[u64],
        counts: &[u64],
        sum_us: u64,
    ) {
        let bounds: Vec<f64> = bounds_us.iter().map(|bound| *bound as f64 / 1e6).collect();
        self.histogram(name, labels, &bounds, counts, sum_us as f64 / 1e6);
    }

    /// Writes a histogram: `counts` (not cumulative) has one entry more than `bounds`.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        bounds: &[f64],
        counts: &[u64],
        sum: f64,
    ) {
        let mut count = 0;
        for (bucket, n) in counts.iter().enumerate() {
            count += n;
            let le = bounds.get(bucket).map_or_else(|| "+Inf".to_owned(), f64::to_string);
            let _ = write!(self.0, "{name}_bucket");
            self.labels(labels, Some(&le));
            let _ = writeln!(self.0, " {count}");
        }
        let _ = write!(self.0, "{name}_sum");
        self.labels(labels, None);
        let _ = writeln!(self.0, " {sum}");
        let _ = write!(self.0, "{name}_count");
        self.labels(labels, None);
        let _ = writeln!(self.0, " {count}");
    }

    /// The document.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn labels(&mut self, labels: Labels<'_>, le: Option<&str>) {
        let le = le.map(|le| ("le", le));
        let mut open = false;
        for (name, value) in labels.iter().copied().chain(le) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{name}=\"{value}\"", if open { ',' } else { '{' });
            open = true;
        }
        if open {
            self.0.push('}');
        }
    }
}
