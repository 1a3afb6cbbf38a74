//! The agents of a signed-in human.

pub mod list;
pub mod pause;
pub mod record;
pub mod rename;
pub mod revoke_key;
pub mod rotate_key;
