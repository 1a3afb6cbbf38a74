//! Whose the app is: the organization it belongs to, and its new owner after an accepted offer.

use rookery_domain::{
    Error, ErrorCode, Result, app::AppRecord, event::EventType, id::OrgId, principal::Principal,
    transfers,
};
use rookery_storage::commit::AppWrite;
use serde_json::json;

use super::Decision;
use crate::app::{
    message::{Acceptance, Reply},
    working::{Stamp, Undo},
};

impl Decision<'_> {
    /// Whoever acts as the app's owner may take it out of an organization; putting it into one
    /// takes an admin of that one as well.
    pub(super) fn check_org(&self, org: Option<OrgId>) -> Result<()> {
        match org.filter(|org| self.working.root.record.org != Some(*org)) {
            Some(org) => self.env.orgs.check_admin(org, self.caller.account()),
            None => Ok(()),
        }
    }

    /// Gives the app to a new owner: account, record and offer change together or not at all. It
    /// leaves its organization, whose admins would go on as owners of somebody else's app, and is kept
    /// to what its manifest names.
    pub(super) fn hand_over(&mut self, acceptance: Acceptance) -> Result<Reply> {
        if !self.caller.is_system() {
            // Owners offer; only whoever has checked the addressee may complete it.
            return Err(Error::new(ErrorCode::Forbidden, "an app is given away by an offer"));
        }
        let Acceptance { transfer, offered_by, to, account } = acceptance;
        let before = &self.working.root.record;
        if !self.env.orgs.acts_as_owner(before, Some(offered_by))? {
            return Err(transfers::no_such_offer());
        }
        if before.owner == to {
            return Err(Error::new(ErrorCode::Conflict, "the app is this account's already"));
        }
        let restricts = before.unrestricted;
        // Who takes the app has not said that its page may talk to anybody.
        let (org, unrestricted) = (None, false);
        let record = AppRecord { owner: to, org, unrestricted, ..AppRecord::clone(before) };
        let rows_max = self.env.limits.max_rows_per_account;
        self.working.counted.move_to(account, rows_max)?;
        self.working.open.journal.push(Undo::Account);
        let by = Principal::human(to);
        let at = self.working.next_time(self.now);
        let mut data = json!({"owner": to, "org_id": null});
        if restricts {
            data["unrestricted"] = false.into();
        }
        let data = data.to_string().into();
        let stamp = Stamp { by, at, silent: false };
        self.working.emit(EventType::AppUpdated, stamp, Some(data));
        // An owner is no member of its own app: it has every right that a member can have.
        if let Some(member) = self.working.root.access.member(to).cloned() {
            self.end_membership(member);
        }
        let record = AppRecord { updated_at: at, ..record };
        let apps_max = Some(self.env.limits.apps_max());
        let write = AppWrite { accepts: Some(transfer), apps_max, ..AppWrite::of(record) };
        Ok(Reply::HandedOver(self.write_record(write)))
    }
}
