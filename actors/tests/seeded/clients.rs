//! The clients of one app in a seeded world: each checks what it is told against what the store
//! has committed by then.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rand::{Rng as _, rngs::SmallRng};
use rookery_actors::{
    AppHandle,
    app::{
        deploy::{DeployPlan, DetachedRows},
        message::{
            AppOp, CheckedIdempotency, Idempotency, NewRow, Op, Reply, RowEdit, RowReply,
            RowTarget, UpsertRow, WriteRow,
        },
    },
    feed::FeedQuery,
    store::AppStore as _,
};
use rookery_domain::{
    Error, ErrorCode, Result, idempotency::IdempotentRequest, json, manifest, principal::Caller,
    row::Row,
};

use crate::support::{Bench, FakeStore, MANIFEST, object};

/// The unique values there are.
pub(super) const EMAILS: [&str; 3] = ["a@x", "b@x", "c@x"];
/// Keys of rows.
const KEYS: [&str; 4] = ["k0", "k1", "k2", "k3"];
/// Turns that others get between two polls of the feed.
const TURNS_BETWEEN_POLLS: usize = 12;
/// A manifest without `entries`: its rows are detached.
const WITHOUT: &str = r#"{"collections": {
    "log": {"permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"],
                        "countRead": ["owner"]}}}}"#;

/// A request to send.
pub(super) struct Plan {
    op: Op,
    /// Texts that storage must hold if this succeeds alone, and never if it is refused.
    marks: Vec<String>,
    /// The scope of an idempotent request.
    scope: Option<u8>,
}

impl Plan {
    pub(super) fn draw(rng: &mut SmallRng, seed: u64, step: u32) -> Self {
        let mut marks = Vec::new();
        let collection: Box<str> = if rng.random_bool(0.8) { "entries" } else { "log" }.into();
        let mut data = |rng: &mut SmallRng, with_email: bool| {
            let mark = format!("{seed}-{step}-{}", rng.random::<u32>());
            let email = match EMAILS[rng.random_range(0..EMAILS.len())] {
                email if with_email || rng.random_bool(0.5) => format!(",\"email\":\"{email}\""),
                _ => String::new(),
            };
            let data = object(&format!("{{\"mark\":\"{mark}\"{email}}}"));
            marks.push(mark);
            data
        };
        let key = |rng: &mut SmallRng| Box::from(KEYS[rng.random_range(0..KEYS.len())]);
        let challenge = None;
        let mut scope = None;
        let op = match rng.random_range(0..100) {
            0..28 => {
                let item = NewRow { key: Some(key(rng)), data: data(rng, false) };
                Op::Create { collection, item, challenge }
            }
            28..45 => {
                let (key, data) = (key(rng), data(rng, false));
                let edit = RowEdit { data, replace: rng.random(), if_match: None };
                Op::Update { collection, key, edit }
            }
            45..55 => {
                let item = UpsertRow { on: "email".into(), data: data(rng, true) };
                Op::Upsert { collection: "entries".into(), item, challenge }
            }
            55..67 => {
                let target = RowTarget { key: key(rng), if_match: None };
                Op::Delete { collection, target }
            }
            67..73 => Op::Restore { collection, key: key(rng), trashed: None },
            73..78 => Op::Purge { collection, target: RowTarget { key: key(rng), if_match: None } },
            78..90 => {
                let items = (0..rng.random_range(1..5)).map(|_| {
                    WriteRow::Create(NewRow { key: Some(key(rng)), data: data(rng, false) })
                });
                let items = items.collect();
                Op::BatchWrite { collection, items, atomic: rng.random(), challenge }
            }
            90..94 => {
                let items = (0..3).map(|_| RowTarget { key: key(rng), if_match: None }).collect();
                Op::BatchDelete { collection, items, atomic: rng.random() }
            }
            _ => {
                let one = rng.random_range(0..3u8);
                scope = Some(one);
                let data = object(&format!("{{\"request\":\"{one}-request\"}}"));
                let item = NewRow { key: None, data };
                Op::Create { collection: "log".into(), item, challenge }
            }
        };
        Self { op, marks, scope }
    }
}

/// Everybody who uses one app.
pub(super) struct Client {
    pub(super) app: AppHandle,
    store: FakeStore,
    caller: Caller,
    ended: AtomicBool,
    destroying: AtomicBool,
    deploys: AtomicU64,
}

