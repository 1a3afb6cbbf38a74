//! Humans that were invited by an address which nobody has proven yet. Whoever proves it becomes
//! that human; one who never comes, and is a member of nothing, is forgotten.

use rookery_domain::{Timestamp, id::HumanId};

use crate::{
    db::{Db, Tx, args},
    directory::FORGET_CHUNK,
    error::Result,
    humans::{self, Human, human_columns},
};

/// The human that an invitation to this address is for: the open account that has proven it (then
/// true), else a placeholder, made with the id `candidate` when there is none yet.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn invite(
    db: &Db,
    email: String,
    candidate: HumanId,
    now: Timestamp,
) -> Result<(Human, bool)> {
    db.transaction((email, candidate, now), |tx, (email, candidate, now)| {
        Box::pin(async move {
            let account = tx.optional(humans::BY_VERIFIED_EMAIL, args![&*email]).await?;
            if let Some(account) = account {
                return Ok((account, true));
            }
            let again = "update placeholders set invited_at = $2 where email = $1";
            if tx.execute(again, args![&*email, *now]).await? == 0 {
                tx.execute(
                    "insert into humans (id, email, created_at, updated_at)
                     values ($1, $2, $3, $3)",
                    args![*candidate, &*email, *now],
                )
                .await?;
                tx.execute(
                    "insert into placeholders (email, human, invited_at) values ($1, $2, $3)",
                    args![&*email, *candidate, *now],
                )
                .await?;
            }
            Ok((tx.one(INVITED, args![&*email]).await?, false))
        })
    })
    .await
}

/// The placeholder that was invited by an address.
const INVITED: &str = concat!(
    "select ",
    human_columns!(),
    " from humans where id = (select human from placeholders where email = $1)"
);

/// Makes the placeholder of an address its account, now that the address is proven. Without effect
/// when there is none, or an account has proven the address before: it stays on the list then, from
/// which it is forgotten in time.
pub(crate) async fn adopt(tx: &mut Tx, email: &str, now: Timestamp) -> Result<()> {
    let invited: Option<Human> = tx.optional(INVITED, args![email]).await?;
    let Some(invited) = invited else { return Ok(()) };
    let adopted = tx
        .execute(
            "update humans set email_verified_at = $2, updated_at = $2
         where id = $1 and email_verified_at is null and closed_at is null
           and not exists (select 1 from humans known
                           where known.email = $3 and known.email_verified_at is not null
                             and known.closed_at is null)",
            args![invited.id, now, email],
        )
        .await?;
    if adopted > 0 {
        tx.execute("delete from placeholders where email = $1", args![email]).await?;
    }
    Ok(())
}

/// Whether there are more placeholders than `most`.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn are_more_than(db: &Db, most: u64) -> Result<bool> {
    let beyond: Option<HumanId> = db
        .value("select human from placeholders order by email limit 1 offset $1", args![most])
        .await?;
    Ok(beyond.is_some())
}

/// Placeholders that nobody has invited since `before`, and that have been members of nothing
/// since: those invited first, [`FORGET_CHUNK`] at most.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forgettable(db: &Db, before: Timestamp) -> Result<Vec<HumanId>> {
    db.column(
        "select human from placeholders where invited_at < $1
           and not exists (select 1 from members where members.human = placeholders.human
             and (members.removed_at is null or members.removed_at >= $1))
         order by invited_at, human limit $2",
        args![before, FORGET_CHUNK],
    )
    .await
}

/// Forgets those of these placeholders that are still [`forgettable`], with what is on record of
/// their memberships; which.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn forget(db: &Db, humans: Vec<HumanId>, before: Timestamp) -> Result<Vec<HumanId>> {
    db.transaction((humans, before), |tx, (humans, before)| {
        Box::pin(async move {
            let mut gone = Vec::with_capacity(humans.len());
            for human in humans {
                let forgotten = tx
                    .execute(
                        "delete from placeholders where human = $1 and invited_at < $2
                           and not exists (select 1 from members where members.human = $1
                             and (members.removed_at is null or members.removed_at >= $2))",
                        args![*human, *before],
                    )
                    .await?;
                if forgotten > 0 {
                    tx.execute("delete from members where human = $1", args![*human]).await?;
                    tx.execute("delete from humans where id = $1", args![*human]).await?;
                    gone.push(*human);
                }
            }
            Ok(gone)
        })
    })
    .await
}
