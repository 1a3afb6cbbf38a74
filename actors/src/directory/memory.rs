//! What is in memory, and the invariant: the index of keys holds exactly the keys of the agents.

use std::{
    collections::{
        BTreeSet, HashMap,
        hash_map::Entry::{Occupied, Vacant},
    },
    ops::Bound::{Excluded, Unbounded},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId, SessionId},
    secret::SecretHash,
};
use rookery_storage::{
    agents::{
        Agent,
        keys::{Key, KeyState},
    },
    directory::Entry,
    humans::Human,
    sessions::Session,
};
use rustc_hash::FxHashMap;

use super::{endings::Ending, org_book::OrgBook, sign_in::SESSION_TTL_S};

/// No use is on record.
const NEVER: i64 = i64::MIN;

/// Everything that authentication asks.
#[derive(Default)]
pub(super) struct Memory {
    humans: HashMap<HumanId, Arc<Human>>,
    agents: HashMap<AgentId, AgentEntry>,
    /// How many of them nobody has claimed.
    unclaimed: usize,
    /// Agents of each human, oldest first.
    owned: HashMap<HumanId, BTreeSet<(Timestamp, AgentId)>>,
    /// The hashes are of secrets that we drew: nobody chooses where they fall.
    keys: FxHashMap<SecretHash, Arc<KeyEntry>>,
    sessions: FxHashMap<SecretHash, Arc<SessionEntry>>,
    pub(super) orgs: OrgBook,
}

/// An agent and its keys, oldest first, the revoked ones too.
pub(super) struct AgentEntry {
    pub(super) agent: Arc<Agent>,
    pub(super) keys: Vec<Arc<KeyEntry>>,
}

/// A key and when it was used last.
pub(super) struct KeyEntry {
    key: Key,
    used_at: AtomicI64,
    pub(super) ending: Arc<Ending>,
}

/// A session and when it was used last.
pub(super) struct SessionEntry {
    /// Its id.
    pub(super) id: SessionId,
    /// Whose it is.
    pub(super) human: HumanId,
    created_at: Timestamp,
    seen_at: AtomicI64,
    /// When the browser was last given the cookie.
    cookie_at: AtomicI64,
    pub(super) ending: Ending,
}

impl Memory {
    /// Takes one record of storage, in storage's order. What belongs to an account that could not be read
    /// is left out, as if that were not there.
    pub(super) fn take(&mut self, entry: Entry) {
        let human = match &entry {
            Entry::Agent(agent) => agent.owner,
            Entry::Session(session) => Some(session.human),
            Entry::OrgMember(member) => Some(member.human),
            Entry::Human(_) | Entry::Key(_) | Entry::Org(_) => None,
        };
        if human.is_some_and(|human| !self.humans.contains_key(&human)) {
            return;
        }
        match entry {
            Entry::Human(human) => self.put_human(human),
            Entry::Agent(agent) => self.put_agent(agent),
            Entry::Key(key) => self.add_key(key),
            Entry::Session(session) => self.put_session(&session),
            Entry::Org(org) => self.orgs.put(org),
            Entry::OrgMember(member) => self.orgs.put_member(member),
        }
    }

    pub(super) fn put_human(&mut self, human: Human) {
        self.humans.insert(human.id, Arc::new(human));
    }

    /// Forgets a human who was invited and never came.
    pub(super) fn remove_placeholder(&mut self, human: HumanId) {
        self.humans.remove(&human);
    }

    /// Adds an agent, or replaces its record; its keys stay.
    pub(super) fn put_agent(&mut self, agent: Agent) {
        if let Some(owner) = agent.owner {
            self.owned.entry(owner).or_default().insert((agent.created_at, agent.id));
        }
        self.unclaimed += usize::from(agent.owner.is_none());
        let agent = Arc::new(agent);
        match self.agents.entry(agent.id) {
            Vacant(entry) => drop(entry.insert(AgentEntry { agent, keys: Vec::new() })),
            Occupied(mut entry) => {
                let before = std::mem::replace(&mut entry.get_mut().agent, agent);
                self.unclaimed -= usize::from(before.owner.is_none());
            }
        }
    }

    /// How many agents nobody has claimed.
    pub(super) const fn unclaimed(&self) -> usize {
        self.unclaimed
    }

    /// Forgets an agent that nobody has claimed, with its keys.
    pub(super) fn remove_unclaimed(&mut self, agent: AgentId) {
        let Some(gone) = self.agents.remove(&agent) else { return };
        self.unclaimed -= usize::from(gone.agent.owner.is_none());
        for gone in gone.keys {
            self.keys.remove(&gone.key.hash);
        }
    }

    /// Adds a key to its agent, which must be here.
    pub(super) fn add_key(&mut self, key: Key) {
        self.keep_key(key, Arc::default());
    }

    fn keep_key(&mut self, key: Key, ending: Arc<Ending>) {
        let Some(agent) = self.agents.get_mut(&key.agent) else { return };
        let used_at = AtomicI64::new(key.last_used_at.map_or(NEVER, |at| at.0));
        let entry = Arc::new(KeyEntry { key, used_at, ending });
        self.keys.insert(entry.key.hash, Arc::clone(&entry));
        agent.keys.push(entry);
    }

