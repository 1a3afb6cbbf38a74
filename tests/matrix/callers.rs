//! The callers of the matrix, and how each of them asks.

use reqwest::{Method, RequestBuilder};

use crate::harness::TestServer;

/// Every kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// The owner in person, on the app's origin.
    Owner,
    /// An agent of the owner.
    Agent,
    /// Another agent of the owner, which writes what is foreign to everybody else.
    Sibling,
    /// An admin of the app's organization, on the app's origin.
    Admin,
    Member,
    /// A member with the custom role `pilot`.
    Pilot,
    /// Who came by a grant link for `pilot`.
    Holder,
    Anonymous,
    /// A signed-in human that is nothing to the app, in a public one.
    Passerby,
    Preview,
    /// A credential for the collections of even numbers.
    Explicit,
    Following,
    /// A credential of scope `own`.
    Own,
    /// An agent of somebody else.
    Stranger,
}

use Who::{
    Admin, Agent, Anonymous, Explicit, Following, Holder, Member, Own, Owner, Passerby, Pilot,
    Preview, Stranger,
};

/// Who asks a private app.
pub const OF_PRIVATE: [Who; 12] = [
    Owner, Agent, Admin, Member, Pilot, Holder, Preview, Explicit, Following, Own, Stranger,
    Passerby,
];
/// Who asks a public app.
pub const OF_PUBLIC: [Who; 9] =
    [Owner, Admin, Member, Pilot, Holder, Anonymous, Passerby, Own, Stranger];

impl Who {
    /// What the keys of its rows begin with.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub const fn is_credential(self) -> bool {
        matches!(self, Explicit | Following | Own)
    }
}

/// How a caller asks.
#[derive(Debug, Clone)]
pub enum Pass {
    /// A bearer of `/v1`.
    Bearer(String),
    /// A participant token on the app's origin.
    Participant(String),
    /// Nothing works: what everything is answered.
    Refused(&'static str, Box<Pass>),
}

/// Where the app is.
#[derive(Debug, Clone)]
pub struct Place {
    pub id: String,
    pub host: String,
}

impl Pass {
    /// A request to something below the app: `collections/...`, `feed`, `events`.
    pub fn ask(
        &self,
        server: &TestServer,
        place: &Place,
        method: Method,
        rest: &str,
    ) -> RequestBuilder {
        let api = format!("/v1/apps/{}/{rest}", place.id);
        match self {
            Self::Bearer(key) => server.request(method, &api).bearer_auth(key),
            Self::Participant(token) => {
                let request = server.request(method, &format!("/s/{rest}"));
                request.header("host", &place.host).header("x-service-participant-token", token)
            }
            Self::Refused(_, pass) => pass.ask(server, place, method, rest),
        }
    }
}
