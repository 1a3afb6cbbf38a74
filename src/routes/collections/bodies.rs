//! Bodies of row routes.

use rookery_actors::app::message::{NewRow, RowTarget, UpsertRow, WriteRow};
use rookery_domain::{
    Error, Result,
    if_match::IfMatch,
    json::{Object, RawObject},
    limits::Limits,
    row_key,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use utoipa::ToSchema;

use crate::{
    http::body::{
        BodyBound, RequestBody,
        strict::{entries, objects, version},
    },
    openapi::shapes::{AnyObject, DeleteEntry},
};

/// A row to create: `{key?, data}`; or to create or merge into the one that holds the same value
/// of a unique field: `{on, data}`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteBody {
    /// The key: 1 to 128 characters without control characters, and none of `batch`, `count`,
    /// `deleted`, `retention`, `.` and `..`. It is kept and compared as it is sent, without
    /// normalisation; in a path it is percent-encoded (`/` as `%2F`). Drawn when absent.
    #[schema(min_length = 1, max_length = 128)]
    key: Option<String>,
    /// The unique field to upsert on.
    on: Option<String>,
    /// The row's content.
    #[schema(value_type = AnyObject)]
    data: RawObject,
}

impl RequestBody for WriteBody {
    const BOUND: BodyBound = BodyBound::Row;

    fn check(&self, limits: &Limits) -> Result<()> {
        self.check_members()?;
        self.key.as_deref().map_or(Ok(()), row_key::check)?;
        limits.check_row_data(self.data.0.text())
    }
}

impl WriteBody {
    fn check_members(&self) -> Result<()> {
        if self.key.is_some() && self.on.is_some() {
            return Err(Error::invalid("`key` and `on` exclude each other"));
        }
        Ok(())
    }

    /// As the app takes it.
    pub(crate) fn into_row(self) -> WriteRow {
        let data = self.data.0;
        match self.on {
            Some(on) => WriteRow::Upsert(UpsertRow { on: on.into(), data }),
            None => WriteRow::Create(NewRow { key: self.key.map(Into::into), data }),
        }
    }
}

/// A change of a row.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateBody {
    /// A JSON merge patch (RFC 7396) of the row's content, or all of it.
    #[schema(value_type = AnyObject)]
    data: RawObject,
    /// The version you have seen; as good as `If-Match`.
    #[serde(default, deserialize_with = "version")]
    #[schema(maximum = 9_223_372_036_854_775_807_i64)]
    pub(crate) if_match: Option<u64>,
    /// `data` replaces the content instead of being merged into it.
    #[serde(default)]
    pub(crate) replace: bool,
}

impl RequestBody for UpdateBody {
    const BOUND: BodyBound = BodyBound::Row;

    fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_row_data(self.data.0.text())
    }
}

impl UpdateBody {
    /// The patch or the new content.
    pub(crate) fn into_data(self) -> Object {
        self.data.0
    }
}

/// What a delete or a purge may say.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteBody {
    /// The version you have seen; as good as `If-Match`.
    #[serde(default, deserialize_with = "version")]
    #[schema(maximum = 9_223_372_036_854_775_807_i64)]
    pub(crate) if_match: Option<u64>,
}

impl RequestBody for DeleteBody {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Many rows to create or upsert.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchWriteBody {
    /// The rows, at most 500 by default.
    #[serde(deserialize_with = "objects")]
    #[schema(max_items = 500)]
    pub(crate) rows: Vec<WriteBody>,
    /// All or none.
    #[serde(default)]
    pub(crate) atomic: bool,
}

impl RequestBody for BatchWriteBody {
    const BOUND: BodyBound = BodyBound::Batch;

    fn check(&self, limits: &Limits) -> Result<()> {
        at_most("rows", self.rows.len(), limits.batch_rows_max)?;
        // What a key may be and how large a row is said for each by itself.
        self.rows.iter().enumerate().try_for_each(|(index, row)| {
            row.check_members().map_err(|error| at("rows", index, error))
        })
    }
}

/// Many rows to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchDeleteBody {
    /// The keys, at most 500 by default: each as text, or with the version you have seen.
    #[serde(deserialize_with = "entries")]
    #[schema(value_type = Vec<DeleteEntry>, max_items = 500)]
    pub(crate) keys: Vec<DeleteTarget>,
    /// All or none.
    #[serde(default)]
    pub(crate) atomic: bool,
}

impl RequestBody for BatchDeleteBody {
    const BOUND: BodyBound = BodyBound::Batch;

    fn check(&self, limits: &Limits) -> Result<()> {
        at_most("keys", self.keys.len(), limits.batch_rows_max)
    }
}

/// A row to delete, with the version you have seen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyedDelete {
    /// Its key.
    #[schema(min_length = 1, max_length = 128)]
    key: String,
    /// The version you have seen.
    #[serde(default, deserialize_with = "version")]
    #[schema(maximum = 9_223_372_036_854_775_807_i64)]
    if_match: Option<u64>,
}

/// One entry of a batch delete: a key alone, or a [`KeyedDelete`].
#[derive(Debug)]
pub(crate) struct DeleteTarget(pub(crate) RowTarget);

impl<'de> Deserialize<'de> for DeleteTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Target;

        impl<'de> Visitor<'de> for Target {
            type Value = DeleteTarget;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a key, or an object with `key` and `if_match`")
            }

            fn visit_str<E>(self, key: &str) -> Result<DeleteTarget, E> {
                Ok(DeleteTarget(RowTarget { key: key.into(), if_match: None }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DeleteTarget, A::Error> {
                let KeyedDelete { key, if_match } =
                    KeyedDelete::deserialize(MapAccessDeserializer::new(map))?;
                let if_match = if_match.map(IfMatch::version);
                Ok(DeleteTarget(RowTarget { key: key.into(), if_match }))
            }
        }

        deserializer.deserialize_any(Target)
    }
}

fn at_most(member: &str, count: usize, max: usize) -> Result<()> {
    if count <= max {
        return Ok(());
    }
    Err(Error::invalid(format!("`{member}` has {count} entries; one request takes at most {max}")))
}

fn at(member: &str, index: usize, mut error: Error) -> Error {
    error.message = format!("`{member}[{index}]`: {}", error.message);
    error
}
