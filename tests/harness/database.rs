//! Which database the suite runs on: SQLite, or, with `ROOKERY_TEST_DATABASE=postgres`, a real
//! PostgreSQL of the test process' own.

use rookery_storage::{Db, StorageOptions};
use rookery_testkit::Database;

/// The variable that chooses it.
const VARIABLE: &str = "ROOKERY_TEST_DATABASE";

/// A new PostgreSQL database, when the suite runs on PostgreSQL.
///
/// # Panics
/// When it shall and PostgreSQL is not installed.
pub async fn postgres() -> Option<Database> {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("" | "sqlite") => return None,
        Ok("postgres") => {}
        Ok(other) => panic!("{VARIABLE} is sqlite or postgres, not {other}"),
    }
    Some(on_postgres().await.expect("PostgreSQL is installed"))
}

/// A new PostgreSQL database, whatever the suite runs on: for what only PostgreSQL does. `None`
/// where it is not installed and need not be.
pub async fn on_postgres() -> Option<Database> {
    Some(rookery_testkit::postgres()?.database(migrate).await)
}

/// The settings with which the process of a server keeps its data there; without one on SQLite.
#[must_use]
pub fn settings(database: Option<&Database>) -> Vec<(&str, &str)> {
    let url = database.map(|database| ("ROOKERY__STORAGE__DATABASE_URL", database.url.as_str()));
    url.into_iter().collect()
}

/// Fills the template that every test's database is a copy of.
async fn migrate(url: String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = StorageOptions::postgres(url, folder.path());
    let db = Db::connect(&options).await.expect("the template is migrated");
    db.close().await;
}
