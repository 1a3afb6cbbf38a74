//! Sharing an app, as far as it needs more than the app's actor: lists that wake nobody, a new
//! share link, and changes that are the same a second time.

use rookery_domain::{
    Error, ErrorCode, Result,
    email::Email,
    grants::Grant,
    id::{CredentialId, GrantId, HumanId, PreviewId},
    members::Member,
    previews::Preview,
    principal::Caller,
};
use rookery_storage::{
    StorageError, credentials,
    credentials::{CredentialPosition, ListedCredential},
    grants,
    grants::GrantPosition,
    members,
    members::MemberPosition,
    previews,
    previews::PreviewPosition,
};

use super::Control;
use crate::{
    Directory,
    app::{
        access_ops::{AccessOp, AccessReply, NamedRole},
        message::{AppOp, Op, Reply},
    },
    directory::Invited,
    registry::AppHandle,
};

impl Control {
    /// At most `limit` members of an app, in the order in which they came, behind the position.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn members(
        &self,
        app: &AppHandle,
        after: Option<MemberPosition>,
        limit: u32,
    ) -> Result<Vec<Member>> {
        published(app, members::list(&self.db, app.id(), after, limit).await).await
    }

    /// How many members hold each custom role; roles that nobody holds are left out.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn role_counts(&self, app: &AppHandle) -> Result<Vec<(String, u64)>> {
        published(app, members::role_counts(&self.db, app.id()).await).await
    }

    /// At most `limit` grant links that are not revoked, the newest first, behind the position.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn grants(
        &self,
        app: &AppHandle,
        after: Option<GrantPosition>,
        limit: u32,
    ) -> Result<Vec<Grant>> {
        published(app, grants::list(&self.db, app.id(), after, limit).await).await
    }

    /// At most `limit` preview tokens that open the app now, the newest first, behind the position.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn previews(
        &self,
        app: &AppHandle,
        after: Option<PreviewPosition>,
        limit: u32,
    ) -> Result<Vec<Preview>> {
        let now = self.env().clock.now();
        published(app, previews::list(&self.db, app.id(), now, after, limit).await).await
    }

    /// At most `limit` service credentials, the revoked ones too, the newest first, behind the
    /// position; without their tokens.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn credentials(
        &self,
        app: &AppHandle,
        after: Option<CredentialPosition>,
        limit: u32,
    ) -> Result<Vec<ListedCredential>> {
        published(app, credentials::list(&self.db, app.id(), after, limit).await).await
    }

    /// A share token to rotate to, as the operation that does it.
    #[must_use]
    pub fn share_rotation(&self, app: &AppHandle) -> Op {
        Op::App(AppOp::RotateShare(self.share_token(app.id())))
    }

    /// Whoever `email` is the address of, invited where nobody has proven it yet, and the operation that
    /// makes them a member. Nobody is invited whom the app would refuse, as far as that is known
    /// before; the app decides it again.
    ///
    /// # Errors
    /// `invalid_request` for a role that the manifest does not declare; `conflict` when the app has as
    /// many members as it may; those of [`AppHandle::root`] and [`Directory::invite`].
    pub async fn invitation(
        &self,
        directory: &Directory,
        app: &AppHandle,
        email: &Email,
        custom_role: Option<NamedRole>,
    ) -> Result<(Invited, Op)> {
        let root = app.root().await?;
        if let Some(role) = &custom_role {
            root.check_role(role)?;
        }
        root.check_room_for_member()?;
        drop(root);
        let invited = directory.invite(email).await?;
        let human = invited.human.id;
        Ok((invited, AccessOp::AddMember { human, custom_role }.into()))
    }

    /// Removes a member, and ends its visits; a second time changes nothing.
    ///
    /// # Errors
    /// `not_found` for a human that never was one, or that was forgotten; `unavailable`. Once its
    /// visits have ended, never one that says that nothing was applied.
    pub async fn remove_member(
        &self,
        directory: &Directory,
        app: &AppHandle,
        caller: Caller,
        human: HumanId,
    ) -> Result<()> {
        // First, so that whoever hears of it, by a poll that ends, has no session any more.
        let ended_visits =
            directory.is_member(app, human).await? && directory.end_visits(app.id(), human).await?;
        let known = members::was_member(&self.db, app.id(), human);
        let removed = end(app, caller, AccessOp::RemoveMember { human }, known).await;
        if removed.map_err(|error| if ended_visits { error.after_change() } else { error })? {
            // Once more for sessions that were made meanwhile.
            directory.end_visits(app.id(), human).await.map_err(Error::after_change)?;
        }
        Ok(())
    }

    /// Revokes a grant link; a second time changes nothing.
    ///
    /// # Errors
    /// `not_found` for a link that the app never had, or that was forgotten.
    pub async fn revoke_grant(&self, app: &AppHandle, caller: Caller, id: GrantId) -> Result<()> {
        let known = grants::is_known(&self.db, app.id(), id);
        end(app, caller, AccessOp::RevokeGrant { id }, known).await.map(drop)
    }

    /// Revokes a preview token; a second time changes nothing.
    ///
    /// # Errors
    /// `not_found` for a token that the app never had, or that was forgotten.
    pub async fn revoke_preview(
        &self,
        app: &AppHandle,
        caller: Caller,
        id: PreviewId,
    ) -> Result<()> {
        let known = previews::is_known(&self.db, app.id(), id);
        end(app, caller, AccessOp::RevokePreview { id }, known).await.map(drop)
    }

    /// Revokes a credential; a second time changes nothing.
    ///
    /// # Errors
    /// `not_found` for a credential that the app never had, or that was forgotten.
    pub async fn revoke_credential(
        &self,
        app: &AppHandle,
        caller: Caller,
        id: CredentialId,
    ) -> Result<()> {
        let known = credentials::is_known(&self.db, app.id(), id);
        end(app, caller, AccessOp::RevokeCredential { id }, known).await.map(drop)
    }

    /// `conflict` in the place of `not_found` for a credential that the app once had: what was
    /// revoked is never paused, resumed or rotated.
    pub async fn explain_credential(
        &self,
        app: &AppHandle,
        id: CredentialId,
        refused: Error,
    ) -> Error {
        if refused.code != ErrorCode::NotFound {
            return refused;
        }
        match credentials::is_known(&self.db, app.id(), id).await {
            Ok(true) => Error::new(ErrorCode::Conflict, "this credential is revoked, for ever"),
            Ok(false) => refused,
            Err(error) => error.into(),
        }
    }
}

/// What storage has `found` of an app, once the app's actor has published it: no later read knows less.
async fn published<T>(app: &AppHandle, found: std::result::Result<T, StorageError>) -> Result<T> {
    let found = found?;
    app.until_published().await?;
    Ok(found)
}

/// Ends something, and says whether it did; what the app does not have any more has ended already, if it
/// is `known`.
async fn end(
    app: &AppHandle,
    caller: Caller,
    op: AccessOp,
    known: impl Future<Output = std::result::Result<bool, StorageError>>,
) -> Result<bool> {
    match app.apply(caller, op.into()).await {
        Ok(Reply::Access(AccessReply::Gone)) => Ok(true),
        Ok(other) => Err(other.unexpected()),
        Err(refused) if refused.code == ErrorCode::NotFound => {
            if known.await? {
                Ok(false)
            } else {
                Err(refused)
            }
        }
        Err(refused) => Err(refused),
    }
}
