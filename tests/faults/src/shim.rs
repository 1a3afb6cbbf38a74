//! Builds what stands between a server and its disk (`shim/shim.c`), and puts it there.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Failure, Result},
    server::Launch,
};

/// The shim as a library, in the folder it was built in.
#[derive(Debug)]
pub struct Shim(PathBuf);

/// What an fsync does from some number on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// This one fails.
    Once,
    /// This one fails, and all after it.
    Always,
}

/// What keeps files from growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The disk is full: ENOSPC.
    Disk,
    /// The user's quota is used up: EDQUOT.
    Quota,
}

impl Shim {
    /// Builds it with `cc` (or `$CC`) into `folder`.
    ///
    /// # Errors
    /// When there is no C compiler, or it refuses.
    pub fn build(folder: &Path) -> Result<Self> {
        let library = folder.join("shim.so");
        let source = folder.join("shim.c");
        std::fs::write(&source, include_str!("../shim/shim.c"))?;
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let output = Command::new(&compiler)
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output()
            .map_err(|error| Failure(format!("{compiler}: {error}; the shim needs gcc")))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure(format!("{compiler}: {words}")));
        }
        Ok(Self(library))
    }

    /// A launch with it in between.
    #[must_use]
    pub fn between(&self, launch: Launch) -> Launch {
        let data = launch.data.display().to_string();
        launch.set("LD_PRELOAD", self.0.display()).set("ROOKERY_SHIM_FOLDER", data)
    }

    /// A launch whose writes and syncs go into a trace.
    #[must_use]
    pub fn recording(&self, launch: Launch, trace: &Path) -> Launch {
        self.between(launch).set("ROOKERY_SHIM_TRACE", trace.display())
    }

    /// A launch whose `number`-th fsync fails with EIO.
    #[must_use]
    pub fn failing(&self, launch: Launch, number: usize, failing: Failing) -> Launch {
        let how = match failing {
            Failing::Once => "once",
            Failing::Always => "always",
        };
        let launch = self.between(launch).set("ROOKERY_SHIM_FAIL_AT", number);
        launch.set("ROOKERY_SHIM_FAIL", how)
    }

    /// A launch whose files do not grow while the file `full` is there.
    #[must_use]
    pub fn bounded(&self, launch: Launch, full: &Path, bound: Bound) -> Launch {
        let launch = self.between(launch).set("ROOKERY_SHIM_FULL", full.display());
        match bound {
            Bound::Disk => launch,
            Bound::Quota => launch.set("ROOKERY_SHIM_QUOTA", 1),
        }
    }
}
