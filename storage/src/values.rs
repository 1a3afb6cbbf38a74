//! What the values of the domain are in a column: how each is bound, and how it is read back.
//!
//! What is not here: records, which have many columns, and what a driver makes of a column.

use rookery_domain::{
    Principal, PrincipalKind, Timestamp, app::AppStatus, budget::BudgetScope,
    credentials::CredentialStatus, id::*, manifest::Visibility, orgs::OrgRole, secret::SecretHash,
};
use uuid::Uuid;

use crate::{
    columns::{Column, Read, ReadColumns},
    db::Arg,
};

/// What is stored as the value that it holds.
macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
        impl From<$wrapper> for Arg {
            fn from(value: $wrapper) -> Self {
                Self::from(value.0)
            }
        }

        impl From<Option<$wrapper>> for Arg {
            fn from(value: Option<$wrapper>) -> Self {
                Self::from(value.map(|value| value.0))
            }
        }

        impl Column for $wrapper {
            fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
                columns.get(at).map(Self)
            }
        }
    )*};
}

wrappers! { Timestamp SecretHash }

/// Ids are stored as their 16 bytes.
macro_rules! ids {
    ($($id:ident)*) => {$(
        impl From<$id> for Arg {
            fn from(id: $id) -> Self {
                Self::from(id.uuid().into_bytes())
            }
        }

        impl From<Option<$id>> for Arg {
            fn from(id: Option<$id>) -> Self {
                Self::from(id.map(|id| id.uuid().into_bytes()))
            }
        }

        impl Column for $id {
            fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
                columns.get(at).map(|bytes| Self::from_uuid(Uuid::from_bytes(bytes)))
            }
        }
    )*};
}

ids! {
    AppId AgentId HumanId KeyId SessionId DeviceId ParticipantId HistoryId OrgId TransferId
    GrantId PreviewId CredentialId DomainId
}

/// A principal in a column: the number of its kind, then its id.
pub(crate) type PrincipalBytes = [u8; 17];

/// The column's bytes.
pub(crate) fn principal_bytes(principal: Principal) -> PrincipalBytes {
    let mut bytes = [0; 17];
    bytes[0] = principal.kind as u8;
    bytes[1..].copy_from_slice(&principal.id);
    bytes
}

impl From<Principal> for Arg {
    fn from(principal: Principal) -> Self {
        Self::from(principal_bytes(principal))
    }
}

impl From<Option<Principal>> for Arg {
    fn from(principal: Option<Principal>) -> Self {
        Self::from(principal.map(principal_bytes))
    }
}

impl Column for Principal {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        let [kind, id @ ..]: PrincipalBytes = columns.get(at)?;
        let kind = PrincipalKind::from_code(i64::from(kind));
        let kind = kind.ok_or_else(|| columns.wrong(at, "is a principal of an unknown kind"))?;
        Ok(Self { kind, id })
    }
}

/// What a write budget's counter counts, in a column: a network's hash, which is not 0, or 0 for all
/// visitors of the app.
pub(crate) const fn budget_network(scope: BudgetScope) -> i64 {
    match scope {
        BudgetScope::App => 0,
        BudgetScope::Network(network) => network.cast_signed(),
    }
}

impl Column for BudgetScope {
    fn read<R: ReadColumns + ?Sized>(columns: &R, at: usize) -> Read<Self> {
        Ok(match columns.int(at)?.cast_unsigned() {
            0 => Self::App,
            network => Self::Network(network),
        })
    }
}

/// `codes!(State: A = 0, B = 1)`: a state or kind is stored as its number. Numbers that stand in
/// statements are these.
macro_rules! codes {
    ($state:ident: $($variant:ident = $code:literal),+ $(,)?) => {
        impl From<$state> for $crate::db::Arg {
            fn from(state: $state) -> Self {
                let code: i64 = match state {
                    $($state::$variant => $code,)+
                };
                Self::from(code)
            }
        }

        impl $crate::columns::Column for $state {
            fn read<R: $crate::columns::ReadColumns + ?Sized>(
                columns: &R,
                at: usize,
            ) -> $crate::columns::Read<Self> {
                match columns.int(at)? {
                    $($code => Ok(Self::$variant),)+
                    code => Err(columns.wrong(at, &format!("is {code}, which means nothing"))),
                }
            }
        }
    };
}
pub(crate) use codes;

codes!(AppStatus: Live = 0, Deleted = 1, Closed = 2, Purging = 3);
codes!(Visibility: Private = 0, Link = 1, Public = 2);
codes!(CredentialStatus: Active = 0, Paused = 1, Revoked = 2);
codes!(OrgRole: Member = 0, Admin = 1);

impl From<Option<AppStatus>> for Arg {
    fn from(status: Option<AppStatus>) -> Self {
        status.map_or(Self::Int(None), Self::from)
    }
}
