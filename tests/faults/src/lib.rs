//! The fault campaign: breaks a Rookery server in every way we know, and checks that nothing
//! acknowledged is lost.
//!
//! One idea carries it. A [`journal`] of what clients were told is kept outside of the server;
//! after each fault [`check`] holds the recovered server against it. The rooms beside that:
//! [`server`] runs the binary as a process of its own, [`api`] speaks to it, [`crew`] writes to it,
//! [`crowd`] crowds it, [`shim`] and [`disk`] stand between it and its disk, [`serve`] is the
//! server with faults inside, and [`campaigns`] holds one file for each fault. [`verdict`] is what
//! a campaign ends with.
//!
//! Not in here: rules of the product, and tests of single functions.

pub mod api;
pub mod campaigns;
pub mod check;
pub mod cli;
pub mod crew;
pub mod crowd;
pub mod disk;
pub mod failure;
pub mod follower;
pub mod journal;
pub mod proxy;
pub mod pulse;
pub mod serve;
pub mod server;
pub mod shim;
pub mod spender;
pub mod verdict;
pub mod world;
