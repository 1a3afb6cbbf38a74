//! How the live screen looks. It fits any size: figures go on in a line below, and what then has no room is
//! left out, figures first come last. Nothing is told by colour alone.

use std::mem;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line as TextLine, Span},
    widgets::{Block, Clear, Paragraph, Row, Sparkline, Table, Wrap},
};

use super::{KEYS_HELP, Listed, Page, Picture, screen::Screen};
use crate::{
    ops::view::{number, time},
    routes::ops::hot::HotApp,
    terminal::{
        plain::{
            Line, MESSAGE_COLUMNS, RESTART_COLUMNS, app_summary, headline, hot_cells,
            message_cells, restart_cells, summary, wrong,
        },
        text::clean,
    },
};

/// Lines that charts take, their frames included.
const CHART_LINES: u16 = 5;
/// Lines that a list has at least before charts get any.
const LIST_LINES_MIN: u16 = 8;
/// Columns of what figures are of.
const NAME_WIDTH: usize = 10;
/// What stands between two figures.
const GAP: &str = "   ";
/// Micros of a second: sparklines take whole numbers.
const MICROS: f64 = 1e6;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const ALARM: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let whole = frame.area();
    let picture = screen.picture.clone();
    let width = usize::from(whole.width);
    let lines =
        picture.as_deref().map(|picture| figures(picture, screen, width)).unwrap_or_default();
    let figure_lines = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let left = whole.height.saturating_sub(figure_lines + 3);
    let chart_lines = if left >= CHART_LINES + LIST_LINES_MIN { CHART_LINES } else { 0 };
    let [head, body, charts, list, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(figure_lines + 1),
        Constraint::Length(chart_lines),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(whole);

    let title = picture.as_deref().map_or_else(|| "Rookery".to_owned(), |p| headline(&p.overview));
    frame.render_widget(TextLine::styled(title, STRONG), head);
    frame.render_widget(Paragraph::new(lines), body);
    match picture.as_deref().filter(|_| screen.shows_page()) {
        Some(picture) => {
            if chart_lines > 0 {
                draw_charts(frame, charts, picture);
            }
            draw_list(frame, list, picture, screen);
        }
        None => frame.render_widget(Paragraph::new("…"), list),
    }
    frame.render_widget(footer(screen, width), foot);
    if screen.help {
        draw_help(frame, whole);
    }
}

fn figures(picture: &Picture, screen: &Screen, width: usize) -> Vec<TextLine<'static>> {
    let lines_of = |line: Line| lines_of(line, width);
    let mut lines = match &picture.listed {
        Listed::App(app) if screen.shows_page() => {
            let name = format!("{} ({})", clean(&app.line.slug), app.line.id);
            let mut lines = vec![TextLine::styled(name, STRONG)];
            lines.extend(app_summary(app).into_iter().flat_map(lines_of));
            lines
        }
        _ => summary(&picture.overview).into_iter().flat_map(lines_of).collect(),
    };
    let wrong = wrong(&picture.overview);
    lines.splice(0..0, wrong.map(|text| TextLine::styled(text, ALARM)));
    if let Listed::Restarts(page) = &picture.listed
        && screen.shows_page()
    {
        let held: Vec<_> =
            page.held.iter().map(|app| format!("{} ({})", clean(&app.slug), app.state)).collect();
        let held = if held.is_empty() { "none".to_owned() } else { held.join(", ") };
        lines.push(TextLine::from(format!("{:NAME_WIDTH$}{held}", "Held back")));
    }
    lines
}

/// Figures in as many lines as they need in this width; each is whole.
fn lines_of((of, figures): Line, width: usize) -> Vec<TextLine<'static>> {
    let begun = |of| TextLine::from(Span::styled(format!("{of:NAME_WIDTH$}"), DIM));
    let (mut lines, mut line) = (Vec::new(), begun(of));
    for (name, value) in figures {
        // What needs somebody now is marked in words and in red.
        let alarming = matches!(name, "quarantined" | "restarting" | "failed" | "5xx")
            && value != "0"
            || value == "NOT OK"
            || value == "quarantined";
        let name = if name.is_empty() { String::new() } else { format!("{name} ") };
        let style = if alarming { ALARM } else { Style::new() };
        let figure = [Span::styled(name, DIM), Span::styled(value, style)];
        let needs: usize = figure.iter().map(Span::width).sum();
        if line.spans.len() > 1 {
            if line.width() + GAP.len() + needs > width {
                lines.push(mem::replace(&mut line, begun("")));
            } else {
                line.push_span(GAP);
            }
        }
        line.extend(figure);
    }
    lines.push(line);
    lines
}

