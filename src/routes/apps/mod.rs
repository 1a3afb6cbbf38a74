//! Apps: creating, describing, listing, changing, deleting, redeploying (contract part 4).
//!
//! What is not here: rows (`collections`), the feed, and what an app's own page may ask.

pub mod bundle;
pub mod create;
pub mod get;
pub mod record;
pub mod rehearsal;
pub mod replay;
