//! Every variant of an enum, in one list: the API's document spells its words from there.

/// Gives an enum `ALL`. A variant that is left out of the list does not compile.
macro_rules! all_of {
    ($name:ident: $($variant:ident)*) => {
        impl $name {
            /// Every one of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        const _: fn($name) = |one| match one {
            $($name::$variant)|* => {}
        };
    };
}

pub(crate) use all_of;
