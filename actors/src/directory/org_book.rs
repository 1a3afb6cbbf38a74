//! Organizations in memory: each with its members, and each human's.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use rookery_domain::{
    Timestamp,
    id::{HumanId, OrgId},
};
use rookery_storage::orgs::{Org, OrgMember};

use crate::orgs::Roles;

/// Every organization.
#[derive(Default)]
pub(super) struct OrgBook {
    orgs: HashMap<OrgId, Entry>,
    /// Organizations of each human, the oldest first.
    joined: HashMap<HumanId, BTreeSet<(Timestamp, OrgId)>>,
}

struct Entry {
    org: Arc<Org>,
    members: HashMap<HumanId, OrgMember>,
    /// The members in the order in which they came.
    order: BTreeSet<(Timestamp, HumanId)>,
}

impl OrgBook {
    /// Adds an organization, or replaces its record; its members stay.
    pub(super) fn put(&mut self, org: Org) {
        let org = Arc::new(org);
        let entry = self.orgs.entry(org.id);
        entry.and_modify(|entry| entry.org = Arc::clone(&org)).or_insert_with(|| Entry {
            org,
            members: HashMap::new(),
            order: BTreeSet::new(),
        });
    }

    /// Adds a member to its organization, which must be here, or replaces its record.
    pub(super) fn put_member(&mut self, member: OrgMember) {
        let Some(entry) = self.orgs.get_mut(&member.org) else { return };
        if let Some(before) = entry.members.insert(member.human, member) {
            entry.order.remove(&(before.created_at, before.human));
        }
        entry.order.insert((member.created_at, member.human));
        let joined = self.joined.entry(member.human).or_default();
        joined.insert((entry.org.created_at, member.org));
    }

    pub(super) fn remove_member(&mut self, org: OrgId, human: HumanId) {
        let Some(entry) = self.orgs.get_mut(&org) else { return };
        if let Some(before) = entry.members.remove(&human) {
            entry.order.remove(&(before.created_at, human));
        }
        if let Some(joined) = self.joined.get_mut(&human) {
            joined.remove(&(entry.org.created_at, org));
        }
    }

    /// What an organization is called.
    pub(super) fn name(&self, org: OrgId) -> Option<&str> {
        self.orgs.get(&org).map(|entry| &*entry.org.name)
    }

    /// The account that is billed for an organization.
    pub(super) fn billing(&self, org: OrgId) -> Option<HumanId> {
        self.orgs.get(&org).map(|entry| entry.org.billing)
    }

    /// The organization, what `human` is there, and how many are in it; `None` for a stranger.
    pub(super) fn seen_by(
        &self,
        human: HumanId,
        org: OrgId,
    ) -> Option<(&Arc<Org>, OrgMember, usize)> {
        let entry = self.orgs.get(&org)?;
        let member = entry.members.get(&human)?;
        Some((&entry.org, *member, entry.members.len()))
    }

    /// A human's organizations, the newest first, behind the one at `after`.
    pub(super) fn of(
        &self,
        human: HumanId,
        after: Option<(Timestamp, OrgId)>,
    ) -> impl Iterator<Item = OrgId> {
        let before = (Unbounded, after.map_or(Unbounded, Excluded));
        let joined = self.joined.get(&human).into_iter();
        joined.flat_map(move |joined| joined.range(before).rev()).map(|(_, org)| *org)
    }

    /// Members of an organization in the order in which they came, behind the one at `after`.
    pub(super) fn members(
        &self,
        org: OrgId,
        after: Option<(Timestamp, HumanId)>,
    ) -> impl Iterator<Item = OrgMember> {
        let behind = (after.map_or(Unbounded, Excluded), Unbounded);
        self.orgs.get(&org).into_iter().flat_map(move |entry| {
            let places = entry.order.range(behind);
            places.filter_map(|(_, human)| entry.members.get(human).copied())
        })
    }

    /// What everybody is in every organization.
    pub(super) fn roles(&self) -> Roles {
        let members = self.orgs.values().flat_map(|entry| entry.members.values());
        members.map(|member| ((member.org, member.human), member.role)).collect()
    }
}
