//! The feed (contract part 6): following an app, sending custom events, and the challenges that
//! go before writes. As in [`collections`](super::collections), an app's own origin shares
//! the handlers.

pub mod challenge;
pub mod emit;
pub mod follow;
mod stream;
