//! What spans an app and its account, or an app's whole life: creating, deploying, describing,
//! destroying. Everything on an existing app goes through its slot; here is what has to be
//! prepared before, and finished after.

mod advisories;
mod closing;
mod create;
mod deploy;
pub(crate) mod deployed;
mod detail;
mod draft;
mod list;
mod moving;
mod page;
mod purge;
mod seed;
mod settings;
mod sharing;
mod transfers;
mod versions;

pub use crate::app::deploy::Expected;
pub use advisories::AppAdvisories;
pub use create::{CreateApp, Created, IdempotentCreate};
pub use deploy::{Deployed, Redeploy};
pub use detail::{AppDetail, SharedCollection};
pub use draft::{Bundle, Hold};
pub use list::{AppList, ListedApp, ShownStatus};
pub use page::PageSource;
pub use settings::SettingsPatch;
pub use transfers::{Accepted, Offer};
pub use versions::{RollBack, VersionContent};

pub(crate) use create::{account_closed, too_many_apps};

use std::sync::Arc;

use rookery_domain::{
    app::{AppRecord, ShareToken},
    id::AppId,
    secret::{Secret, SecretKind},
};
use rookery_storage::{Db, keyed_locks::KeyedLocks};
pub use rookery_storage::{apps::AppsOf, transfers::TransferContents};
use tokio::sync::Mutex;

use crate::{domains::Domains, env::Env, registry::Apps, task::to_the_end};

/// The operations on apps that need more than the app. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    pub(crate) apps: Apps,
    pub(crate) db: Db,
    pub(crate) domains: Domains,
    advisories: Arc<advisories::Cache>,
    /// The idempotency keys of creations under way.
    creating: Arc<KeyedLocks<[u8; 32]>>,
    /// Whose turn it is to destroy a part of what an app left.
    purging: Arc<Mutex<()>>,
}

impl Control {
    pub(crate) fn new(apps: Apps, db: Db, domains: Domains) -> Self {
        Self {
            apps,
            db,
            domains,
            advisories: Arc::default(),
            creating: Arc::default(),
            purging: Arc::default(),
        }
    }

    pub(crate) fn env(&self) -> &Arc<Env> {
        &self.apps.inner.env
    }

    /// A new share token of `app`.
    fn share_token(&self, app: AppId) -> ShareToken {
        let token = Secret::generate(SecretKind::Share, &mut rand::rng());
        let sealed = self.env().key.seal(&app.to_string(), token.expose(), &mut rand::rng());
        ShareToken { hash: token.hash(), sealed: sealed.into() }
    }

    /// The share token in force, for its owner.
    #[must_use]
    pub fn open_share_token(&self, record: &AppRecord) -> Option<String> {
        self.env().key.open(&record.id.to_string(), &record.share.as_ref()?.sealed)
    }
}
