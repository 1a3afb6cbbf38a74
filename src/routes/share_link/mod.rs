//! The share link of an app with visibility `link`. Opening it is a visitor's (`visitor`).

pub mod rotate;
