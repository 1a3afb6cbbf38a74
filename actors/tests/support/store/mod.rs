//! A store in memory. Its writer commits at once, or holds every group until the test says how it
//! ends. It checks each group as it comes: the fence, the numbers of its events, its totals.

mod reads;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use futures::{FutureExt as _, future::BoxFuture};
use rookery_actors::{
    app::read::SeenRow,
    store::{AppStore, Stored},
};
use rookery_domain::{
    app::{AppRecord, AppStatus},
    event::Event,
    id::{AppId, HumanId},
    idempotency::FirstResponse,
    row::Row,
};
use rookery_storage::{
    apps::CollectionCounts,
    commit::{Abort, Group, IdempotencyWrite, Outcome, RowState, Totals},
    load::{Head, LoadedApp},
    trash::{TrashCursor, TrashPage},
};
use tokio::sync::{Semaphore, watch};

use self::reads::{load, trashed};

/// How a held group ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Commit,
    Refuse,
    Full,
    /// The offer that it accepts is gone.
    OfferGone,
    /// The outcome is unknown to the actor; whether it was applied is said here.
    Unknown {
        applied: bool,
    },
    /// The writer dies: this group's outcome is unknown and it was applied or not, everything
    /// behind it was certainly not.
    Die {
        applied: bool,
    },
}

type Place = (Arc<str>, Box<str>);
/// What is live at one point of an app's history.
pub(crate) type Picture = BTreeMap<(String, String), (u32, String)>;

struct App {
    record: AppRecord,
    manifest: Arc<str>,
    head: Head,
    rows: BTreeMap<Place, (Arc<Row>, RowState)>,
    events: Vec<Arc<Event>>,
    history: BTreeMap<u64, Arc<Picture>>,
}

#[derive(Default)]
struct State {
    apps: HashMap<AppId, App>,
    held: VecDeque<Group>,
    hold: bool,
    submitted: u64,
    settled: watch::Sender<u64>,
    responses: HashMap<[u8; 32], FirstResponse>,
    loads: u64,
    panic_at_load: bool,
    trash_reads: u64,
    /// Each read of the trash takes a permit of it.
    trash_gate: Option<Arc<Semaphore>>,
    detached_reads: u64,
    /// Each read of detached rows takes a permit of it.
    detached_gate: Option<Arc<Semaphore>>,
    /// Row versions and contents that were ever committed.
    logged: HashSet<(AppId, String, u32, String)>,
    violations: Vec<String>,
}

/// The store; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct FakeStore(Arc<Mutex<State>>);

