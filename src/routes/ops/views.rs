//! What each page for operators shows, made from the same answers as the JSON. What is not here: how it
//! is written as HTML (`pages`), and where the figures come from.

use rookery_actors::observe::hot::{Measure, Window};
use rookery_domain::Error;
use serde::Deserialize;

use super::{
    app::{AppDetail, AppLine, AppSecond, find},
    hot::{self, HotApp, HotQuery},
    restarts::{self, RestartsQuery},
    tree::{self, Tree, TreeQuery},
};
use crate::{
    ops::{
        overview::Second,
        problems::Problem,
        view::{Chart, Choice, Grid, Part, Row, View, bytes, number, some_time, time},
    },
    state::AppState,
};

/// Problems on the overview; there are no more kinds.
const PROBLEM_PLACES: usize = 13;
/// Apps of an open shard on one page.
const TREE_PLACES: usize = 50;
/// Crashes on one page.
const RESTART_PLACES: usize = 100;

/// Which page, and which part of what it lists.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewQuery {
    /// The page; the overview without it.
    #[serde(default)]
    pub view: Which,
    shard: Option<usize>,
    after: Option<u64>,
    by: Option<Measure>,
    window: Option<Window>,
    before: Option<u64>,
    /// The app.
    pub id: Option<String>,
}

impl ViewQuery {
    /// The page of one app.
    #[must_use]
    pub fn app(id: String) -> Self {
        Self { view: Which::App, id: Some(id), ..Self::default() }
    }
}

/// The pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Everything at one look.
    #[default]
    Overview,
    /// The supervision tree.
    Tree,
    /// The busiest apps.
    Hot,
    /// The last crashes.
    Restarts,
    /// One app.
    App,
}

/// The page that was asked for.
///
/// # Errors
/// `not_found`, `app_not_found`.
pub async fn make(state: &AppState, asked: &ViewQuery) -> Result<View, Error> {
    match asked.view {
        Which::Overview => Ok(overview(state)),
        Which::Tree => tree(state, asked),
        Which::Hot => Ok(hottest(state, asked)),
        Which::Restarts => Ok(crashes(state, asked)),
        Which::App => {
            let id = asked.id.as_deref().unwrap_or_default();
            let app = find(state, id).await?;
            Ok(one(&AppDetail::of(&app)))
        }
    }
}

fn overview(state: &AppState) -> View {
    let seen = state.ops.overview();
    let (apps, messages, writer) = (&seen.apps, &seen.messages, &seen.writer);
    let yes = |ok: bool| if ok { "ok" } else { "not ok" }.to_owned();
    let figures = vec![
        ("Live apps", number(apps.live as f64)),
        ("Dormant", number(apps.dormant as f64)),
        ("Waking", number(apps.waking as f64)),
        ("Restarting", number(apps.restarting as f64)),
        ("Quarantined", number(apps.quarantined as f64)),
        ("Crashes since start", number(apps.crashes as f64)),
        ("Messages/s", number(messages.per_second)),
        ("Queued now", number(messages.queued as f64)),
        ("Refused/s", number(messages.refused_per_second)),
        ("Failed/s", number(messages.failed_per_second)),
        ("Mailbox wait p99", some_time(messages.wait_p99_seconds)),
        ("Handling p99", some_time(messages.handle_p99_seconds)),
        ("Wake p99", some_time(apps.wake_p99_seconds)),
        ("Writer", yes(writer.ok)),
        ("Commits/s", number(writer.commits_per_second)),
        ("Rows per commit", number(writer.rows_per_commit)),
        ("COMMIT p99 (fsync)", some_time(writer.commit_p99_seconds)),
        ("Log (WAL)", bytes(writer.wal_bytes as f64)),
        ("HTTP answers/s", number(seen.http.per_second)),
        ("HTTP 5xx/s", number(seen.http.failed_per_second)),
        ("HTTP p99", some_time(seen.http.p99_seconds)),
        ("Feed waiters", number(seen.feed_waiters as f64)),
        ("Long jobs waiting", number(seen.long_jobs_waiting as f64)),
        ("Resident rows", number(seen.memory.resident_rows as f64)),
        ("Resident bytes", bytes(seen.memory.resident_bytes as f64)),
        ("Process memory", bytes(seen.memory.process_bytes.unwrap_or(0) as f64)),
        ("Event-loop lag", time(seen.event_loop_lag_seconds)),
        ("Uptime", time(seen.uptime_s as f64)),
    ];
    let chart = |title, pick: fn(&Second) -> f64, show| {
        Part::Chart(Chart { title, values: seen.seconds.iter().map(pick).collect(), show })
    };
    View {
        title: "Overview".to_owned(),
        about: "The service in the last second, and over the last minute.".to_owned(),
        live: "view=overview".to_owned(),
        choices: Vec::new(),
        parts: vec![
            wrong(&seen.problems),
            Part::Figures(figures),
            chart("Messages per second", |second| second.messages, number),
            chart("Mailbox wait, 99th percentile", |second| second.wait_p99_seconds, time),
            chart("Commits per second", |second| second.commits, number),
            chart("COMMIT with fsync, 99th percentile", |second| second.commit_p99_seconds, time),
        ],
    }
}

