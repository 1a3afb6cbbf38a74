//! Visitors that come in, on SQLite: many in one commit. Whoever comes while one is made goes with the
//! next. Each page that is opened for the first time makes a visitor, and a crowd would wait for one
//! sync after another. PostgreSQL groups commits by itself.

use std::{sync::Arc, time::Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    db::Db,
    error::{Result, StorageError},
    participants::{INSERT, Participant},
    trace,
};

/// Visitors of one commit.
const TOGETHER_MAX: usize = 64;

/// Who waits to be stored.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    waiting: Mutex<Vec<Arrived>>,
    committing: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Arrived {
    visitor: Participant,
    port: oneshot::Sender<Result<()>>,
}

impl Arrivals {
    /// Stores a visitor in `db`, whose arrivals these are, also when nobody waits for that any more.
    pub(crate) async fn store(self: Arc<Self>, db: Db, visitor: Participant) -> Result<()> {
        let began = Instant::now();
        let (port, stored) = oneshot::channel();
        self.waiting.lock().push(Arrived { visitor, port });
        // As many turns as visitors, so that nobody is left; most find those before them gone.
        let turn = async move {
            let _turn = self.committing.lock().await;
            let together: Vec<_> = {
                let mut waiting = self.waiting.lock();
                let many = waiting.len().min(TOGETHER_MAX);
                waiting.drain(..many).collect()
            };
            commit(&db, together).await;
        };
        tokio::spawn(turn);
        let lost = || StorageError::MaybeCommitted("a commit of visitors ended early".into());
        let stored = stored.await.unwrap_or_else(|_| Err(lost()));
        // That of many is in the trace of each, and in nobody's besides.
        trace::transaction_ended(began, &stored);
        stored
    }
}

async fn commit(db: &Db, mut together: Vec<Arrived>) {
    if together.is_empty() {
        return;
    }
    let visitors: Vec<_> = together.iter().map(|one| one.visitor.clone()).collect();
    let result = insert(db, visitors).await;
    if together.len() == 1 {
        together.remove(0).tell(result);
        return;
    }
    for one in together {
        let stored = match &result {
            Ok(()) => Ok(()),
            // What is wrong with one is no fault of the others.
            Err(error) if error.is_certain() => insert(db, vec![one.visitor.clone()]).await,
            Err(StorageError::Broken(why)) => Err(StorageError::Broken(why.clone())),
            Err(error) => Err(StorageError::MaybeCommitted(error.to_string())),
        };
        one.tell(stored);
    }
}

impl Arrived {
    /// Whoever asked may have gone.
    fn tell(self, stored: Result<()>) {
        drop(self.port.send(stored));
    }
}

async fn insert(db: &Db, visitors: Vec<Participant>) -> Result<()> {
    db.transaction(visitors, |tx, visitors| {
        Box::pin(async move {
            for visitor in visitors {
                tx.execute(INSERT, visitor.columns()).await?;
            }
            Ok(())
        })
    })
    .await
}