    /// Replaces all keys of an agent. Those that stay active do not end.
    pub(super) fn put_keys(&mut self, agent: AgentId, keys: Vec<Key>) {
        let Some(entry) = self.agents.get_mut(&agent) else { return };
        let before = std::mem::take(&mut entry.keys);
        for old in &before {
            self.keys.remove(&old.key.hash);
        }
        for mut key in keys {
            let known = before.iter().find(|old| old.key.id == key.id);
            key.last_used_at = known.and_then(|old| old.used_at()).or(key.last_used_at);
            let active = [Some(key.state), known.map(|old| old.key.state)];
            let stays = active == [Some(KeyState::Active); 2];
            let ending = known.filter(|_| stays).map(|old| Arc::clone(&old.ending));
            self.keep_key(key, ending.unwrap_or_default());
        }
    }

    pub(super) fn put_session(&mut self, session: &Session) {
        let entry = SessionEntry {
            id: session.id,
            human: session.human,
            created_at: session.created_at,
            seen_at: AtomicI64::new(session.seen_at.0),
            cookie_at: AtomicI64::new(session.created_at.0),
            ending: Ending::default(),
        };
        self.sessions.insert(session.hash, Arc::new(entry));
    }

    pub(super) fn remove_session(&mut self, hash: SecretHash) {
        self.sessions.remove(&hash);
    }

    /// Ends every session of a human.
    pub(super) fn remove_sessions_of(&mut self, human: HumanId) {
        self.sessions.retain(|_, session| session.human != human);
    }

    /// Revokes every key of every agent of a human.
    pub(super) fn revoke_keys_of(&mut self, human: HumanId) {
        let records = |entry: &AgentEntry| entry.keys.iter().map(|key| key.record()).collect();
        let agents: Vec<(AgentId, Vec<Key>)> =
            self.agents_of(human, None).map(|entry| (entry.agent.id, records(entry))).collect();
        for (agent, mut keys) in agents {
            for key in &mut keys {
                key.state = KeyState::Revoked;
            }
            self.put_keys(agent, keys);
        }
    }

    /// Forgets sessions that have ended.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.sessions.retain(|_, session| session.is_open(now));
    }

    pub(super) fn human(&self, id: HumanId) -> Option<&Arc<Human>> {
        self.humans.get(&id)
    }

    pub(super) fn agent(&self, id: AgentId) -> Option<&AgentEntry> {
        self.agents.get(&id)
    }

    pub(super) fn key(&self, hash: SecretHash) -> Option<&Arc<KeyEntry>> {
        self.keys.get(&hash)
    }

    pub(super) fn session(&self, hash: SecretHash) -> Option<&Arc<SessionEntry>> {
        self.sessions.get(&hash)
    }

    /// The agents of a human, newest first, behind the one at `after`.
    pub(super) fn agents_of(
        &self,
        human: HumanId,
        after: Option<(Timestamp, AgentId)>,
    ) -> impl Iterator<Item = &AgentEntry> {
        let before = (Unbounded, after.map_or(Unbounded, Excluded));
        let owned = self.owned.get(&human).into_iter();
        let agents = owned.flat_map(move |owned| owned.range(before).rev());
        agents.filter_map(|(_, id)| self.agents.get(id))
    }
}

impl KeyEntry {
    /// The key's record as it is now.
    pub(super) fn record(&self) -> Key {
        Key { last_used_at: self.used_at(), ..self.key.clone() }
    }

    pub(super) const fn key(&self) -> &Key {
        &self.key
    }

    fn used_at(&self) -> Option<Timestamp> {
        let at = self.used_at.load(Ordering::Relaxed);
        (at != NEVER).then_some(Timestamp(at))
    }

    /// Notes a use; whether it is worth writing down.
    pub(super) fn touch(&self, now: Timestamp, every_s: i64) -> bool {
        advance(&self.used_at, now, every_s)
    }
}

impl SessionEntry {
    /// Whether it was used within the last 30 days.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        now < self.seen_at().plus_seconds(SESSION_TTL_S)
    }

    /// When it was used last.
    pub(super) fn seen_at(&self) -> Timestamp {
        Timestamp(self.seen_at.load(Ordering::Relaxed))
    }

    /// Notes a use; whether it is worth writing down. None is from before the session was made, or a
    /// clock that is slow for a month would end it for good.
    pub(super) fn touch(&self, now: Timestamp, every_s: i64) -> bool {
        advance(&self.seen_at, now.max(self.created_at), every_s)
    }

    /// Whether the browser should be given the cookie again, so that it keeps it as long as the
    /// session lasts. True for one of any number of callers.
    pub(super) fn renew_cookie(&self, now: Timestamp, every_s: i64) -> bool {
        advance(&self.cookie_at, now, every_s)
    }
}

/// Moves `at` to `now` when that is `every_s` seconds on, or `at` is in the future; true for one of any
/// number of callers.
fn advance(at: &AtomicI64, now: Timestamp, every_s: i64) -> bool {
    let before = at.load(Ordering::Relaxed);
    let last = Timestamp(before);
    let due = before == NEVER || now >= last.plus_seconds(every_s) || last.is_ahead_of(now);
    due && at.compare_exchange(before, now.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}
