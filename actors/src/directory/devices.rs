//! Device authorization (RFC 8628): a device asks, its human decides on the site, the device polls
//! and gets an agent with its first key, exactly once.

use std::{net::IpAddr, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Result,
    agent_name::AgentName,
    id::{AgentId, DeviceId},
    secret::{Secret, SecretHash, SecretKind, UserCode},
};
use rookery_storage::{
    agents,
    devices::{self, Device, DevicePoll, DeviceState, NewDevice},
};

use super::{
    Directory,
    agents::AgentRecord,
    claims::{CODE_TTL_S, DRAWS_MAX, too_many_agents},
    core::Core,
    keys::MintedKey,
    sign_in::SessionHolder,
};

/// Seconds between polls at first (RFC 8628, section 3.2: the default).
const INTERVAL_S: u32 = 5;

/// A started authorization, and the only time its codes are seen.
#[derive(Debug, Clone)]
pub struct DeviceStart {
    /// What the device polls with.
    pub device_code: Secret,
    /// What the human compares and types.
    pub user_code: UserCode,
    /// Seconds until both end.
    pub expires_in_s: i64,
    /// Seconds between polls.
    pub interval_s: u32,
}

/// What a poll found.
#[derive(Debug)]
pub enum DevicePolled {
    /// Not decided yet.
    Pending {
        /// Seconds until the next poll.
        interval_s: u32,
    },
    /// Polled too early; the interval has grown.
    TooFast {
        /// Seconds until the next poll.
        interval_s: u32,
    },
    /// The human said no.
    Denied,
    /// The human said yes, and this poll got the agent.
    Approved(Box<(AgentRecord, MintedKey)>),
}

impl Directory {
    /// Starts an authorization for an agent that will be called `name`.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn start_device(&self, name: AgentName) -> Result<DeviceStart> {
        let core = &self.core;
        let now = core.now();
        for _ in 0..DRAWS_MAX {
            let device_code = Secret::generate(SecretKind::Device, &mut rand::rng());
            let user_code = UserCode::generate(&mut rand::rng());
            let device = NewDevice {
                id: DeviceId::new(),
                device_hash: device_code.hash(),
                user_hash: core.key.code_hash(&user_code),
                name: name.as_str().to_owned(),
                interval_s: INTERVAL_S,
                expires_at: now.plus_seconds(CODE_TTL_S),
            };
            if devices::create(&core.db, device, now).await? {
                return Ok(DeviceStart {
                    device_code,
                    user_code,
                    expires_in_s: CODE_TTL_S,
                    interval_s: INTERVAL_S,
                });
            }
        }
        Err(Error::unavailable("no free user code was found"))
    }

    /// The authorization that shows this user code, for its human to decide.
    ///
    /// # Errors
    /// `not_found` for an unknown and an expired code; `rate_limited` after too many wrong ones
    /// from `client`; `unavailable`, `internal`.
    pub async fn device(&self, user_code: &str, client: IpAddr) -> Result<Device> {
        let code = UserCode::parse(user_code);
        self.mutate(async move |core: Arc<Core>| Ok(find(&core, code, client).await?.1)).await
    }

    /// Approves or denies an authorization for a human's account, as long as the human has this
    /// session of the site. A human who has decided so already is told what came of it.
    ///
    /// # Errors
    /// As [`Self::device`]; `conflict`, when it was decided otherwise, or by somebody else;
    /// `account_quota_exceeded`, when the account has as many agents as it may; `unauthorized`, when the
    /// session has ended.
    pub async fn decide_device(
        &self,
        user_code: &str,
        by: SessionHolder,
        approve: bool,
        client: IpAddr,
    ) -> Result<Device> {
        let code = UserCode::parse(user_code);
        self.mutate(async move |core: Arc<Core>| {
            core.require_session(by).await?;
            let (hash, device) = find(&core, code, client).await?;
            let max = core.options.agents_per_account_max;
            if approve
                && device.state == DeviceState::Pending
                && agents::count(&core.db, by.human).await? >= max
            {
                return Err(too_many_agents(max).into());
            }
            if !devices::decide(&core.db, hash, by.human, approve, core.now()).await? {
                let message = "this request was decided already";
                return Err(Error::new(ErrorCode::Conflict, message).into());
            }
            let state = match device.state {
                DeviceState::Pending if approve => DeviceState::Approved,
                DeviceState::Pending => DeviceState::Denied,
                decided => decided,
            };
            Ok(Device { state, ..device })
        })
        .await
    }

    /// A poll by the device. Once the human has approved, one poll gets the agent.
    ///
    /// # Errors
    /// `not_found` for an unknown, expired and spent code alike; `unavailable`, `internal`.
    pub async fn poll_device(&self, device_code: &str) -> Result<DevicePolled> {
        let no_such_code = || Error::new(ErrorCode::NotFound, "no such device code");
        let code = Secret::parse(SecretKind::Device, device_code).ok_or_else(no_such_code)?;
        self.mutate(async move |core: Arc<Core>| {
            let (secret, new) = super::keys::draw();
            let hash = code.hash();
            let polled = devices::poll(&core.db, hash, AgentId::new(), new, core.now()).await?;
            Ok(match polled {
                DevicePoll::Pending { interval_s } => DevicePolled::Pending { interval_s },
                DevicePoll::TooFast { interval_s } => DevicePolled::TooFast { interval_s },
                DevicePoll::Denied => DevicePolled::Denied,
                DevicePoll::Redeemed { agent, key } => {
                    let record = core.add_agent(agent, key.clone());
                    DevicePolled::Approved(Box::new((record, MintedKey { key, secret })))
                }
                DevicePoll::Gone => return Err(no_such_code().into()),
            })
        })
        .await
    }
}

/// The authorization with this user code. It runs as a change does, one at a time: of many who type
/// right codes at once, none counts as a guess.
async fn find(core: &Core, code: Option<UserCode>, client: IpAddr) -> Result<(SecretHash, Device)> {
    let now = core.now();
    let no_such_code = || Error::new(ErrorCode::NotFound, "no such user code");
    let attempt = core.guesses.begin(core.key.network(client), core.clock.elapsed())?;
    let code = code.ok_or_else(no_such_code)?;
    let hash = core.key.code_hash(&code);
    let found = devices::by_user_code(&core.db, hash, now).await;
    if !matches!(found, Ok(None)) {
        attempt.give_back();
    }
    Ok((hash, found?.ok_or_else(no_such_code)?))
}
