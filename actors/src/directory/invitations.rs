//! Who is behind the address of an invitation: the account that has proven it, or a placeholder,
//! which becomes the account of whoever proves it.

use std::sync::Arc;

use rookery_domain::{Result, email::Email, id::HumanId};
use rookery_storage::{humans::Human, placeholders};

use super::{Directory, core::Core};

/// Somebody who was invited.
#[derive(Debug, Clone)]
pub struct Invited {
    /// Its record.
    pub human: Arc<Human>,
    /// Whether it has an account; otherwise it is told by mail.
    pub has_account: bool,
}

impl Directory {
    /// The human that an invitation to `email` is for. Passes through the actor, as signing in
    /// does, so that nobody becomes two.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn invite(&self, email: &Email) -> Result<Invited> {
        let email = email.as_str().to_owned();
        self.mutate(async move |core: Arc<Core>| {
            let invited = placeholders::invite(&core.db, email, HumanId::new(), core.now()).await?;
            let (human, has_account) = invited;
            core.write(|memory| memory.put_human(human.clone()));
            Ok(Invited { human: Arc::new(human), has_account })
        })
        .await
    }
}
