//! Custom domains: which host name is which app's. Requests ask a table in memory; storage has the
//! truth. A change is committed, then the app's part of the table is what the commit left of it,
//! then it is answered; and it runs to its end, whether or not anybody still listens. Where nobody
//! knows whether it was committed, the table is read anew, as often as it takes.
//!
//! What is not here: asking the DNS and the edge provider, which is the server's business.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::RwLock;
use rand::{Rng as _, distr::Alphanumeric};
use rookery_domain::{
    Error, ErrorCode, Result,
    domains::DomainName,
    id::{AppId, DomainId, HumanId},
    time::Clock,
};
use rookery_storage::{
    Db, StorageError,
    domains::{self, BindOutcome, Domain, Left},
    idempotency::KeepResponse,
};
use tokio::sync::Mutex;

use crate::{registry::AppHandle, task::to_the_end};

/// Characters of a proof token: 32 of 62 kinds.
const TOKEN_CHARS: usize = 32;

/// Pause between two tries to read the table anew.
const READ_PAUSE: Duration = Duration::from_secs(1);

/// The custom domains of all apps; cheap to clone.
#[derive(Clone)]
pub struct Domains(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    table: RwLock<Table>,
    /// One change at a time, so that the table never goes back to an older reading.
    changes: Mutex<()>,
}

/// Proven domains only.
#[derive(Default)]
struct Table {
    by_name: HashMap<Box<str>, AppId>,
    /// The oldest first.
    by_app: HashMap<AppId, Vec<Name>>,
}

/// A proven name of an app.
struct Name {
    name: Box<str>,
    /// Whether requests for it arrive, as the edge provider said last.
    serves: bool,
}

impl Name {
    /// Of a domain that is proven.
    fn of(domain: &Domain) -> Option<Self> {
        let Domain { name, serves, proven_at, .. } = domain;
        proven_at.map(|_| Self { name: name.as_str().into(), serves: *serves })
    }
}

/// Where a host name leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The app.
    pub app: AppId,
    /// The name that serves it; another one than was asked for is to be redirected to. As long as
    /// none is known to work, that is the name that was asked for.
    pub serving: Box<str>,
}

impl Table {
    async fn read(db: &Db) -> Result<Self, StorageError> {
        let mut table = Self::default();
        for domain in domains::proven(db).await? {
            let Some(name) = Name::of(&domain) else { continue };
            table.by_name.insert(name.name.clone(), domain.app);
            table.by_app.entry(domain.app).or_default().push(name);
        }
        Ok(table)
    }

    fn put(&mut self, app: AppId, names: Vec<Name>) {
        for gone in self.by_app.remove(&app).unwrap_or_default() {
            if self.by_name.get(&gone.name) == Some(&app) {
                self.by_name.remove(&gone.name);
            }
        }
        for name in &names {
            self.by_name.insert(name.name.clone(), app);
        }
        if !names.is_empty() {
            self.by_app.insert(app, names);
        }
    }

    /// The oldest name of an app that works.
    fn serving(&self, app: AppId) -> Option<&str> {
        self.by_app.get(&app)?.iter().find(|name| name.serves).map(|name| &*name.name)
    }
}

impl Domains {
    /// Reads the proven domains of all apps.
    ///
    /// # Errors
    /// Any [`StorageError`].
    pub async fn open(db: Db, clock: Clock) -> Result<Self, StorageError> {
        let (table, changes) = (RwLock::new(Table::read(&db).await?), Mutex::new(()));
        Ok(Self(Arc::new(Inner { db, clock, table, changes })))
    }

    /// Where `host`, in lower case and without a port, leads.
    #[must_use]
    pub fn at(&self, host: &str) -> Option<Destination> {
        let table = self.0.table.read();
        let app = *table.by_name.get(host)?;
        let serving = table.serving(app).unwrap_or(host).into();
        Some(Destination { app, serving })
    }

    /// The proven domains of an app, the oldest first, those that do not work yet included.
    #[must_use]
    pub fn names(&self, app: AppId) -> Vec<Box<str>> {
        let table = self.0.table.read();
        let names = table.by_app.get(&app).into_iter().flatten();
        names.map(|name| name.name.clone()).collect()
    }

    /// The domain that serves an app: the oldest of the proven ones that works.
    #[must_use]
    pub fn serving(&self, app: AppId) -> Option<Box<str>> {
        self.0.table.read().serving(app).map(Box::from)
    }

    /// The domain that serves an app, and the proven ones that redirect to it: none without it.
    #[must_use]
    pub fn addresses(&self, app: AppId) -> (Option<Box<str>>, Vec<Box<str>>) {
        let Some(serving) = self.serving(app) else { return (None, Vec::new()) };
        let mut others = self.names(app);
        others.retain(|name| *name != serving);
        (Some(serving), others)
    }

