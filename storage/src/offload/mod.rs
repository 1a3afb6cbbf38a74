//! Work that would hold up the event loop, on threads of its own: of one name no more at once than the
//! machine has processors, and one more for others. Whoever asks for much of it waits in a turn of
//! their own.
//!
//! More would not be faster, and every thread that has ever done such work keeps memory: the pages
//! that the allocator has begun for it. With a thread for each of many apps that woke at once, an
//! app cost half as much again.

mod turns;

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::Arc,
    thread::available_parallelism,
    time::Duration,
};

use rookery_domain::{Error, Result};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use self::turns::Turns;
pub use self::turns::{Permit, Waits};

/// Jobs of one name at once on a machine with a single processor: one may compute while another waits for
/// the disk.
const OF_NAME_MIN: usize = 2;

/// Permits for jobs of one kind.
#[derive(Debug)]
pub struct Offload {
    turns: Arc<Turns>,
    /// Nobody outside can choose names that fall into the same turn.
    names: RandomState,
    patience: Duration,
}

impl Offload {
    /// A permit more than the machine has processors, for which nobody waits longer than `patience`.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        let processors = available_parallelism().map_or(OF_NAME_MIN, usize::from);
        Self::with_permits(processors.max(OF_NAME_MIN) + 1, patience)
    }

    /// So many permits, of which no name has all if there are several, and for which nobody waits longer
    /// than `patience`.
    #[must_use]
    pub fn with_permits(permits: usize, patience: Duration) -> Self {
        Self { turns: Turns::new(permits), names: RandomState::new(), patience }
    }

    /// A permit, in the turn of `whose`, for whoever brings a thread: an account, a network, whatever
    /// is not to stand in the way of its neighbours.
    ///
    /// # Errors
    /// `unavailable` when there is none in time, or very many wait in that turn already.
    pub async fn permit(&self, whose: impl Hash) -> Result<Permit> {
        self.permit_for(whose, ()).await
    }

    /// The same for `asker`, of whom several may ask in the turn of `whose`: they take turns within it.
    ///
    /// # Errors
    /// Those of [`Self::permit`].
    pub async fn permit_for(&self, whose: impl Hash, asker: impl Hash) -> Result<Permit> {
        let permit = self.turns.take(self.names.hash_one(whose), self.names.hash_one(asker));
        let crowded = || Error::unavailable("too many long jobs wait");
        timeout(self.patience, permit).await.ok().flatten().ok_or_else(crowded)
    }

    /// A permit for `whose`, if there is one now.
    #[must_use]
    pub fn try_permit(&self, whose: impl Hash) -> Option<Permit> {
        self.turns.try_take(self.names.hash_one(whose))
    }

    /// Runs `job` when there is a permit, in the turn of `whose`. A job that has begun ends, also when
    /// nobody waits any more.
    ///
    /// # Errors
    /// Those of [`Self::permit`]; `internal` when the job panicked, or the runtime ends.
    pub async fn run<T: Send + 'static>(
        &self,
        whose: impl Hash,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.run_for(whose, (), job).await
    }

    /// The same for `asker`, as [`Self::permit_for`].
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub async fn run_for<T: Send + 'static>(
        &self,
        whose: impl Hash,
        asker: impl Hash,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.permit_for(whose, asker).await?.run(job).await
    }

    /// Who waits for a permit now.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.turns.waits()
    }
}

impl Permit {
    /// Runs `job` under this permit: for one that holds what must not be in memory while it waits for a
    /// permit. A job that has begun ends, also when nobody waits any more.
    ///
    /// # Errors
    /// `internal` when the job panicked, or the runtime ends.
    pub async fn run<T: Send + 'static>(
        self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        run_in(self, job).await.map_err(|failed| Error::internal().caused_by(failed))
    }
}

/// Begins `job`, which holds its permit. A job that has begun ends, also when nobody waits any more.
///
/// The handle is an error when the job panicked, or the runtime ends.
pub(crate) fn run_in<T: Send + 'static>(
    permit: Permit,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    spawn_blocking(move || {
        let _permit = permit;
        job()
    })
}
