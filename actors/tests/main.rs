//! The runtime.

mod crashes;
mod hibernation;
mod hub;
mod rows;
mod seeded;
mod support;
mod wakes;
