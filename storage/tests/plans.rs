//! How the bundled SQLite goes about what workers ask in every round: by the index that was made for
//! it, and never through a whole table.

use std::{fs, path::Path};

use rookery_storage::Db;
use sqlx::AssertSqlSafe;

use crate::{
    statements::literals,
    support::{TestDb, on_sqlite},
};

/// A source, words of a statement in it, and how each of its tables is read.
const PLANS: [(&str, &str, &[&str]); 13] = [
    (
        "trash.rs",
        "state_at < $1 and state_at >= $2",
        &["rows USING INDEX rows_trash_age (state_at>"],
    ),
    ("expiry.rs", "from blobs", &["blobs USING INDEX blobs_seen ("]),
    ("expiry.rs", "from credential_tokens", &["INDEX credential_tokens_expires (expires_at<?)"]),
    (
        "closing.rs",
        "select a.id, a.owner",
        &["humans_closed", "SEARCH a USING INDEX apps_counted (owner=?"],
    ),
    ("closing.rs", "select m.app_id, m.human", &["humans_closed", "INDEX members_human"]),
    ("apps/purge.rs", "purge_at <= $1", &["USING INDEX apps_purge (purge_at>? AND"]),
    ("apps/purge.rs", "where status = 3 and (+purge_at", &["USING INDEX apps_marked"]),
    ("apps/room.rs", "in (0, 2)) < $2", &["COVERING INDEX apps_counted (owner=? AND status=?)"]),
    ("apps/room.rs", "id <> $3", &["COVERING INDEX apps_counted (owner=? AND status=?)"]),
    ("retention.rs", "from apps a", &["a USING INDEX apps_bounded (id>?)"]),
    ("expiry.rs", "from budgets where day <", &["INDEX budgets_day (day<?)"]),
    ("placeholders.rs", "delete from humans", &["SEARCH humans", "former_slugs USING"]),
    ("expiry.rs", "from budgets where day >", &["INDEX budgets_day (day>?)"]),
];

/// The plan of the first statement of this source with these words, a line for each step.
async fn plan(test: &TestDb, file: &str, words: &str) -> String {
    let Db::Sqlite(db) = &test.db else { unreachable!() };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let source = fs::read_to_string(source).unwrap();
    let sql = literals(&source).into_iter().find(|sql| sql.contains(words));
    let sql = sql.unwrap_or_else(|| panic!("{file} has no statement with {words:?}"));
    let explained = AssertSqlSafe(format!("explain query plan {}", sql.replace("\\\n", "\n")));
    let steps: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(explained).fetch_all(db.readers()).await.unwrap();
    steps.into_iter().map(|(.., step)| step).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_workers_ask_in_every_round_is_answered_from_its_index() {
    on_sqlite(async |test: &TestDb| {
        let mut wrong = Vec::new();
        for (file, words, uses) in PLANS {
            let plan = plan(test, file, words).await;
            let is_whole = |step: &str| step.starts_with("SCAN") && !step.contains("INDEX");
            let mut whole = plan.lines().filter(|step| is_whole(step));
            if uses.iter().any(|part| !plan.contains(part))
                || whole.any(|step| step != "SCAN CONSTANT ROW")
            {
                wrong.push(format!("{file}, {words:?} without {uses:?}:\n{plan}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    });
}
