//! What the tests share: a store in memory whose writer does what a test says, apps to put into
//! it, and requests to send them.

pub(crate) mod half;
pub(crate) mod real;
mod store;

use std::{collections::BTreeMap, sync::Arc};

use rookery_actors::{
    AppHandle, Apps, RuntimeOptions, SlotState,
    app::message::{NewRow, Op, Reply, RowReply, RowTarget},
    testing::Rig,
};
use rookery_domain::{
    Result, Timestamp,
    app::{AppRecord, AppStatus},
    id::{AgentId, AppId, HistoryId, HumanId},
    json::Object,
    limits::Limits,
    manifest::Visibility,
    principal::Caller,
    time::Clock,
};
use rookery_testkit::until;

pub(crate) use store::{FakeStore, Fate};

/// The present of all tests.
pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

/// A collection with a unique field, and one without.
pub(crate) const MANIFEST: &str = r#"{"collections": {
    "entries": {"permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"],
                        "countRead": ["owner"]},
        "unique": ["email"]},
    "log": {"permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"],
                        "countRead": ["owner"]}}}}"#;

/// The record of a live app.
pub(crate) fn record(owner: HumanId) -> AppRecord {
    let id = AppId::new();
    AppRecord {
        id,
        owner,
        org: None,
        created_by: None,
        slug: format!("app-{}", id.uuid().simple()).into(),
        status: AppStatus::Live,
        visibility: Visibility::Private,
        timezone: "UTC".into(),
        version: 1,
        share: None,
        migration_until: None,
        unrestricted: false,
        retention: BTreeMap::new(),
        history: HistoryId::new(),
        opened_seq: 0,
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
        purge_at: None,
    }
}

/// Slots and actors over a fresh store.
pub(crate) struct Bench {
    pub(crate) rig: Rig,
    pub(crate) store: FakeStore,
    pub(crate) owner: HumanId,
    pub(crate) caller: Caller,
}

impl Bench {
    /// Waits until a group is with the writer, which the store holds up.
    pub(crate) async fn until_held(&self) {
        until("a commit that is held", || self.store.held() > 0).await;
    }

    pub(crate) async fn start() -> Self {
        Self::start_with(RuntimeOptions::default()).await
    }

    pub(crate) async fn start_with(options: RuntimeOptions) -> Self {
        Self::limited(options, Limits::default()).await
    }

    pub(crate) async fn limited(options: RuntimeOptions, limits: Limits) -> Self {
        let store = FakeStore::default();
        let clock = Clock::manual(NOW);
        let rig = Rig::start(Arc::new(store.clone()), limits, options, clock)
            .await
            .expect("the tree starts");
        let owner = HumanId::new();
        let caller = Caller::Agent { agent: AgentId::new(), owner: Some(owner) };
        Self { rig, store, owner, caller }
    }

    /// A new app, dormant.
    pub(crate) async fn app(&self) -> AppHandle {
        new_app(&self.store, &self.rig.apps, self.owner).await
    }

    /// Creates a row in `entries`.
    pub(crate) async fn create(&self, app: &AppHandle, key: &str) -> Result<RowReply> {
        row(app.apply(self.caller.clone(), create(key, "{}")).await)
    }
}

/// A new app of `owner`, dormant.
async fn new_app(store: &FakeStore, apps: &Apps, owner: HumanId) -> AppHandle {
    let record = record(owner);
    let id = record.id;
    store.deploy(record, MANIFEST);
    apps.by_id(id).await.expect("it was deployed")
}

/// Has `app` rest, as soon as it can.
pub(crate) async fn asleep(app: &AppHandle) {
    let rests = || {
        let is_live = app.state() == SlotState::Live;
        if is_live {
            app.ask_to_hibernate();
        }
        !is_live
    };
    until("the app rests", rests).await;
}

/// The row of an answer.
pub(crate) fn row(reply: Result<Reply>) -> Result<RowReply> {
    reply.map(|reply| match reply {
        Reply::Row(row) => row,
        other => panic!("not a row: {other:?}"),
    })
}

/// Creates a row in `entries`.
pub(crate) fn create(key: &str, data: &str) -> Op {
    let item = NewRow { key: Some(key.into()), data: object(data) };
    Op::Create { collection: "entries".into(), item, challenge: None }
}

/// Deletes a row of `entries`.
pub(crate) fn delete(key: &str) -> Op {
    let target = RowTarget { key: key.into(), if_match: None };
    Op::Delete { collection: "entries".into(), target }
}

pub(crate) fn object(text: &str) -> Object {
    Object::parse(text).expect("a JSON object")
}

/// Keeps injected panics out of the tests' output; every other panic is printed as ever.
pub(crate) fn expect_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&"injected") {
                usual(panic);
            }
        }));
    });
}

/// A runtime of one thread whose time passes only when everybody waits.
pub(crate) fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime starts")
}
