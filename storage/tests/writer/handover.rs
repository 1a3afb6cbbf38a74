//! The commit in which an offer ends and an app has its new owner: both, or neither.

use rookery_domain::{
    event::EventType,
    id::{AppId, HumanId, TransferId},
    limits::AppsMax,
};
use rookery_storage::{
    Db, Writer,
    apps::room::FullOf,
    commit::{Abort, AppWrite, Outcome},
    faults::{Fault, Faults, Point},
    idempotency::KeepResponse,
    transfers,
};

use super::kit::{Draft, deploy, load, start, start_with};
use crate::support::{TestDb, at_once, contract, human, offer, row};

/// An app of ada's that is offered, and whom it is offered to.
async fn offered(test: &TestDb, slug: &str) -> (AppId, TransferId, HumanId) {
    let app = deploy(test, slug).await;
    let ada = load(&test.db, app).await.record.owner;
    let bob = human(&test.db, "bob@example.com").await.id;
    let transfer = offer(app, ada, 0);
    transfers::offer(&test.db, transfer.clone(), ada, KeepResponse::nothing()).await.unwrap();
    (app, transfer.id, bob)
}

/// Submits the acceptance.
async fn accept(
    db: &Db,
    writer: &Writer,
    app: AppId,
    transfer: TransferId,
    to: HumanId,
    kept: u64,
) -> Outcome {
    let mut record = load(db, app).await.record;
    record.owner = to;
    let apps_max = Some(AppsMax { kept, trashed: 1 });
    let write = AppWrite { accepts: Some(transfer), apps_max, ..AppWrite::of(record) };
    Draft::new(app, load(db, app).await.head.last_seq)
        .event(EventType::AppUpdated, None, Some("{}"))
        .with(|group| group.writes.app_write = Some(Box::new(write)))
        .commit(writer)
        .await
}

contract! {
    async fn an_accepted_offer_is_gone_and_the_app_is_the_addressees(test: &TestDb) {
        let (app, transfer, bob) = offered(test, "notes").await;
        let writer = start(&test.db).await;
        let outcome = accept(&test.db, &writer, app, transfer, bob, 1).await;
        assert_eq!(outcome, Outcome::Committed);
        assert_eq!(load(&test.db, app).await.record.owner, bob);
        assert_eq!(transfers::of_app(&test.db, app).await.unwrap(), None);
        let again = accept(&test.db, &writer, app, transfer, bob, 10).await;
        assert_eq!(again, Outcome::Aborted(Abort::OfferGone));
    }

    async fn an_offer_that_is_gone_changes_nothing(test: &TestDb) {
        let (app, transfer, bob) = offered(test, "notes").await;
        let (other, foreign, _) = offered(test, "diary").await;
        let writer = start(&test.db).await;
        let owner = load(&test.db, app).await.record.owner;
        assert!(transfers::withdraw(&test.db, app, owner).await.unwrap());
        for id in [transfer, foreign, TransferId::new()] {
            let outcome = accept(&test.db, &writer, app, id, bob, 10).await;
            assert_eq!(outcome, Outcome::Aborted(Abort::OfferGone));
        }
        assert_ne!(load(&test.db, app).await.record.owner, bob);
        assert!(transfers::of_app(&test.db, other).await.unwrap().is_some());
        // The app goes on as if nobody had asked.
        assert_eq!(Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await,
            Outcome::Committed);
    }

    async fn a_full_account_takes_no_app_and_the_offer_stands(test: &TestDb) {
        let (first, one, bob) = offered(test, "notes").await;
        let (second, two, _) = offered(test, "diary").await;
        let writer = start(&test.db).await;
        assert_eq!(accept(&test.db, &writer, first, one, bob, 1).await, Outcome::Committed);
        let full = accept(&test.db, &writer, second, two, bob, 1).await;
        assert_eq!(full, Outcome::Aborted(Abort::AccountFull(FullOf::Apps)));
        let nobody = accept(&test.db, &writer, second, two, HumanId::new(), 1).await;
        assert_eq!(nobody, Outcome::Aborted(Abort::AccountClosed));
        assert!(transfers::of_app(&test.db, second).await.unwrap().is_some());
        assert_ne!(load(&test.db, second).await.record.owner, bob);
    }

    async fn of_two_acceptances_for_one_place_one_is_committed(test: &TestDb) {
        let mut offers = Vec::new();
        for n in 0..8 {
            offers.push(offered(test, &format!("app-{n}")).await);
        }
        let writer = start(&test.db).await;
        let outcomes = at_once(8, |n| {
            let (db, writer) = (test.db.clone(), writer.clone());
            let (app, transfer, bob) = offers[n as usize];
            async move { accept(&db, &writer, app, transfer, bob, 3).await }
        })
        .await;
        let won = outcomes.iter().filter(|outcome| **outcome == Outcome::Committed).count();
        assert_eq!(won, 3, "{outcomes:?}");
    }

    async fn a_fault_anywhere_leaves_both_or_neither(test: &TestDb) {
        for (n, point) in [Point::AfterHead, Point::AfterAppWrite, Point::BeforeCommit]
            .into_iter()
            .enumerate()
        {
            let (app, transfer, bob) = offered(test, &format!("app-{n}")).await;
            // As often as a batch is tried.
            let faults = Faults::listed([(point, 1, Fault::Refuse), (point, 2, Fault::Refuse)]);
            let writer = start_with(&test.db, faults).await;
            let outcome = accept(&test.db, &writer, app, transfer, bob, 10).await;
            let owns = load(&test.db, app).await.record.owner == bob;
            let pending = transfers::of_app(&test.db, app).await.unwrap().is_some();
            assert!(matches!(outcome, Outcome::Aborted(_)), "{point:?}: {outcome:?}");
            assert!(!owns, "{point:?}");
            assert_ne!(owns, pending, "{point:?}");
            writer.drain().await;
        }
    }
}
