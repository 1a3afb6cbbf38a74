//! What a caller is in this app right now: resolved anew for every request and at every
//! publication, so that a change of permissions holds at once, also for those who wait.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    access::{Standing, Tier},
    app::AppRecord,
    id::{CredentialId, GrantId, HumanId, PreviewId},
    manifest::{Manifest, Visibility},
    members::Member,
    previews::Preview,
    principal::{Caller, Principal},
    secret::{HashHalf, SecretHash},
};

use super::root::Root;
use crate::{
    env::Env,
    orgs::OrgRoles,
    registry::{AppHandle, Apps},
};

impl Apps {
    /// Whether `account` acts as the owner of the app with this record, now. Wakes nothing.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded and the answer depends on them.
    pub fn acts_as_owner(&self, record: &AppRecord, account: HumanId) -> Result<bool> {
        self.inner.env.orgs.acts_as_owner(record, Some(account))
    }
}

impl AppHandle {
    /// The account that the app belongs to, for whoever acts as its owner now: what is done in its name
    /// later is held to it.
    ///
    /// # Errors
    /// `app_not_found` for anybody else; `unavailable` while the admins of its organization are not
    /// known.
    pub fn owner_for(&self, account: Option<HumanId>) -> Result<HumanId> {
        let record = self.record();
        match self.apps.inner.env.orgs.acts_as_owner(&record, account)? {
            true => Ok(record.owner),
            false => Err(Error::app_not_found()),
        }
    }

    /// What `caller` is in the app now, whatever state the app is in. Wakes it only to look among
    /// its members, links and credentials.
    ///
    /// # Errors
    /// `unauthorized` for an outsider of a private app, or of a shared one without the share token
    /// in force, and for a credential that does not work; `participant_token_invalid` for whoever
    /// came by a link that is no longer good; `app_not_found` for an agent of somebody else.
    /// `unavailable` while the admins of its organization are not known.
    pub async fn standing(&self, caller: &Caller) -> Result<Standing> {
        let env = self.env();
        let record = self.record();
        let by_record = by_record(&record, caller, &env.orgs)?;
        // An admin of its organization may be a member as well.
        let is_known = !matches!(caller, Caller::Human { human, .. } if *human != record.owner);
        if let Some(standing) = by_record.filter(|_| is_known) {
            return Ok(standing);
        }
        standing(env, &*self.root().await?, caller, env.clock.now())
    }

    /// The grant link whose token has this hash, whatever has become of it short of revocation.
    ///
    /// # Errors
    /// As [`AppHandle::root`].
    pub async fn grant_of_token(&self, token: SecretHash) -> Result<Option<GrantId>> {
        Ok(self.root().await?.access.grant_by_token(&token).map(|grant| grant.id))
    }

    /// Whether the grant link whose token has this hash lets a visitor in now.
    ///
    /// # Errors
    /// As [`AppHandle::root`].
    pub async fn grant_lets_in(&self, token: SecretHash) -> Result<bool> {
        let now = self.env().clock.now();
        Ok(self.root().await?.open_grant(&token, now).is_some())
    }

    /// The preview whose token has this hash, if it opens the app now.
    ///
    /// # Errors
    /// As [`AppHandle::root`].
    pub async fn preview(&self, token: SecretHash) -> Result<Option<Arc<Preview>>> {
        let root = self.root().await?;
        let preview = root.access.preview_by_token(&token);
        let now = self.env().clock.now();
        let opens =
            |one: &&Arc<Preview>| one.is_live(now) && root.record.visibility == Visibility::Private;
        Ok(preview.filter(opens).cloned())
    }
}

/// Resolves `caller` against the app's state and the admins of its organization.
///
/// # Errors
/// Those of [`AppHandle::standing`].
pub(crate) fn standing(
    env: &Env,
    root: &Root,
    caller: &Caller,
    now: Timestamp,
) -> Result<Standing> {
    if let Some(standing) = by_record(&root.record, caller, &env.orgs)? {
        // An admin of the app's organization may also be a member, and keeps the role of one.
        let member = match caller {
            Caller::Human { human, .. } => root.access.member(*human),
            _ => None,
        };
        let role = member.and_then(|member| of_member(&root.manifest, member).role);
        return Ok(Standing { role, ..standing });
    }
    let visitor = Standing::new(caller.principal(), Tier::Visitor);
    match caller {
        Caller::Human { human, share, .. } => match root.access.member(*human) {
            Some(member) => Ok(of_member(&root.manifest, member)),
            None => admitted(&root.record, *share).map(|()| visitor),
        },
        Caller::Grant { grant, .. } => by_grant(root, *grant, visitor, now),
        Caller::Preview { preview, .. } => by_preview(root, *preview, visitor, now),
        Caller::Credential { app, .. } if *app != root.record.id => Err(Error::app_not_found()),
        Caller::Credential { credential, token, .. } => {
            by_credential(root, caller, *credential, *token, now)
        }
        // Decided by the record.
        Caller::System | Caller::Agent { .. } | Caller::Anonymous { .. } => Err(Error::internal()),
    }
}