/// What is wrong, or that nothing is.
fn wrong(problems: &[Problem]) -> Part {
    let well = Row::flat("well", String::new(), vec!["nothing".to_owned(), String::new()]);
    let row = |problem: &Problem| {
        let cells = vec![problem.what.clone(), problem.why.clone()];
        Row::flat(&problem.what, problem.page.clone(), cells)
    };
    let rows = if problems.is_empty() { vec![well] } else { problems.iter().map(row).collect() };
    let columns = vec!["What", "Why"];
    Part::Grid(Grid { caption: "What is wrong", columns, places: PROBLEM_PLACES, rows })
}

fn app_href(id: &str) -> String {
    format!("/ops/apps/{id}")
}

fn app_row(app: &AppLine) -> Row {
    Row::flat(&app.id, app_href(&app.id), app.cells())
}

fn tree(state: &AppState, asked: &ViewQuery) -> Result<View, Error> {
    let query = TreeQuery { shard: asked.shard, after: asked.after, limit: Some(TREE_PLACES) };
    let tree = tree::read(state, query)?;
    let mut choices = Vec::new();
    let mut live = "view=tree".to_owned();
    if let Some(shard) = asked.shard {
        live = format!("{live}&shard={shard}&after={}", asked.after.unwrap_or(0));
        if asked.after.is_some() {
            choices.push(Choice::other("First page", format!("/ops/tree?shard={shard}")));
        }
        if let Some(next) = tree.next {
            let href = format!("/ops/tree?shard={shard}&after={next}");
            choices.push(Choice::other("Next page", href));
        }
    }
    Ok(View {
        title: "Tree".to_owned(),
        about: "Who supervises whom. A shard's live apps are listed in the order of their start."
            .to_owned(),
        live,
        choices,
        parts: vec![Part::Grid(Grid {
            caption: "Supervision tree",
            columns: AppLine::COLUMNS.to_vec(),
            places: 3 + tree.workers.len() + tree.shards.len() + TREE_PLACES,
            rows: nodes(&tree, asked.shard),
        })],
    })
}

/// The rows of the tree, those of the apps of the shard that is `open` among them.
fn nodes(tree: &Tree, open: Option<usize>) -> Vec<Row> {
    let node = |key: &str, level, cells: [String; 3]| Row {
        key: key.to_owned(),
        level,
        cells: cells
            .into_iter()
            .chain((3..AppLine::COLUMNS.len()).map(|_| String::new()))
            .collect(),
        ..Row::default()
    };
    let ok = |ok: bool| if ok { "running" } else { "down" }.to_owned();
    let mut rows = vec![node("root", 1, ["root".into(), ok(true), String::new()])];
    let writer = format!("writer, lanes: {}", tree.writer.lanes);
    rows.push(node("writer", 2, [writer, ok(tree.writer.ok), tree.writer.queued.to_string()]));
    let directory = ["directory".into(), ok(tree.directory.ok), String::new()];
    rows.push(node("directory", 2, directory));
    for worker in &tree.workers {
        let went = if worker.last_error.is_some() { "last round failed" } else { "running" };
        let name = format!("worker {}", worker.kind);
        let mut row = node(&name, 2, [name.clone(), went.into(), String::new()]);
        row.cells[AppLine::COLUMNS.len() - 1] = worker.restarts.to_string();
        rows.push(row);
    }
    for shard in &tree.shards {
        let is_open = open == Some(shard.shard as usize);
        let name = format!("shard {}, apps: {}", shard.shard, shard.apps);
        let mut row = node(&format!("shard {}", shard.shard), 2, [name, ok(true), String::new()]);
        row.cells[4] = number(shard.resident_rows as f64);
        row.cells[5] = bytes(shard.resident_bytes as f64);
        row.expanded = Some(is_open);
        row.href = match is_open {
            true => "/ops/tree".to_owned(),
            false => format!("/ops/tree?shard={}", shard.shard),
        };
        rows.push(row);
        if is_open {
            rows.extend(tree.apps.iter().map(|app| Row { level: 3, ..app_row(app) }));
        }
    }
    rows
}

fn hottest(state: &AppState, asked: &ViewQuery) -> View {
    let by = asked.by.unwrap_or(Measure::Messages);
    let window = asked.window.unwrap_or(Window::TenSeconds);
    let lines = hot::lines(state, HotQuery { by, window });
    let href = |by: Measure, window: Window| {
        format!("/ops/hot?by={}&window={}", by.as_str(), window.as_str())
    };
    let measures = Measure::ALL.into_iter().map(|one| Choice {
        text: format!("by {}", one.as_str()),
        href: href(one, window),
        is_present: one == by,
    });
    let windows = Window::ALL.into_iter().map(|one| Choice {
        text: format!("over {}", one.as_str()),
        href: href(by, one),
        is_present: one == window,
    });
    let row = |app: &HotApp| Row::flat(&app.app.id, app_href(&app.app.id), app.cells());
    View {
        title: "Hot apps".to_owned(),
        about: "The busiest 50. Rates are decaying averages over the window.".to_owned(),
        live: format!("view=hot&by={}&window={}", by.as_str(), window.as_str()),
        choices: measures.chain(windows).collect(),
        parts: vec![Part::Grid(Grid {
            caption: "Hot apps",
            columns: HotApp::COLUMNS.to_vec(),
            places: rookery_actors::observe::hot::HOT_MAX,
            rows: lines.iter().map(row).collect(),
        })],
    }
}

