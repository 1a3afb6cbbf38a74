//! The command line: which faults, how many of them, on which database.

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum as _};

use crate::{
    campaigns::Fault,
    failure::{Failure, Result},
    world::World,
};

/// Breaks a Rookery server and checks that nothing acknowledged is lost.
#[derive(Debug, Parser)]
#[command(name = "rookery-faults")]
struct Cli {
    /// Which faults; all of them when none is named.
    #[arg(value_enum)]
    faults: Vec<Fault>,
    /// Multiplies the counts of the long form: 0.1 is a tenth of it.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// On a temporary PostgreSQL cluster in place of SQLite.
    #[arg(long)]
    postgres: bool,
    /// The server's binary; else this one's own copy of it, the only one that `commit`, `panics` and
    /// the control of `power` can order faults of.
    #[arg(long, env = "ROOKERY_BIN")]
    server_bin: Option<PathBuf>,
}

/// Runs the command line of this process. It ends with 1 when a promise was broken or a target
/// missed, with 2 when a campaign could not be carried out.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let held = match runtime {
        Ok(runtime) => runtime.block_on(all(&cli)),
        Err(error) => Err(error.into()),
    };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Failure(line)) => {
            let _ = writeln!(std::io::stderr(), "rookery-faults: {line}");
            ExitCode::from(2)
        }
    }
}

async fn all(cli: &Cli) -> Result<bool> {
    let faults = match &cli.faults[..] {
        [] => Fault::value_variants(),
        some => some,
    };
    let campaigns = std::env::current_exe()?;
    // Servers have working folders of their own.
    let program = std::path::absolute(cli.server_bin.as_ref().unwrap_or(&campaigns))?;
    let mut holds = true;
    for fault in faults {
        let database = match cli.postgres {
            true => Some(database().await?),
            false => None,
        };
        let database_url = database.as_ref().map(|database| database.url.clone());
        let world = World {
            program: program.clone(),
            campaigns: campaigns.clone(),
            scale: cli.scale,
            database_url,
        };
        let begin = std::time::Instant::now();
        let verdict = fault.run(&world).await?;
        holds &= verdict.holds();
        let took = begin.elapsed().as_secs();
        writeln!(std::io::stdout(), "{verdict}  took: {took} s")?;
    }
    Ok(holds)
}

async fn database() -> Result<rookery_testkit::Database> {
    let cluster = rookery_testkit::postgres();
    let cluster = cluster.ok_or_else(|| Failure::new("PostgreSQL is not installed"))?;
    Ok(cluster.empty_database().await)
}
