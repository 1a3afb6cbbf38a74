//! Work that would hold up the event loop, on threads of its own: no more of it at once than the
//! machine has processors.
//!
//! More would not be faster, and every thread that has ever done such work keeps memory: the pages
//! that the allocator has begun for it. With a thread for each of many apps that woke at once, an
//! app cost half as much again.

use std::{sync::Arc, thread::available_parallelism};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinHandle, spawn_blocking},
};

/// Jobs at once on a machine with a single processor: one may compute while another waits for the
/// disk.
const PERMITS_MIN: usize = 2;

/// Permits for jobs.
#[derive(Debug)]
pub struct Offload(Arc<Semaphore>);

impl Default for Offload {
    fn default() -> Self {
        let processors = available_parallelism().map_or(PERMITS_MIN, usize::from);
        Self(Arc::new(Semaphore::new(processors.max(PERMITS_MIN))))
    }
}

/// A permit for one job, until it is dropped.
#[derive(Debug)]
pub struct Permit(
    #[expect(dead_code, reason = "held for what its end gives back")] Option<OwnedSemaphorePermit>,
);

impl Offload {
    /// A permit, when there is one, for whoever brings a thread.
    pub async fn permit(&self) -> Permit {
        // Never closed, so there is always a permit in the end.
        Permit(Arc::clone(&self.0).acquire_owned().await.ok())
    }

    /// A permit, if there is one now.
    #[must_use]
    pub fn try_permit(&self) -> Option<Permit> {
        Some(Permit(Some(Arc::clone(&self.0).try_acquire_owned().ok()?)))
    }

    /// Runs `job` when there is a permit. A job that has begun ends, also when nobody waits any
    /// more.
    ///
    /// # Errors
    /// When it panicked, or the runtime ends.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        run_in(self.permit().await, job).await
    }
}

/// Begins `job`, which holds its permit. A job that has begun ends, also when nobody waits any more.
///
/// The handle is an error when the job panicked, or the runtime ends.
pub fn run_in<T: Send + 'static>(
    permit: Permit,
    job: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    spawn_blocking(move || {
        let _permit = permit;
        job()
    })
}
