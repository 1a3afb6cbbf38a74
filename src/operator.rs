//! What an operator does from the command line: take an app down, back up, restore.
//!
//! Backup and restore work on the database's files; closing an app is an operation on the app, so
//! a running server does it itself, and a stopped one is opened for it.

use std::path::Path;

use rookery_actors::AppHosts;
use rookery_domain::{text::path_segment, time::Clock};
use rookery_storage::backup;
use secrecy::ExposeSecret as _;

use crate::{
    boot::{Rooms, server_key, storage_options},
    config::Config,
    routes::ops::close::{self, Closed},
    terminal::client::{Failure, OpsClient},
};

/// Takes down the app with this id or slug. Its owner may still read and export; everything that
/// would write, and its pages, answer that it is closed.
///
/// A server that runs is asked on its operator's listener (`ops.listen`, with `ops.token` where one
/// is set, and with proof that the server's key is known here). When none answers there, the
/// database is opened instead: with SQLite its lock file makes sure that none runs after all. On
/// PostgreSQL one may run elsewhere, whose key this needs; it goes on serving the database, and
/// loads this app anew when it writes to it next.
///
/// # Errors
/// One line that says why it was not done.
pub async fn close_app(config: &Config, app: &str) -> Result<Closed, String> {
    match ask(config, app).await {
        Reached::Answered(answer) => answer,
        Reached::NobodyThere => alone(config, app).await,
    }
}

enum Reached {
    Answered(Result<Closed, String>),
    NobodyThere,
}

async fn ask(config: &Config, app: &str) -> Reached {
    let client = OpsClient::of_listener(config.ops.listen, config.ops.token.clone());
    let client = match client {
        Ok(client) => client,
        Err(line) => return Reached::Answered(Err(line)),
    };
    // Without the key it is refused there, with what to do.
    let proof = server_key(config).map(|key| close::proof(&key, app)).unwrap_or_default();
    let path = format!("/ops/apps/{}/close", path_segment(app));
    match client.post_with(&path, (close::PROOF_HEADER, &proof)).await {
        Err(Failure::NobodyThere(_)) => Reached::NobodyThere,
        answer => Reached::Answered(answer.map_err(String::from)),
    }
}

async fn alone(config: &Config, app: &str) -> Result<Closed, String> {
    let is_sqlite = config.storage.database_url.expose_secret().is_empty();
    if is_sqlite && !config.data_dir.exists() {
        return Err(format!("no server answers, and {} has no data", config.data_dir.display()));
    }
    let hosts = AppHosts::Below(config.apps_domain.clone());
    let rooms = Rooms::open_beside(config, &Clock::system(), hosts).await;
    let rooms = rooms.map_err(|error| error.to_string())?;
    let closed = rooms.close_app(app).await;
    rooms.close().await;
    let record = closed.map_err(|error| error.message)?;
    Ok(Closed { id: record.id.to_string(), slug: record.slug.to_string() })
}

/// Writes a copy of the database to `file`, checked and durable; a server may run meanwhile. When
/// `stop` ends before, nothing is left of it.
///
/// # Errors
/// One line that says why there is none.
pub async fn back_up(
    config: &Config,
    file: &Path,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    if file == Path::new("-") {
        return Err("a backup is written to a file, not to standard output".to_owned());
    }
    backup::backup(&storage_options(config), file, stop).await.map_err(|error| error.to_string())
}

/// Puts a backup in the place of the database. No server may run.
///
/// # Errors
/// One line that says why it was not done: then nothing was changed, or the next start goes on with it,
/// as the line says.
pub async fn restore(config: &Config, file: &Path, force: bool) -> Result<(), String> {
    if file.is_dir() {
        return Err(format!("{}: it is a folder, and a backup is a file", file.display()));
    }
    backup::restore(&storage_options(config), file, force).await.map_err(|error| error.to_string())
}
