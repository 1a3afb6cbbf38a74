//! The apps that a signed-in human sees: owned, deleted, looked at lately, and its favorites.

pub mod deleted;
pub mod favorite;
pub mod list;
pub mod recent;
pub mod record;
pub mod view;
