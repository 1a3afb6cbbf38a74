//! SQLite's file layer, where it does not do what we need: the pages of a commit leave together
//! (`log_file`), and a quota that is used up is a full disk (`full_disk`).
//!
//! That layer is an interface of C (<https://www.sqlite.org/vfs.html>), so this is the one module with
//! `unsafe`. What is not here: connections, and anything that is said in SQL.

#![expect(unsafe_code, reason = "SQLite's file layer is an interface of C")]

mod full_disk;
mod log_file;

pub(crate) use full_disk::includes_quotas;
pub(crate) use log_file::vfs as log_vfs;
