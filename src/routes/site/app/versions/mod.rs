//! `/apps/:id/versions`: what was deployed (`list`), what one version changed and exposes (`one`),
//! and going back to it (`roll_back`).

pub mod diff;
pub mod list;
pub mod one;
pub mod roll_back;
