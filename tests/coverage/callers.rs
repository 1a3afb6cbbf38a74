//! Every kind of caller, how it asks, and what the document promises it.

use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;

use super::{document::Operation, house::House};
use crate::harness::{Agent, Human, TestServer, forged};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Nobody,
    /// A key that was never given out.
    Forged,
    /// What is no secret of this service at all.
    Nonsense,
    /// A forged key beside the owner's good session.
    ForgedBesideSession,
    /// A participant token, sent as a bearer.
    VisitAsBearer,
    /// An agent that nobody has claimed.
    Unclaimed,
    StrangersAgent,
    Stranger,
    /// The owner's session without saying which page sent it.
    WithoutOrigin,
    /// The owner's session, sent by another site, by a sandboxed page, by an app's page.
    OtherSite,
    Sandboxed,
    SiblingApp,
    Member,
    MembersAgent,
    Credential,
    /// A credential of somebody else's app.
    OtherCredential,
    Owner,
    OwnersAgent,
    /// A token of the app's origin: a member's, a grant holder's, a preview's, the owner's.
    Visitor(usize),
    ForgedVisitor,
    /// A token of another app.
    OtherVisitor,
    /// A signed-in human that the private app is not open to.
    Passerby,
    /// A member's token in a cookie, without the page's origin.
    VisitorWithoutOrigin,
    /// The site's session on the app's origin.
    SessionOnApp,
    /// An agent's key on the app's origin.
    KeyOnApp,
}

/// Those that ask below `/v1`.
pub const ON_SITE: [Who; 18] = [
    Who::Nobody,
    Who::Forged,
    Who::Nonsense,
    Who::ForgedBesideSession,
    Who::VisitAsBearer,
    Who::Unclaimed,
    Who::StrangersAgent,
    Who::Stranger,
    Who::WithoutOrigin,
    Who::OtherSite,
    Who::Sandboxed,
    Who::SiblingApp,
    Who::Member,
    Who::MembersAgent,
    Who::Credential,
    Who::OtherCredential,
    Who::Owner,
    Who::OwnersAgent,
];

/// Those that ask below `/s`.
pub const ON_APP: [Who; 11] = [
    Who::Nobody,
    Who::ForgedVisitor,
    Who::OtherVisitor,
    Who::Passerby,
    Who::VisitorWithoutOrigin,
    Who::SessionOnApp,
    Who::KeyOnApp,
    Who::Visitor(0),
    Who::Visitor(1),
    Who::Visitor(2),
    Who::Visitor(3),
];

/// What a caller must get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    Refused(ErrorCode),
    /// What something that is nowhere answers.
    AsAbsent,
    /// Whatever the document says of the operation.
    LetIn,
}

/// People from elsewhere.
pub struct Elsewhere<'a> {
    pub unclaimed: Agent,
    pub stranger: Human,
    pub strangers_agent: Agent,
    /// The stranger's own house: its credential and its visits are good, elsewhere.
    pub house: House<'a>,
    /// The stranger's token on the app's origin.
    pub passerby: String,
}

impl<'a> Elsewhere<'a> {
    pub async fn of(server: &'a TestServer, house: &House<'a>) -> Self {
        let other = House::build(server, "elsewhere").await;
        let stranger = server.human("stranger@example.com").await;
        Self {
            unclaimed: server.unclaimed_agent().await,
            strangers_agent: server.agent(&stranger).await,
            passerby: house.enter(&stranger).await,
            stranger,
            house: other,
        }
    }
}

