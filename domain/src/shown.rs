//! What records show of themselves in logs and in messages of tests: no hash of a secret, no address,
//! no content. Which fields these are is said where the record is.

/// `Debug` that shows these fields of a record and says that there is more.
#[macro_export]
macro_rules! shown {
    ($record:ident: $($field:ident),+) => {
        impl std::fmt::Debug for $record {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($record))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}
