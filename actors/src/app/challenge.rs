//! Handing out proof-of-work tasks. Checking and spending their answers is the actor's.

use rookery_domain::{
    Result,
    challenge::{Challenge, MAX_NUMBER_DEFAULT},
    principal::Caller,
};

use crate::registry::AppHandle;

impl AppHandle {
    /// A task whose answer goes with one create, upsert or batch in `collection`, whether or not
    /// the collection asks for one now.
    ///
    /// # Errors
    /// `collection_not_found`; those of a read.
    pub async fn challenge(&self, caller: &Caller, collection: &str) -> Result<Challenge> {
        let view = self.view(caller).await?;
        let name = view.shelf(collection)?.decl.name.clone();
        let env = self.env();
        let (now, rng) = (env.clock.now(), &mut rand::rng());
        Ok(Challenge::new(&env.key, self.id(), &name, now, MAX_NUMBER_DEFAULT, rng))
    }
}
