//! One change, on its way to the actor and through it.
//!
//! A caller waits for at most `call_timeout` and may leave at any time. A change that was not begun
//! by then never is; one that was begun is waited for as long again, since others were before it, and runs to
//! its end, whether or not anybody still listens.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use futures::future::BoxFuture;
use rookery_domain::{Error, Result};
use rookery_storage::{
    StorageError,
    trace::{self, within},
};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot},
    time::timeout,
};

use super::{Directory, core::Core};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

/// How a change ends when it does not succeed.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was refused, and nothing was changed.
    Refused(Error),
    /// Storage failed.
    Storage(StorageError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Whether memory is still what storage holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryState {
    Sound,
    InDoubt,
}

/// A message to the actor.
pub(super) struct Mutation {
    progress: Arc<AtomicU8>,
    run: Box<dyn FnOnce(Arc<Core>) -> BoxFuture<'static, MemoryState> + Send>,
    _permit: OwnedSemaphorePermit,
}

impl Mutation {
    /// Runs it, unless its caller has given up before.
    pub(super) async fn run(self, core: Arc<Core>) -> MemoryState {
        let begun =
            self.progress.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire);
        match begun {
            Ok(_) => (self.run)(core).await,
            Err(_) => MemoryState::Sound,
        }
    }
}

/// Puts memory in doubt unless the change has come to a known end.
struct Suspicion(Option<Arc<Core>>);

impl Drop for Suspicion {
    fn drop(&mut self) {
        if let Some(core) = self.0.take() {
            core.doubt();
        }
    }
}

impl Directory {
    /// Has the actor run `work`, alone: a transaction, then memory.
    pub(super) async fn mutate<T, F, Fut>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Core>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, Failure>> + Send,
    {
        let permit = Arc::clone(&self.core.admission).try_acquire_owned();
        let permit =
            permit.map_err(|_| Error::unavailable("too many changes of accounts are waiting"))?;
        let (reply, mut answer) = oneshot::channel();
        let progress = Arc::new(AtomicU8::new(WAITING));
        // The actor does it, for whoever asked.
        let trace = trace::current();
        let run = Box::new(move |core: Arc<Core>| -> BoxFuture<'static, MemoryState> {
            Box::pin(async move {
                // Declared after `reply`, so dropped before it should `work` panic: nobody hears
                // of the panic while memory is still believed.
                let mut suspicion = Suspicion(Some(Arc::clone(&core)));
                let (memory, result) = match within(trace, work(core)).await {
                    Ok(value) => (MemoryState::Sound, Ok(value)),
                    Err(Failure::Refused(error)) => (MemoryState::Sound, Err(error)),
                    Err(Failure::Storage(error)) => (outcome(&error), Err(error.into())),
                };
                if memory == MemoryState::Sound {
                    suspicion.0 = None;
                }
                drop(suspicion);
                // The caller may have left; what was done stays done.
                let _ = reply.send(result);
                memory
            })
        });
        let mutation = Mutation { progress: Arc::clone(&progress), run, _permit: permit };
        // A message that is not taken drops `reply`, which ends the wait below.
        match &*self.core.actor.read() {
            Some(actor) => drop(actor.send_message(mutation)),
            None => drop(mutation),
        }
        let patience = self.core.options.call_timeout;
        let mut answered = timeout(patience, &mut answer).await;
        if answered.is_err() {
            give_up(&progress)?;
            answered = timeout(patience, &mut answer).await;
        }
        match answered {
            Ok(Ok(result)) => result,
            Ok(Err(_)) | Err(_) => {
                give_up(&progress)?;
                Err(Error::unknown_outcome().caused_by("the directory does not answer"))
            }
        }
    }
}

fn outcome(error: &StorageError) -> MemoryState {
    if error.is_certain() { MemoryState::Sound } else { MemoryState::InDoubt }
}

/// Has a change that was not begun never be.
///
/// # Errors
/// `unavailable` when it was not.
fn give_up(progress: &AtomicU8) -> Result<()> {
    let given_up =
        progress.compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire);
    match given_up {
        Ok(_) => Err(Error::unavailable("accounts are not available now")),
        Err(_) => Ok(()),
    }
}
