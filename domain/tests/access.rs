//! Who may do what: the table of callers and subjects, which refusal is given, and that what a
//! list shows is what single reads show.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode, Principal, PrincipalKind, Result,
    access::{
        Abilities, Ability, Access, Allowlist, Authorship, CollectionGrant, Operation, RowScope,
        Standing, Subject, SubjectList, Tier, read_rights,
    },
    manifest::{Collection, Manifest, Permissions, Retention},
};
use uuid::Uuid;

fn who(kind: PrincipalKind, n: u128) -> Principal {
    Principal::new(kind, Uuid::from_u128(n))
}

fn human(n: u128) -> Principal {
    who(PrincipalKind::Human, n)
}

fn subject(text: &str) -> Subject {
    match text {
        "owner" => Subject::Owner,
        "member" => Subject::Member,
        "anyone" => Subject::Anyone,
        "creator" => Subject::Creator,
        "editor" => Subject::Editor { legacy_author: false },
        "author" => Subject::Editor { legacy_author: true },
        role => match role.split_once(':') {
            None => Subject::Role(role.into()),
            Some((role, "own")) => Subject::RoleOwn(role.into()),
            Some((role, "creator")) => Subject::RoleCreator(role.into()),
            Some(_) => panic!("no subject: {text}"),
        },
    }
}

fn list(texts: &[&str]) -> SubjectList {
    texts.iter().map(|text| subject(text)).collect()
}

fn collection(permissions: Permissions) -> Collection {
    Collection {
        name: "entries".into(),
        schema: None,
        permissions,
        unique: Vec::new(),
        append_only: false,
        anon_write_budget: None,
        challenge: false,
        relations: BTreeMap::new(),
        retention: Retention::default(),
    }
}

fn with_update(read: &[&str], update: &[&str]) -> Collection {
    collection(Permissions { read: list(read), update: list(update), ..Permissions::default() })
}

