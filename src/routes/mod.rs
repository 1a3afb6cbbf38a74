//! One small module per route: extract, one call, typed answer.
//!
//! A module holds the request type (with its [`BOUND`](crate::http::body::RequestBody)), the answer
//! type, `ERRORS` (the rows of the error table that the route's own work may answer; those of its
//! permission and of every route are added), and the handler. The handler's first argument is its
//! permission, its last the body. It enters `router` by one line: `operation!`.

pub mod account;
pub mod agents;
pub mod apps;
pub mod auth;
pub mod claim_codes;
pub mod collections;
pub mod credentials;
pub mod device;
pub mod docs;
pub mod domains;
pub mod feed;
pub mod grants;
pub mod health;
pub mod keys;
pub mod members;
pub mod ops;
pub mod org_members;
pub mod orgs;
pub mod page;
pub mod preview_tokens;
pub mod push_subscriptions;
pub mod register;
pub mod self_agents;
pub mod self_apps;
pub mod self_transfers;
pub mod share_link;
pub mod site;
pub mod test_sessions;
pub mod transfers;
pub mod usage;
pub mod visitor;
