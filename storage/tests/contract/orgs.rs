//! Organizations and who is in them.

use rookery_domain::{
    id::{HumanId, OrgId},
    orgs::OrgRole::{Admin, Member},
};
use rookery_storage::{
    Db,
    closing::{self, Closing},
    directory::{self, Entry},
    idempotency::KeepResponse,
    orgs::{self, NewMember, NewOrg, Org, OrgMember, OrgRefusal},
};

use crate::support::{NOW, at_once, contract, human};

/// Has an account that may found so many organizations found one.
async fn found(
    db: &Db,
    id: OrgId,
    founder: HumanId,
    orgs_max: u64,
) -> Result<(Org, OrgMember), OrgRefusal> {
    let new = NewOrg { id, name: "Rooks".into(), founder, orgs_max };
    orgs::create(db, new, NOW, KeepResponse::nothing()).await.unwrap()
}

pub(super) async fn founded(db: &Db, founder: HumanId) -> OrgId {
    let id = OrgId::new();
    found(db, id, founder, 10).await.unwrap();
    id
}

/// Adds the account with this address as `by`.
pub(super) async fn add(
    db: &Db,
    org: OrgId,
    by: HumanId,
    email: &str,
    role: rookery_domain::orgs::OrgRole,
) -> Result<OrgMember, OrgRefusal> {
    let new = NewMember { org, by, email: email.into(), role, members_max: 4 };
    orgs::add_member(db, new, NOW.plus_seconds(1), KeepResponse::nothing()).await.unwrap()
}

/// What a fresh process would know.
async fn known(db: &Db) -> (Vec<Org>, Vec<OrgMember>) {
    let (mut all, mut members) = (Vec::new(), Vec::new());
    directory::load(db, NOW, |entry| match entry {
        Entry::Org(org) => all.push(org),
        Entry::OrgMember(member) => members.push(member),
        _ => {}
    })
    .await
    .unwrap();
    (all, members)
}