/// A request of `who` to `path`.
pub fn ask(
    who: Who,
    house: &House<'_>,
    elsewhere: &Elsewhere<'_>,
    method: &Method,
    path: &str,
) -> RequestBuilder {
    let server = house.server;
    let plain = || server.request(method.clone(), path);
    let by = |human: &Human| server.by(human, method.clone(), path);
    let owner = || plain().header("cookie", &house.owner.cookie);
    let on_app = || plain().header("host", house.host());
    let visitor = |token: &str| on_app().header("x-service-participant-token", token);
    match who {
        Who::Nobody if path.starts_with("/s/") => on_app(),
        Who::Nobody => plain(),
        Who::Forged => plain().bearer_auth(forged(&house.agent.key)),
        Who::Nonsense => plain().bearer_auth("nonsense"),
        Who::ForgedBesideSession => by(&house.owner).bearer_auth(forged(&house.agent.key)),
        Who::VisitAsBearer => plain().bearer_auth(&house.visits[3]),
        Who::Unclaimed => plain().bearer_auth(&elsewhere.unclaimed.key),
        Who::StrangersAgent => plain().bearer_auth(&elsewhere.strangers_agent.key),
        Who::Stranger => by(&elsewhere.stranger),
        Who::WithoutOrigin => owner(),
        Who::OtherSite => owner().header("origin", "https://evil.example"),
        Who::Sandboxed => owner().header("origin", "null"),
        Who::SiblingApp => owner().header("origin", house.origin()),
        Who::Member => by(&house.member),
        Who::MembersAgent => plain().bearer_auth(&house.member_agent.key),
        Who::Credential => plain().bearer_auth(&house.credential),
        Who::OtherCredential => plain().bearer_auth(&elsewhere.house.credential),
        Who::Owner => by(&house.owner),
        Who::OwnersAgent => plain().bearer_auth(&house.agent.key),
        Who::Visitor(at) => visitor(&house.visits[at]),
        Who::ForgedVisitor => visitor(&forged(&house.visits[0])),
        Who::OtherVisitor => visitor(&elsewhere.house.visits[0]),
        Who::Passerby => visitor(&elsewhere.passerby),
        Who::VisitorWithoutOrigin => {
            on_app().header("cookie", format!("service_participant={}", house.visits[0]))
        }
        Who::SessionOnApp => on_app().header("cookie", &house.owner.cookie),
        Who::KeyOnApp => on_app().bearer_auth(&house.agent.key),
    }
}

/// What the document promises `who`.
pub fn promise(who: Who, operation: &Operation) -> Promise {
    if operation.schemes.is_empty() {
        return Promise::LetIn;
    }
    if operation.on_app_origin() { on_app(who, operation) } else { on_site(who, operation) }
}

fn on_app(who: Who, operation: &Operation) -> Promise {
    use Promise::{LetIn, Refused};
    if who == Who::KeyOnApp {
        return Refused(ErrorCode::Forbidden);
    }
    // The session itself: it tells everybody something, and takes bad cookies away.
    if operation.who.starts_with("Anybody") {
        return LetIn;
    }
    match who {
        Who::ForgedVisitor | Who::OtherVisitor => Refused(ErrorCode::ParticipantTokenInvalid),
        Who::Nobody | Who::Passerby | Who::SessionOnApp => Refused(ErrorCode::Unauthorized),
        Who::VisitorWithoutOrigin if !operation.is_safe() => Refused(ErrorCode::CsrfOriginMismatch),
        _ => LetIn,
    }
}

fn on_site(who: Who, operation: &Operation) -> Promise {
    use Promise::{AsAbsent, LetIn, Refused};
    let (agents, humans) = (operation.accepts("agent_key"), operation.accepts("human_session"));
    let credentials = operation.accepts("service_credential");
    // What no allowlist can name: the app itself refuses its own credentials.
    let by_scope = !credentials && operation.tells("credential_scope_forbidden");
    let on_app = operation.template.contains("/apps/{");
    // Whose things are asked for tells strangers from owners; without any, all are alike.
    let stranger = if operation.has_subject() { AsAbsent } else { LetIn };
    let wrong_kind = Refused(ErrorCode::Forbidden);
    match who {
        Who::Nobody | Who::Forged | Who::Nonsense => Refused(ErrorCode::Unauthorized),
        Who::ForgedBesideSession | Who::VisitAsBearer => Refused(ErrorCode::Unauthorized),
        Who::Unclaimed if !agents => wrong_kind,
        Who::Unclaimed if operation.tells("agent_not_claimed") => {
            Refused(ErrorCode::AgentNotClaimed)
        }
        Who::Unclaimed => stranger,
        Who::StrangersAgent | Who::MembersAgent if agents => stranger,
        Who::Stranger if humans => stranger,
        Who::WithoutOrigin | Who::OtherSite | Who::Sandboxed | Who::SiblingApp if humans => {
            match operation.is_safe() {
                true => LetIn,
                false => Refused(ErrorCode::CsrfOriginMismatch),
            }
        }
        Who::Member if humans && on_app => match operation.who.contains("member") {
            true => LetIn,
            false => wrong_kind,
        },
        Who::Member if humans => stranger,
        Who::Credential if credentials => LetIn,
        Who::Credential if by_scope => Refused(ErrorCode::CredentialScopeForbidden),
        Who::OtherCredential if credentials || by_scope => AsAbsent,
        Who::Owner if humans => LetIn,
        Who::OwnersAgent if agents => LetIn,
        _ => wrong_kind,
    }
}
