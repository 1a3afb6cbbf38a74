//! The statements of changed permissions, the same on both databases: they are rare, so each is
//! bound for itself.

use rookery_domain::{
    Timestamp,
    credentials::{Credential, CredentialStatus},
    grants::Grant,
    id::AppId,
    members::Member,
    previews::Preview,
};

use super::bound::Bound;
use crate::{
    PREVIEWS_KEPT_MAX, REVOKED_KEPT_MAX,
    commit::{Abort, AccessWrite, Group},
    db::args,
};

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

/// A membership that ends takes the human's visits with it, so that none of them is a member's when
/// the human is added again. Whoever is the app's owner now keeps theirs.
const NO_VISITS: &str = "delete from participants where app_id = $1 and human = $2 \
     and not exists (select 1 from apps where id = $1 and owner = $2)";

/// Nor is one left that was about to begin.
const NO_ARRIVALS: &str = "delete from session_grants where app_id = $1 and human = $2 \
     and not exists (select 1 from apps where id = $1 and owner = $2)";

/// Of the revoked links of the app `$1` the newest `$2` are kept.
const REVOKED_GRANTS: &str = "delete from grants where app_id = $1 and revoked_at is not null \
     and id not in (select id from grants where app_id = $1 and revoked_at is not null \
     order by revoked_at desc, id desc limit $2)";

const REVOKED_PREVIEWS: &str = "delete from previews where app_id = $1 and revoked_at is not null \
     and id not in (select id from previews where app_id = $1 and revoked_at is not null \
     order by revoked_at desc, id desc limit $2)";

/// Those that last longest are all that may open anything, and some that did.
const ENDED_PREVIEWS: &str = "delete from previews where app_id = $1 and revoked_at is null \
     and id not in (select id from previews where app_id = $1 and revoked_at is null \
     order by expires_at desc, id desc limit $2)";

const REVOKED_CREDENTIALS: &str = "delete from credentials where app_id = $1 and status = 2 \
     and id not in (select id from credentials where app_id = $1 and status = 2 \
     order by updated_at desc, id desc limit $2)";

/// A credential has the tokens that are written with it, and no others.
const NO_TOKENS: &str = "delete from credential_tokens where credential = $1";

const TOKEN: &str = "insert into credential_tokens (hash, app_id, credential, prefix, \
     created_at, expires_at) values ($1, $2, $3, $4, $5, $6)";

/// Everything that a group changes of its app's permissions.
pub(super) fn statements(group: &Group) -> Result<Vec<Bound>, Abort> {
    let mut bound = Vec::new();
    let mut revoked_previews = false;
    for write in &group.writes.access {
        match write {
            AccessWrite::Member { member: one, removed_at } => {
                member(&mut bound, group.app, one, *removed_at);
            }
            AccessWrite::Grant(one) => grant(&mut bound, group.app, one),
            AccessWrite::Preview(one) => {
                preview(&mut bound, group.app, one);
                revoked_previews |= one.revoked_at.is_some();
            }
            AccessWrite::Credential(one) => credential(&mut bound, group.app, one)?,
        }
    }
    // Once, however many a change of the app ends.
    if revoked_previews {
        bound.push(Bound::new(REVOKED_PREVIEWS, args![group.app, REVOKED_KEPT_MAX]));
    }
    Ok(bound)
}

fn member(bound: &mut Vec<Bound>, app: AppId, one: &Member, removed_at: Option<Timestamp>) {
    let role = one.custom_role.as_deref();
    bound.push(Bound::new(MEMBER, args![app, one.human, role, one.created_at, removed_at]));
    if removed_at.is_some() {
        bound.push(Bound::new(NO_VISITS, args![app, one.human]));
        bound.push(Bound::new(NO_ARRIVALS, args![app, one.human]));
    }
}

fn grant(bound: &mut Vec<Bound>, app: AppId, one: &Grant) {
    bound.push(Bound::new(
        GRANT,
        args![
            one.id,
            app,
            one.hash,
            &*one.role,
            one.max_uses.map(i64::from),
            one.uses,
            one.expires_at,
            one.created_by,
            one.created_at,
            one.revoked_at,
        ],
    ));
    if one.revoked_at.is_some() {
        bound.push(Bound::new(REVOKED_GRANTS, args![app, REVOKED_KEPT_MAX]));
    }
}

fn preview(bound: &mut Vec<Bound>, app: AppId, one: &Preview) {
    bound.push(Bound::new(
        PREVIEW,
        args![
            one.id,
            app,
            one.hash,
            one.expires_at,
            one.created_by,
            one.created_at,
            one.revoked_at,
        ],
    ));
    if one.revoked_at.is_none() {
        bound.push(Bound::new(ENDED_PREVIEWS, args![app, PREVIEWS_KEPT_MAX as u32]));
    }
}

fn credential(bound: &mut Vec<Bound>, app: AppId, one: &Credential) -> Result<(), Abort> {
    let rights =
        serde_json::to_string(&*one.rights).map_err(|error| Abort::Refused(error.to_string()))?;
    bound.push(Bound::new(
        CREDENTIAL,
        args![
            one.id,
            app,
            one.name.as_deref(),
            &*one.prefix,
            rights,
            one.status,
            one.created_by,
            one.created_at,
            one.updated_at,
        ],
    ));
    bound.push(Bound::new(NO_TOKENS, args![one.id]));
    for token in &one.tokens {
        let (prefix, made) = (&*token.prefix, token.created_at);
        bound.push(Bound::new(
            TOKEN,
            args![token.hash, app, one.id, prefix, made, token.expires_at],
        ));
    }
    if one.status == CredentialStatus::Revoked {
        bound.push(Bound::new(REVOKED_CREDENTIALS, args![app, REVOKED_KEPT_MAX]));
    }
    Ok(())
}
