//! A human's own account: its name, its consent to mail, where it came from, and its end.

use std::sync::Arc;

use rookery_domain::{Error, ErrorCode, Result, human_name::HumanName, id::HumanId};
use rookery_storage::{
    closing::{self, Closing},
    humans::{self, Human},
    idempotency::KeepResponse,
};

use super::{BillingPassed, Directory, core::Core, mutation::Failure, orgs::last_admin_of};

/// Characters of an id that tell people apart.
const SHORT_ID_CHARS: usize = 6;

/// The session was open when the request came in; the account was closed since.
pub(super) fn no_such_account() -> Error {
    Error::new(ErrorCode::Unauthorized, "this account is closed")
}

impl Directory {
    /// The name that others are shown: the stored one, else the part of the proven address before the
    /// `@`; of somebody without either `human` and the end of its id, so that nobody's name is empty.
    #[must_use]
    pub fn display_name(human: &Human) -> String {
        name_with(human, human.proven_email())
    }

    /// What whoever invited somebody is shown: as long as the invited has no name of its own, the
    /// address that the invitation went to names it, proven or not.
    #[must_use]
    pub fn invited_name(human: &Human) -> String {
        name_with(human, human.email.as_deref())
    }

    /// Stores or clears the name of a human.
    ///
    /// # Errors
    /// `unauthorized`, when the account was closed; `unavailable`, `internal`.
    pub async fn rename_human(
        &self,
        human: HumanId,
        name: Option<HumanName>,
    ) -> Result<Arc<Human>> {
        self.mutate(async move |core: Arc<Core>| {
            let name = name.as_ref().map(HumanName::as_str);
            let changed = humans::set_name(&core.db, human, name, core.now()).await?;
            core.apply_human(changed)
        })
        .await
    }

    /// Records whether product mail is welcome.
    ///
    /// # Errors
    /// As [`Self::rename_human`].
    pub async fn set_marketing_consent(&self, human: HumanId, given: bool) -> Result<Arc<Human>> {
        self.mutate(async move |core: Arc<Core>| {
            let now = core.now();
            let changed = humans::set_marketing_consent(&core.db, human, given, now).await?;
            core.apply_human(changed)
        })
        .await
    }

    /// Records how a human heard of the service, once.
    ///
    /// # Errors
    /// `conflict`, when it was answered before; `unauthorized`, when the account was closed;
    /// `unavailable`, `internal`.
    pub async fn record_signup_source(
        &self,
        human: HumanId,
        source: HumanName,
        keep: KeepResponse<()>,
    ) -> Result<()> {
        self.mutate(async move |core: Arc<Core>| {
            core.require_open(human)?;
            let (source, now) = (source.as_str(), core.now());
            if humans::record_signup_source(&core.db, human, source, now, keep).await? {
                return Ok(());
            }
            Err(Error::new(ErrorCode::Conflict, "the question was answered before").into())
        })
        .await
    }

    /// How a human heard of the service; `None` while it has not said so.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn signup_source(&self, human: HumanId) -> Result<Option<String>> {
        Ok(humans::signup_source(&self.core.db, human).await?)
    }

    /// Closes an account whose address is `email`: its sessions and its agents' keys are refused
    /// from the very next request on, name and address are forgotten, and it leaves its
    /// organizations; those of them that have another billing account by that. Apps are not touched
    /// here.
    ///
    /// # Errors
    /// `conflict`, when the account was closed or has another address now, and where it is the
    /// last admin of an organization that others are in; `unavailable`, `internal`.
    pub async fn close_account(
        &self,
        human: HumanId,
        email: Option<String>,
    ) -> Result<Vec<BillingPassed>> {
        self.mutate(async move |core: Arc<Core>| {
            let (closed, left) = match closing::close(&core.db, human, email, core.now()).await? {
                Closing::Closed { human, left } => (*human, left),
                Closing::LastAdmin(org) => return Err(last_admin_of(org).into()),
                Closing::NoSuchAccount => {
                    let message = "the account has changed meanwhile";
                    return Err(Error::new(ErrorCode::Conflict, message).into());
                }
            };
            core.write(|memory| {
                memory.put_human(closed);
                memory.remove_sessions_of(human);
                memory.revoke_keys_of(human);
            });
            let left = left.into_iter().filter_map(|org| core.apply_departure(human, org));
            let passed = left.collect();
            core.participants.forget_visits_of(human);
            Ok(passed)
        })
        .await
    }
}

impl Core {
    /// Refuses what a human asked for whose account was closed since. To be asked within a change,
    /// so that closing it comes before or after.
    pub(super) fn require_open(&self, human: HumanId) -> Result<()> {
        let is_open = |human: &Arc<Human>| human.closed_at.is_none();
        match self.read(|memory| memory.human(human).is_some_and(is_open))? {
            true => Ok(()),
            false => Err(no_such_account()),
        }
    }

    /// Takes a committed record into memory.
    pub(super) fn apply_human(&self, changed: Option<Human>) -> Result<Arc<Human>, Failure> {
        let human = changed.ok_or_else(no_such_account)?;
        self.write(|memory| memory.put_human(human.clone()));
        Ok(Arc::new(human))
    }
}

fn name_with(human: &Human, address: Option<&str>) -> String {
    let of_address = || {
        let address = address?;
        Some(address.rsplit_once('@').map_or(address, |(local, _)| local).to_owned())
    };
    let of_id = || {
        let id = human.id.to_string();
        format!("human {}", &id[id.len() - SHORT_ID_CHARS..])
    };
    human.name.clone().or_else(of_address).unwrap_or_else(of_id)
}
