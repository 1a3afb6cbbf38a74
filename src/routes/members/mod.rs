//! Members of an app: who they are, adding, changing, removing them.

pub mod add;
pub mod list;
pub mod record;
pub mod remove;
pub mod update;

use rookery_actors::app::access_ops::NamedRole;

use crate::http::body::strict::name_sent;

/// The custom role that a body names, as it calls it.
fn named_role(name: &str, body: &[u8]) -> NamedRole {
    NamedRole { name: name.into(), field: name_sent(body, ["custom_role", "role"]) }
}
