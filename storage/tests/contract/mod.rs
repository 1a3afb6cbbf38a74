//! What both databases must do, area by area.

mod account;
mod agents;
mod apps;
mod closing;
mod devices;
mod directory;
mod domains;
mod enrollment;
mod expiry;
mod meters;
mod opening;
mod orgs;
mod placeholders;
mod purge;
mod push;
mod retention;
mod sign_in;
mod transactions;
mod transfers;
mod visitors;
