//! The suite's result as the Markdown table of docs/PERFORMANCE.md.

use std::fmt::Write as _;

use crate::{
    result::{Loop, ResultFile, derive},
    stats::{median, spread},
};

/// The table: medians over rounds, their spread, and shares of the ceiling.
#[must_use]
pub fn markdown(result: &ResultFile) -> String {
    let mut text = format!(
        "Measured {} on {}; {}.\n\n\
         | Figure | Median | Spread over rounds | Share of ceiling |\n|---|---:|---:|---:|\n",
        result.created_at.get(..10).unwrap_or_default(),
        result.machine.line(),
        result.tool,
    );
    let derived = derive::figures(&result.measurements);
    let own = &result.figures;
    for figure in derived.iter().chain(own) {
        let name = figure.name.as_str();
        let is_detail = ["failed or dropped", "share of ceiling", "fairness"]
            .iter()
            .any(|detail| name.contains(detail));
        if is_detail {
            continue;
        }
        let Some((middle, (low, high))) = median(&figure.values).zip(spread(&figure.values)) else {
            continue;
        };
        let case = name.strip_suffix(": throughput");
        let share = case.and_then(|case| {
            let ratio = format!("{case}: share of ceiling");
            let values = &own.iter().find(|figure| figure.name == ratio)?.values;
            Some(format!("{:.2}", median(values)?))
        });
        let unit = &figure.unit;
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "| {} | {} {unit} | {} – {} | {} |",
            case.unwrap_or(name),
            number(middle),
            number(low),
            number(high),
            share.unwrap_or_else(|| if case == Some("ceiling") {
                "1".to_owned()
            } else {
                String::new()
            }),
        );
    }
    let closed = result.measurements.iter().find_map(|measurement| match measurement.timing {
        Loop::Closed { connections, one_by_one: false } => Some(connections),
        _ => None,
    });
    if let Some(connections) = closed {
        let _ = writeln!(
            text,
            "\nThroughputs (1/s) are those of a closed loop of {connections} connections, which is not for latency; \
             latencies (ms) of updates are corrected ones of an open loop, those of wakes service times."
        );
    }
    text
}

/// Three significant digits, thousands apart.
#[must_use]
pub(crate) fn number(value: f64) -> String {
    if value.abs() < 1000.0 {
        let digits = if value.abs() < 10.0 { 2 } else { usize::from(value.abs() < 100.0) };
        return format!("{value:.digits$}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
