//! The listener's answers as text: what is printed where there is no screen, and the lines that
//! the screen shares with it.

use super::{
    text::{clean, table},
    top::Wanted,
};
use crate::{
    ops::{
        overview::Overview,
        view::{bytes, number, some_time, time},
    },
    routes::ops::{
        app::{AppDetail, AppLine, Percentiles},
        hot::{HotApp, HotApps},
        restarts::{Restart, Restarts},
        tree::Tree,
    },
};

/// Columns of a list of crashes.
pub const RESTART_COLUMNS: [&str; 6] = ["No.", "When", "What", "Then", "In a row", "Cause"];
/// Columns of a list of messages.
pub const MESSAGE_COLUMNS: [&str; 4] = ["Kind", "Outcome", "Took", "When"];

/// One line of figures: what they are of, then name and value of each.
pub type Line = (&'static str, Vec<(&'static str, String)>);

/// The service in a few lines.
#[must_use]
pub fn summary(seen: &Overview) -> Vec<Line> {
    let (apps, messages, writer) = (&seen.apps, &seen.messages, &seen.writer);
    let well = if writer.ok { "ok" } else { "NOT OK" };
    vec![
        (
            "Apps",
            vec![
                ("live", number(apps.live as f64)),
                ("dormant", number(apps.dormant as f64)),
                ("waking", number(apps.waking as f64)),
                ("restarting", number(apps.restarting as f64)),
                ("quarantined", number(apps.quarantined as f64)),
                ("crashes", number(apps.crashes as f64)),
            ],
        ),
        (
            "Messages",
            vec![
                ("per s", number(messages.per_second)),
                ("queued", number(messages.queued as f64)),
                ("refused", number(messages.refused_per_second)),
                ("failed", number(messages.failed_per_second)),
                ("wait p99", some_time(messages.wait_p99_seconds)),
                ("handling p99", some_time(messages.handle_p99_seconds)),
            ],
        ),
        (
            "Commits",
            vec![
                ("writer", well.to_owned()),
                ("per s", number(writer.commits_per_second)),
                ("rows each", number(writer.rows_per_commit)),
                ("p99", some_time(writer.commit_p99_seconds)),
                ("groups waiting", number(writer.queued as f64)),
                ("WAL", bytes(writer.wal_bytes as f64)),
            ],
        ),
        (
            "HTTP",
            vec![
                ("per s", number(seen.http.per_second)),
                ("5xx", number(seen.http.failed_per_second)),
                ("p99", some_time(seen.http.p99_seconds)),
                ("feed waiters", number(seen.feed_waiters as f64)),
                ("long jobs waiting", number(seen.long_jobs_waiting as f64)),
            ],
        ),
        (
            "Memory",
            vec![
                ("rows", number(seen.memory.resident_rows as f64)),
                ("apps", bytes(seen.memory.resident_bytes as f64)),
                ("of", bytes(seen.memory.budget_bytes as f64)),
                ("process", bytes(seen.memory.process_bytes.unwrap_or(0) as f64)),
                ("loop lag", time(seen.event_loop_lag_seconds)),
            ],
        ),
    ]
}

/// What the service is and how long it has run.
#[must_use]
pub fn headline(seen: &Overview) -> String {
    let drains = if seen.draining { ", draining" } else { "" };
    format!(
        "Rookery {}, up {}{drains}, at {}",
        clean(&seen.version),
        time(seen.uptime_s as f64),
        clean(&seen.at)
    )
}

/// A busy app's cells, in the order of [`HotApp::COLUMNS`].
#[must_use]
pub fn hot_cells(app: &HotApp) -> Vec<String> {
    app.cells().iter().map(|cell| clean(cell).into_owned()).collect()
}

/// A crash's cells, in the order of [`RESTART_COLUMNS`].
#[must_use]
pub fn restart_cells(crash: &Restart) -> Vec<String> {
    vec![
        crash.number.to_string(),
        crash.at.clone(),
        clean(&crash.subject).into_owned(),
        crash.decision.clone(),
        crash.crashes.to_string(),
        clean(&crash.cause).into_owned(),
    ]
}

/// The last messages' cells, in the order of [`MESSAGE_COLUMNS`].
#[must_use]
pub fn message_cells(app: &AppDetail) -> Vec<Vec<String>> {
    let cells = app.recent.iter().map(|message| {
        let (kind, outcome) = (message.kind.clone(), message.outcome.clone());
        vec![kind, outcome, time(message.took_seconds), message.at.clone()]
    });
    cells.collect()
}

/// One app in a few lines.
#[must_use]
pub fn app_summary(app: &AppDetail) -> Vec<Line> {
    let line = &app.line;
    let percentiles = |of: &Percentiles| {
        vec![
            ("p50", some_time(of.p50)),
            ("p90", some_time(of.p90)),
            ("p99", some_time(of.p99)),
            ("of", number(of.count as f64)),
        ]
    };
    let optional = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |n| n.to_string());
    let mut lines = vec![
        (
            "State",
            vec![
                ("", line.state.clone()),
                ("for", time(app.state_age_ms as f64 / 1e3)),
                ("status", app.status.clone()),
                ("idle", time(line.idle_ms as f64 / 1e3)),
                ("crashes in a row", line.crashes.to_string()),
            ],
        ),
        (
            "Queue",
            vec![
                ("now", format!("{} of {}", line.queued, app.mailbox_limit)),
                ("at most", app.queued_max.to_string()),
                ("oldest", some_time(app.oldest_wait_seconds)),
                ("waiters", line.followers.to_string()),
            ],
        ),
        ("Wait", percentiles(&app.wait)),
        ("Handling", percentiles(&app.handle)),
        (
            "Content",
            vec![
                ("rows", number(line.rows as f64)),
                ("memory", bytes(line.resident_bytes as f64)),
                ("newest event", optional(app.seq)),
            ],
        ),
        (
            "Actor",
            vec![
                ("shard", app.shard.to_string()),
                ("incarnation", optional(app.incarnation)),
                ("last wake", app.last_wake_at.clone().unwrap_or_else(|| "–".to_owned())),
                ("cost", some_time(app.last_wake_seconds)),
            ],
        ),
    ];
    if let Some(cause) = &app.cause {
        lines.push(("Cause", vec![("", clean(cause).into_owned())]));
    }
    lines
}

