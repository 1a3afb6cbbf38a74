//! What a live app weighs and how long a wake takes, over a real SQLite file.
//!
//! `cargo run --release -p rookery-actors --example memory_and_wake`
//!
//! The apps are made by one process and measured by another, so that nothing of their making is
//! in the numbers: resident memory before and after 1,000 apps with 100 rows of 200 bytes each
//! are woken, and the times of waking apps with 1,000 rows.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use rookery_actors::{
    Runtime, RuntimeOptions,
    control::{Bundle, CreateApp, SeedRow},
    store::SqlStore,
};
use rookery_domain::{
    Principal, Timestamp,
    id::{AppId, HumanId},
    json::Object,
    limits::Limits,
    sealed::ServerKey,
    time::Clock,
};
use rookery_storage::{Db, StorageOptions, Writer, WriterOptions, humans};

/// Apps whose memory is measured, and the rows of each.
const SMALL_APPS: usize = 1_000;
const SMALL_ROWS: usize = 100;
/// Apps whose wake is timed, and the rows of each.
const LARGE_APPS: usize = 300;
const LARGE_ROWS: usize = 1_000;

const MANIFEST: &str = r##"{"collections": {"entries": {"schema": {"$ref": "#/$defs/Entry"},
    "permissions": {"read": ["anyone"], "write": ["owner"], "delete": ["owner"],
                    "countRead": ["anyone"]},
    "unique": ["email"]}},
  "$defs": {"Entry": {"type": "object", "properties": {"email": {"type": "string"}}}}}"##;

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    if let (Some("measure"), Some(folder)) = (arguments.next().as_deref(), arguments.next()) {
        return measure(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir()?;
    make(folder.path()).await?;
    let status =
        Command::new(std::env::current_exe()?).arg("measure").arg(folder.path()).status()?;
    if status.success() { Ok(()) } else { Err("the measurement failed".into()) }
}

async fn open(folder: &Path) -> Result<(Db, Writer, Runtime), Failed> {
    let db = Db::connect(&StorageOptions::sqlite(folder)).await?;
    let writer = Writer::start(&db, db.next_epoch().await?, WriterOptions::default())?;
    let clock = Clock::system();
    let store = Arc::new(SqlStore::new(db.clone(), writer.clone(), clock.clone()));
    let limits = Limits {
        max_apps_per_account: u64::MAX >> 1,
        max_rows_per_account: u64::MAX >> 1,
        ..Limits::default()
    };
    let options = RuntimeOptions { idle_after: Duration::MAX, ..RuntimeOptions::default() };
    let key = ServerKey::new(&[7; 32]);
    let runtime = Runtime::start(db.clone(), store, limits, options, clock, key).await?;
    Ok((db, writer, runtime))
}

async fn make(folder: &Path) -> Result<(), Failed> {
    let (db, writer, runtime) = open(folder).await?;
    let now = Timestamp(1_800_000_000_000_000);
    let owner = humans::find_or_create(&db, "ada@example.com".into(), HumanId::new(), now).await?;
    let mut ids = String::new();
    for (apps, rows) in [(SMALL_APPS, SMALL_ROWS), (LARGE_APPS, LARGE_ROWS)] {
        for _ in 0..apps {
            let seed = |i: usize| {
                let text = format!("{{\"email\":\"{i}@example.com\",\"text\":\"{:0>155}\"}}", i);
                Ok(SeedRow { key: None, data: Object::parse(&text)? })
            };
            let seeds = (0..rows).map(seed).collect::<Result<Vec<_>, Failed>>()?;
            let request = CreateApp {
                owner: owner.id,
                org: None,
                agent: None,
                by: Principal::SYSTEM,
                bundle: Bundle {
                    html: "<!doctype html>".into(),
                    manifest: Some(MANIFEST.to_owned()),
                    ..Bundle::default()
                },
                slug: None,
                input_data: BTreeMap::from([("entries".to_owned(), seeds)]),
                dry_run: false,
                idempotency: None,
            };
            let created = runtime.control().create(request).await?.first();
            ids.extend(created.map(|created| format!("{}\n", created.record.id)));
        }
    }
    std::fs::write(folder.join("ids"), ids)?;
    runtime.stop().await;
    writer.drain().await;
    db.close().await;
    Ok(())
}

async fn measure(folder: &Path) -> Result<(), Failed> {
    let (db, writer, runtime) = open(folder).await?;
    let ids = std::fs::read_to_string(folder.join("ids"))?;
    let ids = ids.lines().map(str::parse).collect::<Result<Vec<AppId>, _>>()?;
    let (small, large) = ids.split_at(SMALL_APPS);
    // The first ones fill caches and pools.
    let (first, rest) = small.split_at(50);
    for id in first {
        runtime.apps().by_id(*id).await?.root().await?;
    }
    let before = resident_bytes()?;
    let mut estimate = 0;
    for id in rest {
        estimate += runtime.apps().by_id(*id).await?.root().await?.resident_bytes();
    }
    let after = resident_bytes()?;
    let count = rest.len() as u64;
    say(format_args!("memory per live app with {SMALL_ROWS} rows of 200 bytes:"))?;
    say(format_args!("  resident {} bytes", after.saturating_sub(before) / count))?;
    say(format_args!("  estimate {} bytes", estimate / count))?;
    let mut times = Vec::with_capacity(large.len());
    for id in large {
        let app = runtime.apps().by_id(*id).await?;
        let began = Instant::now();
        app.root().await?;
        times.push(began.elapsed());
    }
    times.sort();
    say(format_args!("wake of an app with {LARGE_ROWS} rows:"))?;
    say(format_args!("  median {:?}", times[times.len() / 2]))?;
    say(format_args!("  p99    {:?}", times[times.len() * 99 / 100]))?;
    runtime.stop().await;
    writer.drain().await;
    db.close().await;
    Ok(())
}

fn say(line: std::fmt::Arguments<'_>) -> Result<(), Failed> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Memory of this process that is resident (proc(5), `statm`).
fn resident_bytes() -> Result<u64, Failed> {
    const PAGE_BYTES: u64 = 4_096;
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split_whitespace().nth(1).ok_or("no statm")?.parse()?;
    Ok(pages * PAGE_BYTES)
}
