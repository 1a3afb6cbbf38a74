//! Rows (part 4.3, contract part 5): one small module for each route.
//!
//! A module holds one handler, for `/v1/apps/{id}/collections` and for `/s/collections` on an app's own
//! origin. What the two differ in lies in [`callers`] (who may ask) and [`app_request`] (who asks which
//! app, where answers lead, and the way of a write), what the document says otherwise in the router's
//! list. Beside them are [`parameters`] (path, query and headers), [`bodies`], [`answer`], [`batch_text`]
//! and [`challenge_header`].

pub(crate) mod answer;
pub(crate) mod app_request;
mod batch_text;
pub(crate) mod bodies;
pub(crate) mod callers;
pub(crate) mod challenge_header;
pub(crate) mod parameters;
pub(crate) mod schema;

pub mod batch_delete;
pub mod batch_write;
pub mod count;
pub mod create;
pub mod delete;
pub mod deleted;
pub mod get;
pub mod list;
pub mod purge;
pub mod restore;
pub mod retention;
pub mod update;
