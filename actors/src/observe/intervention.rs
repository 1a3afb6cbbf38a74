//! What operators may do to a running app: let it rest, start it anew, end it.

use std::sync::Arc;

use rookery_domain::{Error, ErrorCode, Result};

use crate::{
    app::message::Message,
    registry::{AppHandle, slot::Live},
};

impl AppHandle {
    /// Asks the app's actor to rest and waits until it has left.
    ///
    /// # Errors
    /// `conflict` while something is pending, or somebody follows the feed.
    pub async fn hibernate(&self) -> Result<()> {
        let ask = |live: &Arc<Live>| drop(live.actor.send_message(Message::Hibernate));
        self.leave(ask, "something is pending, or somebody follows its feed").await
    }

    /// Has the app's actor finish what is begun and leave, then starts it again. What is queued
    /// goes to the new incarnation.
    ///
    /// # Errors
    /// Those of a wake; `conflict` when the actor did not leave in time.
    pub async fn restart(&self) -> Result<()> {
        let ask = |live: &Arc<Live>| drop(live.actor.send_message(Message::Restart));
        self.leave(ask, "what it has begun is not at its end").await?;
        self.live().await.map(drop)
    }

    /// Ends the app's actor at once, whatever it is doing. What was begun is answered as after a
    /// crash, but it does not count as one.
    ///
    /// # Errors
    /// `conflict` when the actor did not end in time.
    pub async fn kill(&self) -> Result<()> {
        self.leave(|live| live.actor.kill(), "its actor has not ended").await
    }

    async fn leave(&self, ask: impl FnOnce(&Arc<Live>), why: &str) -> Result<()> {
        let Some(live) = self.slot.live() else { return Ok(()) };
        ask(&live);
        if self.slot.leaves(live.incarnation).await {
            return Ok(());
        }
        let queued = self.slot.queued();
        let message = format!("the app stays: {why} ({queued} messages wait in it)");
        Err(Error::new(ErrorCode::Conflict, message))
    }
}
