//! What tests need and nobody else may have: apps without a database, injected panics, and the
//! private containers by name. Compiled with the feature `faults` only.

use std::{sync::Arc, time::Duration};

use rookery_domain::{
    Timestamp,
    event::Event,
    id::{AppId, HumanId},
    limits::Limits,
    row::Row,
    sealed::ServerKey,
    time::Clock,
};
use rookery_storage::meters::roll_up::{Source, Tally};

use crate::{
    AppHandle, Apps, RuntimeOptions, StartError,
    accounts::Account,
    app::{message::Message, places::Places, rows::Rows, tail::Tail},
    feed::hub::Hub,
    meters::Usage,
    store::AppStore,
    supervision::root::Tree,
};

/// The tree and the registry over a store, without database, control and workers.
pub struct Rig {
    /// The registry.
    pub apps: Apps,
    tree: Tree,
}

impl Rig {
    /// Starts it.
    ///
    /// # Errors
    /// When ractor cannot spawn.
    pub async fn start(
        store: Arc<dyn AppStore>,
        limits: Limits,
        options: RuntimeOptions,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let key = ServerKey::new(&[7; 32]);
        let (tree, apps) = crate::runtime::start_apps(store, limits, options, clock, key).await?;
        Ok(Self { apps, tree })
    }

    /// Stops every actor, without waiting for what is admitted.
    pub async fn stop(&self) {
        self.tree.stop().await;
    }

    /// Forgets apps that nobody has asked for within `idle`, as the sweeper does.
    pub fn forget_dormant(&self, idle: Duration) {
        self.apps.forget_dormant(idle);
    }
}

impl Apps {
    /// The account of `owner`, seeded from the store the first time.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn account(
        &self,
        owner: HumanId,
    ) -> Result<Arc<Account>, rookery_storage::StorageError> {
        let env = &self.inner.env;
        env.accounts.get(owner, &*env.store).await
    }

    /// Rows that the account counts now; 0 when the store does not answer.
    pub async fn account_rows(&self, owner: HumanId) -> i64 {
        self.account(owner).await.map_or(0, |account| account.rows())
    }
}

impl AppHandle {
    /// Makes the running actor panic; false when none runs.
    pub fn inject_panic(&self) -> bool {
        self.slot.live().is_some_and(|live| live.actor.send_message(Message::Panic).is_ok())
    }

    /// Asks the running actor to rest, as the hibernation worker does.
    pub fn ask_to_hibernate(&self) {
        self.slot.hibernate();
    }

    /// Forgets the app in the registry, as the end of a purge does.
    pub fn forget(&self) {
        self.apps.forget(self.id());
    }

    /// The published rows of a collection, oldest first.
    #[must_use]
    pub fn published_rows(&self, collection: &str) -> Vec<Arc<Row>> {
        let root = self.peek();
        let state = root.as_ref().and_then(|root| root.collection(collection));
        state.map_or_else(Vec::new, |state| state.rows.iter().cloned().collect())
    }
}

/// The persistent container of rows.
#[derive(Clone, Default)]
pub struct RowsBox(Rows);

impl RowsBox {
    /// Puts a row at its key.
    pub fn put(&mut self, row: Arc<Row>) -> Option<Arc<Row>> {
        self.0.put(row)
    }

    /// Takes the row at `key` away.
    pub fn remove(&mut self, key: &str) -> Option<Arc<Row>> {
        self.0.remove(key)
    }

    /// The row at `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Arc<Row>> {
        self.0.get(key).cloned()
    }

    /// The number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All rows, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Row>> {
        self.0.iter().cloned().collect()
    }

    /// Puts rows that were put since into order.
    pub fn sort_pending(&mut self) {
        self.0.sort_pending();
    }

    /// The rows behind a place, oldest first.
    #[must_use]
    pub fn after(&self, at: Timestamp, key: &str) -> Vec<Arc<Row>> {
        self.0.after((at, key)).cloned().collect()
    }

    /// All rows, or those behind a place, the newest millisecond first.
    #[must_use]
    pub fn newest_first(&self, after: Option<(Timestamp, &str)>) -> Vec<Arc<Row>> {
        let rows = match after {
            None => self.0.newest_first(),
            Some(place) => self.0.newest_first_after(place),
        };
        rows.cloned().collect()
    }
}

/// The persistent vector below the rows, of numbers.
#[derive(Clone, Default)]
pub struct PlacesBox(Places<u32>);

impl PlacesBox {
    /// Appends a place.
    pub fn push(&mut self, value: Option<u32>) {
        self.0.push(value);
    }

    /// Takes the last place away.
    pub fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }

    /// Changes a place; false when there is none of this number.
    pub fn set(&mut self, place: usize, value: Option<u32>) -> bool {
        self.0.get_mut(place).is_some_and(|held| {
            *held = value;
            true
        })
    }

    /// What stands in a place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<u32> {
        self.0.get(place).copied()
    }

    /// The number of places.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What stands in these places, to be walked from both ends.
    pub fn range(
        &self,
        range: std::ops::Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Option<u32>> {
        self.0.range(range).map(|value| value.copied())
    }
}

/// The meters of one app.
#[derive(Default)]
pub struct MetersBox(Usage);

impl MetersBox {
    /// Counts a page view by this visitor, from this place.
    pub fn view(&self, hour: i32, visitor: u64, source: Source) {
        self.0.view(hour, Some(visitor), source);
    }

    /// Takes everything out, as a roll-up does.
    #[must_use]
    pub fn take(&self) -> Tally {
        self.0.take().into_tally(AppId::new(), HumanId::new())
    }

    /// Puts back what storage did not take.
    pub fn give_back(&self, tally: Tally) {
        self.0.give_back(tally);
    }
}

/// The newest events of an app.
#[derive(Clone, Default)]
pub struct TailBox(Tail);

impl TailBox {
    /// Appends the next event.
    pub fn push(&mut self, event: Arc<Event>) {
        self.0.push(event);
    }

    /// Lets everything go.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes of content that are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The events after `seq`, if it reaches back that far.
    #[must_use]
    pub fn after(&self, seq: u64) -> Option<Vec<Arc<Event>>> {
        self.0.after(seq)
    }
}

/// The waiters of one app.
#[derive(Clone, Default)]
pub struct HubBox(Arc<Hub>);

impl HubBox {
    /// Registers for the next publication.
    #[must_use]
    pub fn next(&self) -> tokio::sync::oneshot::Receiver<()> {
        self.0.next()
    }

    /// Wakes everybody who registered.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Counts a follower while the guard lives.
    #[must_use]
    pub fn enter(&self) -> impl Drop + use<> {
        self.0.enter()
    }

    /// Followers right now.
    #[must_use]
    pub fn present(&self) -> usize {
        self.0.present()
    }
}
