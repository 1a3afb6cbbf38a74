//! Line plots as SVG: scales, ticks, curves. Colours and fonts come from the page's style.

use std::fmt::Write as _;

use super::escape;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 46.0;
/// Ticks of an axis, about.
const TICKS: f64 = 5.0;

/// One line.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// How a plot's horizontal axis runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Across {
    /// Evenly.
    Linear,
    /// By factors of ten.
    Logarithmic,
    /// Percentiles: each nine takes as much room as the one before.
    Percentiles,
}

/// A plot.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) across: Across,
    pub(super) curves: Vec<Curve>,
    /// Points without lines between them.
    pub(super) is_scatter: bool,
}

struct Frame {
    x: (f64, f64),
    y: f64,
    across: Across,
}

impl Frame {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (low, high) = self.x;
        let share = (scaled(self.across, x) - low) / (high - low).max(1e-9);
        let across = LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
        let up = (y / self.y).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM);
        (across, HEIGHT - BOTTOM - up)
    }
}

fn scaled(across: Across, x: f64) -> f64 {
    match across {
        Across::Linear => x,
        Across::Logarithmic => x.max(1e-9).log10(),
        // 99.999 and beyond end at five nines.
        Across::Percentiles => -(1.0 - x / 100.0).max(1e-5).log10(),
    }
}

/// The plot as an `<svg>`; empty without points.
pub(super) fn draw(chart: &Chart<'_>) -> String {
    let points = || chart.curves.iter().flat_map(|curve| curve.points.iter().copied());
    let xs = || points().map(|(x, _)| scaled(chart.across, x));
    let (low, high) = (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max));
    if points().next().is_none() {
        return String::new();
    }
    let top = points().map(|(_, y)| y).fold(0.0, f64::max).max(1e-9);
    let step = nice(top / TICKS);
    let frame = Frame {
        x: if high > low { (low, high) } else { (low - 0.5, low + 0.5) },
        y: (top / step).ceil() * step,
        across: chart.across,
    };
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {} over {}; the table beside it holds the values\">",
        escape(chart.title),
        escape(chart.y),
        escape(chart.x)
    );
    axes(&mut out, chart, &frame, step);
    for (index, curve) in chart.curves.iter().enumerate() {
        let placed: Vec<(f64, f64)> =
            curve.points.iter().map(|point| frame.place(*point)).collect();
        let class = index % 3;
        // Writing to a String does not fail.
        if !chart.is_scatter {
            let path: Vec<String> = placed.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ =
                write!(out, "<polyline class=\"curve c{class}\" points=\"{}\"/>", path.join(" "));
        }
        if chart.is_scatter || placed.len() < 30 {
            for (x, y) in &placed {
                let _ =
                    write!(out, "<circle class=\"d{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
            }
        }
        let legend = LEFT + index as f64 * 190.0;
        let _ = write!(
            out,
            "<line class=\"curve c{class}\" x1=\"{legend:.0}\" y1=\"12\" x2=\"{:.0}\" y2=\"12\"/><text x=\"{:.0}\" y=\"16\">{}</text>",
            legend + 22.0,
            legend + 28.0,
            escape(&curve.name)
        );
    }
    out.push_str("</svg>");
    out
}

fn axes(out: &mut String, chart: &Chart<'_>, frame: &Frame, step: f64) {
    let (base, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let mut y = 0.0;
    while y <= frame.y + step / 2.0 {
        let (_, at) = frame.place((chart_origin(frame), y));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            short(y)
        );
        y += step;
    }
    for (x, label) in across_ticks(chart.across, frame) {
        let (at, _) = frame.place((x, 0.0));
        let _ = write!(
            out,
            "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{label}</text>",
            base + 16.0
        );
    }
    let middle = f64::midpoint(LEFT, right);
    let _ = write!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{right}\" y2=\"{base}\"/><text x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{} — {} upwards</text>",
        HEIGHT - 8.0,
        escape(chart.x),
        escape(chart.y)
    );
}

fn chart_origin(frame: &Frame) -> f64 {
    match frame.across {
        Across::Linear => frame.x.0,
        Across::Logarithmic => 10_f64.powf(frame.x.0),
        Across::Percentiles => 0.0,
    }
}

fn across_ticks(across: Across, frame: &Frame) -> Vec<(f64, String)> {
    let (low, high) = frame.x;
    match across {
        Across::Percentiles => [0.0, 90.0, 99.0, 99.9, 99.99, 99.999]
            .into_iter()
            .filter(|x| scaled(across, *x) <= high + 0.01)
            .map(|x| (x, format!("{x}%")))
            .collect(),
        Across::Logarithmic => (low.floor() as i32..=high.ceil() as i32)
            .map(|power| 10_f64.powi(power))
            .filter(|x| (low - 1e-6..=high + 1e-6).contains(&x.log10()))
            .map(|x| (x, short(x)))
            .collect(),
        Across::Linear => {
            let step = nice((high - low) / TICKS);
            let first = (low / step).ceil() as i64;
            let last = (high / step).floor() as i64;
            (first..=last).map(|n| n as f64 * step).map(|x| (x, short(x))).collect()
        }
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn nice(raw: f64) -> f64 {
    let raw = raw.max(1e-9);
    let power = 10_f64.powf(raw.log10().floor());
    let factor = raw / power;
    let nice = if factor <= 1.0 {
        1.0
    } else if factor <= 2.0 {
        2.0
    } else if factor <= 5.0 {
        5.0
    } else {
        10.0
    };
    nice * power
}

/// A number with few characters.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = if scaled.abs() >= 100.0 || scaled.fract() == 0.0 {
        0
    } else if scaled.abs() >= 1.0 {
        1
    } else {
        3
    };
    format!("{scaled:.digits$}{unit}")
}
