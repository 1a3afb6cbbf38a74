//! How many rows and events per second the writer makes durable on this machine, and how long a
//! load takes. Usage: `writer_bench [apps] [seconds] [rows per group]` in an optimised build.
//!
//! Each app has one group in flight and submits the next as soon as that one has settled, as its
//! actor would; batches form by themselves.

use std::{
    io::Write as _,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use rookery_domain::{
    Principal, Timestamp,
    app::{AppRecord, AppStatus},
    event::{Event, EventType, RowChange},
    id::{AppId, HistoryId, HumanId},
    limits::AppsMax,
    manifest::Visibility,
    row::Row,
};
use rookery_storage::{
    Db, StorageOptions, Writer, WriterOptions,
    apps::create::{CreateOutcome, NewApp, create},
    commit::{Group, NewVersion, Outcome, RowState, RowWrite, Ticket, Totals},
    humans,
    load::{LoadOptions, load_app},
};

const KEYS: u64 = 1_000;

struct Settled(usize, mpsc::Sender<(usize, Outcome)>);

impl Ticket for Settled {
    fn settle(self: Box<Self>, outcome: Outcome) {
        let _ = self.1.send((self.0, outcome));
    }
}

fn argument(position: usize, default: u64) -> u64 {
    std::env::args().nth(position).and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (apps, seconds, rows) = (argument(1, 25) as usize, argument(2, 5), argument(3, 1));
    let folder = tempfile::tempdir()?;
    let db = Db::connect(&StorageOptions::sqlite(folder.path())).await?;
    let now = Timestamp(1_700_000_000_000_000);
    let owner = humans::find_or_create(&db, "a@example.org".into(), HumanId::new(), now).await?.id;
    let mut ids = Vec::new();
    for number in 0..apps {
        ids.push(deploy(&db, owner, number, now).await?);
    }
    let writer = Writer::start(&db, db.next_epoch().await?, WriterOptions::default())?;
    let (sender, receiver) = mpsc::channel();
    let data: Box<str> = format!("{{\"text\":\"{}\"}}", "x".repeat(180)).into();
    let mut seqs = vec![0u64; apps];
    let collection: Arc<str> = "entries".into();
    let mut submit = |app: usize| {
        let first = seqs[app] + 1;
        let last = seqs[app] + rows;
        let mut group = empty(ids[app], seqs[app], last, Box::new(Settled(app, sender.clone())));
        for seq in first..=last {
            let row = Arc::new(Row {
                key: format!("row_{:026}", seq % KEYS).into(),
                data: data.clone(),
                version: 1 + u32::try_from(seq / KEYS).unwrap_or(0),
                creator: Principal::SYSTEM,
                editor: Principal::SYSTEM,
                created_at: now,
                updated_at: now,
            });
            group.rows.push(RowWrite {
                collection: collection.clone(),
                row: row.clone(),
                state: RowState::Live,
            });
            group.events.push(Arc::new(Event {
                seq,
                kind: EventType::RowUpdated,
                at: now,
                by: Principal::SYSTEM,
                change: Some(RowChange {
                    collection: collection.clone(),
                    row,
                    previous_editor: None,
                }),
                data: None,
                silent: false,
            }));
        }
        seqs[app] = last;
        writer.submit(group);
    };
    let began = Instant::now();
    (0..apps).for_each(&mut submit);
    let mut in_flight = apps;
    while in_flight > 0 {
        let (app, outcome) = receiver.recv()?;
        if outcome != Outcome::Committed {
            return Err(format!("a group was not committed: {outcome:?}").into());
        }
        if began.elapsed() < Duration::from_secs(seconds) {
            submit(app);
        } else {
            in_flight -= 1;
        }
    }
    let took = began.elapsed().as_secs_f64();
    let health = writer.health();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:.0} rows and events a second; {:.1} groups a batch; {:.0} commits a second; last \
         commit {} us; log {} MB; commit times {:?}",
        health.rows as f64 / took,
        health.groups as f64 / health.batches as f64,
        health.batches as f64 / took,
        health.last_commit_us,
        health.wal_bytes >> 20,
        health.commit_times,
    )?;
    let options = LoadOptions { now, tail_events: 200 };
    let mut loads = Vec::new();
    for app in ids.iter().cycle().take(200) {
        let began = Instant::now();
        let loaded = load_app(&db, *app, options).await?.ok_or("the app is gone")?;
        loads.push((began.elapsed(), loaded.rows.len()));
    }
    loads.sort();
    writeln!(out, "load: median {:?}, p99 {:?}", loads[loads.len() / 2], loads[loads.len() - 2])?;
    writer.drain().await;
    Ok(())
}

fn empty(app: AppId, prev_seq: u64, seq: u64, ticket: Box<dyn Ticket>) -> Group {
    Group {
        app,
        prev_seq,
        seq,
        totals: Totals::default(),
        rows: Vec::new(),
        scrubs: Vec::new(),
        events: Vec::new(),
        budgets: Vec::new(),
        spent_challenges: Vec::new(),
        idempotency: Vec::new(),
        app_write: None,
        access: Vec::new(),
        traces: Vec::new(),
        ticket,
    }
}

async fn deploy(
    db: &Db,
    owner: HumanId,
    number: usize,
    now: Timestamp,
) -> Result<AppId, Box<dyn std::error::Error>> {
    let record = AppRecord {
        id: AppId::new(),
        owner,
        org: None,
        created_by: None,
        slug: format!("app-{number}").into(),
        status: AppStatus::Live,
        visibility: Visibility::Private,
        timezone: "UTC".into(),
        version: 1,
        share_hash: None,
        share_sealed: None,
        migration_until: None,
        unrestricted: false,
        retention: Default::default(),
        history: HistoryId::new(),
        created_at: now,
        updated_at: now,
        deleted_at: None,
        purge_at: None,
    };
    let version = NewVersion {
        number: 1,
        html: "".into(),
        manifest: "{}".into(),
        assets: Arc::new([]),
        by: Principal::SYSTEM,
        created_at: now,
        drop_through: 0,
    };
    let id = record.id;
    let app = NewApp {
        record,
        version,
        rows: Vec::new(),
        events: Vec::new(),
        totals: Totals::default(),
        apps_max: AppsMax { kept: u64::MAX >> 1, trashed: u64::MAX >> 1 },
        answer: None,
    };
    match create(db, app).await? {
        CreateOutcome::Created => Ok(id),
        other => Err(format!("{other:?}").into()),
    }
}