contract! {
    async fn an_organization_begins_with_its_founder(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let id = OrgId::new();
        let (org, member) = found(db, id, ada, 1).await.unwrap();
        assert_eq!((org.id, org.billing, &*org.name), (id, ada, "Rooks"));
        assert_eq!((member.org, member.human, member.role), (id, ada, Admin));
        assert_eq!(known(db).await, (vec![org], vec![member]));
        assert_eq!(found(db, OrgId::new(), ada, 1).await, Err(OrgRefusal::Full));
        let nobody = HumanId::new();
        assert_eq!(found(db, OrgId::new(), nobody, 1).await, Err(OrgRefusal::NoSuchAccount));
        assert_eq!(known(db).await.0.len(), 1);
    }

    async fn admins_alone_change_an_organization(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let bob = human(db, "bob@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let org = founded(db, ada).await;
        let added = add(db, org, ada, "bob@example.com", Member).await.unwrap();
        assert_eq!((added.human, added.role), (bob, Member));
        assert_eq!(add(db, org, ada, "bob@example.com", Admin).await, Err(OrgRefusal::IsMember));
        let unknown = add(db, org, ada, "zoe@example.com", Member).await;
        assert_eq!(unknown, Err(OrgRefusal::NoSuchAccount));
        for by in [bob, eve] {
            assert_eq!(
                add(db, org, by, "eve@example.com", Member).await,
                Err(OrgRefusal::NotAdmin),
            );
            let renamed = orgs::rename(db, org, by, "Mine".into(), NOW).await.unwrap();
            assert_eq!(renamed, Err(OrgRefusal::NotAdmin));
            let raised = orgs::set_role(db, org, by, bob, Admin).await.unwrap();
            assert_eq!(raised, Err(OrgRefusal::NotAdmin));
            let removed = orgs::remove_member(db, org, by, bob, NOW).await.unwrap();
            assert_eq!(removed, Err(OrgRefusal::NotAdmin));
        }
        let renamed = orgs::rename(db, org, ada, "Ravens".into(), NOW.plus_seconds(9)).await;
        let renamed = renamed.unwrap().unwrap();
        assert_eq!((&*renamed.name, renamed.updated_at), ("Ravens", NOW.plus_seconds(9)));
        let raised = orgs::set_role(db, org, ada, bob, Admin).await.unwrap().unwrap();
        assert_eq!(raised, OrgMember { role: Admin, ..added });
        let (orgs, members) = known(db).await;
        assert_eq!(orgs, [renamed]);
        assert!(members.contains(&raised) && members.len() == 2);
    }

    async fn the_last_admin_stays_and_billing_follows_the_admins(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let bob = human(db, "bob@example.com").await.id;
        let org = founded(db, ada).await;
        add(db, org, ada, "bob@example.com", Member).await.unwrap();
        let lowered = orgs::set_role(db, org, ada, ada, Member).await.unwrap();
        assert_eq!(lowered, Err(OrgRefusal::LastAdmin));
        let removed = orgs::remove_member(db, org, ada, ada, NOW).await.unwrap();
        assert_eq!(removed, Err(OrgRefusal::LastAdmin));
        // An admin may be told to stay one.
        assert_eq!(orgs::set_role(db, org, ada, ada, Admin).await.unwrap().unwrap().role, Admin);
        orgs::set_role(db, org, ada, bob, Admin).await.unwrap().unwrap();
        let left = orgs::remove_member(db, org, ada, ada, NOW).await.unwrap().unwrap().unwrap();
        assert_eq!(left.billing, bob);
        assert_eq!(orgs::remove_member(db, org, bob, ada, NOW).await.unwrap(), Ok(None));
        let never = orgs::remove_member(db, org, bob, HumanId::new(), NOW).await.unwrap();
        assert_eq!(never, Err(OrgRefusal::NoSuchMember));
        let gone = orgs::set_role(db, org, bob, ada, Member).await.unwrap();
        assert_eq!(gone, Err(OrgRefusal::NoSuchMember));
        // Whoever was removed can come back, and is then a member as any other.
        assert_eq!(add(db, org, bob, "ada@example.com", Member).await.unwrap().role, Member);
        let left = orgs::remove_member(db, org, bob, ada, NOW).await.unwrap().unwrap().unwrap();
        assert_eq!(left.billing, bob);
    }

    async fn who_leaves_for_good_leaves_nobody_without_an_admin(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let bob = human(db, "bob@example.com").await.id;
        let (alone, shared) = (founded(db, ada).await, founded(db, ada).await);
        add(db, shared, ada, "bob@example.com", Member).await.unwrap();
        let close = |email: &str| closing::close(db, ada, Some(email.to_owned()), NOW);
        let refused = close("ada@example.com").await.unwrap();
        assert_eq!(refused, Closing::LastAdmin(shared));
        assert_eq!(known(db).await.1.len(), 3, "all or nothing");
        orgs::set_role(db, shared, ada, bob, Admin).await.unwrap().unwrap();
        assert_eq!(close("bob@example.com").await.unwrap(), Closing::NoSuchAccount);
        let closed = close("ada@example.com").await.unwrap();
        let Closing::Closed { human, left } = closed else { panic!("{closed:?}") };
        assert_eq!((human.id, human.email, human.closed_at), (ada, None, Some(NOW)));
        let billing: Vec<_> = left.iter().map(|org| (org.id, org.billing)).collect();
        assert!(billing.contains(&(alone, ada)) && billing.contains(&(shared, bob)));
        let (_, members) = known(db).await;
        assert_eq!(members.iter().map(|m| (m.org, m.human)).collect::<Vec<_>>(), [(shared, bob)]);
        assert_eq!(close("ada@example.com").await.unwrap(), Closing::NoSuchAccount);
    }

    async fn an_organization_has_so_many_members_and_not_one_more(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let org = founded(db, ada).await;
        for i in 0..16 {
            human(db, &format!("m{i}@example.com")).await;
        }
        let answers = at_once(16, |i| {
            let db = db.clone();
            async move { add(&db, org, ada, &format!("m{i}@example.com"), Member).await }
        })
        .await;
        let full = answers.iter().filter(|answer| **answer == Err(OrgRefusal::Full)).count();
        assert_eq!((full, answers.len() - full), (13, 3), "the founder is one of four");
        assert_eq!(known(db).await.1.len(), 4);
    }

    async fn admins_who_demote_each_other_at_once_leave_one(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let bob = human(db, "bob@example.com").await.id;
        let org = founded(db, ada).await;
        add(db, org, ada, "bob@example.com", Admin).await.unwrap();
        for _ in 0..10 {
            let answers = at_once(16, |i| {
                let db = db.clone();
                let (by, other) = if i % 2 == 0 { (ada, bob) } else { (bob, ada) };
                async move { orgs::set_role(&db, org, by, other, Member).await.unwrap() }
            })
            .await;
            let (_, members) = known(db).await;
            let admins: Vec<_> = members.iter().filter(|member| member.role == Admin).collect();
            assert_eq!(admins.len(), 1, "{answers:?}");
            let (winner, loser) = if admins[0].human == ada { (ada, bob) } else { (bob, ada) };
            orgs::set_role(db, org, winner, loser, Admin).await.unwrap().unwrap();
        }
    }
}
