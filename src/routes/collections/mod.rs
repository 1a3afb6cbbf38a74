//! Rows (part 4.3, contract part 5): one small module for each route.
//!
//! A module holds the handler of `/v1` and, beside it, the plain function that does the work for
//! any caller: an app's own origin serves the same functions under `/s/collections` for its
//! participants. What both share lies in [`app_request`] (who asks which app, and the way of a
//! write to it), [`parameters`] (path, query and headers), [`bodies`], [`answer`] and
//! [`challenge_header`].

pub(crate) mod answer;
pub(crate) mod app_request;
pub(crate) mod bodies;
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
