//! The runtime's tests: real slots and actors over a store that a test commands, and over the
//! real writer with faults.

mod crashes;
mod drain;
mod hibernation;
mod hub;
mod rows;
mod seeded;
mod support;
mod wakes;
mod workers;
mod writer_faults;
