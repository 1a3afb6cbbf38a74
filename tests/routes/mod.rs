//! Each route, well and badly used; one module for each noun, as in `src/routes`. `rows` holds the
//! app that the tests of rows and feed use.

mod account;
mod agents;
mod apps;
mod auth;
mod batch;
mod challenge;
mod clock;
mod closing;
mod collections;
mod conditional;
mod device;
pub mod domains;
mod events;
mod feed;
mod follow;
mod hostile_idp;
mod idempotency;
mod idp;
mod if_match;
mod keys;
mod limits;
mod orgs;
mod precedence;
mod push_subscriptions;
mod races;
mod retention;
mod rows;
mod secrecy;
mod self_agents;
mod self_apps;
mod standing;
mod transfers;
mod trash;
mod turns;
