//! Apps: creating, describing, listing, changing, deleting, redeploying (contract part 4).
//!
//! What is not here: rows (`collections`), the feed, and what an app's own page may ask.

pub mod advisories;
pub mod bundle;
pub mod create;
pub mod delete;
pub mod disclosure;
pub mod document;
pub mod get;
pub mod list;
pub mod manifest;
pub mod migration_mode;
pub mod purge;
pub mod record;
pub mod rehearsal;
pub mod restore;
pub mod roles;
pub mod screenshot;
pub mod types;
pub mod unrestricted;
pub mod update;
pub mod versions;
pub mod wake;
