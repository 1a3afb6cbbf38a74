//! The runtime of Rookery: one supervised actor per live app, its registry, the feed, and what
//! spans apps and accounts.
//!
//! Handlers ask; an app's actor decides; the writer makes it durable; only then does anyone hear
//! the answer. Nothing here knows HTTP, and nothing outside knows ractor.

pub mod accounts;
pub mod app;
pub mod control;
pub mod directory;
pub mod domains;
mod env;
pub mod feed;
pub mod meters;
pub mod observe;
pub mod orgs;
pub mod registry;
mod runtime;
pub mod store;
pub mod supervision;
pub mod task;
#[cfg(feature = "faults")]
#[doc(hidden)]
pub mod testing;
pub mod workers;
mod yielding;

pub use control::Control;
pub use directory::{Directory, DirectoryOptions};
pub use env::{AppHosts, REQUEST_TIMEOUT, RuntimeOptions};
pub use registry::{AppCounts, AppHandle, Apps, Observation, SlotState};
pub use runtime::{Runtime, StartError};
pub use workers::{WorkerKind, WorkerStatus, Workers};
