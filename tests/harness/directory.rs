//! A directory that a test fills by hand.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, OnceLock},
};

use futures::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use rookery::http::auth::{Authenticator, Identity};
use rookery_actors::{AppHandle, Apps};
use rookery_domain::{
    Result,
    app::{AppRecord, AppStatus},
    id::{AgentId, AppId, CredentialId, HistoryId, HumanId, KeyId, SessionId},
    manifest::Visibility,
    secret::{HashHalf, Secret},
};
use tokio_util::sync::CancellationToken;

use super::START;

/// Who has which credential, and what is whose.
#[derive(Default)]
pub struct TestDirectory {
    entries: Mutex<Entries>,
    /// The registry of the running server, where apps of [`TestDirectory::app`] are put.
    pub apps: OnceLock<Apps>,
}

#[derive(Default)]
struct Entries {
    bearers: HashMap<String, Identity>,
    sessions: HashMap<String, Identity>,
    members: Vec<(AppId, HumanId)>,
    emails: HashMap<HumanId, String>,
}

impl TestDirectory {
    /// A human with a session; the cookie is `secret`.
    pub fn human(&self, secret: &str) -> HumanId {
        let human = HumanId::new();
        let identity = Identity::Human { human, session: SessionId::new() };
        self.entries.lock().unwrap().sessions.insert(secret.to_owned(), identity);
        human
    }

    /// An agent, claimed by `owner` or not yet; the key is `secret`.
    pub fn agent(&self, secret: &str, owner: Option<HumanId>) {
        let identity = Identity::Agent { agent: AgentId::new(), key: KeyId::new(), owner };
        self.entries.lock().unwrap().bearers.insert(secret.to_owned(), identity);
    }

    /// A human that another server knew, with its session and its agent.
    pub fn admit(&self, human: HumanId, session: &str, key: &str) {
        let identity = Identity::Human { human, session: SessionId::new() };
        self.entries.lock().unwrap().sessions.insert(session.to_owned(), identity);
        self.agent(key, Some(human));
    }

    /// A service credential of `app`.
    pub fn credential(&self, secret: &str, app: AppId) {
        let credential = CredentialId::new();
        let identity = Identity::Credential { credential, app, token: HashHalf([0; 16]) };
        self.entries.lock().unwrap().bearers.insert(secret.to_owned(), identity);
    }

    /// Forgets a key.
    pub fn revoke(&self, secret: &str) {
        self.entries.lock().unwrap().bearers.remove(secret);
    }

    /// Makes `human` a member of `app`.
    pub fn member(&self, app: AppId, human: HumanId) {
        self.entries.lock().unwrap().members.push((app, human));
    }

    /// Gives `human` a verified address.
    pub fn verify(&self, human: HumanId, email: &str) {
        self.entries.lock().unwrap().emails.insert(human, email.to_owned());
    }

    /// An app of `owner`.
    pub async fn app(&self, owner: HumanId, slug: &str, status: AppStatus) -> AppId {
        let id = AppId::new();
        let record = AppRecord {
            id,
            owner,
            org: None,
            created_by: None,
            slug: slug.into(),
            status,
            visibility: Visibility::Private,
            timezone: "UTC".into(),
            version: 1,
            share: None,
            migration_until: None,
            unrestricted: false,
            retention: BTreeMap::new(),
            history: HistoryId::new(),
            opened_seq: 0,
            created_at: START,
            updated_at: START,
            deleted_at: None,
            purge_at: None,
        };
        // One that is being destroyed is not found by anybody.
        let _ = self.apps.get().expect("the server runs").adopt(record).await;
        id
    }
}

impl TestDirectory {
    /// The directory of the server that follows: the same people, no apps yet.
    pub fn successor(&self) -> Self {
        let entries = std::mem::take(&mut *self.entries.lock().unwrap());
        Self { entries: Mutex::new(entries), apps: OnceLock::new() }
    }
}

impl Authenticator for TestDirectory {
    fn watch(&self, _: &Secret) -> Result<Option<CancellationToken>> {
        Ok(Some(CancellationToken::new()))
    }

    fn bearer(&self, secret: &str) -> Result<Option<Identity>> {
        Ok(self.entries.lock().unwrap().bearers.get(secret).copied())
    }

    fn session(&self, secret: &str) -> Result<Option<Identity>> {
        Ok(self.entries.lock().unwrap().sessions.get(secret).copied())
    }

    fn is_member<'a>(&'a self, app: &'a AppHandle, human: HumanId) -> BoxFuture<'a, Result<bool>> {
        let known = self.entries.lock().unwrap().members.contains(&(app.id(), human));
        future::ready(Ok(known)).boxed()
    }

    fn verified_email(&self, human: HumanId) -> Option<String> {
        self.entries.lock().unwrap().emails.get(&human).cloned()
    }
}
