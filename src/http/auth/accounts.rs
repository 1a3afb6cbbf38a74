//! The authenticator of a running service: credentials by the directory, apps by whoever knows
//! them.

use std::sync::Arc;

use futures::future::BoxFuture;
use rookery_actors::Directory;
use rookery_domain::{
    Result,
    app::AppRecord,
    id::{AppId, HumanId},
};

use super::{Authenticator, Identity};

/// Where apps and their members are looked up.
pub trait AppLookup: Send + Sync + 'static {
    /// The app with this id or slug, in whatever state it is.
    ///
    /// # Errors
    /// `unavailable`, when the store cannot be read.
    fn find<'a>(&'a self, id_or_slug: &'a str) -> BoxFuture<'a, Result<Option<Arc<AppRecord>>>>;

    /// Whether `human` is a member of `app` (its owner is none).
    fn is_member(&self, app: AppId, human: HumanId) -> bool;
}

/// Credentials by the directory, apps by a look-up.
pub struct Accounts {
    directory: Directory,
    apps: Arc<dyn AppLookup>,
}

impl Accounts {
    /// An authenticator over both.
    #[must_use]
    pub fn new(directory: Directory, apps: Arc<dyn AppLookup>) -> Self {
        Self { directory, apps }
    }
}

impl Authenticator for Accounts {
    fn bearer(&self, secret: &str) -> Result<Option<Identity>> {
        let holder = self.directory.key(secret)?;
        Ok(holder.map(|holder| Identity::Agent {
            agent: holder.agent,
            key: holder.key,
            owner: holder.owner,
        }))
    }

    fn session(&self, secret: &str) -> Result<Option<Identity>> {
        let holder = self.directory.session(secret)?;
        Ok(holder.map(|holder| Identity::Human { human: holder.human, session: holder.session }))
    }

    fn app<'a>(&'a self, id_or_slug: &'a str) -> BoxFuture<'a, Result<Option<Arc<AppRecord>>>> {
        self.apps.find(id_or_slug)
    }

    fn is_member(&self, app: AppId, human: HumanId) -> bool {
        self.apps.is_member(app, human)
    }

    fn verified_email(&self, human: HumanId) -> Option<String> {
        let human = self.directory.human(human).ok().flatten()?;
        human.email_verified_at.and(human.email.clone())
    }
}
