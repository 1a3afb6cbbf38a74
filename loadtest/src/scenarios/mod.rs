//! What is asked of a server, one file each. A scenario prepares apps, measures, notes; enrolling,
//! cleaning up and writing down are done around it.

pub mod anonymous;
pub mod ceiling;
pub mod console;
pub mod feed;
mod followers;
pub mod hot_app;
pub mod many_apps;
pub mod noisy;
pub mod permissions;
pub mod sweep;
pub mod wake;

use std::sync::{Arc, atomic::AtomicU64};

use crate::{
    api::Api,
    load::traffic::{Operation, RowWork},
    stats::Zipf,
    target::{App, collections},
};

/// Operations on rows of apps that are all as popular.
#[must_use]
pub fn row_work(api: &Api, apps: &[App], operation: Operation, rows: usize) -> RowWork {
    RowWork {
        head: api.head(),
        collections: collections(apps),
        operation,
        rows,
        page: 50,
        popularity: Zipf::new(apps.len(), 0.0),
        names: Arc::new(AtomicU64::new(0)),
    }
}