/// How somebody gets into an app with visibility `link`.
const BY_SHARE_LINK: &str = "Open the app by its share link: that makes you a participant, where POST /s/session alone does not. If the link opens nothing any more, ask the app's owner for the new one.";
/// How somebody gets into a private app.
const BY_SIGNING_IN: &str = "Sign in to the app's page with an account that it is shared with, or open a link to it that its owner gave you. An owner's agent asks POST /v1/apps/:id/test-session-tokens, then POST /s/session {token} here, whose answer has the x-service-participant-token to send.";

/// When what `caller` came by ends by itself, if it does: whoever waits looks again then.
pub(crate) fn ends_at(root: &Root, caller: &Caller) -> Option<Timestamp> {
    match caller {
        Caller::Grant { grant, .. } => root.access.grant(*grant)?.expires_at,
        Caller::Preview { preview, .. } => Some(root.access.preview(*preview)?.expires_at),
        Caller::Credential { credential, token, .. } => {
            root.access.credential(*credential)?.token_ends_at(*token)
        }
        _ => None,
    }
}

/// The callers that need no look at anything but the record.
fn by_record(record: &AppRecord, caller: &Caller, orgs: &OrgRoles) -> Result<Option<Standing>> {
    let tier = |tier| Standing::new(caller.principal(), tier);
    if caller.is_system() || orgs.acts_as_owner(record, caller.account())? {
        return Ok(Some(tier(Tier::Owner)));
    }
    match caller {
        Caller::Agent { .. } => Err(Error::app_not_found()),
        Caller::Anonymous { share, .. } => {
            admitted(record, *share).map(|()| Some(tier(Tier::Visitor)))
        }
        _ => Ok(None),
    }
}

/// Whether the app is open to somebody without any rights of its own.
fn admitted(record: &AppRecord, share: Option<HashHalf>) -> Result<()> {
    let open = match record.visibility {
        Visibility::Public => true,
        // The hash of a secret: comparing it tells nothing about the secret.
        Visibility::Link => share
            .zip(record.share.as_ref())
            .is_some_and(|(came_by, in_force)| in_force.hash.half() == came_by),
        Visibility::Private => false,
    };
    if open {
        return Ok(());
    }
    let hint = match record.visibility {
        Visibility::Link => BY_SHARE_LINK,
        Visibility::Private | Visibility::Public => BY_SIGNING_IN,
    };
    Err(Error::new(ErrorCode::Unauthorized, "this app is not open to you").with_hint(hint))
}

/// What a member is under a manifest. A role that it no longer declares gives nothing.
pub(crate) fn of_member(manifest: &Manifest, member: &Member) -> Standing {
    let human = Principal::human(member.human);
    let mut standing = Standing::new(human, Tier::Member);
    let declared = |role: &Arc<str>| manifest.declares_role(role);
    standing.role = member.custom_role.clone().filter(declared);
    standing
}

/// A link's holder has its role as long as the link is good. When the manifest no longer declares
/// the role, the link opens nothing: what is left is what anybody has.
fn by_grant(root: &Root, id: GrantId, visitor: Standing, now: Timestamp) -> Result<Standing> {
    match root.access.grant(id).filter(|grant| grant.holds(now)) {
        Some(grant) if root.manifest.declares_role(&grant.role) => {
            Ok(visitor.with_role(grant.role.clone()))
        }
        Some(_) if root.record.visibility == Visibility::Public => Ok(visitor),
        Some(_) | None => Err(Error::link_ended()),
    }
}

/// Previews are of private apps: one that was made public since is looked at without.
fn by_preview(root: &Root, id: PreviewId, visitor: Standing, now: Timestamp) -> Result<Standing> {
    let live = root.access.preview(id).is_some_and(|preview| preview.is_live(now));
    if live && root.record.visibility == Visibility::Private {
        Ok(Standing { read_only: true, ..visitor })
    } else {
        Err(Error::link_ended())
    }
}

fn by_credential(
    root: &Root,
    caller: &Caller,
    id: CredentialId,
    token: HashHalf,
    now: Timestamp,
) -> Result<Standing> {
    match root.access.credential(id).filter(|credential| credential.admits(token, now)) {
        Some(credential) => {
            let owner = Standing::new(caller.principal(), Tier::Owner);
            Ok(Standing { allowlist: Some(credential.allowlist.clone()), ..owner })
        }
        None => Err(Error::new(ErrorCode::Unauthorized, "the credential is not valid")),
    }
}
