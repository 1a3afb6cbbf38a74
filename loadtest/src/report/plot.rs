//! What is plotted of a result: which points, which axes, and the table that says the same.

use super::{
    escape,
    svg::{Across, Chart, Curve, draw, short},
};
use crate::{
    result::{Latency, Measurement, Search, Series},
    stats,
};

/// A plot with its table beside it.
fn pair(title: &str, chart: &Chart<'_>, table: &str) -> String {
    let svg = draw(chart);
    let title = escape(title);
    format!(
        "<h3>{title}</h3>\n<div class=\"pair\">\n<figure>{svg}</figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}, values\">{table}</div>\n</div>\n"
    )
}

/// A table. Cells are text.
pub(super) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| format!("<{tag}>{}</{tag}>", escape(&cell))).collect::<String>()
    };
    let mut head = head.iter().map(|cell| (*cell).to_owned());
    let head = cells("th", &mut head);
    let body: String = rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", cells("td", &mut row.iter().cloned())))
        .collect();
    format!(
        "<table><caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>",
        escape(caption)
    )
}

/// Milliseconds of microseconds, as a cell shows them.
pub(super) fn ms(us: u64) -> String {
    format!("{:.3}", stats::ms(us))
}

/// Corrected and service latency over percentiles.
pub(super) fn percentiles(measurement: &Measurement) -> String {
    let curve = |name: &str, latency: &Latency| Curve {
        name: name.to_owned(),
        points: latency.curve.iter().map(|(p, us)| (*p, stats::ms(*us))).collect(),
    };
    let mut curves = Vec::new();
    let mut columns: Vec<(&str, &Latency)> = Vec::new();
    if let Some(corrected) = &measurement.corrected {
        curves.push(curve("corrected", corrected));
        columns.push(("corrected, ms", corrected));
    }
    curves.push(curve("service", &measurement.service));
    columns.push(("service, ms", &measurement.service));
    let label = measurement.timing.label();
    let chart = Chart {
        title: "Latency by percentile",
        x: "percentile",
        y: "milliseconds",
        across: Across::Percentiles,
        curves,
        is_scatter: false,
    };
    type Pick = fn(&Latency) -> u64;
    let picks: [(&str, Pick); 7] = [
        ("min", |l| l.min_us),
        ("50%", |l| l.p50_us),
        ("90%", |l| l.p90_us),
        ("99%", |l| l.p99_us),
        ("99.9%", |l| l.p99_9_us),
        ("99.99%", |l| l.p99_99_us),
        ("max", |l| l.max_us),
    ];
    let rows: Vec<Vec<String>> = picks
        .iter()
        .map(|(name, pick)| {
            let values = columns.iter().map(|(_, latency)| ms(pick(latency)));
            std::iter::once((*name).to_owned()).chain(values).collect()
        })
        .collect();
    let head: Vec<&str> =
        std::iter::once("percentile").chain(columns.iter().map(|(n, _)| *n)).collect();
    pair(&format!("Latency by percentile ({label})"), &chart, &table("Latency", &head, &rows))
}

/// Throughput and p99 over time.
pub(super) fn timeline(measurement: &Measurement) -> String {
    // The last second is rarely a whole one.
    let whole = (measurement.duration_s.floor() as usize).max(1);
    let seconds = &measurement.timeline[..measurement.timeline.len().min(whole)];
    if seconds.len() < 2 {
        return String::new();
    }
    let points = |pick: fn(&crate::result::TimelinePoint) -> f64| {
        seconds.iter().enumerate().map(|(second, point)| (second as f64, pick(point))).collect()
    };
    let chart = Chart {
        title: "Over time",
        x: "seconds",
        y: "requests a second",
        across: Across::Linear,
        curves: vec![
            Curve { name: "answered".to_owned(), points: points(|p| p.ok as f64) },
            Curve {
                name: "failed or dropped".to_owned(),
                points: points(|p| (p.errors + p.dropped) as f64),
            },
        ],
        is_scatter: false,
    };
    let rows: Vec<Vec<String>> = seconds
        .iter()
        .enumerate()
        .map(|(second, p)| {
            let counts =
                [second.to_string(), p.ok.to_string(), p.errors.to_string(), p.dropped.to_string()];
            counts.into_iter().chain([ms(p.p50_us), ms(p.p99_us)]).collect()
        })
        .collect();
    let head = ["second", "ok", "failed", "dropped", "p50, ms", "p99, ms"];
    pair("Over time", &chart, &table("By second", &head, &rows))
}

