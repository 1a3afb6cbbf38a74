//! Browsers that a human wants to be told things in: the key they subscribe with, and their
//! subscriptions.

pub mod delete;
pub mod save;
pub mod vapid_public_key;
