//! The statements of changed permissions, the same on both databases: they are rare, so each is
//! bound for itself and none is kept.

use rookery_domain::{credentials::Credential, grants::Grant, id::AppId, previews::Preview};

use super::failure::Failure;
use crate::{
    codec::principal_bytes,
    commit::{AccessWrite, Group},
    db::{Args, args},
};

/// A statement and its parameters.
pub(super) type Bound = (&'static str, Args);

const MEMBER: &str = "insert into members (app_id, human, custom_role, created_at, removed_at) \
     values ($1, $2, $3, $4, $5) on conflict (app_id, human) do update set \
     custom_role = excluded.custom_role, created_at = excluded.created_at, \
     removed_at = excluded.removed_at";

const GRANT: &str = "insert into grants (id, app_id, hash, role, max_uses, uses, expires_at, \
     created_by, created_at, revoked_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     on conflict (id) do update set uses = excluded.uses, revoked_at = excluded.revoked_at";

const PREVIEW: &str = "insert into previews (id, app_id, hash, expires_at, created_by, \
     created_at, revoked_at) values ($1, $2, $3, $4, $5, $6, $7) \
     on conflict (id) do update set revoked_at = excluded.revoked_at";

const CREDENTIAL: &str = "insert into credentials (id, app_id, name, prefix, rights, status, \
     created_by, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
     on conflict (id) do update set prefix = excluded.prefix, status = excluded.status, \
     updated_at = excluded.updated_at";

/// A credential has the tokens that are written with it, and no others.
const NO_TOKENS: &str = "delete from credential_tokens where credential = $1";

const TOKEN: &str = "insert into credential_tokens (hash, app_id, credential, prefix, \
     created_at, expires_at) values ($1, $2, $3, $4, $5, $6)";

/// Everything that a group changes of its app's permissions.
pub(super) fn statements(group: &Group) -> Result<Vec<Bound>, Failure> {
    let mut bound = Vec::new();
    for write in &group.access {
        match write {
            AccessWrite::Member { member, removed_at } => bound.push((
                MEMBER,
                args![
                    group.app,
                    member.human,
                    member.custom_role.as_deref(),
                    member.created_at,
                    *removed_at,
                ],
            )),
            AccessWrite::Grant(grant) => bound.push((GRANT, of_grant(group.app, grant))),
            AccessWrite::Preview(preview) => bound.push((PREVIEW, of_preview(group.app, preview))),
            AccessWrite::Credential(one) => credential(&mut bound, group.app, one)?,
        }
    }
    Ok(bound)
}

fn of_grant(app: AppId, grant: &Grant) -> Args {
    args![
        grant.id,
        app,
        grant.hash,
        &*grant.role,
        grant.max_uses.map(i64::from),
        grant.uses,
        grant.expires_at,
        principal_bytes(grant.created_by),
        grant.created_at,
        grant.revoked_at,
    ]
}

fn of_preview(app: AppId, preview: &Preview) -> Args {
    args![
        preview.id,
        app,
        preview.hash,
        preview.expires_at,
        principal_bytes(preview.created_by),
        preview.created_at,
        preview.revoked_at,
    ]
}

fn credential(bound: &mut Vec<Bound>, app: AppId, one: &Credential) -> Result<(), Failure> {
    let rights =
        serde_json::to_string(&*one.rights).map_err(|error| Failure::Refused(error.to_string()))?;
    bound.push((
        CREDENTIAL,
        args![
            one.id,
            app,
            one.name.as_deref(),
            &*one.prefix,
            rights,
            one.status.code(),
            principal_bytes(one.created_by),
            one.created_at,
            one.updated_at,
        ],
    ));
    bound.push((NO_TOKENS, args![one.id]));
    for token in &one.tokens {
        let (prefix, made) = (&*token.prefix, token.created_at);
        bound.push((TOKEN, args![token.hash, app, one.id, prefix, made, token.expires_at]));
    }
    Ok(())
}
