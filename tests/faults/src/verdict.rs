//! What a campaign ends with: figures, and what was wrong.

use std::fmt;

/// Violations that are kept in words; further ones are counted.
const KEPT_MAX: usize = 20;

/// The end of one campaign.
#[derive(Debug)]
pub struct Verdict {
    /// The campaign's name on the command line.
    pub name: &'static str,
    /// What had to hold.
    pub target: String,
    /// What was seen, one figure a line.
    pub seen: Vec<String>,
    /// Broken promises: something lost, half done, told wrongly, or late.
    pub violations: Violations,
    /// Figures that missed their target, though nothing was lost.
    pub missed: Vec<String>,
}

impl Verdict {
    /// A verdict without figures yet.
    pub fn new(name: &'static str, target: impl Into<String>) -> Self {
        Self {
            name,
            target: target.into(),
            seen: Vec::new(),
            violations: Violations::default(),
            missed: Vec::new(),
        }
    }

    /// Adds a figure.
    pub fn saw(&mut self, figure: impl Into<String>) {
        self.seen.push(figure.into());
    }

    /// Adds a figure that has a target.
    pub fn expect(&mut self, holds: bool, figure: impl Into<String>) {
        let figure = figure.into();
        if !holds {
            self.missed.push(figure.clone());
        }
        self.seen.push(figure);
    }

    /// Whether nothing was violated and no target missed.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violations.count() == 0 && self.missed.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.violations.count(), self.missed.is_empty()) {
            (0, true) => "holds",
            (0, false) => "TARGET MISSED",
            _ => "VIOLATED",
        };
        writeln!(f, "{}: {word}", self.name)?;
        writeln!(f, "  target: {}", self.target)?;
        for figure in &self.seen {
            writeln!(f, "  seen: {figure}")?;
        }
        for figure in &self.missed {
            writeln!(f, "  missed: {figure}")?;
        }
        writeln!(f, "  violations: {}", self.violations.count())?;
        for violation in &self.violations.kept {
            writeln!(f, "    {violation}")?;
        }
        Ok(())
    }
}

/// Broken promises, the first of them in words.
#[derive(Debug, Default)]
pub struct Violations {
    kept: Vec<String>,
    count: usize,
}

impl Violations {
    /// Adds one.
    pub fn add(&mut self, words: impl Into<String>) {
        self.count += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(words.into());
        }
    }

    /// Adds one unless `holds`.
    pub fn unless(&mut self, holds: bool, words: impl FnOnce() -> String) {
        if !holds {
            self.add(words());
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The first of them.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.kept
    }
}
