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
    let cluster = rookery_testkit::postgres().expect("PostgreSQL is installed");
    Some(cluster.database(migrate).await)
}

/// Fills the template that every test's database is a copy of.
async fn migrate(url: String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = StorageOptions::postgres(url, folder.path());
    let db = Db::connect(&options).await.expect("the template is migrated");
    db.close().await;
}