impl FakeStore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds the store")
    }

    /// Puts an app there, as its creation would.
    pub(crate) fn deploy(&self, record: AppRecord, manifest: &str) {
        let head = Head { last_seq: 0, floor_seq: 0, version_floor: 0, totals: Totals::default() };
        let app = App {
            manifest: manifest.into(),
            head,
            rows: BTreeMap::new(),
            events: Vec::new(),
            history: BTreeMap::from([(0, Arc::default())]),
            record,
        };
        self.lock().apps.insert(app.record.id, app);
    }

    /// From now on the writer commits nothing by itself.
    pub(crate) fn hold(&self) {
        self.lock().hold = true;
    }

    /// From now on it does again.
    pub(crate) fn go_on(&self) {
        self.lock().hold = false;
    }

    /// Ends the oldest held group like this; false when there is none.
    pub(crate) fn end(&self, fate: Fate) -> bool {
        let mut settle = Vec::new();
        {
            let mut state = self.lock();
            let Some(group) = state.held.pop_front() else { return false };
            settle.push(state.decide(group, fate));
            if matches!(fate, Fate::Die { .. }) {
                let rest: Vec<_> = state.held.drain(..).collect();
                settle.extend(rest.into_iter().map(|group| state.decide(group, Fate::Refuse)));
            }
        }
        for (ticket, outcome) in settle {
            ticket.resolve(outcome);
            self.lock().settled.send_modify(|settled| *settled += 1);
        }
        true
    }

    /// Commits the oldest held group; its actor hears of it when what is returned is called.
    pub(crate) fn commit_untold(&self) -> impl FnOnce() + use<> {
        let mut state = self.lock();
        let group = state.held.pop_front().expect("a group is held");
        let (ticket, outcome) = state.decide(group, Fate::Commit);
        let store = self.clone();
        move || {
            ticket.resolve(outcome);
            store.lock().settled.send_modify(|settled| *settled += 1);
        }
    }

    /// Groups that wait.
    pub(crate) fn held(&self) -> usize {
        self.lock().held.len()
    }

    /// Bytes of the payloads of the oldest group that waits.
    pub(crate) fn held_payloads(&self) -> usize {
        let state = self.lock();
        let events = state.held.front().map_or(&[][..], |group| &group.writes.events);
        events.iter().filter_map(|event| event.data.as_ref()).map(|data| data.len()).sum()
    }

    /// Loads so far.
    pub(crate) fn loads(&self) -> u64 {
        self.lock().loads
    }

    /// Whether a load panics.
    pub(crate) fn panic_at_load(&self, panics: bool) {
        self.lock().panic_at_load = panics;
    }

    /// What is live now.
    pub(crate) fn picture(&self, app: AppId) -> Option<(u64, Arc<Picture>)> {
        let state = self.lock();
        let (seq, picture) = state.apps.get(&app)?.history.iter().next_back()?;
        Some((*seq, picture.clone()))
    }

    /// What was live when the app stood at `seq`.
    pub(crate) fn picture_at(&self, app: AppId, seq: u64) -> Option<Arc<Picture>> {
        self.lock().apps.get(&app)?.history.get(&seq).cloned()
    }

    /// Whether this version of a row was ever committed with this content.
    pub(crate) fn logged(&self, app: AppId, key: &str, version: u32, data: &str) -> bool {
        let entry = (app, key.to_owned(), version, data.to_owned());
        self.lock().logged.contains(&entry)
    }

    /// Whether content with this text was ever committed.
    pub(crate) fn ever_held(&self, app: AppId, text: &str) -> bool {
        self.lock().logged.iter().any(|(of, _, _, data)| *of == app && data.contains(text))
    }

    /// The seq and the committed event with this number.
    pub(crate) fn event(&self, app: AppId, seq: u64) -> Option<Arc<Event>> {
        self.lock().apps.get(&app)?.events.get(usize::try_from(seq).ok()?.checked_sub(1)?).cloned()
    }

    /// Rows of the owner's apps that count.
    pub(crate) fn rows_of(&self, owner: HumanId) -> u64 {
        self.lock().rows_of(owner)
    }

    /// Finishes a purge: nothing is left of the app.
    pub(crate) fn remove(&self, app: AppId) {
        self.lock().apps.remove(&app);
    }

    /// What was wrong with groups so far.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }
}

impl State {
    fn decide(
        &mut self,
        group: Group,
        fate: Fate,
    ) -> (Box<dyn rookery_storage::commit::Ticket>, Outcome) {
        let applied = match fate {
            Fate::Commit => true,
            Fate::Refuse | Fate::Full | Fate::OfferGone => false,
            Fate::Unknown { applied } | Fate::Die { applied } => applied,
        };
        let fits = self.apps.get(&group.app).is_some_and(|app| {
            app.head.last_seq == group.prev_seq && app.record.status != AppStatus::Purging
        });
        if applied && fits {
            self.apply(&group);
        }
        let outcome = match fate {
            Fate::Commit if !fits => Outcome::Aborted(Abort::Fenced),
            Fate::Commit => Outcome::Committed,
            Fate::Refuse => Outcome::Aborted(Abort::Refused("injected".to_owned())),
            Fate::Full => Outcome::Aborted(Abort::Full),
            Fate::OfferGone => Outcome::Aborted(Abort::OfferGone),
            Fate::Unknown { .. } | Fate::Die { .. } => Outcome::Unknown,
        };
        (group.ticket, outcome)
    }

