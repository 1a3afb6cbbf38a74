//! Who did it: the `{"kind", "id"}` that records carry (contract part 2), and who asks: the
//! authenticated [`Caller`] that an app's actor resolves to a role.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    id::{self, AgentId, AppId, CredentialId, GrantId, HumanId, ParticipantId, PreviewId},
    secret::HashHalf,
};

/// The kinds of principal that records name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum PrincipalKind {
    /// A programmatic agent, by its key.
    Agent = 1,
    /// A signed-in human.
    Human = 2,
    /// An anonymous visitor, by its participant token.
    Anonymous = 3,
    /// The holder of a grant link.
    Grant = 4,
    /// A service credential.
    Credential = 5,
    /// An inbound catch-hook.
    Ingest = 6,
    /// The service itself (retention, schedules).
    System = 7,
}

crate::all::all_of!(PrincipalKind: Agent Human Anonymous Grant Credential Ingest System);

impl PrincipalKind {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::Anonymous => "anonymous",
            Self::Grant => "grant",
            Self::Credential => "credential",
            Self::Ingest => "ingest",
            Self::System => "system",
        }
    }

    /// The kind with this number in storage, if there is one.
    #[must_use]
    pub const fn from_code(code: i64) -> Option<Self> {
        Some(match code {
            1 => Self::Agent,
            2 => Self::Human,
            3 => Self::Anonymous,
            4 => Self::Grant,
            5 => Self::Credential,
            6 => Self::Ingest,
            7 => Self::System,
            _ => return None,
        })
    }

    const fn id_prefix(self) -> &'static str {
        match self {
            Self::Agent => AgentId::PREFIX,
            Self::Human => HumanId::PREFIX,
            Self::Anonymous | Self::Grant => ParticipantId::PREFIX,
            Self::Credential => CredentialId::PREFIX,
            Self::Ingest => "hok",
            Self::System => "sys",
        }
    }
}

/// Who did something, as records and events name it. 17 bytes, because every row holds two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    /// What kind of caller it was.
    pub kind: PrincipalKind,
    /// The bytes of its typed id.
    pub id: [u8; 16],
}

impl Principal {
    /// The service itself.
    pub const SYSTEM: Self = Self { kind: PrincipalKind::System, id: [0; 16] };

    /// An agent.
    #[must_use]
    pub const fn agent(id: AgentId) -> Self {
        Self::new(PrincipalKind::Agent, id.uuid())
    }

    /// A human.
    #[must_use]
    pub const fn human(id: HumanId) -> Self {
        Self::new(PrincipalKind::Human, id.uuid())
    }

    /// A principal from its parts.
    #[must_use]
    pub const fn new(kind: PrincipalKind, id: Uuid) -> Self {
        Self { kind, id: id.into_bytes() }
    }

    /// Appends `{"kind":"agent","id":"agt_..."}` to `out`.
    pub fn write_json(self, out: &mut String) {
        out.push_str("{\"kind\":\"");
        out.push_str(self.kind.as_str());
        out.push_str("\",\"id\":\"");
        self.write_id(out);
        out.push_str("\"}");
    }

    /// Its id as records name it.
    #[must_use]
    pub fn id_text(self) -> String {
        let mut id = String::with_capacity(32);
        self.write_id(&mut id);
        id
    }

    fn write_id(self, out: &mut String) {
        if self.kind == PrincipalKind::System {
            out.push_str("system");
            return;
        }
        out.push_str(self.kind.id_prefix());
        out.push('_');
        // Writing to a String cannot fail.
        let _ = id::encode_suffix(Uuid::from_bytes(self.id), out);
    }
}

impl Serialize for Principal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let id = self.id_text();
        let mut record = serializer.serialize_struct("Principal", 2)?;
        record.serialize_field("kind", self.kind.as_str())?;
        record.serialize_field("id", &id)?;
        record.end()
    }
}

/// An authenticated caller of an app, before the app's actor has given it a role. It says who
/// asks, never what they may do: permissions are decided against the app's newest state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// An agent's key. `owner` is the human that claimed it: the account it acts for.
    Agent {
        /// The agent.
        agent: AgentId,
        /// Its human; `None` before it is claimed.
        owner: Option<HumanId>,
    },
    /// A human, through a session of the site or of the app's own origin.
    Human {
        /// The human.
        human: HumanId,
        /// Of the share token it came by, where it came by one.
        share: Option<HashHalf>,
        /// As of an anonymous visitor, where it asks on the app's own origin.
        network: Option<u64>,
    },
    /// An anonymous visitor.
    Anonymous {
        /// Told apart by its participant token.
        participant: ParticipantId,
        /// Keyed hash of the client's network (never the address itself), for write budgets.
        network: u64,
        /// Of the share token it came by, where it came by one.
        share: Option<HashHalf>,
    },
    /// The holder of a grant link.
    Grant {
        /// The visitor behind the link.
        participant: ParticipantId,
        /// The link it came by.
        grant: GrantId,
        /// As of an anonymous visitor.
        network: u64,
    },
    /// The holder of a preview token.
    Preview {
        /// The visitor behind the token.
        participant: ParticipantId,
        /// The token it came by.
        preview: PreviewId,
    },
    /// A service credential of one app.
    Credential {
        /// The credential.
        credential: CredentialId,
        /// The only app it can reach.
        app: AppId,
        /// Of the token it came with: one that was rotated out ends on its own.
        token: HashHalf,
    },
    /// The service itself.
    System,
}

impl Caller {
    /// A human by a session of the site: it came by no link, and is held to no visitor's budget.
    #[must_use]
    pub const fn human(human: HumanId) -> Self {
        Self::Human { human, share: None, network: None }
    }

    /// Whether it is the service itself.
    #[must_use]
    pub const fn is_system(&self) -> bool {
        matches!(self, Self::System)
    }

    /// How records name this caller.
    #[must_use]
    pub const fn principal(&self) -> Principal {
        match self {
            Self::Agent { agent, .. } => Principal::agent(*agent),
            Self::Human { human, .. } => Principal::human(*human),
            Self::Anonymous { participant, .. } | Self::Preview { participant, .. } => {
                Principal::new(PrincipalKind::Anonymous, participant.uuid())
            }
            Self::Grant { participant, .. } => {
                Principal::new(PrincipalKind::Grant, participant.uuid())
            }
            Self::Credential { credential, .. } => {
                Principal::new(PrincipalKind::Credential, credential.uuid())
            }
            Self::System => Principal::SYSTEM,
        }
    }

    /// The keyed hash of the network that a visitor asks from.
    #[must_use]
    pub const fn network(&self) -> Option<u64> {
        match self {
            Self::Anonymous { network, .. } | Self::Grant { network, .. } => Some(*network),
            Self::Human { network, .. } => *network,
            _ => None,
        }
    }

    /// The account this caller acts for: an agent's human, or the human itself.
    #[must_use]
    pub const fn account(&self) -> Option<HumanId> {
        match self {
            Self::Agent { owner, .. } => *owner,
            Self::Human { human, .. } => Some(*human),
            _ => None,
        }
    }
}