    /// All domains of an app, as they are stored, the oldest first.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn list(&self, app: AppId) -> Result<Vec<Domain>> {
        Ok(domains::of_app(&self.0.db, app).await?)
    }

    /// Binds a domain to an app in the name of `by`. Nothing is served by it before control is proven.
    ///
    /// # Errors
    /// `domain_exists`, `domain_taken`, `conflict` when the app has too many,
    /// `account_quota_exceeded`; `app_not_found` when it has gone meanwhile, or is somebody else's by
    /// now.
    pub async fn bind(
        &self,
        app: &AppHandle,
        by: Option<HumanId>,
        name: DomainName,
        account_max: u64,
        keep: KeepResponse<Domain>,
    ) -> Result<Domain> {
        let owner = app.owner_for(by)?;
        let domain = Domain {
            id: DomainId::new(),
            app: app.id(),
            name,
            token: rand::rng()
                .sample_iter(Alphanumeric)
                .take(TOKEN_CHARS)
                .map(char::from)
                .collect(),
            edge_id: None,
            created_at: self.0.clock.now(),
            proven_at: None,
            serves: false,
        };
        let name = &domain.name;
        let refused = |code, message: String| Err(Error::new(code, message));
        match domains::bind(&self.0.db, domain.clone(), owner, account_max, keep).await? {
            BindOutcome::Bound => Ok(domain),
            BindOutcome::Exists => {
                refused(ErrorCode::DomainExists, format!("`{name}` is this app's already"))
            }
            BindOutcome::Taken => {
                refused(ErrorCode::DomainTaken, format!("`{name}` is another app's"))
            }
            BindOutcome::AppFull => {
                refused(ErrorCode::Conflict, "this app has too many domains: remove one".to_owned())
            }
            BindOutcome::AccountFull => Err(Error::new(
                ErrorCode::AccountQuotaExceeded,
                format!(
                    "the account's apps may have {account_max} domains together; there is no room for another"
                ),
            )
            .with_details(serde_json::json!({"dimension": "domains", "limit": account_max}))),
            BindOutcome::Gone => Err(Error::app_not_found()),
        }
    }

    /// Notes that control is proven: the name leads to the app from now on, and no longer to one that is
    /// closed. `false` when another app was first.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn prove(&self, domain: &Domain) -> Result<bool> {
        let Domain { id, app, name, .. } = domain.clone();
        let (db, now) = (self.0.db.clone(), self.0.clock.now());
        self.change(async move { domains::prove(&db, app, id, name, now).await }).await
    }

    /// Notes the edge provider's own name for a domain. If the domain was removed meanwhile, the
    /// provider still has to forget that name.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn set_edge(&self, domain: DomainId, edge_id: String) -> Result<()> {
        Ok(domains::set_edge(&self.0.db, domain, edge_id).await?)
    }

    /// Notes whether requests for a domain arrive: its app is told to be there from then on, or no
    /// longer.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn set_serves(&self, domain: &Domain, serves: bool) -> Result<()> {
        let Domain { id, app, .. } = *domain;
        let db = self.0.db.clone();
        let work = async move { domains::set_serves(&db, app, id, serves).await };
        self.change(async move { Ok(work.await?.map(|left| vec![(app, left)])) }).await?;
        Ok(())
    }

    /// Removes a domain of `owner`'s app, which the edge provider has forgotten as far as `domain`
    /// tells: it leads nowhere from now on.
    ///
    /// # Errors
    /// `app_not_found` when the app is somebody else's by now, and the domain stays; `unavailable`.
    pub async fn remove(&self, domain: &Domain, owner: HumanId) -> Result<()> {
        let app = domain.app;
        let (db, domain) = (self.0.db.clone(), domain.clone());
        let work = async move { domains::remove(&db, domain, owner).await };
        match self.change(async move { Ok(work.await?.map(|left| vec![(app, left)])) }).await? {
            true => Ok(()),
            false => Err(Error::app_not_found()),
        }
    }

    /// The first of the edge provider's names for domains that are gone, which it still has to forget,
    /// behind `after`.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn leftover(&self, after: &str) -> Result<Option<String>> {
        Ok(domains::leftovers(&self.0.db, after, 1).await?.pop())
    }

    /// Notes that the edge provider has forgotten a name.
    ///
    /// # Errors
    /// `unavailable`.
    pub async fn forgotten(&self, edge_id: &str) -> Result<()> {
        Ok(domains::forgotten(&self.0.db, edge_id).await?)
    }

    /// Makes the names of an app lead nowhere once its bindings are gone from storage.
    pub(crate) async fn forget(&self, app: AppId) {
        let _one = self.0.changes.lock().await;
        self.0.table.write().put(app, Vec::new());
    }

    /// Makes one change; returns whether it changed anything. `work` returns what is left, or `None`
    /// where it changed nothing.
    async fn change(
        &self,
        work: impl Future<Output = Result<Option<Left>, StorageError>> + Send + 'static,
    ) -> Result<bool> {
        let inner = Arc::clone(&self.0);
        to_the_end(async move {
            let _one = inner.changes.lock().await;
            match work.await {
                Ok(Some(left)) => left.into_iter().for_each(|(app, it)| inner.serve(app, it)),
                Ok(None) => return Ok(false),
                Err(error) => {
                    if !error.is_certain() && inner.read_anew().await.is_err() {
                        tokio::spawn(Arc::clone(&inner).settle());
                    }
                    return Err(error.into());
                }
            }
            Ok(true)
        })
        .await
    }
}

impl Inner {
    /// Makes those of its domains that are proven lead to `app`, and no others.
    fn serve(&self, app: AppId, domains: Vec<Domain>) {
        let names = domains.iter().filter_map(Name::of).collect();
        self.table.write().put(app, names);
    }

    /// Reads the whole table: a change may concern other apps than its own. To be called while no
    /// change is made.
    async fn read_anew(&self) -> Result<(), StorageError> {
        let table = Table::read(&self.db).await?;
        *self.table.write() = table;
        Ok(())
    }

    /// The same, once storage answers.
    async fn settle(self: Arc<Self>) {
        loop {
            tokio::time::sleep(READ_PAUSE).await;
            let _one = self.changes.lock().await;
            match self.read_anew().await {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "custom domains could not be read anew"),
            }
        }
    }
}