    fn apply(&mut self, group: &Group) {
        let Some(app) = self.apps.get_mut(&group.app) else { return };
        let numbers: Vec<u64> = group.writes.events.iter().map(|event| event.seq).collect();
        if numbers != (group.prev_seq + 1..=group.seq).collect::<Vec<_>>() {
            self.violations.push(format!("events {numbers:?} after {}", group.prev_seq));
        }
        for event in &group.writes.events {
            if let Some(change) = &event.change {
                let row = &change.row;
                let data = row.data().to_string();
                self.logged.insert((group.app, row.key().to_string(), row.version, data));
            }
            app.events.push(event.clone());
        }
        for write in &group.writes.rows {
            let place = (write.collection.clone(), write.row.key().into());
            let before = app.rows.insert(place, (write.row.clone(), write.state));
            if before.is_some_and(|(before, _)| before.version >= write.row.version) {
                self.violations.push(format!("the version of {:?} did not rise", write.row.key()));
            }
        }
        let totals = totals(&app.rows);
        if totals != group.totals {
            self.violations.push(format!("totals are {totals:?}, told {:?}", group.totals));
        }
        let (counted, told) = (counts(&app.rows), group.collections.read().unwrap());
        let mut told: Vec<_> = told.into_iter().filter(|one| !is_empty(one)).collect();
        told.sort_by(|a, b| a.name.cmp(&b.name));
        if counted != told {
            self.violations.push(format!("collections are {counted:?}, told {told:?}"));
        }
        app.head.last_seq = group.seq;
        app.head.totals = group.totals;
        if let Some(write) = &group.writes.app_write {
            app.record = write.record.clone();
            if let Some(version) = &write.version {
                app.manifest = version.manifest.clone();
            }
        }
        let picture = picture(&app.rows);
        let emails: Vec<_> = picture
            .iter()
            .filter(|((collection, _), _)| collection == "entries")
            .filter_map(|(_, (_, data))| email(data))
            .collect();
        if emails.iter().collect::<HashSet<_>>().len() != emails.len() {
            self.violations.push(format!("a unique value twice: {emails:?}"));
        }
        app.history.insert(group.seq, Arc::new(picture));
        for IdempotencyWrite { request, response, .. } in &group.writes.idempotency {
            let first = FirstResponse { body_hash: request.body_hash, response: response.clone() };
            if self.responses.insert(request.scope, first).is_some() {
                self.violations.push("two first responses for one idempotency key".to_owned());
            }
        }
    }

    fn rows_of(&self, owner: HumanId) -> u64 {
        let counts = |app: &&App| {
            app.record.owner == owner
                && !matches!(app.record.status, AppStatus::Deleted | AppStatus::Purging)
        };
        self.apps.values().filter(counts).map(|app| app.head.totals.rows()).sum()
    }
}

fn totals(rows: &BTreeMap<Place, (Arc<Row>, RowState)>) -> Totals {
    let mut totals = Totals::default();
    for (row, state) in rows.values() {
        let (rows, bytes) = match state {
            RowState::Live => (&mut totals.live, &mut totals.bytes),
            RowState::Detached => (&mut totals.detached, &mut totals.bytes),
            RowState::Trashed(_) => (&mut totals.trashed, &mut totals.trashed_bytes),
            RowState::Purged(_) => continue,
        };
        *rows += 1;
        *bytes += row.stored_bytes();
    }
    totals
}

/// The counts of each collection that has rows, in the order of their names.
fn counts(rows: &BTreeMap<Place, (Arc<Row>, RowState)>) -> Vec<CollectionCounts> {
    let mut counts: BTreeMap<&Arc<str>, CollectionCounts> = BTreeMap::new();
    for ((collection, _), (_, state)) in rows {
        let none = || CollectionCounts::of_live(collection.clone(), 0);
        let counts = counts.entry(collection).or_insert_with(none);
        match state {
            RowState::Live => counts.live += 1,
            RowState::Detached => counts.detached += 1,
            RowState::Trashed(_) => counts.trashed += 1,
            RowState::Purged(_) => {}
        }
    }
    counts.into_values().filter(|one| !is_empty(one)).collect()
}

fn is_empty(counts: &CollectionCounts) -> bool {
    *counts == CollectionCounts::of_live(counts.name.clone(), 0)
}

fn picture(rows: &BTreeMap<Place, (Arc<Row>, RowState)>) -> Picture {
    rows.iter()
        .filter(|(_, (_, state))| *state == RowState::Live)
        .map(|((collection, key), (row, _))| {
            ((collection.to_string(), key.to_string()), (row.version, row.data().to_string()))
        })
        .collect()
}

/// The unique value of a row's data.
pub(crate) fn email(data: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(data).ok()?;
    value.get("email")?.as_str().map(str::to_owned)
}