fn write(lines: Vec<Line>) -> String {
    let width = lines.iter().map(|(of, _)| of.len()).max().unwrap_or(0);
    let line = |(of, figures): Line| {
        let figures = figures.into_iter().map(|(name, value)| match name {
            "" => value,
            name => format!("{name} {value}"),
        });
        format!("{of:width$}  {}\n", figures.collect::<Vec<_>>().join("   "))
    };
    lines.into_iter().map(line).collect()
}

/// What is wrong, in one line; `None` when nothing is.
#[must_use]
pub fn wrong(seen: &Overview) -> Option<String> {
    let told: Vec<_> = seen
        .problems
        .iter()
        .map(|it| format!("{} ({})", clean(&it.what), clean(&it.why)))
        .collect();
    (!told.is_empty()).then(|| format!("WRONG: {}", told.join("; ")))
}

/// The service and its busiest apps.
#[must_use]
pub fn top(seen: &Overview, hot: &HotApps, wanted: &Wanted) -> String {
    let wrong = wrong(seen).map(|line| format!("{line}\n")).unwrap_or_default();
    let mut out = format!("{}\n{wrong}\n{}\n", headline(seen), write(summary(seen)));
    if hot.items.is_empty() {
        out.push_str("No app did anything of late.\n");
        return out;
    }
    out.push_str(&format!("Busiest by {} over {}\n", wanted.by.as_str(), wanted.window.as_str()));
    let rows: Vec<_> = hot.items.iter().map(hot_cells).collect();
    out.push_str(&table(&HotApp::COLUMNS, &rows));
    out
}

fn app_rows(apps: &[AppLine]) -> String {
    // In a terminal the id is what the next command is given; a page links it.
    let rows: Vec<_> = apps
        .iter()
        .map(|app| {
            let mut cells = app.cells();
            cells.insert(1, app.id.clone());
            cells
        })
        .collect();
    let mut columns = AppLine::COLUMNS.to_vec();
    columns.insert(1, "Id");
    table(&columns, &rows)
}

/// The supervision tree, and the apps of the shard that was asked for.
#[must_use]
pub fn tree(tree: &Tree, shard: Option<usize>) -> String {
    let ok = |ok: bool| if ok { "running" } else { "down" };
    let mut children = vec![format!(
        "writer  {}, lanes {} ({} dead), groups waiting {}, restarts {}",
        ok(tree.writer.ok),
        tree.writer.lanes,
        tree.writer.dead_lanes,
        tree.writer.queued,
        tree.writer.restarts
    )];
    children.push(format!("directory  {}", ok(tree.directory.ok)));
    for shard in &tree.shards {
        children.push(format!(
            "shard {}  apps {}, messages {}, rows {}, memory {}",
            shard.shard,
            shard.apps,
            number(shard.messages as f64),
            number(shard.resident_rows as f64),
            bytes(shard.resident_bytes as f64)
        ));
    }
    for worker in &tree.workers {
        let went = worker
            .last_error
            .as_deref()
            .map_or_else(|| "well".to_owned(), |error| format!("wrong: {}", clean(error)));
        children.push(format!(
            "worker {}  rounds {}, the last went {went}, restarts {}",
            worker.kind, worker.rounds, worker.restarts
        ));
    }
    let mut out = "root\n".to_owned();
    let last = children.len() - 1;
    for (n, child) in children.iter().enumerate() {
        out.push_str(&format!("{} {child}\n", if n == last { "└──" } else { "├──" }));
    }
    if let Some(shard) = shard {
        out.push_str(&format!("\nLive apps of shard {shard}\n{}", app_rows(&tree.apps)));
        if let Some(next) = tree.next {
            out.push_str(&format!("\nMore: --shard {shard} --after {next}\n"));
        }
    }
    out
}

/// One app.
#[must_use]
pub fn app(app: &AppDetail) -> String {
    let name = format!("{} ({})", clean(&app.line.slug), app.line.id);
    let mut out = format!("{name}\n\n{}", write(app_summary(app)));
    let messages = message_cells(app);
    if messages.is_empty() {
        out.push_str("\nNo message was seen yet: messages are seen from the first look on.\n");
    } else {
        out.push_str(&format!("\nLast messages\n{}", table(&MESSAGE_COLUMNS, &messages)));
    }
    out
}

/// Crashes, and the apps that are held back.
#[must_use]
pub fn restarts(page: &Restarts) -> String {
    let mut out = String::new();
    if !page.held.is_empty() {
        out.push_str(&format!("Held back\n{}\n", app_rows(&page.held)));
    }
    if page.items.is_empty() {
        out.push_str("No crashes.\n");
        return out;
    }
    let rows: Vec<_> = page.items.iter().map(restart_cells).collect();
    out.push_str(&format!("Crashes, newest first\n{}", table(&RESTART_COLUMNS, &rows)));
    if let Some(next) = page.next {
        out.push_str(&format!("\nMore: --before {next}\n"));
    }
    out
}
