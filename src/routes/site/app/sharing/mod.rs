//! `/apps/:id/sharing`: who else reaches an app. What is there (`page`), and what the page's forms
//! do (`actions`).

pub mod actions;
pub mod page;
pub mod records;
