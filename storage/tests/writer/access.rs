//! Permissions: written by the app's group, read when it wakes, listed while it sleeps.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    access::Operation,
    credentials::{
        CollectionRights, Credential, CredentialStatus, CredentialToken, Mode, Rights, Scope,
    },
    grants::Grant,
    id::{AppId, CredentialId, GrantId, HumanId, PreviewId},
    members::Member,
    previews::{PREVIEWS_PER_APP_MAX, Preview},
};
use rookery_storage::{
    REVOKED_KEPT_MAX, Writer,
    apps::{AppFilter, AppsOf, list},
    commit::{AccessWrite, Outcome},
    credentials, grants, members, previews,
};

use super::kit::{Draft, deploy, load, start};
use crate::support::{NOW, TestDb, contract, hash, human, writer};

/// Commits changes of permissions, without any event.
async fn write(test: &TestDb, db_writer: &Writer, app: AppId, writes: Vec<AccessWrite>) {
    let seq = load(&test.db, app).await.head.last_seq;
    let outcome =
        Draft::new(app, seq).with(|group| group.writes.access = writes).commit(db_writer).await;
    assert_eq!(outcome, Outcome::Committed);
}

fn member(human: HumanId, role: Option<&str>, after_s: i64) -> Member {
    Member { human, custom_role: role.map(Arc::from), created_at: NOW.plus_seconds(after_s) }
}

fn joined(member: &Member) -> AccessWrite {
    AccessWrite::Member { member: Arc::new(member.clone()), removed_at: None }
}

fn left(member: &Member) -> AccessWrite {
    AccessWrite::Member { member: Arc::new(member.clone()), removed_at: Some(NOW) }
}

fn grant(after_s: i64) -> Grant {
    Grant {
        id: GrantId::new(),
        hash: hash(),
        role: "editor".into(),
        max_uses: Some(3),
        uses: 1,
        expires_at: Some(NOW.plus_seconds(60)),
        created_by: writer(),
        created_at: NOW.plus_seconds(after_s),
        revoked_at: None,
    }
}

fn preview(expires_at: Timestamp) -> Preview {
    Preview {
        id: PreviewId::new(),
        hash: hash(),
        expires_at,
        created_by: writer(),
        created_at: NOW,
        revoked_at: None,
    }
}

/// One of each, revoked at this time.
fn revoked(at: Timestamp) -> ((GrantId, PreviewId, CredentialId), Vec<AccessWrite>) {
    let link = Grant { revoked_at: Some(at), ..grant(0) };
    let preview = Preview { revoked_at: Some(at), ..preview(NOW.plus_seconds(60)) };
    let status = CredentialStatus::Revoked;
    let service = Credential { status, updated_at: at, ..credential(Vec::new()) };
    let ids = (link.id, preview.id, service.id);
    let writes = vec![
        AccessWrite::Grant(Arc::new(link)),
        AccessWrite::Preview(Arc::new(preview)),
        AccessWrite::Credential(Arc::new(service)),
    ];
    (ids, writes)
}

fn token(expires_at: Option<Timestamp>) -> CredentialToken {
    CredentialToken { hash: hash(), prefix: "rk_cred_Ab12Cd".into(), created_at: NOW, expires_at }
}

fn credential(tokens: Vec<CredentialToken>) -> Credential {
    let operations = vec![Operation::Read, Operation::Count];
    let named = CollectionRights { name: "safe".into(), operations, scope: Scope::Own };
    let rights = Rights {
        mode: Mode::Following,
        collections: vec![named],
        operations: vec![Operation::Create],
        scope: Scope::All,
    };
    Credential {
        id: CredentialId::new(),
        name: Some("Nightly".into()),
        prefix: "rk_cred_Ab12Cd".into(),
        allowlist: Arc::new(rights.allowlist()),
        rights: Arc::new(rights),
        status: CredentialStatus::Active,
        created_by: writer(),
        created_at: NOW,
        updated_at: NOW,
        tokens,
    }
}

