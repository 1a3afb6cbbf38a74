//! Members: added, given another role, removed.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    event::AccessEvent,
    id::HumanId,
    members::{MEMBERS_PER_APP_MAX, Member},
};
use rookery_storage::commit::AccessWrite;
use serde_json::json;

use super::{full, not_found};
use crate::app::{
    access_ops::{AccessReply, NamedRole},
    decide::Decision,
    root::Root,
};

impl Root {
    /// `conflict` when the app has as many members as it may.
    pub(crate) fn check_room_for_member(&self) -> Result<()> {
        if self.access.member_count() >= MEMBERS_PER_APP_MAX {
            return Err(full(MEMBERS_PER_APP_MAX, "members"));
        }
        Ok(())
    }
}

impl Decision<'_> {
    pub(super) fn add_member(
        &mut self,
        human: HumanId,
        custom_role: Option<NamedRole>,
    ) -> Result<Arc<Member>> {
        let custom_role = custom_role.map(|role| self.declared(role)).transpose()?;
        self.check_not_owner(human)?;
        if self.tables().member(human).is_some() {
            return Err(Error::new(ErrorCode::Conflict, "this human is a member already"));
        }
        self.working.root.check_room_for_member()?;
        let created_at = self.working.next_time(self.now);
        let member = Arc::new(Member { human, custom_role, created_at });
        self.put_member(&member, AccessEvent::MemberAdded);
        Ok(member)
    }

    pub(super) fn set_member_role(
        &mut self,
        human: HumanId,
        custom_role: Option<NamedRole>,
    ) -> Result<Arc<Member>> {
        self.check_not_owner(human)?;
        let before = self.tables().member(human).cloned().ok_or_else(|| not_found("member"))?;
        let custom_role = custom_role.map(|role| self.declared(role)).transpose()?;
        if before.custom_role == custom_role {
            return Ok(before);
        }
        let member = Arc::new(Member { custom_role, ..Member::clone(&before) });
        self.put_member(&member, AccessEvent::MemberUpdated);
        Ok(member)
    }

    pub(super) fn remove_member(&mut self, human: HumanId) -> Result<AccessReply> {
        self.check_not_owner(human)?;
        let member = self.tables().member(human).cloned().ok_or_else(|| not_found("member"))?;
        self.end_membership(member);
        Ok(AccessReply::Gone)
    }

    /// Takes a member out, whoever it is.
    pub(in crate::app::decide) fn end_membership(&mut self, member: Arc<Member>) {
        let human = member.human;
        self.tables_mut().remove_member(human);
        self.write_access(AccessWrite::Member { member, removed_at: Some(self.now) });
        self.tell(AccessEvent::MemberRemoved, &json!({"human_id": human}));
    }

    /// The owner is no member: it has every right that a member can have.
    fn check_not_owner(&self, human: HumanId) -> Result<()> {
        if human == self.working.root.record.owner {
            return Err(Error::new(ErrorCode::Conflict, "this human is the app's owner"));
        }
        Ok(())
    }

    fn put_member(&mut self, member: &Arc<Member>, kind: AccessEvent) {
        self.tables_mut().put_member(member.clone());
        self.write_access(AccessWrite::Member { member: member.clone(), removed_at: None });
        let Member { human, custom_role, .. } = &**member;
        self.tell(kind, &json!({"human_id": human, "custom_role": custom_role}));
    }
}