fn draw_charts(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let (messages, waits): (Vec<f64>, Vec<f64>) = match &picture.listed {
        Listed::App(app) => {
            app.seconds.iter().map(|s| (s.messages as f64, s.wait_p99_seconds)).unzip()
        }
        _ => {
            let seconds = &picture.overview.seconds;
            seconds.iter().map(|s| (s.messages, s.wait_p99_seconds)).unzip()
        }
    };
    draw_chart(frame, left, "Messages/s", &messages, number);
    draw_chart(frame, right, "Mailbox wait p99", &waits, time);
}

fn draw_chart(
    frame: &mut Frame<'_>,
    area: Rect,
    name: &str,
    values: &[f64],
    show: fn(f64) -> String,
) {
    let highest = values.iter().copied().fold(0.0, f64::max);
    let title = format!(" {name}, 60 s, highest {} ", show(highest));
    let room = usize::from(area.width.saturating_sub(2));
    let newest = &values[values.len().saturating_sub(room)..];
    // Of a rate below one a whole number would show nothing.
    let bars: Vec<u64> = newest.iter().map(|value| (value * MICROS) as u64).collect();
    let chart = Sparkline::default().data(bars).block(Block::bordered().title(title));
    frame.render_widget(chart, area);
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, picture: &Picture, screen: &mut Screen) {
    let (columns, rows, widths): (&[&str], Vec<Vec<String>>, Vec<Constraint>) =
        match &picture.listed {
            Listed::Hot(hot) => {
                let narrow = [12, 10, 8, 9, 8, 6, 9].map(Constraint::Length);
                let widths = std::iter::once(Constraint::Fill(1)).chain(narrow).collect();
                (&HotApp::COLUMNS, hot.items.iter().map(hot_cells).collect(), widths)
            }
            Listed::App(app) => {
                let widths = [12, 12, 10].map(Constraint::Length).into_iter();
                let widths = widths.chain([Constraint::Fill(1)]).collect();
                (&MESSAGE_COLUMNS, message_cells(app), widths)
            }
            Listed::Restarts(page) => {
                let widths = [6, 24, 20, 10, 8].map(Constraint::Length).into_iter();
                let widths = widths.chain([Constraint::Fill(1)]).collect();
                (&RESTART_COLUMNS, page.items.iter().map(restart_cells).collect(), widths)
            }
        };
    if rows.is_empty() {
        let nothing = match picture.listed {
            Listed::Hot(_) => "No app did anything of late.",
            Listed::App(_) => "Messages are seen from the first look on.",
            Listed::Restarts(_) => "No crashes.",
        };
        frame.render_widget(Paragraph::new(nothing), area);
        return;
    }
    let table = Table::new(rows.into_iter().map(Row::new), widths)
        .header(Row::new(columns.to_vec()).style(DIM))
        .row_highlight_style(CHOSEN);
    frame.render_stateful_widget(table, area, &mut screen.rows);
}

fn footer(screen: &Screen, width: usize) -> TextLine<'static> {
    if let Some(trouble) = &screen.trouble {
        return TextLine::styled(format!("{}; trying again", clean(trouble)), ALARM);
    }
    let held = if screen.held { "HELD, Space goes on   " } else { "" };
    let what = match &screen.wanted.page {
        Page::Busiest => {
            let (by, over) = (screen.wanted.by.as_str(), screen.wanted.window.as_str());
            format!("busiest by {by} over {over}   Enter look   r restarts")
        }
        Page::App(_) => "Esc back".to_owned(),
        Page::Restarts => "Enter look   Esc back".to_owned(),
    };
    let keys = TextLine::styled(format!("{held}{what}   ? keys   q quit"), DIM);
    let mut whole = keys.clone();
    whole.push_span(format!("{GAP}{}", screen.origin));
    // Which server it is is what whoever called it knows.
    if whole.width() > width { keys } else { whole }
}

fn draw_help(frame: &mut Frame<'_>, whole: Rect) {
    let lines = u16::try_from(KEYS_HELP.lines().count()).unwrap_or(u16::MAX);
    let columns = KEYS_HELP.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let columns = u16::try_from(columns).unwrap_or(u16::MAX);
    let area = whole.centered(
        Constraint::Length(columns.saturating_add(4)),
        Constraint::Length(lines.saturating_add(2)),
    );
    let area = area.intersection(whole);
    frame.render_widget(Clear, area);
    let help = Paragraph::new(KEYS_HELP).wrap(Wrap { trim: false });
    frame.render_widget(help.block(Block::bordered().title(" any key closes ")), area);
}
