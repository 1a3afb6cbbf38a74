//! The directory: accounts, agents, keys and sessions, in memory for whoever authenticates.
//!
//! One actor changes them, one change at a time: a transaction, then memory, then the reply. So
//! whoever hears "paused" can be sure that the very next request with that key is refused. Reads
//! are look-ups in shared memory and never wait for the actor. When the actor crashes, or the
//! outcome of a commit is unknown, memory is in doubt: nothing is read from it until it has been
//! loaded anew.
//!
//! What changes nothing in memory (codes, links, grants, visitors) goes to storage directly. What
//! is not here: HTTP, mail, and who may do what inside an app.

mod account;
mod agents;
mod claims;
mod core;
mod credentials;
mod devices;
mod endings;
mod forgetting;
mod fresh;
mod guesses;
mod idempotency;
mod identities;
mod invitations;
mod keeper;
mod keys;
mod marks;
mod memberships;
mod memory;
mod mutation;
mod org_book;
mod orgs;
mod participants;
mod push;
mod session_grants;
mod sessions;
mod sign_in;
mod touches;
mod visitors;

use std::{sync::Arc, time::Duration};

use rookery_domain::{Result, sealed::ServerKey, time::Clock};
use rookery_storage::Db;

pub use agents::{AgentPosition, AgentRecord};
pub use claims::ClaimCode;
pub use credentials::CredentialHolder;
pub use devices::{DevicePolled, DeviceStart};
pub use identities::{IdpFlow, IdpIdentity};
pub use invitations::Invited;
pub use keys::{KeyHolder, MintedKey};
pub use orgs::{BillingPassed, OrgMemberPosition, OrgMemberRecord, OrgPosition, OrgRecord};
pub use participants::VisitorWatch;
pub use rookery_storage::{
    agents::{
        Agent,
        keys::{Key, KeyState},
    },
    devices::{Device, DeviceState},
    humans::Human,
    orgs::{Org, OrgMember},
    participants::{CameBy, Participant, ParticipantKind},
};
pub use session_grants::AskedBy;
pub use sessions::{SessionPosition, SessionRecord};
pub use sign_in::{MailedLink, SessionHolder, SignedIn};
pub use visitors::{Arrival, Visit, may_last_until};

use self::{core::Core, keeper::Keeper};
use crate::Runtime;

/// Settings of the directory.
#[derive(Debug, Clone)]
pub struct DirectoryOptions {
    /// How long a call may take; after it the caller is told what is known.
    pub call_timeout: Duration,
    /// How often uses of keys and sessions are written down.
    pub flush_every: Duration,
    /// Agents that may wait for somebody to claim them before they are forgotten sooner.
    pub unclaimed_max: usize,
    /// Agents of one account.
    pub agents_per_account_max: u64,
    /// Visitors of one app, of each way they come, that are kept before they leave something there.
    pub fresh_visitors_max: u64,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(10),
            flush_every: Duration::from_secs(30),
            unclaimed_max: 100_000,
            agents_per_account_max: 1_000,
            fresh_visitors_max: 10_000,
        }
    }
}

/// The directory, as cheap to clone as a pointer.
#[derive(Clone)]
pub struct Directory {
    core: Arc<Core>,
}

impl Directory {
    /// Loads every account and starts the actor below the runtime's root. The runtime's table of
    /// organizations' admins is kept as they change.
    ///
    /// # Errors
    /// `unavailable` or `internal`, when storage cannot be read.
    pub async fn start(
        db: Db,
        clock: Clock,
        key: ServerKey,
        runtime: &Runtime,
        options: DirectoryOptions,
    ) -> Result<Self> {
        let core = Arc::new(Core::new(db, clock, key, runtime, options));
        Keeper::start(&core, runtime.root()).await?;
        Ok(Self { core })
    }

    /// Writes down the uses of keys and sessions that only memory knows yet, and forgets what has
    /// expired. Done by itself every `flush_every`; [`Self::stop`] writes down as well.
    pub async fn flush(&self) {
        self.core.flush().await;
        self.forget().await;
    }

    /// Whether accounts can be looked up; not while they are loaded anew after a crash.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.core.read(|_| ()).is_ok()
    }

    /// Has the actor panic in the middle of a change, for tests.
    ///
    /// # Errors
    /// `internal`, always: nobody knows what became of the change.
    #[cfg(feature = "faults")]
    pub async fn crash(&self) -> Result<()> {
        self.mutate(async move |_: Arc<Core>| panic!("injected")).await
    }

    /// Finishes the changes that were let in, writes everything down, and lets no more in. What is
    /// in memory can still be read.
    pub async fn stop(&self) {
        let actor = self.core.actor.write().take();
        if let Some(actor) = actor {
            // It crashed, or did not finish in time: the caller of each change is told.
            let _ = actor.drain_and_wait(Some(self.core.options.call_timeout)).await;
        }
        self.core.flush().await;
    }
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Directory(..)")
    }
}
