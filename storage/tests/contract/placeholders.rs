//! Who was invited: found again, adopted by whoever proves the address, forgotten when nobody does.

use std::sync::Arc;

use rookery_domain::{Timestamp, id::HumanId, members::Member};
use rookery_storage::{
    Db,
    commit::{AccessWrite, Outcome},
    humans,
    identities::{self, Identity},
    members, placeholders,
};

use crate::{
    support::{NOW, TestDb, contract, human, new_session, number},
    writer::kit::{Draft, deploy, load, start},
};

/// Proves `ada@example.com` for a new account, behind everybody's back.
async fn spoil(db: &Db, account: HumanId) {
    let (id, sql) = (
        account.uuid().into_bytes(),
        "insert into humans (id, email, email_verified_at,
        created_at, updated_at) values ($1, 'ada@example.com', 1, 1, 1)",
    );
    match db {
        Db::Sqlite(db) => {
            rusqlite::Connection::open(db.path()).unwrap().execute(sql, [id.to_vec()]).unwrap();
        }
        Db::Postgres(db) => {
            sqlx::query(sql).bind(&id[..]).execute(db.pool()).await.unwrap();
        }
    }
}

const fn day(days: i64) -> Timestamp {
    NOW.plus_seconds(days * 86_400)
}

async fn invited(test: &TestDb, email: &str, at: Timestamp) -> HumanId {
    let (human, has_account) =
        placeholders::invite(&test.db, email.into(), HumanId::new(), at).await.unwrap();
    assert!(!has_account);
    human.id
}

fn membership(human: HumanId, removed_at: Option<Timestamp>) -> AccessWrite {
    let member = Member { human, custom_role: None, created_at: NOW };
    AccessWrite::Member { member: Arc::new(member), removed_at }
}

contract! {
    async fn who_was_invited_is_one_human_until_the_address_is_proven(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await;
        let invited_again = placeholders::invite(db, "ada@example.com".into(), HumanId::new(), NOW);
        assert_eq!(invited_again.await.unwrap(), (ada, true));
        let bob = invited(test, "bob@example.com", NOW).await;
        assert_eq!(invited(test, "bob@example.com", day(1)).await, bob);
        assert_eq!(human(db, "bob@example.com").await.id, bob);
        assert_eq!(placeholders::forgettable(db, day(9)).await.unwrap(), []);
    }

    async fn an_identity_whose_address_is_proven_later_takes_it_from_nobody_who_was_invited(
        test: &TestDb
    ) {
        let db = &test.db;
        let sign_in = async |verified| {
            let identity = Identity {
                issuer: "https://accounts.example.com".into(),
                subject: "ada".into(),
                email: Some("ada@example.com".into()),
                verified,
            };
            let signed_in =
                identities::sign_in(db, identity, HumanId::new(), new_session(), NOW).await;
            signed_in.unwrap().0
        };
        let own = sign_in(false).await;
        let ada = invited(test, "ada@example.com", NOW).await;
        assert_eq!(sign_in(true).await, own, "it keeps its account, and proves nothing");
        assert_eq!(human(db, "ada@example.com").await.id, ada, "a link leads to what waits there");
        assert_eq!(number(db, "select count(*) from placeholders").await, 0);
        assert_eq!(sign_in(true).await, own);
    }

    async fn who_was_invited_is_not_lost_beside_an_account_that_has_the_address(test: &TestDb) {
        let db = &test.db;
        let ada = invited(test, "ada@example.com", NOW).await;
        // Both at once: the account did not see the invitation.
        let own = HumanId::new();
        spoil(db, own).await;
        assert_eq!(human(db, "ada@example.com").await.id, own);
        assert_eq!(placeholders::forgettable(db, day(1)).await.unwrap(), [ada]);
        assert_eq!(placeholders::forget(db, vec![ada], day(1)).await.unwrap(), [ada]);
        assert_eq!(humans::by_id(db, ada).await.unwrap(), None);
    }

    async fn who_never_came_and_is_a_member_of_nothing_is_forgotten(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let invite = async |name: &str| invited(test, &format!("{name}@example.com"), NOW).await;
        let (idle, renewed) = (invite("idle").await, invite("renewed").await);
        let (member, left, just_left) =
            (invite("member").await, invite("left").await, invite("just-left").await);
        let access = vec![
            membership(member, None),
            membership(left, Some(day(1))),
            membership(just_left, Some(day(6))),
        ];
        let seq = load(db, app).await.head.last_seq;
        let written = Draft::new(app, seq).with(|group| group.writes.access = access).commit(&store).await;
        assert_eq!(written, Outcome::Committed);
        assert_eq!(invited(test, "renewed@example.com", day(6)).await, renewed);

        assert_eq!(placeholders::forgettable(db, NOW).await.unwrap(), []);
        let mut found = placeholders::forgettable(db, day(5)).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, [idle, left]);
        // Somebody may be invited again meanwhile, or have proven the address.
        let all = vec![idle, renewed, member, left, just_left, HumanId::new()];
        assert_eq!(placeholders::forget(db, all, day(5)).await.unwrap(), [idle, left]);
        for (id, is_known) in [(idle, false), (left, false), (member, true), (renewed, true)] {
            assert_eq!(humans::by_id(db, id).await.unwrap().is_some(), is_known);
        }
        assert!(!members::was_member(db, app, left).await.unwrap());
        assert!(members::was_member(db, app, just_left).await.unwrap());
        assert!(members::find(db, app, member).await.unwrap().is_some());
        assert_ne!(invited(test, "idle@example.com", day(7)).await, idle);
    }
}
