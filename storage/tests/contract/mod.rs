//! What both databases must do, area by area.

mod agents;
mod apps;
mod devices;
mod directory;
mod enrollment;
mod expiry;
mod meters;
mod opening;
mod orgs;
mod purge;
mod push;
mod sign_in;
mod transactions;
mod transfers;
mod visitors;
