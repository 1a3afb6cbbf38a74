//! Real counterparts from npm (`tests/services`): installed once for all tests that use one.

use std::path::{Path, PathBuf};

use rookery_testkit::not_run;
use tokio::{process::Command, sync::OnceCell};

/// The packages that `package.json` names.
const PACKAGES: &[&str] = &["oidc-provider", "typescript"];

/// The folder of the counterparts, ready to run with node; `None` where this machine has no node,
/// which is reported for the file `test`.
pub async fn folder(test: &str) -> Option<PathBuf> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    for (tool, package) in [("node", "nodejs"), ("npm", "npm")] {
        let found = Command::new(tool).arg("--version").output().await;
        if !found.is_ok_and(|found| found.status.success()) {
            not_run(test, package);
            return None;
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services");
    INSTALLED.get_or_init(|| install(&folder)).await;
    Some(folder)
}

async fn install(folder: &Path) {
    let is_there = |name: &&str| folder.join("node_modules").join(name).exists();
    if PACKAGES.iter().all(is_there) {
        return;
    }
    let ran = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(folder)
        .output()
        .await
        .expect("npm runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