fn crashes(state: &AppState, asked: &ViewQuery) -> View {
    let query = RestartsQuery { before: asked.before, limit: Some(RESTART_PLACES) };
    let page = restarts::page(state, query);
    let crash = |crash: &restarts::Restart| {
        let href = crash.app.as_deref().map_or_else(String::new, app_href);
        let cells = vec![
            crash.subject.clone(),
            crash.at.clone(),
            crash.decision.clone(),
            crash.crashes.to_string(),
            crash.cause.clone(),
        ];
        Row::flat(crash.number.to_string(), href, cells)
    };
    let older =
        page.next.map(|next| Choice::other("Older", format!("/ops/restarts?before={next}")));
    let held = page.held.iter().map(app_row);
    View {
        title: "Restarts".to_owned(),
        about: "The last 1,000 crashes, newest first, and the apps that are held back.".to_owned(),
        live: match asked.before {
            Some(before) => format!("view=restarts&before={before}"),
            None => "view=restarts".to_owned(),
        },
        choices: older.into_iter().collect(),
        parts: vec![
            Part::Grid(Grid {
                caption: "Held back: waiting to restart, or quarantined",
                columns: AppLine::COLUMNS.to_vec(),
                places: restarts::HELD_MAX,
                rows: held.collect(),
            }),
            Part::Grid(Grid {
                caption: "Crashes",
                columns: vec!["What", "When", "Then", "In a row", "Cause"],
                places: RESTART_PLACES,
                rows: page.items.iter().map(crash).collect(),
            }),
        ],
    }
}

fn one(app: &AppDetail) -> View {
    let line = &app.line;
    let chart = |title, pick: fn(&AppSecond) -> f64, show: fn(f64) -> String| {
        Part::Chart(Chart { title, values: app.seconds.iter().map(pick).collect(), show })
    };
    let message = |message: &super::app::RecentMessage| {
        let took = time(message.took_seconds);
        let cells = vec![message.kind.clone(), message.outcome.clone(), took, message.at.clone()];
        Row::flat("", String::new(), cells)
    };
    View {
        title: line.slug.clone(),
        about: format!("{}. Messages are seen from the first look on.", line.id),
        live: format!("view=app&id={}", line.id),
        choices: Vec::new(),
        parts: vec![
            Part::Figures(figures(app)),
            chart("Messages per second", |second| second.messages as f64, number),
            chart("Mailbox wait, 99th percentile", |second| second.wait_p99_seconds, time),
            chart("Queued at most", |second| second.queued_max as f64, number),
            chart("Errors per second", |second| second.errors as f64, number),
            Part::Grid(Grid {
                caption: "Last messages",
                columns: vec!["Kind", "Outcome", "Took", "When"],
                places: 50,
                rows: app.recent.iter().map(message).collect(),
            }),
        ],
    }
}

/// The figures of one app, each with what it is called.
fn figures(app: &AppDetail) -> Vec<(&'static str, String)> {
    let line = &app.line;
    let optional = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |n| n.to_string());
    vec![
        ("State", line.state.clone()),
        ("Status", app.status.clone()),
        ("In it for", time(app.state_age_ms as f64 / 1e3)),
        ("Queued now", format!("{} of {}", line.queued, app.mailbox_limit)),
        ("Queued at most, 60 s", app.queued_max.to_string()),
        ("Oldest wait now", some_time(app.oldest_wait_seconds)),
        ("Mailbox wait p50", some_time(app.wait.p50)),
        ("Mailbox wait p99", some_time(app.wait.p99)),
        ("Handling p99", some_time(app.handle.p99)),
        ("Waiters", line.followers.to_string()),
        ("Rows", number(line.rows as f64)),
        ("Memory", bytes(line.resident_bytes as f64)),
        // Two words, so that a narrow page breaks it between them.
        ("Last wake", app.last_wake_at.as_ref().map_or("–".to_owned(), |at| at.replace('T', " "))),
        ("Last wake cost", some_time(app.last_wake_seconds)),
        ("Idle", time(line.idle_ms as f64 / 1e3)),
        ("Crashes in a row", line.crashes.to_string()),
        ("Shard", app.shard.to_string()),
        ("Incarnation", optional(app.incarnation)),
        ("Newest event", optional(app.seq)),
        ("Cause of quarantine", app.cause.clone().unwrap_or_else(|| "–".to_owned())),
    ]
}
