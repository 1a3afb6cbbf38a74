//! What a query may be asked for beside all of its rows: the same on the database and in a
//! transaction. What is not here: how it is run.

use crate::error::StorageError;

/// The verbs that are made of `all`, for a type that has it; `mut` where it takes it.
macro_rules! verbs {
    ($($mut:ident)?) => {
        /// The first row of a query, if there is one.
        pub(crate) async fn optional<T: FromColumns>(
            &$($mut)? self,
            sql: &'static str,
            args: Args,
        ) -> Result<Option<T>> {
            Ok(self.all(sql, args).await?.into_iter().next())
        }

        /// The only row of a query that always has one.
        pub(crate) async fn one<T: FromColumns>(
            &$($mut)? self,
            sql: &'static str,
            args: Args,
        ) -> Result<T> {
            self.optional(sql, args).await?.ok_or_else($crate::db::verbs::no_row)
        }

        /// The values of a query that has one column.
        pub(crate) async fn column<T: Column>(
            &$($mut)? self,
            sql: &'static str,
            args: Args,
        ) -> Result<Vec<T>> {
            Ok(self.all::<(T,)>(sql, args).await?.into_iter().map(|(value,)| value).collect())
        }

        /// The value in the first row of a query that has one column, if there is one.
        pub(crate) async fn value<T: Column>(
            &$($mut)? self,
            sql: &'static str,
            args: Args,
        ) -> Result<Option<T>> {
            Ok(self.optional::<(T,)>(sql, args).await?.map(|(value,)| value))
        }

        /// Whether a query finds a row.
        pub(crate) async fn exists(&$($mut)? self, sql: &'static str, args: Args) -> Result<bool> {
            Ok(self.optional::<()>(sql, args).await?.is_some())
        }
    };
}
pub(super) use verbs;

pub(super) fn no_row() -> StorageError {
    StorageError::Refused("a statement that always answers a row answered none".into())
}
