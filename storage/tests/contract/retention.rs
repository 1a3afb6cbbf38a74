//! What the retention worker asks: which apps bound their rows.

use rookery_storage::{Db, apps::create, retention};

use crate::support::{contract, human, new_app};

/// Spoils the owner's bounds of one app, behind everybody's back.
async fn spoil(db: &Db) {
    let sql = "update apps set retention = 'none' where slug = 'spoilt'";
    match db {
        Db::Sqlite(db) => {
            rusqlite::Connection::open(db.path()).unwrap().execute(sql, []).unwrap();
        }
        Db::Postgres(db) => {
            sqlx::query(sql).execute(db.pool()).await.unwrap();
        }
    }
}

contract! {
    async fn bounds_that_cannot_be_read_keep_no_other_app_from_being_found(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let mut made = Vec::new();
        for slug in ["spoilt", "sound"] {
            let app = new_app(owner, slug, &[]);
            made.push((app.record.id, app.record.retention.clone()));
            create::create(db, app).await.unwrap();
        }
        spoil(db).await;
        let found = retention::bounded(db, None, 10).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|one| (one.app, one.overrides)).collect();
        let sound = (made[1].0, Some(made[1].1.clone()));
        assert_eq!(found, [(made[0].0, None), sound.clone()]);
        let rest = retention::bounded(db, Some(made[0].0), 10).await.unwrap();
        assert_eq!(rest.into_iter().map(|one| (one.app, one.overrides)).collect::<Vec<_>>(), [sound]);
    }
}
