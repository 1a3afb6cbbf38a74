//! One file for each fault: how it is made, and what must hold.

mod kill;
mod sigterm;

use clap::ValueEnum;

use crate::{failure::Result, verdict::Verdict, world::World};

/// A fault, by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// kill -9 in the middle of 64 writers
    Kill,
    /// SIGTERM under load
    Sigterm,
}

impl Fault {
    /// Runs its campaign.
    ///
    /// # Errors
    /// When it could not be carried out.
    pub async fn run(self, world: &World) -> Result<Verdict> {
        match self {
            Self::Kill => kill::run(world).await,
            Self::Sigterm => sigterm::run(world).await,
        }
    }
}
