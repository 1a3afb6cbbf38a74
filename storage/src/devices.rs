//! Device authorizations (RFC 8628): a device asks, its human decides on the site, the device
//! polls and gets an agent with its first key, exactly once.

use rookery_domain::{
    Timestamp,
    id::{AgentId, DeviceId, HumanId},
    secret::SecretHash,
};

use crate::{
    agents::{
        self, Agent,
        keys::{Key, NewKey},
    },
    columns::record,
    db::{Db, Tx, args},
    error::Result,
    values::codes,
};

/// Added to the interval at each poll that comes too early (RFC 8628, section 3.5, `slow_down`).
const SLOW_DOWN_S: u32 = 5;

/// Where an authorization stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// The human has not decided.
    Pending,
    /// The human approved; the device has not come yet.
    Approved,
    /// The human denied.
    Denied,
    /// The device has its key.
    Redeemed,
}

codes!(DeviceState: Pending = 0, Approved = 1, Denied = 2, Redeemed = 3);

/// An authorization to be started.
#[derive(Clone)]
pub struct NewDevice {
    /// Its id.
    pub id: DeviceId,
    /// SHA-256 of the device code.
    pub device_hash: SecretHash,
    /// SHA-256 of the user code.
    pub user_hash: SecretHash,
    /// The name of the agent that will be made.
    pub name: String,
    /// Seconds between polls.
    pub interval_s: u32,
    /// When it ends.
    pub expires_at: Timestamp,
}

rookery_domain::shown!(NewDevice: id, name, interval_s, expires_at);

/// An authorization as its human sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub id: DeviceId,
    /// The name of the agent that will be made.
    pub name: String,
    /// Where it stands.
    pub state: DeviceState,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

record!(Device: id, name, state, created_at, expires_at);

/// What a poll of the device answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "answered and taken apart, never kept")]
pub enum DevicePoll {
    /// Not decided: come again after `interval_s` seconds.
    Pending {
        /// Seconds between polls.
        interval_s: u32,
    },
    /// Polled too early: the interval has grown to `interval_s` seconds.
    TooFast {
        /// Seconds between polls from now on.
        interval_s: u32,
    },
    /// The human denied.
    Denied,
    /// Approved, and this poll got the agent. Nobody else will.
    Redeemed {
        /// The new agent, owned by the human that approved.
        agent: Agent,
        /// Its first key.
        key: Key,
    },
    /// Unknown, expired and spent alike.
    Gone,
}

/// Starts an authorization; `false` when one of its codes exists, and others must be drawn.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn create(db: &Db, device: NewDevice, now: Timestamp) -> Result<bool> {
    let inserted = db
        .execute(
            "insert into devices (id, device_hash, user_hash, name, state, interval_s, created_at,
                                  expires_at)
             values ($1, $2, $3, $4, 0, $5, $6, $7)
             on conflict do nothing",
            args![
                device.id,
                device.device_hash,
                device.user_hash,
                device.name,
                device.interval_s,
                now,
                device.expires_at,
            ],
        )
        .await?;
    Ok(inserted == 1)
}

/// The unexpired authorization with this user code, for the page that asks the human.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn by_user_code(
    db: &Db,
    user_hash: SecretHash,
    now: Timestamp,
) -> Result<Option<Device>> {
    db.optional(
        "select id, name, state, created_at, expires_at from devices
         where user_hash = $1 and expires_at > $2",
        args![user_hash, now],
    )
    .await
}

/// Approves or denies an authorization; `false` when there is none with this user code for `human` to
/// decide so (unknown, expired, decided by somebody else or the other way round). Deciding it again the
/// same way changes nothing.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn decide(
    db: &Db,
    user_hash: SecretHash,
    human: HumanId,
    approve: bool,
    now: Timestamp,
) -> Result<bool> {
    // Approved it may have been redeemed since.
    let (state, later) = match approve {
        true => (DeviceState::Approved, DeviceState::Redeemed),
        false => (DeviceState::Denied, DeviceState::Denied),
    };
    let changed = db
        .execute(
            "update devices set state = case when state = 0 then $3 else state end, human = $2
             where user_hash = $1 and expires_at > $4
               and (state = 0 or (human = $2 and state in ($3, $5)))",
            args![user_hash, human, state, now, later],
        )
        .await?;
    Ok(changed == 1)
}

/// A poll by the device. When the human has approved, it makes the agent `candidate` with `key`
/// and spends the authorization, both or neither.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn poll(
    db: &Db,
    device_hash: SecretHash,
    candidate: AgentId,
    key: NewKey,
    now: Timestamp,
) -> Result<DevicePoll> {
    db.transaction((device_hash, candidate, key, now), |tx, (hash, candidate, key, now)| {
        Box::pin(async move {
            // The update locks the row: of two polls at once, the second sees what the first did.
            let polled: Option<Polled> = tx
                .optional(
                    "update devices set name = name
                     where device_hash = $1 and expires_at > $2
                     returning id, name, state, human, interval_s, polled_at",
                    args![*hash, *now],
                )
                .await?;
            let Some(polled) = polled else { return Ok(DevicePoll::Gone) };
            match polled.state {
                DeviceState::Pending => pending(tx, &polled, *now).await,
                DeviceState::Approved => redeem(tx, &polled, *candidate, key, *now).await,
                DeviceState::Denied => Ok(DevicePoll::Denied),
                DeviceState::Redeemed => Ok(DevicePoll::Gone),
            }
        })
    })
    .await
}

/// What a poll finds.
struct Polled {
    id: DeviceId,
    name: String,
    state: DeviceState,
    human: Option<HumanId>,
    interval_s: u32,
    polled_at: Option<Timestamp>,
}

record!(Polled: id, name, state, human, interval_s, polled_at);

async fn pending(tx: &mut Tx, polled: &Polled, now: Timestamp) -> Result<DevicePoll> {
    let next = polled.polled_at.map(|at| at.plus_seconds(polled.interval_s.into()));
    let too_fast = next.is_some_and(|next| now < next);
    let interval_s = polled.interval_s.saturating_add(if too_fast { SLOW_DOWN_S } else { 0 });
    tx.execute(
        "update devices set polled_at = $2, interval_s = $3 where id = $1",
        args![polled.id, now, interval_s],
    )
    .await?;
    Ok(match too_fast {
        true => DevicePoll::TooFast { interval_s },
        false => DevicePoll::Pending { interval_s },
    })
}

async fn redeem(
    tx: &mut Tx,
    polled: &Polled,
    candidate: AgentId,
    key: &NewKey,
    now: Timestamp,
) -> Result<DevicePoll> {
    let agent = Agent {
        id: candidate,
        owner: polled.human,
        name: polled.name.clone(),
        created_at: now,
        claimed_at: Some(now),
    };
    let key = agents::insert(tx, &agent, key).await?;
    tx.execute("update devices set state = 3 where id = $1", args![polled.id]).await?;
    Ok(DevicePoll::Redeemed { agent, key })
}
