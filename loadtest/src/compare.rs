//! Judging a change: two results, figure by figure, by the test in [`crate::stats::judge`].

use std::fmt::Write as _;

use crate::{
    result::{Better, Figure, ResultFile},
    stats::{ALPHA, Judgement, RUNS_MIN, Verdict, judge},
};

/// One figure that both results have.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What is said of it.
    pub judgement: Judgement,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Figures of both, in the order of A.
    pub rows: Vec<Row>,
    /// Figures that only one of them has.
    pub missing: Vec<String>,
    /// Why the two may not be comparable at all.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Whether anything can be said of any figure.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.rows.iter().any(|row| row.judgement.verdict != Verdict::TooFewRuns)
    }

    /// Whether a figure became worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.judgement.verdict == Verdict::Worse)
    }
}

/// Judges B against A. `effect_min` is the smallest relative change of a median that matters.
#[must_use]
pub fn compare(a: &ResultFile, b: &ResultFile, effect_min: f64) -> Comparison {
    let find =
        |figures: &[Figure], name: &str| figures.iter().position(|figure| figure.name == name);
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for before in &a.figures {
        let Some(after) = find(&b.figures, &before.name).map(|index| &b.figures[index]) else {
            missing.push(format!("{} (only in A)", before.name));
            continue;
        };
        let higher = before.better == Better::Higher;
        if let Some(judgement) = judge(&before.values, &after.values, higher, effect_min) {
            let (name, unit) = (before.name.clone(), before.unit.clone());
            rows.push(Row { name, unit, judgement });
        }
    }
    let only_b = b.figures.iter().filter(|figure| find(&a.figures, &figure.name).is_none());
    missing.extend(only_b.map(|figure| format!("{} (only in B)", figure.name)));
    Comparison { rows, missing, warnings: warnings(a, b) }
}

fn warnings(a: &ResultFile, b: &ResultFile) -> Vec<String> {
    let mut warnings = Vec::new();
    if a.machine != b.machine {
        warnings.push(format!(
            "two machines: A on {}; B on {}",
            a.machine.line(),
            b.machine.line()
        ));
    }
    if a.command != b.command || a.options != b.options {
        warnings.push(format!("two questions: A is {}; B is {}", a.options, b.options));
    }
    for (name, result) in [("A", a), ("B", b)] {
        if result.interrupted {
            warnings.push(format!("{name} was cut short"));
        }
        if result.measurements.iter().any(|measurement| measurement.generator.is_limit) {
            warnings.push(format!("in {name} the generator may have been the limit"));
        }
    }
    warnings
}

/// A comparison for people.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut text = format!(
        "Mann-Whitney U, two-sided, alpha {ALPHA}; medians of the runs\n\n\
         {:<52} {:>12} {:>12} {:>8} {:>7} {:>6}  verdict\n",
        "figure", "A", "B", "change", "noise", "p"
    );
    for Row { name, unit, judgement } in &comparison.rows {
        let p = judgement.p_value.map_or("-".to_owned(), |p| format!("{p:.3}"));
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{:<52} {:>12} {:>12} {:>+7.1}% {:>6.1}% {p:>6}  {}",
            format!("{name} ({unit})"),
            value(judgement.before),
            value(judgement.after),
            judgement.change * 100.0,
            judgement.noise * 100.0,
            verdict(judgement),
        );
    }
    for missing in &comparison.missing {
        let _ = writeln!(text, "not compared: {missing}");
    }
    for warning in &comparison.warnings {
        let _ = writeln!(text, "! {warning}");
    }
    text
}

fn verdict(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "WORSE".to_owned(),
        Verdict::TooFewRuns => format!("too few runs to judge (at least {RUNS_MIN} each)"),
        Verdict::WithinNoise if judgement.before == judgement.after => "no difference".to_owned(),
        Verdict::WithinNoise if judgement.noise >= judgement.change.abs() => {
            "within noise: the noise is larger than the difference".to_owned()
        }
        Verdict::WithinNoise => "within noise".to_owned(),
    }
}

fn value(value: f64) -> String {
    let digits = if value.abs() < 10.0 { 3 } else { usize::from(value.abs() < 1000.0) };
    format!("{value:.digits$}")
}
