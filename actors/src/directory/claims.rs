//! Claim codes: a human mints one, one agent redeems it and belongs to that human.

use std::{net::IpAddr, sync::Arc, time::Duration};

use rookery_domain::{Error, ErrorCode, Result, Timestamp, id::AgentId, secret::UserCode};
use rookery_storage::{
    claims::{self, ClaimOutcome},
    idempotency::KeepResponse,
};
use serde_json::json;

use super::{Directory, agents::AgentRecord, core::Core, sign_in::SessionHolder};

/// Seconds that a typed code is good for.
pub(super) const CODE_TTL_S: i64 = 600;
const CODE_TTL: Duration = Duration::from_secs(CODE_TTL_S as u64);
/// Codes that are drawn before it is given up: of 25 billion, one is free.
pub(super) const DRAWS_MAX: usize = 8;

/// A claim code, and the only time it is seen.
#[derive(Debug, Clone)]
pub struct ClaimCode {
    /// The code.
    pub code: UserCode,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What to do about a full account.
const AGENTS_HINT: &str = "Give one of them a new key in place of a new agent; an operator can raise \
                           `limits.max_agents_per_account`.";

impl Directory {
    /// Mints a claim code for a human, as long as it has this session of the site: whoever ends that
    /// from another one leaves no code behind, in whatever order the requests arrive.
    ///
    /// # Errors
    /// `unauthorized`, when the session has ended; `unavailable`, `internal`.
    pub async fn mint_claim_code(
        &self,
        by: SessionHolder,
        keep: KeepResponse<ClaimCode>,
    ) -> Result<ClaimCode> {
        self.mutate(async move |core: Arc<Core>| {
            core.require_session(by).await?;
            let human = by.human;
            let now = core.now();
            let expires_at = now.plus_seconds(CODE_TTL_S);
            for _ in 0..DRAWS_MAX {
                let code = UserCode::generate(&mut rand::rng());
                let hash = core.key.code_hash(&code);
                let minted = ClaimCode { code, expires_at };
                let (answered, keep) = (minted.clone(), keep.clone());
                let keep = keep.of(move |()| answered.clone());
                if claims::mint(&core.db, hash, human, expires_at, now, keep).await? {
                    return Ok(minted);
                }
            }
            Err(Error::unavailable("no free claim code was found").into())
        })
        .await
    }

    /// Binds an agent to the human that minted `code`. Of any number of agents that try one code
    /// at once, one wins.
    ///
    /// # Errors
    /// `not_found`, one and the same for an unknown, spent and expired code; `conflict`, when the
    /// agent has an owner; `account_quota_exceeded`, when the human has as many as an account may have;
    /// `rate_limited` after too many wrong codes from `client`; `unavailable`, `internal`.
    pub async fn claim(&self, agent: AgentId, code: &str, client: IpAddr) -> Result<AgentRecord> {
        let code = UserCode::parse(code);
        self.mutate(async move |core: Arc<Core>| {
            let (now, max) = (core.now(), core.options.agents_per_account_max);
            let no_such_code = || Error::new(ErrorCode::NotFound, "no such claim code");
            let claimed = || Error::new(ErrorCode::Conflict, "this agent is claimed already");
            if core.agent_record(agent)?.agent.owner.is_some() {
                return Err(claimed().into());
            }
            let attempt = core.guesses.begin(core.key.network(client), core.clock.elapsed())?;
            let Some(code) = code else { return Err(no_such_code().into()) };
            let hash = core.key.code_hash(&code);
            let outcome = claims::redeem(&core.db, hash, agent, max, now).await;
            let is_guess = matches!(outcome, Ok(ClaimOutcome::NoSuchCode))
                && !core.guesses.was_spent(hash, core.clock.elapsed());
            if !is_guess {
                attempt.give_back();
            }
            match outcome? {
                ClaimOutcome::Claimed(agent) => {
                    core.guesses.remember_spent(hash, core.clock.elapsed() + CODE_TTL);
                    let id = agent.id;
                    core.write(|memory| memory.put_agent(agent));
                    Ok(core.agent_record(id)?)
                }
                ClaimOutcome::AlreadyClaimed => Err(claimed().into()),
                ClaimOutcome::TooMany => Err(too_many_agents(max).into()),
                ClaimOutcome::NoSuchCode => Err(no_such_code().into()),
            }
        })
        .await
    }
}

/// No agent is ever forgotten that had an owner, so there is an end to them.
pub(super) fn too_many_agents(max: u64) -> Error {
    let message = format!("the account has {max} agents, which is its limit");
    Error::new(ErrorCode::AccountQuotaExceeded, message)
        .with_hint(AGENTS_HINT)
        .with_details(json!({"dimension": "agents", "limit": max}))
}
