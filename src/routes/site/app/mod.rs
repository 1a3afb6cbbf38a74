//! An app's own pages. `app_page` is what they have in common: the app, where the human stands in it,
//! the tabs.

pub mod actions;
pub mod analytics;
pub mod app_page;
pub mod bounds;
pub mod data;
pub mod domains;
pub mod overview;
pub mod settings;
pub mod sharing;
pub mod usage;
pub mod versions;
