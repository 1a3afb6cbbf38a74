//! Offers of an app's ownership, before they are accepted.

use rookery_domain::{
    id::{AppId, OrgId},
    orgs::OrgRole::{Admin, Member},
};
use rookery_storage::{
    apps::{create, purge},
    idempotency::KeepResponse,
    orgs::{self, NewMember, NewOrg},
    transfers::{self, OfferOutcome},
};

use crate::{
    support::{NOW, at_once, contract, human, new_app, offer},
    writer::kit::mark,
};

contract! {
    async fn an_app_has_one_pending_offer(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let app = new_app(ada, "notes", &[]);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        let answers = at_once(16, |n| {
            let (db, offered) = (db.clone(), offer(id, ada, n.cast_signed()));
            async move { transfers::offer(&db, offered, ada, KeepResponse::nothing()).await.unwrap() }
        })
        .await;
        let made = answers.iter().filter(|answer| **answer == OfferOutcome::Offered).count();
        assert_eq!(made, 1);
        assert!(answers.iter().all(|answer| *answer != OfferOutcome::Moved));
        let pending = transfers::of_app(db, id).await.unwrap().unwrap();
        assert_eq!(transfers::by_id(db, pending.id).await.unwrap(), Some(pending.clone()));
        let of = transfers::to_address(db, "bob@example.com", None, 10).await.unwrap();
        assert_eq!(of, std::slice::from_ref(&pending));
        assert_eq!(transfers::to_address(db, "eve@example.com", None, 10).await.unwrap(), []);
        let eve = human(db, "eve@example.com").await.id;
        assert!(!transfers::withdraw(db, id, eve).await.unwrap(), "the app is not hers");
        assert!(transfers::of_app(db, id).await.unwrap().is_some());
        for _ in 0..2 {
            assert!(transfers::withdraw(db, id, ada).await.unwrap());
        }
        assert!(!transfers::end(db, pending.id).await.unwrap());
        assert_eq!(transfers::of_app(db, id).await.unwrap(), None);
    }

    async fn whoever_becomes_an_admin_begins_without_offers(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let org = OrgId::new();
        let new = NewOrg { id: org, name: "Rooks".into(), founder: ada, orgs_max: 10 };
        orgs::create(db, new, NOW, KeepResponse::nothing()).await.unwrap().unwrap();
        let email = "eve@example.com".to_owned();
        let new = NewMember { org, by: ada, email, role: Admin, members_max: 4 };
        orgs::add_member(db, new.clone(), NOW, KeepResponse::nothing()).await.unwrap().unwrap();
        let mut offers = Vec::new();
        // An app of the organization, one outside, and one of the organization that is eve's.
        for (n, (owner, org)) in [(ada, Some(org)), (ada, None), (eve, Some(org))].iter().enumerate() {
            let mut app = new_app(*owner, &format!("app-{n}"), &[]);
            app.record.org = *org;
            offers.push(offer(app.record.id, eve, 0));
            create::create(db, app).await.unwrap();
        }
        for removed in [false, true] {
            transfers::offer(db, offers[0].clone(), ada, KeepResponse::nothing()).await.unwrap();
            for (offer, owner) in [(&offers[1], ada), (&offers[2], eve)] {
                transfers::offer(db, offer.clone(), owner, KeepResponse::nothing()).await.unwrap();
            }
            if removed {
                orgs::remove_member(db, org, ada, eve, NOW).await.unwrap().unwrap();
                orgs::add_member(db, new.clone(), NOW, KeepResponse::nothing()).await.unwrap().unwrap();
            } else {
                orgs::set_role(db, org, ada, eve, Member).await.unwrap().unwrap();
                orgs::set_role(db, org, ada, eve, Admin).await.unwrap().unwrap();
            }
            assert_eq!(transfers::by_id(db, offers[0].id).await.unwrap(), None);
            for kept in &offers[1..] {
                assert_eq!(transfers::by_id(db, kept.id).await.unwrap().as_ref(), Some(kept));
            }
        }
    }

    async fn nobody_offers_what_is_somebody_elses(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let app = new_app(ada, "notes", &[]);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        let moved = transfers::offer(db, offer(id, eve, 0), eve, KeepResponse::nothing()).await.unwrap();
        assert_eq!(moved, OfferOutcome::Moved);
        let unknown = transfers::offer(db, offer(AppId::new(), ada, 0), ada, KeepResponse::nothing()).await.unwrap();
        assert_eq!(unknown, OfferOutcome::Moved);
        assert_eq!(transfers::of_app(db, id).await.unwrap(), None);
    }

    async fn offers_are_listed_newest_first_and_go_with_their_app(test: &TestDb) {
        use rookery_domain::app::AppStatus;
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let mut made = Vec::new();
        for n in 0..6 {
            let mut app = new_app(ada, &format!("app-{n}"), &[]);
            // One is in the trash: whoever it is offered to has nothing to take.
            let in_trash = n == 5;
            app.record.status = if in_trash { AppStatus::Deleted } else { AppStatus::Live };
            let offered = offer(app.record.id, ada, n);
            create::create(db, app).await.unwrap();
            transfers::offer(db, offered.clone(), ada, KeepResponse::nothing()).await.unwrap();
            if !in_trash {
                made.insert(0, offered);
            }
        }
        let first = transfers::to_address(db, "bob@example.com", None, 3).await.unwrap();
        assert_eq!(first, made[..3]);
        let after = Some((first[2].created_at, first[2].id));
        let rest = transfers::to_address(db, "bob@example.com", after, 3).await.unwrap();
        assert_eq!(rest, made[3..]);
        assert!(transfers::end(db, made[0].id).await.unwrap());
        mark(db, made[1].app).await;
        while purge::step(db, made[1].app).await.unwrap() {}
        assert_eq!(transfers::by_id(db, made[1].id).await.unwrap(), None);
        let left = transfers::to_address(db, "bob@example.com", None, 10).await.unwrap();
        assert_eq!(left, made[2..]);
    }
}
