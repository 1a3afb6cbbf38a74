//! The runtime's tests: real slots and actors over a store that a test commands, over the real
//! writer with faults, and the directory over a real database.

mod advisories;
mod aside;
mod bringing_back;
mod clock_steps;
mod crashes;
mod creating;
mod directory;
mod drain;
mod forgetting;
mod groups;
mod handover;
mod hibernation;
mod hub;
mod inviting;
mod leaving;
mod meters;
mod observe;
mod old_manifests;
mod page;
mod places;
mod published;
mod quotas;
mod rounds;
mod rows;
mod seeded;
mod support;
mod tail;
mod trash;
mod wakes;
mod workers;
mod writer_faults;
