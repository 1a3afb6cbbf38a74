//! Real counterparts of the service, from npm, run locally: programs of `tests/services`. Where
//! node is not installed, a test puts itself on the list of what could not run.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use rookery_testkit::not_run;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::OnceCell,
};

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
    for (tool, package) in [("node", "nodejs"), ("npm", "npm")] {
        let found = Command::new(tool).arg("--version").output().await;
        if !found.is_ok_and(|found| found.status.success()) {
            not_run(test, package);
            return None;
        }
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
