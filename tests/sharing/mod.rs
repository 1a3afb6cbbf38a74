//! Sharing: members, grant links, previews, service credentials, share links, test sessions. One
//! module for each noun, then what they have in common: who may share (`callers`), how an end is
//! felt at once (`revocation`, `expiry`) and forgotten later (`forgetting`), what holds when many ask
//! at once (`races`), and what attackers try with rows (`secrecy`).

mod browser;
mod budget;
mod callers;
mod counts;
mod credentials;
mod cursors;
mod expiry;
mod forgetting;
mod grants;
mod idempotency;
mod insiders;
mod members;
mod previews;
mod races;
mod revocation;
mod scope;
mod secrecy;
mod share_link;
mod test_sessions;
mod tokens;
pub mod world;