contract! {
    async fn members_are_listed_in_the_order_they_came_until_they_leave(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let mut all = Vec::new();
        for (at, name) in ["cara", "ada", "bob"].into_iter().enumerate() {
            let id = human(db, &format!("{name}@example.org")).await.id;
            all.push(member(id, (at < 2).then_some("editor"), i64::try_from(at).unwrap()));
        }
        write(test, &store, app, all.iter().map(joined).collect()).await;
        assert_eq!(members::list(db, app, None, 10).await.unwrap(), all);
        let first = members::list(db, app, None, 1).await.unwrap();
        let after = (first[0].created_at, first[0].human);
        assert_eq!(members::list(db, app, Some(after), 10).await.unwrap(), all[1..]);
        assert_eq!(members::role_counts(db, app).await.unwrap(), [("editor".to_owned(), 2)]);
        let mut loaded = load(db, app).await.access.members;
        loaded.sort_by_key(|member| member.created_at);
        assert_eq!(loaded, all);

        let ada = &all[1];
        write(test, &store, app, vec![left(ada)]).await;
        assert_eq!(members::list(db, app, None, 10).await.unwrap(), [all[0].clone(), all[2].clone()]);
        assert_eq!(load(db, app).await.access.members.len(), 2);
        assert!(members::find(db, app, ada.human).await.unwrap().is_none());
        assert!(members::was_member(db, app, ada.human).await.unwrap());
        assert!(!members::was_member(db, AppId::new(), ada.human).await.unwrap());
        assert_eq!(members::role_counts(db, app).await.unwrap(), [("editor".to_owned(), 1)]);
        let again = member(ada.human, None, 9);
        write(test, &store, app, vec![joined(&again)]).await;
        assert!(members::find(db, app, ada.human).await.unwrap().is_some());
        assert_eq!(members::list(db, app, None, 10).await.unwrap().last(), Some(&again));
    }

    async fn a_human_finds_the_apps_it_owns_and_those_it_joined(test: &TestDb) {
        let db = &test.db;
        let (own, foreign) = (deploy(test, "own").await, deploy(test, "foreign").await);
        let stranger = deploy(test, "stranger").await;
        let owner = load(db, own).await.record.owner;
        let guest = human(db, "guest@example.org").await.id;
        let store = start(db).await;
        write(test, &store, foreign, vec![joined(&member(guest, None, 0))]).await;
        let slugs = async |of: AppsOf| {
            let found = list(db, of, &AppFilter::default(), 10).await.unwrap();
            found.apps.iter().map(|app| app.record.slug.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(slugs(AppsOf::Seen(guest)).await, ["foreign"]);
        for none in [AppsOf::Owner(guest), AppsOf::Acted(guest), AppsOf::Joined(owner)] {
            assert_eq!(slugs(none).await, [""; 0]);
        }
        assert_eq!(slugs(AppsOf::Joined(guest)).await, ["foreign"]);
        assert_eq!(slugs(AppsOf::Acted(owner)).await, slugs(AppsOf::Seen(owner)).await);
        assert!(slugs(AppsOf::Seen(owner)).await.contains(&"own".to_owned()));
        write(test, &store, stranger, vec![joined(&member(guest, None, 0))]).await;
        let newest = list(db, AppsOf::Seen(guest), &AppFilter::default(), 1).await.unwrap();
        let rest = AppFilter { after: newest.next, ..AppFilter::default() };
        let rest = list(db, AppsOf::Seen(guest), &rest, 10).await.unwrap();
        assert_eq!((newest.apps.len(), rest.apps.len()), (1, 1));
        assert_ne!(rest.apps[0].record.id, newest.apps[0].record.id);
        write(test, &store, foreign, vec![left(&member(guest, None, 0))]).await;
        assert_eq!(slugs(AppsOf::Seen(guest)).await, ["stranger"]);
    }

    async fn grant_links_are_listed_newest_first_and_not_when_revoked(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let all = [grant(0), grant(1), grant(2)];
        let made = all.iter().map(|one| AccessWrite::Grant(Arc::new(one.clone()))).collect();
        write(test, &store, app, made).await;
        let listed = grants::list(db, app, None, 2).await.unwrap();
        assert_eq!(listed, [all[2].clone(), all[1].clone()]);
        let after = Some((listed[1].created_at, listed[1].id));
        assert_eq!(grants::list(db, app, after, 2).await.unwrap(), [all[0].clone()]);
        let used = Grant { uses: 2, ..all[0].clone() };
        let revoked = Grant { revoked_at: Some(NOW), ..all[1].clone() };
        let changed = [used.clone(), revoked.clone()];
        let changed = changed.into_iter().map(|one| AccessWrite::Grant(Arc::new(one))).collect();
        write(test, &store, app, changed).await;
        assert_eq!(grants::list(db, app, None, 9).await.unwrap(), [all[2].clone(), used]);
        assert_eq!(load(db, app).await.access.grants.len(), 2);
        assert!(grants::is_known(db, app, revoked.id).await.unwrap());
        assert!(!grants::is_known(db, AppId::new(), revoked.id).await.unwrap());
    }

    async fn a_preview_is_loaded_until_it_is_revoked(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let (live, over) = (preview(NOW.plus_seconds(60)), preview(NOW.plus_seconds(-60)));
        let both = [&live, &over].map(|one| AccessWrite::Preview(Arc::new(one.clone())));
        write(test, &store, app, both.into()).await;
        let loaded = async || {
            let mut loaded = load(db, app).await.access.previews;
            loaded.sort_by_key(|one| one.expires_at);
            loaded
        };
        assert_eq!(loaded().await, [over.clone(), live.clone()], "the clock may be set back");
        let revoked = Preview { revoked_at: Some(NOW), ..live.clone() };
        write(test, &store, app, vec![AccessWrite::Preview(Arc::new(revoked))]).await;
        assert_eq!(loaded().await, std::slice::from_ref(&over));
        for id in [live.id, over.id] {
            assert!(previews::is_known(db, app, id).await.unwrap());
            assert!(!previews::is_known(db, AppId::new(), id).await.unwrap());
        }
    }

    async fn a_credential_has_the_tokens_it_was_written_with_last(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let made = credential(vec![token(None)]);
        let put = |one: &Credential| vec![AccessWrite::Credential(Arc::new(one.clone()))];
        write(test, &store, app, put(&made)).await;
        assert_eq!(load(db, app).await.access.credentials, std::slice::from_ref(&made));
        let first = made.tokens[0].clone();
        assert_eq!(credentials::by_token(db, first.hash).await.unwrap(), Some((app, made.id)));
        assert_eq!(credentials::by_token(db, hash()).await.unwrap(), None);

        let old = CredentialToken { expires_at: Some(NOW.plus_seconds(60)), ..first.clone() };
        let new = token(None);
        let status = CredentialStatus::Paused;
        let rotated = Credential { tokens: vec![old, new.clone()], status, ..made.clone() };
        write(test, &store, app, put(&rotated)).await;
        let mut loaded = load(db, app).await.access.credentials;
        loaded[0].tokens.sort_by_key(|token| token.expires_at.is_none());
        assert_eq!(loaded, std::slice::from_ref(&rotated));
        let list = async || {
            let listed = credentials::list(db, app, None, 9).await.unwrap();
            let parts = listed.into_iter().map(|one| (one.credential, one.previous_ends_at));
            parts.collect::<Vec<_>>()
        };
        let without = Credential { tokens: Vec::new(), ..rotated.clone() };
        assert_eq!(list().await, [(without, Some(NOW.plus_seconds(60)))]);

        let status = CredentialStatus::Revoked;
        let revoked = Credential { tokens: Vec::new(), status, ..rotated };
        write(test, &store, app, put(&revoked)).await;
        assert_eq!(load(db, app).await.access.credentials, []);
        assert_eq!(list().await, [(revoked, None)]);
        for token in [first, new] {
            assert_eq!(credentials::by_token(db, token.hash).await.unwrap(), None);
        }
        assert!(credentials::is_known(db, app, made.id).await.unwrap());
        assert!(!credentials::is_known(db, AppId::new(), made.id).await.unwrap());
    }

    async fn of_what_was_revoked_the_newest_are_kept(test: &TestDb) {
        let db = &test.db;
        let (app, other) = (deploy(test, "notes").await, deploy(test, "other").await);
        let store = start(db).await;
        let made = preview(NOW.plus_seconds(60));
        let live = (grant(0), made, credential(vec![token(None)]));
        let (link, preview, service) = live.clone();
        let kept = [
            AccessWrite::Grant(Arc::new(link)),
            AccessWrite::Preview(Arc::new(preview)),
            AccessWrite::Credential(Arc::new(service)),
        ];
        write(test, &store, app, kept.into()).await;
        let mut ids = Vec::new();
        for at in 0..i64::from(REVOKED_KEPT_MAX) + 3 {
            let (revoked, writes) = revoked(NOW.plus_seconds(at));
            ids.push(revoked);
            if at == 0 {
                let (foreign, writes) = self::revoked(NOW);
                write(test, &store, other, writes).await;
                ids.push(foreign);
            }
            write(test, &store, app, writes).await;
        }
        let foreign = ids.remove(1);
        let known = async |app, (link, preview, service): (GrantId, PreviewId, CredentialId)| {
            [
                grants::is_known(db, app, link).await.unwrap(),
                previews::is_known(db, app, preview).await.unwrap(),
                credentials::is_known(db, app, service).await.unwrap(),
            ]
        };
        assert_eq!(known(other, foreign).await, [true; 3]);
        for (at, ids) in ids.into_iter().enumerate() {
            assert_eq!(known(app, ids).await, [at >= 3; 3], "revoked after {at} s");
        }
        let loaded = load(db, app).await.access;
        assert_eq!((&*loaded.grants, &*loaded.previews), (&[live.0][..], &[live.1][..]));
        assert_eq!(loaded.credentials, [live.2]);
    }

    async fn previews_that_are_over_make_room_for_others(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let store = start(db).await;
        let kept = PREVIEWS_PER_APP_MAX + REVOKED_KEPT_MAX as usize;
        let all: Vec<_> =
            (0..=i64::try_from(kept).unwrap()).map(|at| preview(NOW.plus_seconds(at))).collect();
        let put = |one: &Preview| AccessWrite::Preview(Arc::new(one.clone()));
        write(test, &store, app, all[1..].iter().rev().map(put).collect()).await;
        assert!(previews::is_known(db, app, all[1].id).await.unwrap());
        write(test, &store, app, vec![put(&all[0])]).await;
        for (at, one) in all.iter().enumerate().take(3) {
            assert_eq!(previews::is_known(db, app, one.id).await.unwrap(), at > 0, "{at}");
        }
    }
}
