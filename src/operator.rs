//! What an operator does from the command line: take an app down, back up, restore.
//!
//! Backup and restore work on the database's files; closing an app is an operation on the app, so
//! a running server does it itself, and a stopped one is opened for it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use rookery_domain::time::Clock;
use rookery_storage::{backup, faults::Faults};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::{
    boot::{Rooms, storage},
    config::Config,
    routes::ops::close::Closed,
};

/// How long a running server may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Takes down the app with this id or slug. Its owner may still read and export; everything that
/// would write, and its pages, answer that it is closed.
///
/// A server that runs is asked on its operator's listener (`ops.listen`, with `ops.token` where
/// one is set). When none answers there, the database is opened instead, as a server of its own
/// would: with SQLite its lock file makes sure that none runs after all. On PostgreSQL run this
/// where the server runs.
///
/// # Errors
/// One line that says why it was not done.
pub async fn close_app(config: &Config, app: &str) -> Result<Closed, String> {
    match ask(config, app).await {
        Asked::Answered(answer) => answer,
        Asked::NobodyThere => alone(config, app).await,
    }
}

enum Asked {
    Answered(Result<Closed, String>),
    NobodyThere,
}

async fn ask(config: &Config, app: &str) -> Asked {
    crate::outbound::install_tls();
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWER_TIMEOUT).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return Asked::Answered(Err(error.to_string())),
    };
    let app = percent_encoding::utf8_percent_encode(app, percent_encoding::NON_ALPHANUMERIC);
    let url = format!("http://{}/ops/apps/{app}/close", reachable(config.ops.listen));
    let mut request = client.post(url);
    let token = config.ops.token.expose_secret();
    if !token.is_empty() {
        request = request.bearer_auth(token);
    }
    match request.send().await {
        Err(error) if error.is_connect() => Asked::NobodyThere,
        Err(error) => Asked::Answered(Err(format!("the server did not answer: {error}"))),
        Ok(response) if response.status().is_success() => {
            Asked::Answered(response.json().await.map_err(|error| error.to_string()))
        }
        Ok(response) => {
            let status = response.status();
            let body: Value = response.json().await.unwrap_or_default();
            let message = body["error"]["message"].as_str().unwrap_or("no reason given");
            Asked::Answered(Err(format!("the server refused ({status}): {message}")))
        }
    }
}

/// The address at which a listener is reached from this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn alone(config: &Config, app: &str) -> Result<Closed, String> {
    if !config.data_dir.exists() {
        return Err(format!("no server answers, and {} has no data", config.data_dir.display()));
    }
    let rooms = Rooms::open(config, &Clock::system(), &config.apps_domain, Faults::default()).await;
    let rooms = rooms.map_err(|error| error.to_string())?;
    let closed = rooms.close_app(app).await;
    rooms.close().await;
    let record = closed.map_err(|error| error.message)?;
    Ok(Closed { id: record.id.to_string(), slug: record.slug.to_string() })
}

/// Writes a copy of the database to `file`, checked and durable; a server may run meanwhile.
///
/// # Errors
/// One line that says why there is none.
pub async fn back_up(config: &Config, file: &Path) -> Result<(), String> {
    backup::backup(&storage(config), file).await.map_err(|error| error.to_string())
}

/// Puts a backup in the place of the database. No server may run.
///
/// # Errors
/// One line that says why it was not done; then nothing was changed.
pub async fn restore(config: &Config, file: &Path, force: bool) -> Result<(), String> {
    backup::restore(&storage(config), file, force).await.map_err(|error| error.to_string())
}
