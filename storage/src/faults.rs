//! Named places in a commit, and around it, where a test makes something go wrong.
//!
//! With the cargo feature `faults` off, [`Faults`] is empty and [`Faults::hit`] is a constant:
//! nothing of this is left in the code that ships. A plan belongs to one writer, so tests that
//! run side by side do not meet.

/// A place in a commit, or beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// Groups are taken, nothing was sent.
    BeforeBegin,
    /// A group's head was moved.
    AfterHead,
    /// A group's app record was written.
    AfterAppWrite,
    /// A group's permissions were written.
    AfterAccess,
    /// A group's purged contents were scrubbed.
    AfterScrubs,
    /// A group's rows were written.
    AfterRows,
    /// A group's events were written.
    AfterEvents,
    /// A group's budgets were written.
    AfterBudgets,
    /// A group's spent challenges were written.
    AfterChallenges,
    /// A group's idempotency records were written.
    AfterIdempotency,
    /// Everything is written, COMMIT was not sent.
    BeforeCommit,
    /// In place of COMMIT.
    AtCommit,
    /// COMMIT succeeded, nobody was told.
    AfterCommit,
    /// In place of moving SQLite's log into the file. Not in a commit, so not in [`Point::ALL`].
    AtCheckpoint,
}

impl Point {
    /// The points of a commit, in the order in which it passes them.
    pub const ALL: [Self; 13] = [
        Self::BeforeBegin,
        Self::AfterHead,
        Self::AfterAppWrite,
        Self::AfterAccess,
        Self::AfterScrubs,
        Self::AfterRows,
        Self::AfterEvents,
        Self::AfterBudgets,
        Self::AfterChallenges,
        Self::AfterIdempotency,
        Self::BeforeCommit,
        Self::AtCommit,
        Self::AfterCommit,
    ];
}

/// What goes wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The database refuses the statement.
    Refuse,
    /// No space is left.
    Full,
    /// The thread or task panics.
    Panic,
    /// The connection is lost.
    Lose,
    /// An fsync fails.
    Fsync,
}

/// The faults of one writer; none by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    #[cfg(feature = "faults")]
    plan: Option<std::sync::Arc<plan::Plan>>,
}

impl Faults {
    /// What is to go wrong at `point` now.
    #[cfg(not(feature = "faults"))]
    #[inline(always)]
    pub(crate) const fn hit(&self, _point: Point) -> Option<Fault> {
        None
    }

    /// What is to go wrong at `point` now.
    ///
    /// # Panics
    /// Where the plan says so.
    #[cfg(feature = "faults")]
    pub(crate) fn hit(&self, point: Point) -> Option<Fault> {
        let fault = self.plan.as_ref()?.hit(point)?;
        assert!(fault != Fault::Panic, "injected panic at {point:?}");
        Some(fault)
    }
}

/// Whether SQLite syncs at each commit, as it ships, or at checkpoints only.
#[cfg(feature = "faults")]
static SYNCS_AT_CHECKPOINTS_ONLY: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

/// From now on this process opens SQLite with `synchronous=NORMAL`: a power loss takes commits that
/// were acknowledged. It shows that a check of the other setting would have seen a loss.
#[cfg(feature = "faults")]
pub fn sync_at_checkpoints_only() {
    SYNCS_AT_CHECKPOINTS_ONLY.store(true, std::sync::atomic::Ordering::Release);
}

/// Whether an acknowledged commit of SQLite survives a power loss.
#[cfg(feature = "faults")]
pub(crate) fn syncs_each_commit() -> bool {
    !SYNCS_AT_CHECKPOINTS_ONLY.load(std::sync::atomic::Ordering::Acquire)
}

/// Whether an acknowledged commit of SQLite survives a power loss.
#[cfg(not(feature = "faults"))]
pub(crate) const fn syncs_each_commit() -> bool {
    true
}

/// Fails a transaction of the cold path as a failed fsync does.
///
/// # Errors
/// Always [`crate::StorageError::Broken`].
#[cfg(feature = "faults")]
pub async fn break_transaction(db: &crate::Db) -> crate::error::Result<()> {
    db.transaction((), |_, ()| {
        Box::pin(async { Err(crate::StorageError::Broken("injected".to_owned())) })
    })
    .await
}

/// Which transaction of the cold path finds no space left; none by default.
#[derive(Debug, Default)]
pub(crate) struct FullAt {
    /// Transactions until then, that one included.
    #[cfg(feature = "faults")]
    left: std::sync::atomic::AtomicU64,
}

impl FullAt {
    /// Whether it is this transaction.
    #[cfg(not(feature = "faults"))]
    #[inline(always)]
    pub(crate) const fn hit(&self) -> bool {
        false
    }

    /// Whether it is this transaction.
    #[cfg(feature = "faults")]
    pub(crate) fn hit(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) == Ok(1)
    }
}

/// Lets the `n`-th transaction of the cold path from now, counted from 1, find no space left, once;
/// none for 0.
#[cfg(feature = "faults")]
pub fn fill_at(db: &crate::Db, n: u64) {
    db.soundness().full_at.left.store(n, std::sync::atomic::Ordering::Relaxed);
}

/// Stored values that no build has written, so that what they belong to cannot be read any more.
#[cfg(feature = "faults")]
pub mod damage {
    use rookery_domain::id::{AppId, HumanId, KeyId};

