//! The page's sections: what was run, what to be careful about, the figures, and each case.

use std::fmt::Write as _;

use super::{escape, plot};
use crate::{
    result::ResultFile,
    stats::{median, spread},
};

pub(super) fn write(page: &mut String, result: &ResultFile) {
    let place =
        if result.spawned { "server and generator on one machine" } else { "a running server" };
    // Writing to a String does not fail.
    let _ = write!(
        page,
        "<h1>{}</h1>\n<p class=\"quiet\">{} · {} · {} · {place}</p>\n<p class=\"quiet\">{}</p>\n",
        escape(&result.command),
        escape(&result.created_at),
        escape(&result.tool),
        escape(&result.machine.line()),
        escape(&result.options),
    );
    if result.interrupted {
        page.push_str("<p class=\"warnings\">This run was cut short.</p>\n");
    }
    if !result.warnings.is_empty() {
        let items: String = result
            .warnings
            .iter()
            .map(|warning| format!("<li>{}</li>\n", escape(warning)))
            .collect();
        let _ = write!(
            page,
            "<section class=\"warnings\" aria-label=\"Warnings\"><ul>\n{items}</ul></section>\n"
        );
    }
    figures(page, result);
    for search in &result.searches {
        let _ = write!(page, "<h2>Saturation search</h2>\n{}", plot::search(search));
    }
    if !result.series.is_empty() {
        page.push_str("<h2>Over size</h2>\n");
        result.series.iter().for_each(|series| page.push_str(&plot::series(series)));
    }
    let mut cases: Vec<&str> = Vec::new();
    for measurement in &result.measurements {
        if !cases.contains(&measurement.case.as_str()) {
            cases.push(&measurement.case);
        }
    }
    cases.iter().for_each(|case| case_section(page, result, case));
}

fn figures(page: &mut String, result: &ResultFile) {
    let rows: Vec<Vec<String>> = result
        .figures
        .iter()
        .filter_map(|figure| {
            let (low, high) = spread(&figure.values)?;
            let middle = median(&figure.values)?;
            Some(vec![
                figure.name.clone(),
                format!("{middle:.3}"),
                format!("{low:.3} – {high:.3}"),
                figure.unit.clone(),
                figure.values.len().to_string(),
            ])
        })
        .collect();
    let head = ["figure", "median", "spread", "unit", "runs"];
    let _ = write!(
        page,
        "<h2>Figures</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures\">{}</div>\n",
        plot::table("Over all runs", &head, &rows)
    );
}

/// One case: every run in a table; the plots are those of the run whose throughput is the median.
fn case_section(page: &mut String, result: &ResultFile, case: &str) {
    let mut of_case: Vec<_> =
        result.measurements.iter().filter(|measurement| measurement.case == case).collect();
    of_case.sort_by(|a, b| a.throughput.total_cmp(&b.throughput));
    let Some(middle) = of_case.get((of_case.len() - 1) / 2) else { return };
    let _ = write!(
        page,
        "<h2>{}</h2>\n<p class=\"quiet\">{}; the plots below show run {}</p>\n",
        escape(case),
        escape(&middle.timing.label()),
        middle.run
    );
    for part in [
        plot::runs(result, case),
        plot::percentiles(middle),
        plot::timeline(middle),
        plot::apps(middle),
    ] {
        page.push_str(&part);
    }
}