impl Client {
    pub(super) fn new(bench: &Bench, app: &AppHandle) -> Self {
        Self {
            app: app.clone(),
            store: bench.store.clone(),
            caller: bench.caller.clone(),
            ended: AtomicBool::new(false),
            destroying: AtomicBool::new(false),
            deploys: AtomicU64::new(0),
        }
    }

    async fn ask(&self, op: Op, idempotency: Option<CheckedIdempotency>) -> Result<Reply> {
        self.app.apply_with(self.caller.clone(), op, idempotency, 0).await
    }

    /// Sends a request and checks its answer.
    pub(super) async fn send(&self, plan: Plan) {
        let Plan { mut op, marks, scope } = plan;
        if let Op::Restore { collection, key, trashed } = &mut op {
            let found = self.store.trashed_row(self.app.id(), collection, key).await;
            *trashed = found.expect("the store answers").map(|seen| seen.row);
        }
        let idempotency = match scope {
            None => None,
            Some(scope) => match self.idempotency(scope).await {
                Some(key) => Some(key),
                // It is answered already, or the app cannot be asked.
                None => return,
            },
        };
        let reply = self.ask(op, idempotency).await;
        if self.destroying.load(Ordering::Relaxed) {
            // What it held may be gone from the store by now.
            return;
        }
        match reply {
            Ok(Reply::Row(reply)) => self.told(&reply),
            Ok(Reply::Batch(results)) => results.iter().flatten().for_each(|one| self.told(one)),
            Ok(Reply::Purged(left)) => {
                let key = left.key.to_string();
                assert!(self.holds(&key, left.version, ""), "a purge was told and is not there");
            }
            Ok(Reply::Replayed(_)) => assert!(scope.is_some()),
            // Of a key, or of a row in the trash.
            Ok(Reply::Stale | Reply::LookAgain(_)) => {}
            Ok(other) => panic!("an answer to another question: {other:?}"),
            Err(error) => self.refused(&error, &marks),
        }
    }

    async fn idempotency(&self, scope: u8) -> Option<CheckedIdempotency> {
        let checked_at = self.app.root().await.ok()?.group;
        let mut of_app = [scope; 32];
        of_app[..16].copy_from_slice(self.app.id().uuid().as_bytes());
        if self.store.first_response(of_app).await.expect("the store answers").is_some() {
            return None;
        }
        let idempotency = Idempotency {
            request: IdempotentRequest { scope: of_app, body_hash: [scope; 32] },
            collection: Some("log".into()),
            location_base: "/".to_owned(),
            render: None,
        };
        Some(CheckedIdempotency { idempotency, checked_at })
    }

    fn holds(&self, key: &str, version: u32, data: &str) -> bool {
        self.store.logged(self.app.id(), key, version, data)
    }

    /// Whatever is told of a row is durable by then, also that it existed already.
    fn told(&self, reply: &RowReply) {
        let row: &Row = &reply.row;
        assert!(self.holds(row.key(), row.version, row.data()), "told and not durable: {reply:?}");
    }

    /// What was refused left nothing behind, and was refused for a reason that is durable.
    fn refused(&self, error: &Error, marks: &[String]) {
        let unknown = error.is_unknown_outcome();
        let holds = |mark: &String| self.store.ever_held(self.app.id(), mark);
        assert!(unknown || !marks.iter().any(holds), "refused and there: {error:?}");
        // Items of one batch may well be in each other's way.
        let of_batch = error.details.as_ref().is_some_and(|details| details.get("index").is_some());
        if error.code == ErrorCode::UniqueConflict && !of_batch {
            assert!(self.store.ever_held(self.app.id(), "@x"), "a conflict with nothing durable");
        }
    }

    /// Takes a unique value, to see whether it is free.
    pub(super) async fn take(&self, email: &str) -> Result<Reply> {
        let data = object(&format!("{{\"email\":\"{email}\"}}"));
        let item = NewRow { key: None, data };
        let op = Op::Create { collection: "entries".into(), item, challenge: None };
        loop {
            match self.ask(op.clone(), None).await {
                Err(error) if error.code == ErrorCode::Unavailable => {
                    tokio::task::yield_now().await;
                }
                answer => return answer,
            }
        }
    }

