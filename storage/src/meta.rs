//! Small facts about this installation, by name.

use crate::{
    db::{Db, args},
    error::Result,
};

/// The value under this name.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn get(db: &Db, key: &str) -> Result<Option<String>> {
    db.value("select value from meta where key = $1", args![key]).await
}

pub(crate) const SET: &str = "insert into meta (key, value) values ($1, $2)
     on conflict (key) do update set value = excluded.value";

/// Sets a value.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn set(db: &Db, key: &str, value: &str) -> Result<()> {
    db.execute(SET, args![key, value]).await?;
    Ok(())
}

/// Sets a value unless there is one; the value that holds afterwards. Processes that start
/// together end with the same one.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn get_or_set(db: &Db, key: &str, value: &str) -> Result<String> {
    let (value,): (String,) = db
        .transaction((key.to_owned(), value.to_owned()), |tx, (key, value)| {
            Box::pin(async move {
                tx.execute(
                    "insert into meta (key, value) values ($1, $2) on conflict (key) do nothing",
                    args![key, value],
                )
                .await?;
                tx.one("select value from meta where key = $1", args![key]).await
            })
        })
        .await?;
    Ok(value)
}
