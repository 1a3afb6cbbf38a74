//! Changes of who may do what in an app, as they are asked for and answered. Ids and secrets are
//! drawn by whoever asks: the actor sees hashes only.

use std::sync::Arc;

use rookery_domain::{
    credentials::{Credential, Rights},
    expiry::Expiry,
    grants::Grant,
    id::{CredentialId, GrantId, HumanId, PreviewId},
    members::Member,
    previews::Preview,
    secret::{Secret, SecretHash},
};

/// The owner's operations on members, grant links, previews and credentials.
#[derive(Debug, Clone)]
pub enum AccessOp {
    /// Let a human in.
    AddMember {
        /// Who.
        human: HumanId,
        /// Its custom role.
        custom_role: Option<NamedRole>,
    },
    /// Give a member another custom role, or none.
    SetMemberRole {
        /// Who.
        human: HumanId,
        /// Its custom role from now on.
        custom_role: Option<NamedRole>,
    },
    /// Let a member in no more.
    RemoveMember {
        /// Who.
        human: HumanId,
    },
    /// Make a grant link.
    MintGrant(NewGrant),
    /// End a grant link, also for those who came by it.
    RevokeGrant {
        /// Which.
        id: GrantId,
    },
    /// Make a preview token.
    MintPreview(NewPreview),
    /// End a preview token.
    RevokePreview {
        /// Which.
        id: PreviewId,
    },
    /// Make a service credential.
    MintCredential(NewCredential),
    /// Stop a credential.
    PauseCredential {
        /// Which.
        id: CredentialId,
    },
    /// Let a paused credential work again.
    ResumeCredential {
        /// Which.
        id: CredentialId,
    },
    /// Put another token in force.
    RotateCredential {
        /// Which.
        id: CredentialId,
        /// The token.
        token: NewToken,
        /// Seconds that the old one works on.
        overlap_s: i64,
    },
    /// End a credential for ever.
    RevokeCredential {
        /// Which.
        id: CredentialId,
    },
}

/// A custom role that somebody is to have.
#[derive(Debug, Clone)]
pub struct NamedRole {
    /// Its name, which the manifest has to declare.
    pub name: Arc<str>,
    /// What the request calls the role: its refusal names that.
    pub field: &'static str,
}

/// A grant link to be made.
#[derive(Debug, Clone)]
pub struct NewGrant {
    /// Its id.
    pub id: GrantId,
    /// SHA-256 of its token.
    pub hash: SecretHash,
    /// The custom role of its holders.
    pub role: NamedRole,
    /// How many visitors it may make.
    pub max_uses: Option<u32>,
    /// When it shall end; never, if nothing is said.
    pub expiry: Option<Expiry>,
}

/// A preview token to be made.
#[derive(Debug, Clone)]
pub struct NewPreview {
    /// Its id.
    pub id: PreviewId,
    /// SHA-256 of the token.
    pub hash: SecretHash,
    /// When it shall end; in a week, if nothing is said.
    pub expiry: Option<Expiry>,
}

/// A service credential to be made.
#[derive(Debug, Clone)]
pub struct NewCredential {
    /// Its id.
    pub id: CredentialId,
    /// What humans call it.
    pub name: Option<Arc<str>>,
    /// What it enumerates.
    pub rights: Arc<Rights>,
    /// Its first token.
    pub token: NewToken,
}

/// A token of a credential, as the app knows it.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// SHA-256 of it.
    pub hash: SecretHash,
    /// Its listable beginning.
    pub prefix: Arc<str>,
}

impl From<&Secret> for NewToken {
    fn from(secret: &Secret) -> Self {
        Self { hash: secret.hash(), prefix: secret.prefix().into() }
    }
}

/// What a change of permissions answers.
#[derive(Debug, Clone)]
pub enum AccessReply {
    /// The member after it.
    Member(Arc<Member>),
    /// The grant link after it.
    Grant(Arc<Grant>),
    /// The preview token.
    Preview(Arc<Preview>),
    /// The credential after it.
    Credential(Arc<Credential>),
    /// It is gone.
    Gone,
}