/// How apps were served.
pub(super) fn apps(measurement: &Measurement) -> String {
    let Some(fairness) = &measurement.fairness else { return String::new() };
    let by_app = fairness.by_app.iter().enumerate();
    let points = by_app.map(|(app, share)| ((app + 1) as f64, share.throughput)).collect();
    let chart = Chart {
        title: "Throughput by app",
        x: "app",
        y: "answers a second",
        across: Across::Linear,
        curves: vec![Curve { name: "throughput".to_owned(), points }],
        is_scatter: true,
    };
    let three = |name: &str, values: [f64; 3]| {
        std::iter::once(name.to_owned()).chain(values.map(short)).collect::<Vec<String>>()
    };
    let mut rows = vec![three("throughput, 1/s", fairness.throughput)];
    rows.extend(fairness.p99_us.map(|p99| three("p99, ms", p99.map(|us| us / 1000.0))));
    let jain = fairness.jain.map_or("-".to_owned(), |jain| format!("{jain:.4}"));
    let caption =
        format!("Jain's index {jain} over {} of {} apps", fairness.apps_judged, fairness.apps);
    pair("By app", &chart, &table(&caption, &["", "least", "median", "most"], &rows))
}

/// The rates of a saturation search.
pub(super) fn search(search: &Search) -> String {
    let mut steps: Vec<_> = search.steps.iter().collect();
    steps.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let points = steps.iter().map(|step| (step.rate, stats::ms(step.p99_us))).collect();
    let chart = Chart {
        title: "Saturation",
        x: "intended requests a second",
        y: "corrected p99, ms",
        across: Across::Logarithmic,
        curves: vec![Curve { name: "p99".to_owned(), points }],
        is_scatter: false,
    };
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            let broke = step.broke.clone().unwrap_or_else(|| "held".to_owned());
            vec![
                format!("{:.0}", step.rate),
                format!("{:.0}", step.throughput),
                ms(step.p99_us),
                broke,
            ]
        })
        .collect();
    let knee =
        search.knee.map_or("no rate held".to_owned(), |knee| format!("the knee is at {knee:.0}/s"));
    let title = format!("{}: {knee}", search.case);
    pair(&title, &chart, &table("Rates tried", &["rate", "answered", "p99, ms", "bound"], &rows))
}

/// Values over a number.
pub(super) fn series(series: &Series) -> String {
    let chart = Chart {
        title: &series.name,
        x: &series.x,
        y: &series.y,
        across: if series.is_x_logarithmic { Across::Logarithmic } else { Across::Linear },
        curves: vec![Curve { name: series.y.clone(), points: series.points.clone() }],
        is_scatter: false,
    };
    let rows: Vec<Vec<String>> =
        series.points.iter().map(|(x, y)| vec![format!("{x:.0}"), format!("{y:.3}")]).collect();
    pair(&series.name, &chart, &table(&series.name, &[&series.x, &series.y], &rows))
}

/// The same figure in every run, as points.
pub(super) fn runs(result: &crate::result::ResultFile, case: &str) -> String {
    let of_case = || result.measurements.iter().filter(|measurement| measurement.case == case);
    let points = of_case().map(|m| (m.run as f64, m.throughput)).collect();
    let chart = Chart {
        title: "Runs",
        x: "run",
        y: "answers a second",
        across: Across::Linear,
        curves: vec![Curve { name: "throughput".to_owned(), points }],
        is_scatter: true,
    };
    let rows: Vec<Vec<String>> = of_case()
        .map(|m| {
            let shown = m.corrected.as_ref().unwrap_or(&m.service);
            let errors: u64 = m.errors.values().sum();
            let counts = [m.intended, m.sent, m.ok, m.dropped, errors].map(|n| n.to_string());
            let mut row = vec![
                m.run.to_string(),
                format!("{:.0}", m.throughput),
                ms(shown.p50_us),
                ms(shown.p99_us),
            ];
            row.extend(counts);
            row.push(format!("{:.0}%", m.generator.busiest_thread * 100.0));
            row
        })
        .collect();
    let head = [
        "run",
        "1/s",
        "p50, ms",
        "p99, ms",
        "intended",
        "sent",
        "ok",
        "dropped",
        "failed",
        "generator CPU",
    ];
    pair("Runs", &chart, &table("Each run", &head, &rows))
}
