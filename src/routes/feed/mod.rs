//! The feed (contract part 6): following an app, sending custom events, and the challenges that
//! go before writes. As in [`collections`](super::collections), the work is in plain functions
//! that an app's own origin shares.

pub mod challenge;
pub mod emit;
pub mod follow;
mod stream;
