//! What a page for operators shows, as data: figures, charts and grids whose cells have names. A
//! page is rendered from it, and what changes of it is sent to the open page by the same names.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::pages::quantities::Bytes;

/// Width and height of a chart's plane.
const PLANE: (f64, f64) = (600.0, 120.0);
/// Points of a chart: seconds that it shows.
pub const POINTS: usize = 60;

/// A page.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Its heading.
    pub title: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Where its changes come from.
    pub live: String,
    /// Links above it.
    pub choices: Vec<Choice>,
    /// What it shows, in order.
    pub parts: Vec<Part>,
}

/// A link to what else a page may show.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its text.
    pub text: String,
    /// Its address.
    pub href: String,
    /// Whether the page shows that.
    pub is_present: bool,
}

impl Choice {
    /// A link to what the page does not show.
    #[must_use]
    pub fn other(text: &str, href: String) -> Self {
        Self { text: text.to_owned(), href, is_present: false }
    }
}

/// One part of a page.
#[derive(Debug, Clone)]
pub enum Part {
    /// Single figures: name and value.
    Figures(Vec<(&'static str, String)>),
    /// A line over the last minute, with its table.
    Chart(Chart),
    /// Rows and columns.
    Grid(Grid),
}

/// A line over the last minute.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What it shows, with its unit.
    pub title: &'static str,
    /// Values, oldest first, at most [`POINTS`].
    pub values: Vec<f64>,
    /// Writes a value with its unit.
    pub show: fn(f64) -> String,
}

/// Rows and columns. A page has a fixed number of places for rows, so that a change never needs
/// more than new texts.
#[derive(Debug, Clone)]
pub struct Grid {
    /// What it lists.
    pub caption: &'static str,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Places for rows.
    pub places: usize,
    /// The rows, no more than there are places.
    pub rows: Vec<Row>,
}

/// One row of a grid.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// What it is the row of, for as long as that exists: its name where rows change places.
    pub key: String,
    /// How deep it stands in the tree, from 1.
    pub level: u8,
    /// Where its first cell leads; empty for nowhere.
    pub href: String,
    /// Whether it is open, of a row that can be opened.
    pub expanded: Option<bool>,
    /// Its cells, one for each column.
    pub cells: Vec<String>,
}

impl Row {
    /// A row of a flat list.
    #[must_use]
    pub fn flat(key: impl Into<String>, href: String, cells: Vec<String>) -> Self {
        Self { key: key.into(), level: 1, href, expanded: None, cells }
    }
}

impl Chart {
    /// The line, as an SVG polyline's points.
    #[must_use]
    pub fn points(&self) -> String {
        let highest = self.highest();
        let step = PLANE.0 / (POINTS - 1) as f64;
        let first = POINTS.saturating_sub(self.values.len());
        let mut points = String::new();
        for (i, value) in self.values.iter().enumerate() {
            let x = (first + i) as f64 * step;
            let share = if highest > 0.0 { value / highest } else { 0.0 };
            let y = (PLANE.1 - 4.0) - share * (PLANE.1 - 8.0);
            // Writing to a String cannot fail.
            let _ = write!(points, "{x:.0},{y:.1} ");
        }
        points.truncate(points.trim_end().len());
        points
    }

    /// The highest value.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// The value `ago` seconds before the newest, as text.
    #[must_use]
    pub fn at(&self, ago: usize) -> String {
        let index = self.values.len().checked_sub(ago + 1);
        index.map_or_else(String::new, |index| (self.show)(self.values[index]))
    }
}

impl View {
    /// Every text that may change, by its name.
    #[must_use]
    pub fn cells(&self) -> BTreeMap<String, String> {
        let mut cells = BTreeMap::new();
        for (part, content) in self.parts.iter().enumerate() {
            match content {
                Part::Figures(figures) => {
                    for (i, (_, value)) in figures.iter().enumerate() {
                        cells.insert(format!("{part}.{i}"), value.clone());
                    }
                }
                Part::Chart(chart) => {
                    cells.insert(format!("{part}.points"), chart.points());
                    cells.insert(format!("{part}.max"), (chart.show)(chart.highest()));
                    for ago in 0..POINTS {
                        cells.insert(format!("{part}.{ago}"), chart.at(ago));
                    }
                }
                Part::Grid(grid) => {
                    for place in 0..grid.places {
                        let empty = Row::default();
                        let row = grid.rows.get(place).unwrap_or(&empty);
                        let name = format!("{part}.{place}");
                        cells.insert(format!("{name}.key"), row.key.clone());
                        cells.insert(format!("{name}.level"), row.level.to_string());
                        cells.insert(format!("{name}.href"), row.href.clone());
                        let expanded = row.expanded.map(|open| open.to_string());
                        cells.insert(format!("{name}.expanded"), expanded.unwrap_or_default());
                        for column in 0..grid.columns.len() {
                            let text = row.cells.get(column).cloned().unwrap_or_default();
                            cells.insert(format!("{name}.{column}"), text);
                        }
                    }
                }
            }
        }
        cells
    }
}

/// What is in `now` and was not so in `before`.
#[must_use]
pub fn changes<'a>(
    before: &BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> BTreeMap<&'a str, &'a str> {
    let changed = now.iter().filter(|(name, text)| before.get(*name) != Some(*text));
    changed.map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

/// A number for people: three digits and a suffix.
#[must_use]
pub fn number(value: f64) -> String {
    const UNITS: [&str; 5] = ["", " k", " M", " G", " T"];
    let (mut value, mut unit) = (value, 0);
    while value >= 1_000.0 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let whole = value.fract() == 0.0 || value >= 100.0;
    let text = if whole { format!("{value:.0}") } else { format!("{value:.1}") };
    format!("{text}{}", UNITS[unit])
}

/// Bytes for people, as all pages show them.
#[must_use]
pub fn bytes(value: f64) -> String {
    Bytes(value as u64).to_string()
}

/// A time in seconds for people.
#[must_use]
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0".to_owned(),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3_600.0),
    }
}

/// A time that was not always measured.
#[must_use]
pub fn some_time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), time)
}