    /// What is published is what was committed at its number, no more and no less.
    pub(super) fn look(&self) {
        let Some(root) = self.app.peek() else { return };
        let Some(committed) = self.store.picture_at(self.app.id(), root.seq) else {
            assert!(self.destroying.load(Ordering::Relaxed), "{} was never committed", root.seq);
            return;
        };
        for collection in ["entries", "log"] {
            if root.live_rows(collection).is_none() {
                continue;
            }
            let kept = committed.iter().filter(|((of, _), _)| of == collection);
            let kept: HashMap<&str, (u32, &str)> = kept
                .map(|((_, key), (version, data))| (key.as_str(), (*version, data.as_str())))
                .collect();
            let served = self.app.published_rows(collection);
            assert_eq!(served.len(), kept.len());
            for row in &served {
                assert_eq!(kept.get(row.key()), Some(&(row.version, row.data())));
            }
        }
    }

    /// Follows the feed to the end: every event is committed when it is heard of, and none is
    /// left out.
    pub(super) async fn follow(&self) {
        let mut since: Option<String> = None;
        let mut last: Option<u64> = None;
        loop {
            let ended = self.ended.load(Ordering::Relaxed);
            let query = FeedQuery {
                since: since.clone(),
                wait: Duration::ZERO,
                limit: 3,
                collection: None,
            };
            match self.app.feed(&self.caller, &query).await {
                Ok(page) => {
                    for event in &page.events {
                        let event: serde_json::Value =
                            serde_json::from_str(&event.json).expect("JSON");
                        let seq = event["seq"].as_u64().expect("a number");
                        let gone = self.destroying.load(Ordering::Relaxed);
                        assert!(gone || self.store.event(self.app.id(), seq).is_some());
                        assert!(last.is_none_or(|last| last + 1 == seq), "a gap before {seq}");
                        last = Some(seq);
                    }
                    if ended && !page.more && since.is_some() {
                        return;
                    }
                    since = Some(page.cursor);
                }
                Err(error) if error.code == ErrorCode::ResyncRequired => {
                    (since, last) = (None, None);
                }
                // Deleted, backing off, gone.
                Err(_) if ended => return,
                Err(_) => {}
            }
            // A poll is dear next to everything else here: others go on meanwhile.
            for _ in 0..TURNS_BETWEEN_POLLS {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The world ends: followers read what is left and leave.
    pub(super) fn finish(&self) {
        self.app.lift_quarantine();
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Deploys a version, with or without `entries`.
    pub(super) async fn deploy(&self, with_entries: bool) {
        let text = if with_entries { MANIFEST } else { WITHOUT };
        let value = json::parse(text.as_bytes()).expect("JSON");
        let manifest = Arc::new(manifest::reload(&value).expect("a manifest"));
        let mut detached = DetachedRows::default();
        for name in manifest.collections.keys() {
            let rows = self.store.detached_rows(self.app.id(), name).await.expect("it answers");
            detached.by_collection.insert(name.clone(), rows);
        }
        let plan = DeployPlan {
            base_version: self.app.record().version,
            expected: None,
            manifest,
            manifest_text: text.into(),
            html: "".into(),
            assets: Arc::new([]),
            schemas: BTreeMap::new(),
            events: BTreeMap::new(),
            visibility: None,
            share: None,
            timezone: Some(if with_entries { "Asia/Tokyo" } else { "UTC" }.into()),
            force: true,
            detached,
            asks_visibility: false,
            warnings: Vec::new(),
            last_declared: BTreeMap::new(),
        };
        if let Ok(reply) = self.ask(Op::App(AppOp::Deploy(Arc::new(plan))), None).await {
            assert!(matches!(reply, Reply::Deployed(_)));
            self.deploys.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Moves the app to the trash, and mostly brings it back.
    pub(super) async fn delete(&self, again: bool) {
        let _ = self.ask(Op::App(AppOp::Delete), None).await;
        if again {
            let _ = self.ask(Op::App(AppOp::Restore), None).await;
        }
    }

    /// Destroys the app for good.
    pub(super) async fn destroy(&self) {
        let _ = self.ask(Op::App(AppOp::Delete), None).await;
        // Others may see the mark before this hears of it.
        self.destroying.store(true, Ordering::Relaxed);
        if self.ask(Op::App(AppOp::Destroy), None).await.is_ok() {
            self.store.barrier(self.app.id()).await;
            self.store.remove(self.app.id());
            self.app.forget();
            let gone = self.ask(Op::App(AppOp::Restore), None).await;
            assert_eq!(gone.expect_err("it is gone").code, ErrorCode::AppNotFound);
        }
    }
}
