//! Every statement of the cold path is prepared on both databases, also one that no test runs.

use std::{fs, path::Path};

use rookery_storage::Db;
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use crate::support::{TestDb, on_postgres, on_sqlite};

/// Written by hand for one database each; their own tests run them.
const HOT_PATH: [&str; 4] = ["writer", "load", "feed.rs", "trash.rs"];

/// The string literals that are statements, from the crate's sources.
fn statements() -> Vec<String> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 60, "only {} statements found", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if HOT_PATH.contains(&name) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.extend(literals(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Those in this source.
pub(crate) fn literals(source: &str) -> Vec<String> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let code = with_columns(&code);
    // No literal of these files holds an escaped quote.
    let verbs = ["select ", "insert ", "update ", "delete "];
    code.split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| verbs.iter().any(|verb| text.starts_with(verb)))
        .map(complete)
        .collect()
}

/// The macros that stand for columns within a statement, and the sources that define them.
const COLUMNS: [(&str, &str); 4] = [
    ("human_columns", include_str!("../src/humans.rs")),
    ("app_columns", include_str!("../src/apps/record.rs")),
    ("head_columns", include_str!("../src/apps/head.rs")),
    ("response_columns", include_str!("../src/idempotency/mod.rs")),
];

/// The code with such columns written out, inside the literals that they are joined to.
fn with_columns(code: &str) -> String {
    COLUMNS.iter().fold(code.to_owned(), |code, (name, source)| {
        let (_, columns) = source.split_once(&format!("macro_rules! {name}")).unwrap();
        let columns = columns.split('"').nth(1).unwrap().replace('\\', "");
        let call = format!("{name}!()");
        let mut parts = code.split(&call);
        let mut whole = parts.next().unwrap().to_owned();
        for part in parts {
            let apart = |c: char| c == ',' || c.is_whitespace();
            let before = whole.trim_end_matches(apart).strip_suffix('"').unwrap();
            let after = part.trim_start_matches(apart);
            let after = after.strip_prefix('"').map_or_else(|| format!("\"{after}"), str::to_owned);
            whole = format!("{before}{columns}{after}");
        }
        whole
    })
}

/// The beginning of a generated insert gets the parameters it will have.
fn complete(text: &str) -> String {
    if !text.starts_with("insert") || text.contains("values") || text.contains("select ") {
        return text.to_owned();
    }
    let columns = text.matches(',').count() + 1;
    let parameters: Vec<String> = (1..=columns).map(|i| format!("${i}")).collect();
    format!("{text} values ({})", parameters.join(", "))
}

async fn prepare_all(test: &TestDb) {
    // What only the other database knows of itself.
    let of_the_other: &[&str] = match &test.db {
        Db::Sqlite(_) => &["current_setting", "gen_random_uuid", "has_function_privilege", "pg_"],
        Db::Postgres(_) => &["sqlite_schema", "randomblob"],
    };
    for sql in statements() {
        let statement = AssertSqlSafe(sql.clone()).into_sql_str();
        let prepared = match &test.db {
            Db::Sqlite(db) => db.readers().prepare(statement).await.map(drop),
            Db::Postgres(db) => db.pool().prepare(statement).await.map(drop),
        };
        if let Err(error) = prepared {
            assert!(of_the_other.iter().any(|word| sql.contains(word)), "{error}: {sql}");
        }
    }
}

#[test]
fn sqlite_prepares_every_statement() {
    on_sqlite(prepare_all);
}

#[test]
fn postgresql_prepares_every_statement() {
    on_postgres(prepare_all);
}
