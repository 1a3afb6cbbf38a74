//! An app changes hands, and its commit ends in every way there is: afterwards both accounts count
//! what storage holds of theirs, no more and no less.

use rookery_actors::app::message::{Acceptance, AppOp, Op, Reply};
use rookery_domain::{
    ErrorCode, Result,
    id::{HumanId, TransferId},
    principal::Caller,
};

use super::support::{Bench, Fate, expect_panics, paused};

/// Rows of the app before it changes hands.
const ROWS: u64 = 3;

/// Has the app accepted by `to`.
async fn accept(bench: &Bench, app: &rookery_actors::AppHandle, to: HumanId) -> Result<Reply> {
    let account = bench.rig.apps.account(to).await.expect("the store answers");
    let acceptance =
        Acceptance { transfer: TransferId::new(), offered_by: bench.owner, to, account };
    app.apply(Caller::System, Op::App(AppOp::HandOver(acceptance))).await
}

#[track_caller]
fn check(counted: (i64, i64), stored: (i64, i64), what: &str) {
    assert_eq!(counted, stored, "{what}: rows of the former and of the new account");
}

async fn counted(bench: &Bench, to: HumanId) -> (i64, i64) {
    (bench.rig.apps.account_rows(bench.owner).await, bench.rig.apps.account_rows(to).await)
}

fn stored(bench: &Bench, to: HumanId) -> (i64, i64) {
    let rows = |owner| bench.store.rows_of(owner).cast_signed();
    (rows(bench.owner), rows(to))
}

#[test]
fn both_accounts_count_what_is_theirs_however_the_commit_ends() {
    let fates = [
        Fate::Commit,
        Fate::Refuse,
        Fate::Full,
        Fate::OfferGone,
        Fate::Unknown { applied: true },
        Fate::Unknown { applied: false },
        Fate::Die { applied: true },
        Fate::Die { applied: false },
    ];
    for fate in fates {
        paused().block_on(async {
            let bench = Bench::start().await;
            let to = HumanId::new();
            let app = bench.app().await;
            for n in 0..ROWS {
                bench.create(&app, &format!("k{n}")).await.expect("a row");
            }
            bench.store.hold();
            let (accepted, ()) = tokio::join!(accept(&bench, &app, to), async {
                bench.until_held().await;
                assert!(bench.store.end(fate));
            });
            let committed = fate == Fate::Commit;
            assert_eq!(accepted.is_ok(), committed, "{fate:?}");
            // The next incarnation, where there is one, reads the truth.
            let root = app.root().await.expect("it wakes");
            let moved = root.record.owner == to;
            assert!(moved || root.record.owner == bench.owner);
            check(counted(&bench, to).await, stored(&bench, to), &format!("{fate:?}"));
            let rows = ROWS.cast_signed();
            let expected = if moved { (0, rows) } else { (rows, 0) };
            assert_eq!(stored(&bench, to), expected, "{fate:?}");
        });
    }
}

#[test]
fn a_crash_between_decision_and_commit_leaves_both_accounts_right() {
    expect_panics();
    for applied in [true, false] {
        paused().block_on(async {
            let bench = Bench::start().await;
            let to = HumanId::new();
            let app = bench.app().await;
            for n in 0..ROWS {
                bench.create(&app, &format!("k{n}")).await.expect("a row");
            }
            bench.store.hold();
            let (accepted, ()) = tokio::join!(accept(&bench, &app, to), async {
                bench.until_held().await;
                app.inject_panic();
            });
            let error = accepted.expect_err("nobody knows");
            assert_eq!(error.details.expect("details")["outcome"], "unknown");
            let end = if applied { Fate::Commit } else { Fate::Refuse };
            let (root, ()) = tokio::join!(app.root(), async { assert!(bench.store.end(end)) });
            assert_eq!(root.expect("it wakes").record.owner == to, applied);
            check(counted(&bench, to).await, stored(&bench, to), &format!("{applied}"));
        });
    }
}

#[test]
fn an_acceptance_that_loses_its_race_takes_no_write_with_it() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let to = HumanId::new();
        let app = bench.app().await;
        bench.store.hold();
        let writer = async {
            let fates = [
                (Fate::Commit, "the row before it"),
                (Fate::OfferGone, "the acceptance"),
                (Fate::Commit, "the row behind it"),
            ];
            for (fate, what) in fates {
                bench.until_held().await;
                assert_eq!(app.record().owner, bench.owner, "nothing undecided is seen");
                assert!(bench.store.end(fate), "{what} has a group of its own");
            }
        };
        // Polled in this order, so they arrive in it.
        let (first, accepted, last, ()) = tokio::join!(
            bench.create(&app, "before"),
            accept(&bench, &app, to),
            bench.create(&app, "behind"),
            writer,
        );
        first.expect("a row");
        assert_eq!(accepted.expect_err("the offer is gone").code, ErrorCode::NotFound);
        last.expect("decided only once the acceptance had ended");
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[test]
fn what_is_refused_moves_nothing() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let to = HumanId::new();
        let app = bench.app().await;
        bench.create(&app, "k").await.expect("a row");
        // Whoever offered is no owner.
        let account = bench.rig.apps.account(to).await.expect("the store answers");
        let foreign = Acceptance {
            transfer: TransferId::new(),
            offered_by: to,
            to,
            account: account.clone(),
        };
        let refused = app.apply(Caller::System, Op::App(AppOp::HandOver(foreign))).await;
        assert_eq!(refused.expect_err("no offer").code, ErrorCode::NotFound);
        // Not even the owner gives an app away without an offer.
        let direct =
            Acceptance { transfer: TransferId::new(), offered_by: bench.owner, to, account };
        let op = Op::App(AppOp::HandOver(direct));
        let refused = app.apply(bench.caller.clone(), op).await;
        assert_eq!(refused.expect_err("no acceptance").code, ErrorCode::Forbidden);
        assert_eq!(counted(&bench, to).await, (1, 0));
        assert_eq!(app.record().owner, bench.owner);
    });
}
