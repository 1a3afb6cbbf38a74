//! Meters in storage: sums of flow by the hour, page views and visitors by hour, day, country and
//! referrer. Written in batches by `roll_up`, read by `read`, deleted by `forget`.
//!
//! What is not here: counting (a worker brings what was counted in memory), and what a window is.

pub mod forget;
pub mod read;
pub mod roll_up;

use rookery_domain::meters::visit::SALT_BYTES;

use crate::{
    db::{Db, args},
    error::Result,
    values::codes,
};

/// Named referrers that are kept of one app and day; views from further ones count as
/// [`rookery_domain::meters::visit::OTHER`].
pub const REFERRERS_PER_DAY_MAX: usize = 100;

const OF_DAY: i64 = 0;
const OF_HOUR: i64 = 1;

/// By what the sources of page views are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// The visitor's country.
    Country,
    /// The site that led there.
    Referrer,
}

codes!(SourceKind: Country = 0, Referrer = 1);

/// The salt of a day: the stored one, else `candidate`, stored. Processes that ask together get the
/// same one.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn salt(db: &Db, day: i32, candidate: [u8; SALT_BYTES]) -> Result<[u8; SALT_BYTES]> {
    let (salt,) = db
        .transaction((day, candidate), |tx, (day, candidate)| {
            Box::pin(async move {
                tx.execute(
                    "insert into visitor_salts (day, salt) values ($1, $2)
                     on conflict (day) do nothing",
                    args![*day, *candidate],
                )
                .await?;
                tx.one("select salt from visitor_salts where day = $1", args![*day]).await
            })
        })
        .await?;
    Ok(salt)
}
