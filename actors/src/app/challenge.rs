//! Handing out proof-of-work tasks. Checking and spending their answers is the actor's.

use rookery_domain::{
    Result,
    access::RowScope,
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
        let name = view.collection(collection)?.decl.name.clone();
        let env = self.env();
        let (now, rng) = (env.clock.now(), &mut rand::rng());
        Ok(Challenge::new(&env.key, self.id(), &name, now, MAX_NUMBER_DEFAULT, rng))
    }

    /// Whether a create or upsert of this caller in `collection` may come as far as its challenge: a
    /// provider is not asked about writes that are refused before. The decision is the actor's.
    pub async fn would_ask_for_challenge(&self, caller: &Caller, collection: &str) -> bool {
        let Ok(view) = self.view(caller).await else { return false };
        view.collection(collection).is_ok_and(|state| {
            let lists = &state.decl.permissions;
            // Also where rows are only appended: that an upsert finds one is told after its challenge.
            let may = [&lists.write, &lists.update]
                .iter()
                .any(|list| RowScope::of_list(&view.standing, list) != RowScope::None);
            state.decl.challenge && !view.standing.read_only && may
        })
    }
}
