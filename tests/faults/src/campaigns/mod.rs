//! One file for each fault: how it is made, and what must hold.

mod clock;
mod commit;
mod crowds;
mod fsync;
mod full;
mod kill;
mod memory;
mod noisy;
mod panics;
mod polls;
mod postgres;
mod power;
mod schemathesis;
mod sigterm;

use std::path::Path;

use clap::ValueEnum;

use crate::{
    api::Api,
    failure::Result,
    server::Launch,
    verdict::Verdict,
    world::{App, World},
};

/// A fault, by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// kill -9 in the middle of 64 writers
    Kill,
    /// SIGTERM under load
    Sigterm,
    /// Power loss, on disk images rebuilt from recorded writes and syncs
    Power,
    /// fsync answers EIO, once and from then on
    Fsync,
    /// The disk is full, or a quota used up, and is not any more
    Full,
    /// The writer fails at each point of a commit
    Commit,
    /// Actors panic by the thousand; a stored row cannot be read
    Panics,
    /// The clock jumps
    Clock,
    /// PostgreSQL's backends are killed, its answers cut off
    Postgres,
    /// One app is flooded
    Noisy,
    /// Idle connections, slow senders, slow readers
    Crowds,
    /// A crowd of long-polls on one app
    Polls,
    /// A memory budget far below what all apps take
    Memory,
    /// Requests drawn from the OpenAPI document, by Schemathesis
    Schemathesis,
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
            Self::Power => power::run(world).await,
            Self::Fsync => fsync::run(world).await,
            Self::Full => full::run(world).await,
            Self::Commit => commit::run(world).await,
            Self::Panics => panics::run(world).await,
            Self::Clock => clock::run(world).await,
            Self::Postgres => postgres::run(world).await,
            Self::Noisy => noisy::run(world).await,
            Self::Crowds => crowds::run(world).await,
            Self::Polls => polls::run(world).await,
            Self::Memory => memory::run(world).await,
            Self::Schemathesis => schemathesis::run(world).await,
        }
    }
}

/// A server over SQLite in `scratch` that has an app and was stopped in order; its owner, and the app.
async fn with_app(world: &World, scratch: &Path) -> Result<(Launch, Api, App)> {
    let launch = world.launch_sqlite(scratch);
    let server = launch.start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let app = App::deploy(&api).await?;
    kill::stop(server).await?;
    Ok((launch, api, app))
}
