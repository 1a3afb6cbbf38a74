//! What the retention worker asks: which apps bound their rows.

use rookery_storage::{
    apps::create::{self, NewApp},
    commit::{AppWrite, Outcome},
    retention,
};

use crate::{
    support::{contract, human, new_app, spoil},
    writer::kit::{Draft, start},
};

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
        spoil(db, "update apps set retention = 'none' where slug = 'spoilt'").await;
        let found = retention::bounded(db, None, 10).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|one| (one.app, one.overrides)).collect();
        let sound = (made[1].0, Some(made[1].1.clone()));
        assert_eq!(found, [(made[0].0, None), sound.clone()]);
        let rest = retention::bounded(db, Some(made[0].0), 10).await.unwrap();
        assert_eq!(rest.into_iter().map(|one| (one.app, one.overrides)).collect::<Vec<_>>(), [sound]);
    }

    async fn an_app_is_found_for_as_long_as_it_has_bounds(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let app = NewApp { bounded: false, ..new_app(owner, "notes", &[]) };
        let record = app.record.clone();
        create::create(db, app).await.unwrap();
        let found = async || retention::bounded(db, None, 10).await.unwrap().len();
        assert_eq!(found().await, 0);
        let writer = start(db).await;
        for (bounded, expected) in [(true, 1), (false, 0)] {
            let write = AppWrite { bounded, ..AppWrite::of(record.clone()) };
            let draft = Draft::new(record.id, 1).with(|group| group.writes.app_write = Some(write.into()));
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
            assert_eq!(found().await, expected);
        }
    }
}