fn ready<T: Send + 'static>(value: T) -> Stored<T> {
    async move {
        // A real store never answers within the same poll.
        tokio::task::yield_now().await;
        Ok(value)
    }
    .boxed()
}

impl AppStore for FakeStore {
    fn submit(&self, group: Group) {
        let mut state = self.lock();
        state.submitted += 1;
        if state.held.iter().any(|held| held.app == group.app) {
            state.violations.push("two groups of one app at once".to_owned());
        }
        state.held.push_back(group);
        let hold = state.hold;
        drop(state);
        if !hold {
            while self.end(Fate::Commit) {}
        }
    }

    fn barrier(&self, _: AppId) -> BoxFuture<'static, ()> {
        let state = self.lock();
        let (submitted, mut settled) = (state.submitted, state.settled.subscribe());
        async move {
            // The sender lives as long as the store.
            let _ = settled.wait_for(|settled| *settled >= submitted).await;
        }
        .boxed()
    }

    fn load(&self, app: AppId) -> Stored<Option<LoadedApp>> {
        let mut state = self.lock();
        state.loads += 1;
        if state.panic_at_load {
            return async { panic!("injected") }.boxed();
        }
        let app = state.apps.get(&app).filter(|app| app.record.status != AppStatus::Purging);
        ready(app.map(load))
    }

    fn record(&self, app: AppId) -> Stored<Option<AppRecord>> {
        ready(self.lock().apps.get(&app).map(|app| app.record.clone()))
    }

    fn record_by_slug(&self, slug: &str) -> Stored<Option<AppRecord>> {
        let state = self.lock();
        let found = state.apps.values().find(|app| *app.record.slug == *slug);
        ready(found.map(|app| app.record.clone()))
    }

    fn account_rows(&self, owner: HumanId) -> Stored<u64> {
        ready(self.lock().rows_of(owner))
    }

    fn events(
        &self,
        app: AppId,
        after: u64,
        through: u64,
        limit: usize,
    ) -> Stored<Vec<Arc<Event>>> {
        let state = self.lock();
        let events = state.apps.get(&app).map_or(&[][..], |app| &app.events);
        let wanted = |event: &&Arc<Event>| event.seq > after && event.seq <= through;
        let found = events.iter().filter(wanted).take(limit).cloned();
        let unbroken = (after + 1..).zip(found).take_while(|(seq, event)| event.seq == *seq);
        ready(unbroken.map(|(_, event)| event).collect())
    }

    fn trashed_row(&self, app: AppId, collection: &str, key: &str) -> Stored<Option<SeenRow>> {
        let state = self.lock();
        let place = (Arc::from(collection), Box::from(key));
        let row = state.apps.get(&app).and_then(|app| app.rows.get(&place));
        ready(row.and_then(|(row, state)| trashed(row, *state)))
    }

    fn trash(
        &self,
        app: AppId,
        collection: &str,
        after: Option<TrashCursor>,
        limit: usize,
    ) -> Stored<TrashPage> {
        let (store, collection) = (self.clone(), collection.to_owned());
        let gate = {
            let mut state = self.lock();
            state.trash_reads += 1;
            state.trash_gate.clone()
        };
        async move {
            if let Some(gate) = gate {
                gate.acquire().await.expect("no test closes it").forget();
            }
            tokio::task::yield_now().await;
            Ok(store.lock().trash(app, &collection, after.as_ref(), limit))
        }
        .boxed()
    }

    fn detached_rows(&self, app: AppId, collection: &str) -> Stored<Vec<Arc<Row>>> {
        let mut state = self.lock();
        state.detached_reads += 1;
        let gate = state.detached_gate.clone();
        let rows = state.apps.get(&app).into_iter().flat_map(|app| &app.rows);
        let detached = rows
            .filter(|((of, _), (_, state))| **of == *collection && *state == RowState::Detached)
            .map(|(_, (row, _))| row.clone())
            .collect();
        async move {
            if let Some(gate) = gate {
                gate.acquire().await.expect("no test closes it").forget();
            }
            Ok(detached)
        }
        .boxed()
    }

    fn first_response(&self, scope: [u8; 32]) -> Stored<Option<FirstResponse>> {
        ready(self.lock().responses.get(&scope).cloned())
    }
}
