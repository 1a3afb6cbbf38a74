//! What every campaign is given, and the app that its writers write to.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    api::{Api, text},
    failure::Result,
    server::Launch,
};

/// The time of a measurement in a short form.
const SHORT: Duration = Duration::from_secs(2);

/// What a campaign runs with.
#[derive(Debug, Clone)]
pub struct World {
    /// The server's binary.
    pub program: PathBuf,
    /// The campaigns' own, which client processes run.
    pub campaigns: PathBuf,
    /// Counts of the long form are multiplied by this: 1 is the long form.
    pub scale: f64,
    /// A PostgreSQL database to use in place of SQLite.
    pub database_url: Option<String>,
}

impl World {
    /// `long` times the scale, at least `least`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
    pub fn count(&self, long: usize, least: usize) -> usize {
        ((long as f64 * self.scale).round() as usize).max(least)
    }

    /// Whether this is less than the long form: its figures are then for orientation.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.scale < 1.0
    }

    /// How long something is measured: a few seconds will do in a short form.
    #[must_use]
    pub fn time(&self, long: Duration) -> Duration {
        if self.is_short() { long.min(SHORT) } else { long }
    }

    /// A server over a folder in `scratch` on SQLite, whatever the campaign's database is: for what
    /// concerns its file.
    #[must_use]
    pub fn launch_sqlite(&self, scratch: &Path) -> Launch {
        Launch::new(&self.program, &scratch.join("data"))
    }

    /// A server over a folder in `scratch`, on the campaign's database.
    #[must_use]
    pub fn launch(&self, scratch: &Path) -> Launch {
        let launch = Launch::new(&self.program, &scratch.join("data"));
        match &self.database_url {
            Some(url) => launch.set("ROOKERY__STORAGE__DATABASE_URL", url),
            None => launch,
        }
    }
}

/// An app that is written to.
#[derive(Debug, Clone)]
pub struct App {
    /// Its id.
    pub id: String,
    /// Its slug, the first label of its own origin.
    pub slug: String,
    /// The feed position before the first row.
    pub start: String,
}

/// Anonymous writes that [`App::deploy`]'s collection `guests` takes on one day.
pub const GUESTS_PER_DAY: usize = 200;

impl App {
    /// Deploys it: `rows` with a unique field for its owner, `guests` with a budget for anybody.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn deploy(api: &Api) -> Result<Self> {
        let record = api.deploy(&manifest()).await?;
        let id = text(&record["id"])?;
        let feed = api.get(&format!("/v1/apps/{id}/feed")).await?;
        Ok(Self { slug: text(&record["slug"])?, start: text(&feed["cursor"])?, id })
    }

    /// The path of its rows.
    #[must_use]
    pub fn rows(&self) -> String {
        format!("/v1/apps/{}/collections/rows", self.id)
    }
}

fn manifest() -> Value {
    json!({
        "visibility": "public",
        "collections": {
            "rows": {
                "schema": {"$ref": "#/$defs/Row"},
                "permissions": {"read": ["owner"], "write": ["owner"], "delete": ["owner"],
                    "countRead": ["owner"]},
                "unique": ["name"]
            },
            "guests": {
                "permissions": {"read": ["owner"], "write": ["anyone"], "update": [], "delete": ["owner"],
                    "countRead": ["owner"]},
                "anonWriteBudget": {"perIpPerDay": GUESTS_PER_DAY}
            }
        },
        "$defs": {"Row": {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 64}, "n": {"type": "integer"}
        }}}
    })
}