    use crate::{
        Db,
        db::{Args, args},
        error::Result,
    };

    /// Damages a row; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn row(db: &Db, app: AppId, key: &str) -> Result<bool> {
        let nobody: &[u8] = &[0];
        let sql = "update rows set creator = $3 where app_id = $1 and key = $2";
        change(db, sql, args![app, key, nobody]).await
    }

    /// Damages an app's head; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn head(db: &Db, app: AppId) -> Result<bool> {
        change(db, "update app_head set collections = '' where app_id = $1", args![app]).await
    }

    /// Damages what is left of an app's write budgets; whether there was any.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn budgets(db: &Db, app: AppId) -> Result<bool> {
        change(db, "update budgets set count = -1 where app_id = $1", args![app]).await
    }

    /// Damages an agent's key; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn key(db: &Db, key: KeyId) -> Result<bool> {
        change(db, "update agent_keys set state = 9 where id = $1", args![key]).await
    }

    /// Damages the id of an agent's key; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn key_id(db: &Db, key: KeyId) -> Result<bool> {
        let short: &[u8] = &[0, 1];
        change(db, "update agent_keys set id = $2 where id = $1", args![key, short]).await
    }

    /// Damages an account in SQLite, which takes any bytes for text; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn human(db: &Db, human: HumanId) -> Result<bool> {
        let sql = "update humans set name = cast($2 as text) where id = $1";
        change(db, sql, args![human, &[0xff_u8][..]]).await
    }

    /// Damages a custom domain; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn domain(db: &Db, name: &str) -> Result<bool> {
        change(db, "update domains set app_id = $2 where name = $1", args![name, &[0_u8][..]]).await
    }

    /// Damages an app's record; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn record(db: &Db, app: AppId) -> Result<bool> {
        change(db, "update apps set retention = '{' where id = $1", args![app]).await
    }

    /// Damages an app's id in its record; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn app_id(db: &Db, app: AppId) -> Result<bool> {
        change(db, "update apps set id = $2 where id = $1", args![app, &[0_u8][..]]).await
    }

    /// Damages an event; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn event(db: &Db, app: AppId, seq: u64) -> Result<bool> {
        let sql = "update events set done_by = $3 where app_id = $1 and seq = $2";
        change(db, sql, args![app, seq, &[0_u8][..]]).await
    }

    /// Damages what somebody is in their organizations; whether there was one.
    ///
    /// # Errors
    /// Any [`crate::StorageError`].
    pub async fn org_member(db: &Db, human: HumanId) -> Result<bool> {
        change(db, "update org_members set role = 9 where human = $1", args![human]).await
    }

    async fn change(db: &Db, sql: &'static str, args: Args) -> Result<bool> {
        Ok(db.execute(sql, args).await? > 0)
    }
}

#[cfg(feature = "faults")]
mod plan {
    //! Plans of faults: listed one by one, or drawn from a seed.

    use std::{collections::HashMap, sync::Arc};

    use parking_lot::Mutex;

    use super::{Fault, Faults, Point};

    #[derive(Debug)]
    pub(super) struct Plan(Mutex<State>);

    #[derive(Debug, Default)]
    struct State {
        seen: HashMap<Point, u64>,
        listed: HashMap<(Point, u64), Fault>,
        seeded: Option<Seeded>,
        fired: u64,
    }

    #[derive(Debug)]
    struct Seeded {
        state: u64,
        one_in: u64,
        faults: Vec<Fault>,
    }

    impl Seeded {
        /// SplitMix64: small, and good enough to scatter faults.
        fn draw(&mut self) -> u64 {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    impl Plan {
        pub(super) fn hit(&self, point: Point) -> Option<Fault> {
            let mut state = self.0.lock();
            let count = state.seen.entry(point).or_default();
            *count += 1;
            let count = *count;
            let fault = state.listed.remove(&(point, count)).or_else(|| {
                // What runs beside commits would make the sequence another one each time.
                let seeded = state.seeded.as_mut().filter(|_| Point::ALL.contains(&point))?;
                if seeded.draw() % seeded.one_in != 0 || seeded.faults.is_empty() {
                    return None;
                }
                let index = seeded.draw() % seeded.faults.len() as u64;
                seeded.faults.get(index as usize).copied()
            });
            state.fired += u64::from(fault.is_some());
            fault
        }
    }

    impl Faults {
        /// These faults, each at the `n`-th time (from 1) that its point is passed, once.
        #[must_use]
        pub fn listed(faults: impl IntoIterator<Item = (Point, u64, Fault)>) -> Self {
            let listed = faults.into_iter().map(|(at, nth, fault)| ((at, nth), fault)).collect();
            Self::from_state(State { listed, ..State::default() })
        }

        /// One of `faults` at one in `one_in` of the points passed, the same for the same seed
        /// and the same sequence of points.
        #[must_use]
        pub fn seeded(seed: u64, one_in: u64, faults: Vec<Fault>) -> Self {
            let seeded = Some(Seeded { state: seed, one_in: one_in.max(1), faults });
            Self::from_state(State { seeded, ..State::default() })
        }

        /// How many faults have struck so far.
        #[must_use]
        pub fn fired(&self) -> u64 {
            self.plan.as_ref().map_or(0, |plan| plan.0.lock().fired)
        }

        fn from_state(state: State) -> Self {
            Self { plan: Some(Arc::new(Plan(Mutex::new(state)))) }
        }
    }
}