fn row(creator: u128, editor: u128) -> Authorship {
    Authorship { creator: human(creator), editor: human(editor) }
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> ErrorCode {
    result.expect_err("a refusal").code
}

fn credential(grant: CollectionGrant) -> Standing {
    let named = BTreeMap::from([("entries".into(), grant)]);
    Standing {
        allowlist: Some(Arc::new(Allowlist { named, following: None })),
        ..Standing::new(who(PrincipalKind::Credential, 9), Tier::Owner)
    }
}

fn satisfies(standing: &Standing, text: &str, row: Authorship) -> bool {
    RowScope::of_list(standing, &list(&[text])).admits(row)
}

#[test]
fn each_caller_satisfies_exactly_its_subjects() {
    let owner = Standing::new(human(1), Tier::Owner);
    let member = Standing::new(human(2), Tier::Member);
    let editor = Standing::new(human(3), Tier::Member).with_role("editors".into());
    let grant =
        Standing::new(who(PrincipalKind::Grant, 4), Tier::Visitor).with_role("staff".into());
    let visitor = Standing::new(who(PrincipalKind::Anonymous, 5), Tier::Visitor);
    let foreign = row(99, 99);
    let all = ["owner", "member", "anyone", "editors", "staff", "creator", "editor"];
    for (standing, expected) in [
        (&owner, &["owner", "member", "anyone"][..]),
        (&member, &["member", "anyone"]),
        (&editor, &["member", "anyone", "editors"]),
        (&grant, &["anyone", "staff"]),
        (&visitor, &["anyone"]),
    ] {
        let holds: Vec<_> = all.iter().filter(|text| satisfies(standing, text, foreign)).collect();
        assert_eq!(holds, expected.iter().collect::<Vec<_>>(), "{standing:?}");
    }
}

#[test]
fn row_scoped_subjects_compare_creator_and_editor() {
    let plain = Standing::new(human(1), Tier::Member);
    let editor = plain.clone().with_role("editors".into());
    // Columns: created by the caller, edited by the caller, neither.
    for (text, standing, expected) in [
        ("creator", &plain, [true, false, false]),
        ("editor", &plain, [false, true, false]),
        ("author", &plain, [false, true, false]),
        ("editors:creator", &plain, [false, false, false]),
        ("editors:own", &plain, [false, false, false]),
        ("editors:creator", &editor, [true, false, false]),
        ("editors:own", &editor, [true, true, false]),
    ] {
        let holds = [row(1, 2), row(2, 1), row(2, 2)].map(|row| satisfies(standing, text, row));
        assert_eq!(holds, expected, "{text}");
    }
}

#[test]
fn lists_are_exact_even_for_the_owner() {
    let owner = Standing::new(human(1), Tier::Owner);
    let closed = with_update(&[], &[]);
    let access = Access::new(&owner, &closed);
    assert_eq!(code(access.list()), ErrorCode::CollectionReadForbidden);
    assert_eq!(code(access.read(Some(row(1, 1)))), ErrorCode::RowNotFound);
    assert_eq!(code(access.count()), ErrorCode::CollectionCountForbidden);
    let readable = with_update(&["owner"], &[]);
    let access = Access::new(&owner, &readable);
    assert_eq!(code(access.update(Some(row(1, 1)))), ErrorCode::CollectionWriteForbidden);
    access.trash().expect("the trash depends on no list");
    access.purge(None).expect("nor does purge");
}

#[test]
fn a_hidden_and_an_absent_row_answer_alike_whatever_is_asked() {
    let visitor = Standing::new(human(1), Tier::Visitor);
    let own_rows = collection(Permissions {
        read: list(&["creator"]),
        write: list(&["anyone"]),
        update: list(&["anyone"]),
        delete: list(&["anyone"]),
        ..Permissions::default()
    });
    let access = Access::new(&visitor, &own_rows);
    let hidden = Some(row(2, 2));
    let absent = access.read(None).expect_err("absent");
    assert_eq!(absent.code, ErrorCode::RowNotFound);
    for refusal in [
        access.read(hidden),
        access.update(hidden),
        access.update(None),
        access.delete(hidden),
        access.delete(None),
        access.create_at(hidden),
    ] {
        assert_eq!(refusal.expect_err("hidden"), absent);
    }
    access.create_at(None).expect("a new row");
    access.create_at(Some(row(1, 2))).expect("its own row at that key");
}

#[test]
fn who_may_neither_write_nor_read_all_does_not_learn_what_is_there() {
    let visitor = Standing::new(human(1), Tier::Visitor);
    for (read, expected) in [
        (&[][..], ErrorCode::RowNotFound),
        (&["owner"], ErrorCode::RowNotFound),
        (&["creator"], ErrorCode::RowNotFound),
        (&["anyone"], ErrorCode::CollectionWriteForbidden),
    ] {
        let entries = collection(Permissions {
            read: list(read),
            write: list(&["owner"]),
            ..Permissions::default()
        });
        let access = Access::new(&visitor, &entries);
        assert_eq!(code(access.create_at(None)), expected, "{read:?}");
        assert_eq!(access.create_at(None), access.create_at(Some(row(2, 2))), "{read:?}");
        assert_eq!(code(access.create()), ErrorCode::CollectionWriteForbidden);
        // Of a row that it sees it learns nothing new.
        let seen = access.read(Some(row(1, 2))).is_ok();
        let told = if seen { ErrorCode::CollectionWriteForbidden } else { ErrorCode::RowNotFound };
        assert_eq!(code(access.create_at(Some(row(1, 2)))), told, "{read:?}");
    }
}

#[test]
fn an_upsert_tells_nobody_of_a_row_that_it_may_neither_change_nor_read() {
    let all = ["owner"];
    let lists = Permissions {
        read: list(&all),
        write: list(&all),
        update: list(&all),
        delete: list(&all),
        ..Permissions::default()
    };
    let entries = collection(lists);
    let others = Some(row(2, 2));
    for operations in [&[Operation::Update][..], &[Operation::Update, Operation::Read]] {
        let own = credential(CollectionGrant::new(operations, true));
        let access = Access::new(&own, &entries);
        assert_eq!(code(access.upsert(others)), ErrorCode::CredentialScopeForbidden);
        assert_eq!(access.upsert(others), access.upsert(None), "{operations:?}");
    }
    // A credential that may make rows finds a value taken, and that it is its own bounds that end there.
    let creator = credential(CollectionGrant::new(&[Operation::Create], false));
    let access = Access::new(&creator, &entries);
    assert_eq!(code(access.upsert(others)), ErrorCode::CredentialScopeForbidden);
    access.upsert(None).expect("a new row");
    // A row that it may change it changes, also where it may not read it; of one that it sees it is told
    // why not.
    let writer = credential(CollectionGrant::new(&[Operation::Create, Operation::Update], false));
    Access::new(&writer, &entries).upsert(others).expect("merged");
    let reader = credential(CollectionGrant::new(&[Operation::Create, Operation::Read], false));
    let told = Access::new(&reader, &entries).upsert(others);
    assert_eq!(code(told), ErrorCode::CredentialScopeForbidden);
}

#[test]
fn an_upsert_tells_of_no_value_and_is_refused_as_the_update_is() {
    let (others, rights) = (Some(row(2, 2)), [Operation::Create, Operation::Read]);
    for (read, rights, expected) in [
        (&["owner"][..], &rights[..1], ErrorCode::CollectionWriteForbidden),
        (&[], &rights[..1], ErrorCode::RowNotFound),
        (&[], &rights, ErrorCode::RowNotFound),
    ] {
        let entries = with_update(read, &["owner"]);
        let creator = credential(CollectionGrant::new(rights, false));
        let access = Access::new(&creator, &entries);
        assert_eq!(code(access.upsert(None)), expected);
        assert_eq!(access.upsert(others), access.upsert(None), "{read:?} {rights:?}");
    }
    let writer = credential(CollectionGrant::new(&[Operation::Create, Operation::Update], false));
    for update in ["staff", "editor"] {
        let mut entries = with_update(&["owner"], &[update]);
        entries.permissions.write = list(&["owner"]);
        let access = Access::new(&writer, &entries);
        access.upsert(None).expect("a new row");
        assert_eq!(access.upsert(others), access.update(others), "{update}");
    }
}

#[test]
fn a_refusal_names_the_subjects_consulted() {
    let visitor = Standing::new(human(1), Tier::Visitor);
    let entries = collection(Permissions {
        read: list(&["anyone"]),
        write: list(&["member"]),
        update: list(&["owner", "creator"]),
        delete: list(&["owner", "editors:own"]),
        ..Permissions::default()
    });
    let access = Access::new(&visitor, &entries);
    let foreign = Some(row(2, 2));
    for (error, code, required) in [
        (access.create(), ErrorCode::CollectionWriteForbidden, &["member"][..]),
        (access.update(foreign), ErrorCode::CollectionWriteForbidden, &["owner", "creator"]),
        (access.delete(foreign), ErrorCode::CollectionDeleteForbidden, &["owner", "editors:own"]),
        (access.count().map(|_| ()), ErrorCode::CollectionCountForbidden, &[]),
    ] {
        let error = error.expect_err("refused");
        assert_eq!(error.code, code);
        assert_eq!(error.required.as_deref().expect("required"), required);
        assert_eq!(error.message.contains("is empty"), required.is_empty());
    }
    assert_eq!(code(access.trash()), ErrorCode::Forbidden);
    assert_eq!(code(access.purge(foreign)), ErrorCode::PurgeForbidden);
}

#[test]
fn a_purge_tells_nothing_of_rows_that_its_caller_does_not_see() {
    let visitor = Standing::new(human(1), Tier::Visitor);
    let entries = with_update(&["creator"], &["creator"]);
    let access = Access::new(&visitor, &entries);
    assert_eq!(code(access.purge(Some(row(1, 1)))), ErrorCode::PurgeForbidden);
    assert_eq!(code(access.purge(Some(row(2, 2)))), ErrorCode::RowNotFound);
    assert_eq!(code(access.purge(None)), ErrorCode::RowNotFound);
    let owner = Standing::new(human(2), Tier::Owner);
    assert!(Access::new(&owner, &entries).purge(None).is_ok());
}

#[test]
fn author_not_allowed_needs_a_list_of_authors_alone() {
    let visitor = Standing::new(human(1), Tier::Visitor);
    let foreign = Some(row(2, 2));
    for (update, expected) in [
        (&["author"][..], ErrorCode::AuthorNotAllowed),
        (&["editor"], ErrorCode::AuthorNotAllowed),
        (&["author", "editor"], ErrorCode::AuthorNotAllowed),
        (&["creator"], ErrorCode::CollectionWriteForbidden),
        (&["author", "owner"], ErrorCode::CollectionWriteForbidden),
        (&[], ErrorCode::CollectionWriteForbidden),
    ] {
        let entries = with_update(&["anyone"], update);
        assert_eq!(code(Access::new(&visitor, &entries).update(foreign)), expected, "{update:?}");
    }
    let hidden = with_update(&["owner"], &["author"]);
    assert_eq!(code(Access::new(&visitor, &hidden).update(foreign)), ErrorCode::RowNotFound);
}

#[test]
fn a_preview_reads_and_counts_and_nothing_else() {
    let preview = Standing { read_only: true, ..Standing::new(human(1), Tier::Visitor) };
    let anyone = list(&["anyone"]);
    let entries = collection(Permissions {
        read: anyone.clone(),
        write: anyone.clone(),
        update: anyone.clone(),
        delete: anyone.clone(),
        count_read: anyone,
    });
    let access = Access::new(&preview, &entries);
    let mine = Some(row(1, 1));
    access.list().expect("reads");
    access.read(mine).expect("reads");
    access.count().expect("counts");
    assert_eq!(code(access.create()), ErrorCode::CollectionWriteForbidden);
    assert_eq!(code(access.update(mine)), ErrorCode::CollectionWriteForbidden);
    assert_eq!(code(access.delete(mine)), ErrorCode::CollectionDeleteForbidden);
}

#[test]
fn a_credential_is_bounded_by_its_allowlist_and_by_the_owner() {
    let reader = credential(CollectionGrant::new(&[Operation::Read], false));
    let entries = with_update(&["owner"], &["owner"]);
    let access = Access::new(&reader, &entries);
    access.list().expect("listed");
    for refusal in [access.update(None), access.create(), access.trash(), access.purge(None)] {
        assert_eq!(code(refusal), ErrorCode::CredentialScopeForbidden);
    }
    // Beyond what the owner may: the collection's own refusal.
    let full = credential(CollectionGrant::new(&[Operation::Read, Operation::Update], false));
    let closed = with_update(&["owner"], &[]);
    let foreign = Some(row(1, 1));
    assert_eq!(
        code(Access::new(&full, &closed).update(foreign)),
        ErrorCode::CollectionWriteForbidden
    );
    // A collection it does not name.
    let mut later = with_update(&["owner"], &["owner"]);
    later.name = "later".into();
    assert_eq!(code(Access::new(&full, &later).list()), ErrorCode::CredentialScopeForbidden);
    let following = Standing {
        allowlist: Some(Arc::new(Allowlist {
            following: Some(CollectionGrant::new(&[Operation::Read], false)),
            ..Allowlist::default()
        })),
        ..full
    };
    Access::new(&following, &later).list().expect("a following credential tracks the app");
}

#[test]
fn a_credential_of_scope_own_sees_what_it_created() {
    let all = [Operation::Read, Operation::Update, Operation::Count];
    let own = credential(CollectionGrant::new(&all, true));
    let entries = with_update(&["owner", "editor"], &["owner"]);
    let access = Access::new(&own, &entries);
    let mine = Authorship { creator: own.principal, editor: human(1) };
    let edited = Authorship { creator: human(1), editor: own.principal };
    let scope = access.list().expect("listed");
    assert!(scope.admits(mine) && !scope.admits(edited) && !scope.admits(row(1, 1)));
    access.update(Some(mine)).expect("its own row");
    assert_eq!(code(access.update(Some(edited))), ErrorCode::RowNotFound);
    // Nor does a list that admits editors alone open more.
    let by_editors = with_update(&["editor"], &[]);
    let scope = RowScope::readable(&own, &by_editors);
    let both = Authorship { editor: own.principal, ..mine };
    assert_eq!([both, mine, edited].map(|row| scope.admits(row)), [true, false, false]);
}

fn any_subjects() -> impl Strategy<Value = SubjectList> {
    let any = prop::sample::select(vec![
        "owner",
        "member",
        "anyone",
        "editors",
        "staff",
        "creator",
        "editor",
        "author",
        "editors:own",
        "editors:creator",
        "staff:own",
    ]);
    prop::collection::vec(any, 0..4).prop_map(|texts| list(&texts))
}

fn any_standing() -> impl Strategy<Value = Standing> {
    let tier = prop::sample::select(vec![Tier::Visitor, Tier::Member, Tier::Owner]);
    let role = prop::sample::select(vec![None, Some("editors"), Some("staff")]);
    let grant = prop::option::of((
        prop::sample::subsequence(vec![Operation::Read, Operation::Update], 0..=2),
        any::<bool>(),
    ));
    (1u128..4, tier, role, grant).prop_map(|(n, tier, role, grant)| Standing {
        principal: human(n),
        tier,
        role: role.map(Into::into),
        read_only: false,
        allowlist: grant.map(|(operations, own)| {
            let grant = CollectionGrant::new(&operations, own);
            Arc::new(Allowlist { named: [("entries".into(), grant)].into(), following: None })
        }),
    })
}

/// Whether an ability holds on a row for whoever has it.
fn reaches(ability: Ability, standing: &Standing, row: Authorship) -> bool {
    let (creator, editor) = (row.creator == standing.principal, row.editor == standing.principal);
    match ability {
        Ability::All => true,
        Ability::Creator => creator,
        Ability::Editor => editor,
        Ability::CreatorOrEditor => creator || editor,
        Ability::None => false,
    }
}

proptest! {
    #[test]
    fn what_a_page_is_told_beforehand_is_what_it_is_answered_then(
        standing in any_standing(), read_only in any::<bool>(),
        read in any_subjects(), write in any_subjects(), update in any_subjects(),
        delete in any_subjects(), count_read in any_subjects(),
        creator in 1u128..4, editor in 1u128..4,
    ) {
        let standing = Standing { allowlist: None, read_only, ..standing };
        let entries = collection(Permissions { read, write, update, delete, count_read });
        let (told, access) = (Abilities::of(&standing, &entries), Access::new(&standing, &entries));
        let row = row(creator, editor);
        let seen = reaches(told.read, &standing, row);
        prop_assert_eq!(access.read(Some(row)).is_ok(), seen);
        prop_assert_eq!(access.create().is_ok(), told.write == Ability::All);
        let updates = seen && reaches(told.update, &standing, row);
        prop_assert_eq!(access.update(Some(row)).is_ok(), updates);
        let deletes = seen && reaches(told.delete, &standing, row);
        prop_assert_eq!(access.delete(Some(row)).is_ok(), deletes);
        // Nothing is promised of rows that are not read, but where a list goes by creator and one by editor.
        for change in [told.update, told.delete] {
            let crossed = [change, told.read].iter().all(|it| matches!(it, Ability::Creator | Ability::Editor));
            prop_assert!(seen || crossed || !reaches(change, &standing, row));
        }
        prop_assert_eq!(access.count().is_ok(), told.count != Ability::None);
        let grown = Collection { append_only: true, ..entries };
        let told = Abilities::of(&standing, &grown);
        prop_assert_eq!((told.update, told.delete), (Ability::None, Ability::None));
    }

    #[test]
    fn a_list_shows_exactly_the_rows_that_single_reads_show(
        standing in any_standing(), read in any_subjects(), creator in 1u128..4, editor in 1u128..4,
    ) {
        let entries = collection(Permissions { read, ..Permissions::default() });
        let access = Access::new(&standing, &entries);
        let row = row(creator, editor);
        let single = access.read(Some(row)).is_ok();
        prop_assert_eq!(access.list().is_ok_and(|scope| scope.admits(row)), single);
        prop_assert_eq!(RowScope::readable(&standing, &entries).admits(row), single);
    }

    #[test]
    fn equal_rights_give_equal_fingerprints_and_other_rights_others(
        a in any_standing(), b in any_standing(), read in any_subjects(),
    ) {
        let entries = Arc::new(collection(Permissions { read, ..Permissions::default() }));
        let manifest = Manifest {
            collections: [(entries.name.clone(), entries.clone())].into(),
            ..Manifest::default()
        };
        let rights = |standing: &Standing| read_rights(standing, &manifest);
        prop_assert_eq!(rights(&a), rights(&a.clone()));
        let scopes = (RowScope::readable(&a, &entries), RowScope::readable(&b, &entries));
        prop_assert_eq!(scopes.0 == scopes.1, scopes.0.fingerprint() == scopes.1.fingerprint());
        if (a.tier, a.is_owner()) != (b.tier, b.is_owner()) {
            prop_assert_ne!(rights(&a), rights(&b));
        } else {
            // The owner hears of everything, whatever it reads.
            prop_assert_eq!(rights(&a) == rights(&b), a.is_owner() || scopes.0 == scopes.1);
        }
        // Which collections they are is part of it.
        if !a.is_owner() && scopes.0 != RowScope::None {
            let renamed = Manifest {
                collections: [("others".into(), entries.clone())].into(),
                ..Manifest::default()
            };
            prop_assert_ne!(rights(&a), read_rights(&a, &renamed));
        }
        // A collection of which one reads nothing is as none at all.
        if a.is_owner() || scopes.0 == RowScope::None {
            prop_assert_eq!(rights(&a), read_rights(&a, &Manifest::default()));
        }
    }
}
