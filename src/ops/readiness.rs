//! Whether the service can do its work: whether a commit can be made, accounts are known, and no
//! later server has taken the database over.
//!
//! Every lane of the writer has to have its connection, since each writes for apps of its own.
//! Commits that succeed are the proof. Where none has since the last look, that is too long ago, or
//! one was fenced, a small one is made to find out, at most one a second however many ask. A database
//! that was taken over does not come back, whatever can still be written to it.

use std::{fmt::Display, time::Duration};

use rookery_domain::{Error, Result};
use rookery_storage::probe;
use tokio::{sync::Mutex, time::Instant};

use crate::state::State;

/// How long an answer is good for.
const GOOD_FOR: Duration = Duration::from_secs(1);
/// How long ago the last look may be for the commits since then to be the proof.
const PROOF_MAX: Duration = Duration::from_secs(10);
/// How long the proof may take.
const PROBE_MAX: Duration = Duration::from_secs(2);

/// What was found out last.
#[derive(Debug, Default)]
pub struct Readiness {
    last: Mutex<Last>,
    told: parking_lot::Mutex<Told>,
}

#[derive(Debug, Default)]
struct Last {
    looked: Option<(Instant, Result<()>)>,
    commits: u64,
    fenced: u64,
    /// A later server has taken the database over.
    superseded: bool,
}

/// What the log and the console say: in the log a line at each change, none sooner than a second after
/// the one before it.
#[derive(Debug, Default)]
struct Told {
    refused: bool,
    at: Option<Instant>,
    /// The last look, where it was refused, and why.
    refusal: Option<(Instant, String)>,
}

impl Told {
    fn tell(&mut self, found: &Result<()>, is_draining: bool) {
        self.refusal = found.as_ref().err().map(|error| (Instant::now(), error.message.clone()));
        let is_soon = self.at.is_some_and(|at| at.elapsed() < GOOD_FOR);
        if self.refused == found.is_err() || is_soon {
            return;
        }
        (self.refused, self.at) = (found.is_err(), Some(Instant::now()));
        match found {
            Ok(()) => tracing::info!("ready again"),
            // The stop was asked for: nothing to warn of.
            Err(error) if is_draining => tracing::info!(%error, "not ready"),
            Err(error) => tracing::warn!(%error, "not ready"),
        }
    }
}

impl Readiness {
    /// Succeeds when a commit can be made.
    ///
    /// # Errors
    /// `unavailable`, with the reason.
    pub async fn check(&self, state: &State) -> Result<()> {
        let found = self.look(state).await;
        self.told.lock().tell(&found, state.drain.is_cancelled());
        found
    }

    /// Why the last look was refused, where that is not long ago.
    #[must_use]
    pub fn refused_lately(&self) -> Option<String> {
        let told = self.told.lock();
        let (at, why) = told.refusal.as_ref()?;
        (at.elapsed() < PROOF_MAX).then(|| why.clone())
    }

    async fn look(&self, state: &State) -> Result<()> {
        if state.drain.is_cancelled() {
            return Err(Error::unavailable("the service is draining"));
        }
        let rooms = &state.rooms;
        rooms.db.check_files().map_err(|why| {
            Error::unavailable("a file of the database is gone or was replaced").caused_by(why)
        })?;
        let writer = rooms.writer.health();
        if rooms.runtime.is_broken() || writer.broken {
            return Err(Error::unavailable("the store is broken"));
        }
        if writer.dead_lanes > 0 {
            return Err(Error::unavailable("a part of the writer is being restarted"));
        }
        if writer.out_of_space {
            return Err(Error::unavailable("no space is left to write to"));
        }
        if writer.unreachable {
            return Err(Error::unavailable("a part of the writer cannot reach the database"));
        }
        if writer.stuck {
            return Err(Error::unavailable("a commit takes too long"));
        }
        if !rooms.directory.is_up() {
            return Err(Error::unavailable("accounts are being loaded"));
        }
        let mut last = self.last.lock().await;
        if let Some((at, found)) = &last.looked
            && at.elapsed() < GOOD_FOR
        {
            return found.clone();
        }
        let looked_lately = last.looked.as_ref().is_some_and(|(at, _)| at.elapsed() < PROOF_MAX);
        let committed =
            looked_lately && writer.batches > last.commits && writer.fenced == last.fenced;
        (last.commits, last.fenced) = (writer.batches, writer.fenced);
        if !last.superseded {
            last.superseded = match look_closer(state, committed).await {
                Ok(superseded) => superseded,
                Err(error) => {
                    last.looked = Some((Instant::now(), Err(error.clone())));
                    return Err(error);
                }
            };
        }
        let found = match last.superseded {
            true => Err(Error::unavailable("a later server has taken the database over")),
            false => Ok(()),
        };
        last.looked = Some((Instant::now(), found.clone()));
        found
    }
}

/// Makes a commit, unless some were `committed` lately; whether a later server has taken over.
async fn look_closer(state: &State, committed: bool) -> Result<bool> {
    let now = state.clock.now();
    let (db, writer) = (state.rooms.db.clone(), state.rooms.writer.clone());
    // A transaction runs to its end whatever becomes of whoever asked.
    let looked = tokio::spawn(async move {
        if !committed {
            probe::commit(&db, now).await?;
        }
        writer.is_superseded().await
    });
    let cannot =
        |cause: &dyn Display| Error::unavailable("a commit cannot be made now").caused_by(cause);
    match tokio::time::timeout(PROBE_MAX, looked).await {
        Ok(Ok(looked)) => looked.map_err(|error| cannot(&error)),
        Ok(Err(panicked)) => Err(cannot(&panicked)),
        Err(_) => Err(Error::unavailable("a commit takes too long")),
    }
}
