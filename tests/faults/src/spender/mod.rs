//! What can be spent only once, and what can be revoked: links, claim codes, keys, and a budget of
//! anonymous writes. After a fault, spent stays spent and revoked stays revoked.

mod guests;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use guests::Guests;

use crate::{
    api::{Api, expect, text},
    failure::Result,
    verdict::Violations,
};

/// Things of each kind that are looked at again after a fault; wrong claim codes are few a minute.
const LOOKS: usize = 2;

/// One thing that was spent or revoked; nobody may have been told so.
#[derive(Debug)]
struct Spent {
    what: What,
    was_told: bool,
}

#[derive(Debug)]
enum What {
    /// A mailed link, by its token.
    Link(String),
    /// A key, by its secret.
    Key(String),
    /// A claim code, and the key of the agent that used it.
    Claim(String, String),
}

/// Somebody who spends and revokes while the server is being broken.
#[derive(Debug)]
pub struct Spender {
    task: JoinHandle<Vec<Spent>>,
    stop: CancellationToken,
}

impl Spender {
    /// Begins.
    #[must_use]
    pub fn start(api: &Api) -> Self {
        let stop = CancellationToken::new();
        let (api, stopped) = (api.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let mut spent = Vec::new();
            while !stopped.is_cancelled() && round(&api, &mut spent).await.is_ok() {}
            spent
        });
        Self { task, stop }
    }

    /// What it spent.
    ///
    /// # Errors
    /// When it failed itself.
    pub async fn finish(self) -> Result<Ledger> {
        self.stop.cancel();
        Ok(Ledger(self.task.await?))
    }
}

/// A link, a key and a claim code, one after the other.
async fn round(api: &Api, spent: &mut Vec<Spent>) -> Result<()> {
    let token = api.link_token().await?;
    spend(spent, What::Link(token.clone()), verify(api, &token).await, 303)?;

    let made = expect(api.request(Method::POST, "/v1/keys"), 201).await?;
    let (id, secret) = (text(&made["id"])?, text(&made["secret"])?);
    let revoke = api.plain(Method::DELETE, &format!("/v1/keys/{id}")).bearer_auth(&secret);
    spend(spent, What::Key(secret), status(revoke).await, 204)?;

    let (agent, code) = (api.agent().await?, api.claim_code().await?);
    let claimed = claim(api, &agent, &code).await;
    spend(spent, What::Claim(code, agent), claimed, 200)
}

fn spend(spent: &mut Vec<Spent>, what: What, status: Result<u16>, done: u16) -> Result<()> {
    let was_told = status.as_ref().is_ok_and(|status| *status == done);
    // A refusal spends nothing: what expired meanwhile, for example.
    if was_told || status.is_err() {
        spent.push(Spent { what, was_told });
    }
    status.map(drop)
}

async fn status(request: reqwest::RequestBuilder) -> Result<u16> {
    let answer = request.send().await?;
    let status = answer.status().as_u16();
    answer.bytes().await?;
    Ok(status)
}

async fn verify(api: &Api, token: &str) -> Result<u16> {
    status(api.plain(Method::GET, &format!("/v1/auth/verify?token={token}"))).await
}

async fn claim(api: &Api, agent: &str, code: &str) -> Result<u16> {
    let claim = api.plain(Method::POST, "/v1/agents/claim").bearer_auth(agent);
    status(claim.json(&json!({"code": code}))).await
}

/// What was spent and revoked.
#[derive(Debug, Default)]
pub struct Ledger(Vec<Spent>);

impl Ledger {
    /// How much of it was acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.0.iter().filter(|spent| spent.was_told).count()
    }

    /// Tries the newest of each kind again, and what nobody was told about.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn check(&self, api: &Api, violations: &mut Violations) -> Result<()> {
        let (mut links, mut keys, mut claims) = (0, 0, 0);
        for spent in self.0.iter().rev() {
            let seen = match &spent.what {
                What::Link(_) => &mut links,
                What::Key(_) => &mut keys,
                What::Claim(..) => &mut claims,
            };
            *seen += 1;
            if *seen > LOOKS {
                continue;
            }
            match &spent.what {
                What::Link(token) => {
                    let first = verify(api, token).await?;
                    let again = verify(api, token).await?;
                    let fits = first == 401 || (!spent.was_told && first == 303);
                    violations.unless(fits && again == 401, || {
                        format!("a link, told {}: {first}, then {again}", spent.was_told)
                    });
                }
                What::Key(secret) => {
                    let used = api.plain(Method::GET, "/v1/keys").bearer_auth(secret);
                    let used = status(used).await?;
                    let fits = used == 401 || (!spent.was_told && used == 200);
                    violations
                        .unless(fits, || format!("a revoked key, told {}: {used}", spent.was_told));
                }
                What::Claim(code, agent) => {
                    let works = api.plain(Method::GET, "/v1/apps").bearer_auth(agent);
                    let works = status(works).await? == 200;
                    let other = claim(api, &api.agent().await?, code).await?;
                    let fits = matches!((works, other), (true, 404) | (false, 200));
                    violations.unless(fits && (works || !spent.was_told), || {
                        format!("a claim, told {}: holds {works}, again {other}", spent.was_told)
                    });
                }
            }
        }
        Ok(())
    }
}

/// The JSON member `name` as a number; 0 where it is none.
fn number(value: &Value, name: &str) -> usize {
    value[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}
