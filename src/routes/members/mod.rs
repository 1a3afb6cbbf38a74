//! Members of an app: who they are, adding, changing, removing them.

pub mod add;
pub mod list;
pub mod record;
pub mod remove;
pub mod update;
