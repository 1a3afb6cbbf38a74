//! Who may do what in the app beside its owner: members, grant links, previews, credentials. The
//! owner's operations, and redeeming a link, which is a visitor's.
//!
//! Events tell of members and links by their ids; who is behind them is not the feed's to say.

mod credentials;
mod grants;
mod members;
mod previews;

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    credentials::CredentialStatus,
    event::{AccessEvent, EventType},
    text::quoted,
};
use rookery_storage::commit::AccessWrite;
use serde_json::Value;

use super::Decision;
use crate::app::{
    access::AccessTables,
    access_ops::{AccessOp, AccessReply, NamedRole},
    message::Reply,
    root::Root,
};

impl Decision<'_> {
    /// Decides a change of permissions.
    pub(super) fn access(&mut self, op: AccessOp) -> Result<Reply> {
        let reply = match op {
            AccessOp::AddMember { human, custom_role } => {
                AccessReply::Member(self.add_member(human, custom_role)?)
            }
            AccessOp::SetMemberRole { human, custom_role } => {
                AccessReply::Member(self.set_member_role(human, custom_role)?)
            }
            AccessOp::RemoveMember { human } => self.remove_member(human)?,
            AccessOp::MintGrant(grant) => AccessReply::Grant(self.mint_grant(grant)?),
            AccessOp::RevokeGrant { id } => self.revoke_grant(id)?,
            AccessOp::MintPreview(preview) => AccessReply::Preview(self.mint_preview(preview)?),
            AccessOp::RevokePreview { id } => self.revoke_preview(id)?,
            AccessOp::MintCredential(new) => AccessReply::Credential(self.mint_credential(new)?),
            AccessOp::PauseCredential { id } => {
                AccessReply::Credential(self.set_credential_status(id, CredentialStatus::Paused)?)
            }
            AccessOp::ResumeCredential { id } => {
                AccessReply::Credential(self.set_credential_status(id, CredentialStatus::Active)?)
            }
            AccessOp::RotateCredential { id, token, overlap_s } => {
                AccessReply::Credential(self.rotate_credential(id, token, overlap_s)?)
            }
            AccessOp::RevokeCredential { id } => self.revoke_credential(id)?,
        };
        Ok(Reply::Access(reply))
    }

    fn tables(&self) -> &AccessTables {
        &self.working.root.access
    }

    /// The tables, to be changed: a copy where readers still hold them.
    fn tables_mut(&mut self) -> &mut AccessTables {
        Arc::make_mut(&mut self.working.root.access)
    }

    fn write_access(&mut self, write: AccessWrite) {
        self.working.open.writes.access.push(write);
    }

    fn tell(&mut self, kind: AccessEvent, data: &Value) {
        let stamp = self.stamp();
        self.working.emit(
            EventType::Access(kind.as_str().into()),
            stamp,
            Some(data.to_string().into()),
        );
    }

    /// The name of a role that the manifest declares.
    fn declared(&self, role: NamedRole) -> Result<Arc<str>> {
        self.working.root.check_role(&role)?;
        Ok(role.name)
    }
}

impl Root {
    /// `invalid_request` unless the manifest declares the role.
    pub(crate) fn check_role(&self, NamedRole { name, field }: &NamedRole) -> Result<()> {
        if self.manifest.declares_role(name) {
            return Ok(());
        }
        Err(Error::invalid(format!("`{field}`: the manifest declares no role {}", quoted(name))))
    }
}

fn not_found(what: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("the app has no such {what}"))
}

fn full(max: usize, what: &str) -> Error {
    Error::new(ErrorCode::Conflict, format!("an app has at most {max} {what}"))
}
