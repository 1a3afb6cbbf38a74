//! `rookery ops`: the operator's view in a terminal, asked of a running server's operators'
//! listener over HTTP. Nothing here knows more than the listener's JSON says.
//!
//! `client` asks, `plain` writes answers as text, `top` is the live screen. What is not here: the
//! figures (`ops`), the listener's routes (`routes::ops`).

pub mod client;
pub mod plain;
pub mod text;
pub mod top;

use std::{
    env::VarError,
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use rookery_actors::observe::hot::{Measure, Window};
use rookery_domain::text::path_segment;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::client::OpsClient;
use crate::{
    config::Config,
    ops::overview::Overview,
    routes::ops::{
        act::Why,
        app::{AppDetail, AppLine},
        hot::HotApps,
        restarts::Restarts,
        tree::Tree,
    },
};

/// Names the listener where the flag does not.
const URL_VARIABLE: &str = "ROOKERY_OPS_URL";
/// Holds the token where the settings do not.
const TOKEN_VARIABLE: &str = "ROOKERY_OPS_TOKEN";
/// Bytes of a token file that are read.
const TOKEN_BYTES_MAX: usize = 4_096;

/// Which listener, and what is asked of it.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// The operators' listener, e.g. http://127.0.0.1:8081; else ROOKERY_OPS_URL, else ops.listen.
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// A file with its token; else ROOKERY_OPS_TOKEN, else ops.token.
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(subcommand)]
    command: OpsCommand,
}

#[derive(Debug, Subcommand)]
enum OpsCommand {
    /// The service and its busiest apps, live; one picture as text where there is no terminal.
    #[command(after_help = top::KEYS_HELP)]
    Top {
        /// What makes an app busy.
        #[arg(long, value_parser = one_of(Measure::ALL, Measure::as_str), default_value = "messages")]
        by: Measure,
        /// The time that rates look back.
        #[arg(long, value_parser = one_of(Window::ALL, Window::as_str), default_value = "10s")]
        window: Window,
        /// Prints one picture as text and ends.
        #[arg(long)]
        once: bool,
        /// Prints one picture as JSON and ends.
        #[arg(long)]
        json: bool,
    },
    /// The supervision tree; with --shard its live apps, in pages.
    Tree {
        /// The shard whose apps are listed.
        #[arg(long)]
        shard: Option<usize>,
        /// Only apps behind this place, as the page before said.
        #[arg(long, requires = "shard")]
        after: Option<u64>,
        /// Apps in the page.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=200))]
        limit: u64,
        /// Prints the answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// One app, closely. Looking wakes nothing.
    App {
        /// Its id or slug.
        app: String,
        /// Prints the answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// The last crashes with their causes, and the apps that are held back.
    Restarts {
        /// Only crashes with numbers below this one, as the page before said.
        #[arg(long)]
        before: Option<u64>,
        /// Crashes in the page.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
        limit: u64,
        /// Prints the answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Brings an app up. The server allows it where ops.actions is on, and writes it down.
    Wake(Act),
    /// Puts an app to rest, if nothing is pending in it. Allowed and written down as wake is.
    Hibernate(Act),
}

#[derive(Debug, Args)]
struct Act {
    /// The app's id or slug.
    app: String,
    /// Why it is done; the server writes it down.
    #[arg(long)]
    reason: String,
}

/// Takes one of `all` by its name.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let named = move |text: String| all.into_iter().find(|one| name(*one) == text);
    // It takes these names and no others.
    PossibleValuesParser::new(all.map(name)).try_map(move |text| named(text).ok_or("unknown"))
}

/// What a variable holds, where it is set.
fn variable(name: &str) -> Result<Option<String>, String> {
    match std::env::var(name) {
        Err(VarError::NotUnicode(_)) => Err(format!("{name}: expected UTF-8")),
        text => Ok(text.ok().filter(|text| !text.is_empty())),
    }
}

/// Does what was asked and returns what to print.
///
/// # Errors
/// One line that says why it was not done.
pub async fn run(config: &Config, args: OpsArgs) -> Result<String, String> {
    let url = match args.url {
        None => variable(URL_VARIABLE)?,
        given => given,
    };
    let token = match args.token_file {
        Some(file) => token_of(&file)?,
        None => variable(TOKEN_VARIABLE)?.map_or_else(|| config.ops.token.clone(), Into::into),
    };
    let client = match url {
        Some(url) => OpsClient::new(&url, token)?,
        None => OpsClient::of_listener(config.ops.listen, token)?,
    };
    match args.command {
        OpsCommand::Top { by, window, once, json } => {
            let wanted = top::Wanted::busiest(by, window);
            if !once && !json && std::io::stdout().is_terminal() {
                return top::run(client, wanted).await.map(|()| String::new());
            }
            let overview: Value = client.get("/ops/api/overview").await?;
            let hot: Value = client.get(&wanted.path()).await?;
            if json {
                return Ok(pretty(&serde_json::json!({"overview": overview, "hot": hot})));
            }
            let (overview, hot) = (typed::<Overview>(overview)?, typed::<HotApps>(hot)?);
            Ok(plain::top(&overview, &hot, &wanted))
        }
        OpsCommand::Tree { shard, after, limit, json } => {
            let mut path = format!("/ops/api/tree?limit={limit}");
            for (name, value) in [("shard", shard.map(|n| n as u64)), ("after", after)] {
                if let Some(value) = value {
                    path = format!("{path}&{name}={value}");
                }
            }
            let page = |tree: &Tree| plain::tree(tree, shard);
            show(&client, &path, json, page).await
        }
        OpsCommand::App { app, json } => {
            let path = format!("/ops/api/apps/{}", path_segment(&app));
            show(&client, &path, json, |app: &AppDetail| plain::app(app)).await
        }
        OpsCommand::Restarts { before, limit, json } => {
            let before = before.map_or_else(String::new, |number| format!("&before={number}"));
            let path = format!("/ops/api/restarts?limit={limit}{before}");
            show(&client, &path, json, |page: &Restarts| plain::restarts(page)).await
        }
        OpsCommand::Wake(act) => perform(&client, "wake", act).await,
        OpsCommand::Hibernate(act) => perform(&client, "hibernate", act).await,
    }
}

async fn show<T: DeserializeOwned>(
    client: &OpsClient,
    path: &str,
    json: bool,
    text: impl FnOnce(&T) -> String,
) -> Result<String, String> {
    let answer: Value = client.get(path).await?;
    if json { Ok(pretty(&answer)) } else { typed(answer).map(|answer| text(&answer)) }
}

async fn perform(client: &OpsClient, action: &str, act: Act) -> Result<String, String> {
    let app = path_segment(&act.app);
    let path = format!("/ops/api/apps/{app}/actions/{action}");
    let line: AppLine = client.post(&path, &Why { reason: act.reason }).await?;
    Ok(format!("{} ({}) is {}\n", text::clean(&line.slug), line.id, line.state))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| {
        format!("the server answers in another way than this version of rookery expects: {error}")
    })
}

/// The token in a file: its text without the white space around it.
fn token_of(file: &Path) -> Result<SecretString, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("--token-file {}: {error}", file.display()))?;
    let token = SecretString::from(text.trim().to_owned());
    match token.expose_secret().len() {
        0 => Err(format!("--token-file {}: the file is empty", file.display())),
        1..=TOKEN_BYTES_MAX => Ok(token),
        _ => Err(format!("--token-file {}: too long for a token", file.display())),
    }
}
