//! Real counterparts of the service, from npm, run locally: programs of `tests/services`. Where
//! node is not installed, a test puts itself on the list of what could not run.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::LazyLock,
};

use rookery_testkit::not_run;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::OnceCell,
};

/// The oldest major version of Node.js that runs them.
const NODE_MAJOR_MIN: u32 = 20;

/// What is missing of Node.js, by its Debian package; `tests/run` installs it.
pub static MISSING_NODE: LazyLock<Option<&'static str>> = LazyLock::new(|| {
    let is_new = version("node").is_some_and(|version| {
        let major = version.trim_start_matches('v').split('.').next().map(str::parse::<u32>);
        major.is_some_and(|major| major.is_ok_and(|major| major >= NODE_MAJOR_MIN))
    });
    match (is_new, version("npm")) {
        (false, _) => Some("nodejs, version 20 or newer"),
        (true, None) => Some("npm"),
        (true, Some(_)) => None,
    }
});

/// What a program says that its version is; `None`, when it does not run.
pub fn version(program: &str) -> Option<String> {
    let said = std::process::Command::new(program).arg("--version").output().ok()?;
    said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned())
}

/// A running program. It ends when this is dropped.
pub struct Service {
    /// The first line that it printed: where it listens, or what it was started for.
    pub address: String,
    _process: Child,
}

impl Service {
    /// Starts `script` with `args`; `None`, when there is no node. `test` is the file that asks.
    pub async fn start(test: &'static str, script: &str, args: &[&str]) -> Option<Self> {
        let folder = folder(test).await?;
        let mut process = Command::new("node")
            .arg(script)
            .args(args)
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let address = lines.next_line().await.expect("a line").expect("the service starts");
        Some(Self { address, _process: process })
    }
}

/// The folder of the programs, ready to be run with node; `None`, when there is no node. `test` is
/// the file that asks.
pub async fn folder(test: &'static str) -> Option<PathBuf> {
    if let Some(package) = *MISSING_NODE {
        not_run(test, package);
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services");
    install(&folder).await;
    Some(folder)
}

/// One installation for all tests of this process and of others.
async fn install(folder: &Path) {
    static ONCE: OnceCell<()> = OnceCell::const_new();
    ONCE.get_or_init(async || {
        if is_installed(folder) {
            return;
        }
        let ran = Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(folder)
            .output()
            .await
            .expect("npm runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    })
    .await;
}

/// Whether every package that is asked for is there.
fn is_installed(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("package.json")).expect("package.json");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let wanted = manifest["devDependencies"].as_object().expect("dependencies");
    wanted.keys().all(|name| folder.join("node_modules").join(name).join("package.json").exists())
}
