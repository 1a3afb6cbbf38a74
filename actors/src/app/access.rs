//! Who may do what in one app beside its owner: members, grant links, previews and service
//! credentials. A part of the app's published state, so that whoever asks is checked against the
//! newest, and looking somebody up takes the same time however many there are.
//!
//! What is not here: what a role opens (`domain::access`), and who is asked (`standing`).

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    credentials::Credential,
    grants::Grant,
    id::{CredentialId, GrantId, HumanId, PreviewId},
    members::Member,
    previews::Preview,
    secret::SecretHash,
};
use rookery_storage::{PREVIEWS_KEPT_MAX, load::LoadedAccess};

/// Memory of one entry: the record, and its places in the tables.
const ENTRY_BYTES: u64 = 320;

/// Everybody and everything that has rights in an app. Cloning shares the tables.
#[derive(Clone, Default)]
pub(crate) struct AccessTables {
    members: imbl::HashMap<HumanId, Arc<Member>>,
    grants: imbl::HashMap<GrantId, Arc<Grant>>,
    grant_tokens: imbl::HashMap<SecretHash, GrantId>,
    previews: imbl::HashMap<PreviewId, Arc<Preview>>,
    preview_tokens: imbl::HashMap<SecretHash, PreviewId>,
    credentials: imbl::HashMap<CredentialId, Arc<Credential>>,
}

impl AccessTables {
    pub(crate) fn of_loaded(loaded: LoadedAccess) -> Self {
        let mut tables = Self::default();
        for member in loaded.members {
            tables.put_member(Arc::new(member));
        }
        for grant in loaded.grants {
            tables.put_grant(Arc::new(grant));
        }
        for preview in loaded.previews {
            tables.put_preview(Arc::new(preview));
        }
        for credential in loaded.credentials {
            tables.put_credential(Arc::new(credential));
        }
        tables
    }

    pub(crate) fn member(&self, human: HumanId) -> Option<&Arc<Member>> {
        self.members.get(&human)
    }

    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// How many members have a custom role, and how many grant links that have not ended give it.
    pub(crate) fn holders(&self, role: &str, now: Timestamp) -> (usize, usize) {
        let has = |member: &&Arc<Member>| member.custom_role.as_deref() == Some(role);
        let gives = |grant: &&Arc<Grant>| *grant.role == *role && grant.holds(now);
        (self.members.values().filter(has).count(), self.grants.values().filter(gives).count())
    }

    pub(crate) fn put_member(&mut self, member: Arc<Member>) {
        self.members.insert(member.human, member);
    }

    pub(crate) fn remove_member(&mut self, human: HumanId) {
        self.members.remove(&human);
    }

    pub(crate) fn grant(&self, id: GrantId) -> Option<&Arc<Grant>> {
        self.grants.get(&id)
    }

    pub(crate) fn grant_by_token(&self, hash: &SecretHash) -> Option<&Arc<Grant>> {
        self.grant(*self.grant_tokens.get(hash)?)
    }

    pub(crate) fn grant_count(&self) -> usize {
        self.grants.len()
    }

    /// Whether any grant link still gives its holders a role.
    pub(crate) fn has_live_grants(&self, now: Timestamp) -> bool {
        self.grants.values().any(|grant| grant.holds(now))
    }

    pub(crate) fn put_grant(&mut self, grant: Arc<Grant>) {
        self.grant_tokens.insert(grant.hash, grant.id);
        self.grants.insert(grant.id, grant);
    }

    pub(crate) fn remove_grant(&mut self, id: GrantId) {
        if let Some(grant) = self.grants.remove(&id) {
            self.grant_tokens.remove(&grant.hash);
        }
    }

    pub(crate) fn preview(&self, id: PreviewId) -> Option<&Arc<Preview>> {
        self.previews.get(&id)
    }

    pub(crate) fn preview_by_token(&self, hash: &SecretHash) -> Option<&Arc<Preview>> {
        self.preview(*self.preview_tokens.get(hash)?)
    }

    /// All previews that are not revoked, those that have expired and are not forgotten yet too.
    pub(crate) fn all_previews(&self) -> Vec<Arc<Preview>> {
        self.previews.values().cloned().collect()
    }

    /// How many previews open something.
    pub(crate) fn live_previews(&self, now: Timestamp) -> usize {
        self.previews.values().filter(|one| one.is_live(now)).count()
    }

    /// Takes a preview in. Where more are known than stay on record, the one that ends first is forgotten,
    /// and none for what the clock says: it may be set back, and whoever revokes one then has to find it.
    pub(crate) fn put_preview(&mut self, preview: Arc<Preview>) {
        if self.previews.len() >= PREVIEWS_KEPT_MAX
            && let Some(first) = self.previews.values().min_by_key(|one| (one.expires_at, one.id))
        {
            self.remove_preview(first.id);
        }
        self.preview_tokens.insert(preview.hash, preview.id);
        self.previews.insert(preview.id, preview);
    }

    pub(crate) fn remove_preview(&mut self, id: PreviewId) {
        if let Some(preview) = self.previews.remove(&id) {
            self.preview_tokens.remove(&preview.hash);
        }
    }

    pub(crate) fn credential(&self, id: CredentialId) -> Option<&Arc<Credential>> {
        self.credentials.get(&id)
    }

    pub(crate) fn credential_count(&self) -> usize {
        self.credentials.len()
    }

    pub(crate) fn put_credential(&mut self, credential: Arc<Credential>) {
        self.credentials.insert(credential.id, credential);
    }

    pub(crate) fn remove_credential(&mut self, id: CredentialId) {
        self.credentials.remove(&id);
    }

    /// About how many bytes it holds in memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let entries =
            self.members.len() + self.grants.len() + self.previews.len() + self.credentials.len();
        ENTRY_BYTES * entries as u64
    }
}
