//! The authenticator of a running service: the directory.

use futures::{FutureExt as _, future::BoxFuture};
use rookery_actors::{AppHandle, Directory};
use rookery_domain::{Result, id::HumanId, secret::Secret};
use tokio_util::sync::CancellationToken;

use super::{Authenticator, Identity};

impl Authenticator for Directory {
    fn bearer(&self, secret: &str) -> Result<Option<Identity>> {
        let holder = self.key(secret)?;
        Ok(holder.map(|holder| Identity::Agent {
            agent: holder.agent,
            key: holder.key,
            owner: holder.owner,
        }))
    }

    fn session(&self, secret: &str) -> Result<Option<Identity>> {
        let holder = Self::session(self, secret)?;
        Ok(holder.map(|holder| Identity::Human { human: holder.human, session: holder.session }))
    }

    fn is_member<'a>(&'a self, app: &'a AppHandle, human: HumanId) -> BoxFuture<'a, Result<bool>> {
        Self::is_member(self, app, human).boxed()
    }

    fn watch(&self, secret: &Secret) -> Result<Option<CancellationToken>> {
        Self::watch(self, secret)
    }

    fn verified_email(&self, human: HumanId) -> Option<String> {
        let human = self.human(human).ok().flatten()?;
        human.proven_email().map(str::to_owned)
    }
}
