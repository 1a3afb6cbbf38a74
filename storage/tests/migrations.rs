//! What a migration makes of what is there.

use std::{fs, path::Path};

use rusqlite::Connection;

/// Runs the migrations of SQLite with these numbers.
fn migrate(to: &Connection, numbers: std::ops::RangeInclusive<u32>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        let number = file.file_name().unwrap().to_str().unwrap()[..4].parse().unwrap();
        if numbers.contains(&number) {
            to.execute_batch(&fs::read_to_string(file).unwrap()).unwrap();
        }
    }
}

#[test]
fn apps_that_may_bound_their_rows_are_known_for_it_from_the_beginning() {
    let db = Connection::open_in_memory().unwrap();
    db.pragma_update(None, "foreign_keys", "off").unwrap();
    migrate(&db, 1..=19);
    let bounds = r#"{"retention": {"maxRows": 9}}"#;
    let before = r#"{"collections": {}}"#;
    for (slug, retention, manifests) in [
        ("free", "{}", [bounds, before]),
        ("by-its-manifest", "{}", [before, bounds]),
        ("by-an-escape", "{}", [before, r#"{"\u0072etention": {"maxRows": 9}}"#]),
        ("by-its-owner", r#"{"entries": {"max_rows": 9}}"#, [before, before]),
    ] {
        db.execute(
            "insert into apps (id, owner, slug, status, visibility, timezone, version, unrestricted,
                               retention, history, created_at, updated_at)
             values (cast($1 as blob), x'01', $1, 0, 0, 'UTC', 2, 0, $2, x'02', 0, 0)",
            [slug, retention],
        )
        .unwrap();
        for (at, manifest) in manifests.iter().enumerate() {
            db.execute(
                "insert into versions (app_id, number, html, manifest, created_by, created_at)
                 values (cast($1 as blob), $2, '', $3, x'03', 0)",
                rusqlite::params![slug, at as i64 + 1, manifest],
            )
            .unwrap();
        }
    }
    migrate(&db, 20..=20);
    let mut query = db.prepare("select slug from apps where bounded = 1 order by slug").unwrap();
    let found: Vec<String> =
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, ["by-an-escape", "by-its-manifest", "by-its-owner"]);
}
