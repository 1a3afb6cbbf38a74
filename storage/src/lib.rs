//! What Rookery knows when it starts again: SQLite on a laptop, PostgreSQL where one machine ends.
//!
//! All SQL is here: migrations, the cold path (one literal for both databases), and the hot path
//! (the group-commit writer and loading an app), written by hand for each database. What is not
//! here: rules, actors, reply ports. Outcomes are reported to an opaque [`commit::Ticket`].

pub mod agents;
pub mod apps;
mod arrivals;
pub mod backup;
pub mod claims;
pub mod closing;
mod codec;
mod columns;
pub mod commit;
pub mod credentials;
pub mod db;
pub mod devices;
pub mod directory;
pub mod domains;
pub mod error;
pub mod expiry;
pub mod faults;
pub mod feed;
pub mod grants;
pub mod history;
pub mod humans;
pub mod idempotency;
pub mod identities;
pub mod integrity;
pub mod keyed_locks;
pub mod links;
pub mod load;
pub mod log_throttle;
pub mod members;
pub mod meta;
pub mod meters;
pub mod offload;
pub mod orgs;
pub mod participants;
pub mod placeholders;
pub mod previews;
pub mod probe;
pub mod push;
pub mod retention;
pub mod self_apps;
pub mod session_grants;
pub mod sessions;
pub mod trace;
pub mod transfers;
pub mod trash;
mod values;
pub mod versions;
mod vfs;
pub mod writer;

use rookery_domain::previews::PREVIEWS_PER_APP_MAX;

pub use db::{DatabaseUrl, Db, StorageOptions};
pub use error::StorageError;
pub use writer::{LaneStatus, Writer, WriterHealth, WriterOptions};

/// Most revoked keys of an agent, and links, previews and credentials of an app, that stay on
/// record, the newest of each. They are kept to be looked at: a forgotten one is refused as before.
pub const REVOKED_KEPT_MAX: u32 = 100;

/// Most previews of an app on record that are not revoked: all that may open something, and as many
/// that ended as are kept of the revoked.
pub const PREVIEWS_KEPT_MAX: usize = PREVIEWS_PER_APP_MAX + REVOKED_KEPT_MAX as usize;
