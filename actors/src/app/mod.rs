//! One app: its actor, what it knows, how it decides, and what it publishes for everybody else.

pub(crate) mod access;
pub mod access_ops;
pub(crate) mod actor;
pub(crate) mod answers;
pub(crate) mod aside;
pub(crate) mod birth;
pub mod bounds;
mod challenge;
pub(crate) mod decide;
pub mod deploy;
mod group;
pub mod message;
pub mod once;
pub mod page;
pub(crate) mod places;
pub mod read;
pub mod render;
pub mod root;
pub(crate) mod rows;
mod scan;
mod spent;
pub(crate) mod standing;
pub(crate) mod tail;
pub(crate) mod trash;
mod working;
