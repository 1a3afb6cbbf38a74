//! Bringing an app up: once, however many ask.
//!
//! First a barrier through the writer's queue, so that what a crashed incarnation left there has
//! landed or never will; then everything is loaded; only then is the actor born. All of it runs
//! in a task of its own, so nobody who gives up waiting takes the others' wake with them.

use std::{panic::AssertUnwindSafe, sync::Arc};

use arc_swap::ArcSwap;
use futures::FutureExt as _;
use rookery_domain::{Error, Result};
use rookery_storage::{load::LoadedApp, offload::Permit};
use tokio::time::timeout;

use super::{
    Apps,
    slot::{Live, Slot, Waking},
};
use crate::{
    accounts::{CountedRows, DormantRows},
    app::{
        actor::{AppActor, Birth},
        birth,
        message::Message,
        root::{GroupNumber, counted_rows},
    },
};

/// Begins to start an incarnation of `slot`'s app.
pub(super) fn start(apps: &Apps, slot: &Arc<Slot>) -> Waking {
    let (apps, slot) = (apps.clone(), slot.clone());
    let task = tokio::spawn(async move {
        let started = std::time::Instant::now();
        let env = &apps.inner.env;
        // One change of the slot for each end: after it the next start may be on its way already.
        match AssertUnwindSafe(wake(&apps, &slot)).catch_unwind().await {
            Ok(Ok(live)) => {
                let took = started.elapsed();
                env.observer.woke(&slot, took, env.clock.now());
                tracing::debug!(app.id = %slot.id, wake.micros = took.as_micros() as u64, "woke");
                Ok(live)
            }
            Ok(Err(error)) => {
                env.observer.lifecycle.start_failed();
                slot.start_failed();
                Err(error)
            }
            Err(_) => {
                tracing::error!(app.id = %slot.id, "an app crashed while it was loaded");
                env.observer.lifecycle.start_failed();
                slot.start_crashed("it crashed while it was loaded", env.clock.now());
                Err(Error::internal())
            }
        }
    });
    async move {
        match task.await {
            Ok(woken) => woken,
            // Cancelled by shutdown.
            Err(_) => Err(Error::unavailable("the app could not be started")),
        }
    }
    .boxed()
    .shared()
}

/// Reads the record of an app whose last commit has an unknown outcome. Starts nothing: an app that
/// must not start now has a record as well.
pub(super) async fn resolve_commit(apps: &Apps, slot: &Slot) -> Result<()> {
    let look = async {
        let _permit = permit(apps, slot).await?;
        // Others may have found out while this waited for the permit.
        if let Some(incarnation) = slot.unresolved_commit() {
            let loaded = load(apps, slot).await?;
            slot.refresh_record(incarnation, loaded.record);
        }
        Ok(())
    };
    let late = |_| Error::unavailable("how the app's last commit ended is not known yet");
    timeout(apps.inner.env.options.request_timeout, look).await.map_err(late)?
}

/// A permit to have the app in memory while it is loaded and born, in the turn of its owner.
async fn permit(apps: &Apps, slot: &Slot) -> Result<Permit> {
    let permit = apps.inner.wakes.permit(slot.record.load().owner).await;
    permit.map_err(|_| Error::unavailable("too many apps are being started"))
}

/// What storage holds of the app once nothing of an earlier incarnation can land any more.
async fn load(apps: &Apps, slot: &Slot) -> Result<LoadedApp> {
    let store = &apps.inner.env.store;
    store.barrier(slot.id).await;
    let loaded = store.load(slot.id).await?;
    loaded.ok_or_else(|| {
        slot.destroy();
        Error::app_not_found()
    })
}

async fn wake(apps: &Apps, slot: &Arc<Slot>) -> Result<Arc<Live>> {
    let inner = &apps.inner;
    let env = &inner.env;
    let _permit = permit(apps, slot).await?;
    let loaded = load(apps, slot).await?;
    let account = env.accounts.get(loaded.record.owner, &*env.store).await?;
    let rows = counted_rows(&loaded.record, loaded.head.totals);
    let floor = loaded.head.floor_seq;
    let counted = Arc::new(CountedRows::open(account.clone(), rows, slot.dormant_rows()));
    slot.set_dormant_rows(DormantRows { account, rows: rows as i64 });
    slot.history.raise_floor(floor);
    let incarnation = apps.next_incarnation();
    let begins = GroupNumber { incarnation, group: 0 };
    let mut working = if birth::may_take_long(&loaded) {
        let (born_in, counted, owner) = (env.clone(), counted.clone(), loaded.record.owner);
        let born = move || birth::working(&born_in, loaded, counted, begins);
        env.compiling.run(owner, born).await??
    } else {
        birth::working(env, loaded, counted.clone(), begins)?
    };
    let is_to_write = !working.open.writes.is_empty();
    let root = Arc::new(ArcSwap::from_pointee(working.root.clone()));
    working.root.group = begins.next();
    slot.record.store(working.root.record.clone());
    slot.commit_ended();

    let birth = Birth {
        env: env.clone(),
        slot: slot.clone(),
        working,
        incarnation,
        published: root.clone(),
    };
    let actor = inner.shards.spawn(slot.id, AppActor, birth).await.map_err(|error| {
        tracing::error!(app.id = %slot.id, %error, "an app's actor did not start");
        Error::unavailable("the app could not be started")
    })?;
    // Nobody has the actor's address before this.
    let live = Arc::new(Live { incarnation, actor: actor.clone(), root, counted });
    if !slot.woke(live.clone()) {
        actor.stop(None);
        return Err(Error::app_not_found());
    }
    inner.shards.watch(apps, slot, &live);
    if is_to_write {
        // One that is gone already leaves it to the next.
        let _ = live.actor.send_message(Message::Seal);
    }
    Ok(live)
}
