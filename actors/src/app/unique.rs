//! What a row holds in the unique fields of its collection, and the indexes of that, made from the
//! collection's rows. What keeps them in step with a write is in [`working`](super::working); the
//! normal form of a value is the domain's.

use std::{collections::hash_map::Entry, sync::Arc};

use rookery_domain::{json, row::Row, unique::UniqueKey};
use serde_json::Value;

use super::rows::{Digest, DigestMap, Rows};

/// The normal forms of a row's values in the unique fields, in declared order; none where a value is
/// absent or null.
#[derive(Clone, Default)]
pub(crate) struct Forms(Vec<Option<Digest>>);

impl Forms {
    /// Those of data that was read already.
    pub(crate) fn of(fields: &[Arc<str>], data: &Value) -> Self {
        Self(fields.iter().map(|field| form(data.get(&**field)?)).collect())
    }

    /// Those of a stored row.
    pub(crate) fn of_row(fields: &[Arc<str>], row: &Row) -> Self {
        if fields.is_empty() {
            return Self::default();
        }
        let mut values = Vec::new();
        json::pick(row.data(), fields, &mut values);
        Self(values.iter().map(|value| form(value.as_ref()?)).collect())
    }

    /// That of a field, by its place among the declared ones.
    pub(crate) fn of_field(&self, field: usize) -> Option<Digest> {
        *self.0.get(field)?
    }
}

/// The normal form of a value; none of null, which collides with nothing.
pub(crate) fn form(value: &Value) -> Option<Digest> {
    Some(Digest::of(UniqueKey::of(value)?.as_str()))
}

/// The unique indexes over `rows`, and a field of which two rows share a value: the later holds it.
pub(crate) fn index_of<'a>(
    fields: &'a [Arc<str>],
    rows: &Rows,
) -> (Vec<DigestMap<Digest>>, Option<&'a Arc<str>>) {
    let (mut unique, mut shared) = (vec![DigestMap::default(); fields.len()], None);
    if fields.is_empty() {
        return (unique, shared);
    }
    let mut values = Vec::new();
    for row in rows.iter() {
        json::pick(row.data(), fields, &mut values);
        for ((field, value), index) in fields.iter().zip(&values).zip(&mut unique) {
            let Some(form) = value.as_ref().and_then(form) else { continue };
            if index.is_empty() {
                // Where one row has the field, most do.
                index.reserve(rows.len());
            }
            if index.insert(form, Digest::of(row.key())).is_some() {
                shared = shared.or(Some(field));
            }
        }
    }
    (unique, shared)
}

/// The keys of the rows that share their value of `field` with another, oldest first.
pub(crate) fn sharing<'a>(field: &Arc<str>, rows: &'a Rows) -> Vec<&'a str> {
    let mut first = DigestMap::default();
    let (mut shares, mut values) = (vec![false; rows.len()], Vec::new());
    for (index, row) in rows.iter().enumerate() {
        json::pick(row.data(), std::slice::from_ref(field), &mut values);
        let Some(form) = values.pop().flatten().as_ref().and_then(form) else { continue };
        match first.entry(form) {
            Entry::Vacant(free) => _ = free.insert(index),
            Entry::Occupied(held) => (shares[*held.get()], shares[index]) = (true, true),
        }
    }
    rows.iter().zip(shares).filter(|(_, shares)| *shares).map(|(row, _)| row.key()).collect()
}

/// Enters a row into the indexes, or leaves them alone and says false when a value is taken.
pub(crate) fn enter(fields: &[Arc<str>], unique: &mut [DigestMap<Digest>], row: &Row) -> bool {
    let Forms(forms) = Forms::of_row(fields, row);
    let taken = |(form, index): (&Option<Digest>, &DigestMap<Digest>)| {
        form.is_some_and(|form| index.contains_key(&form))
    };
    if forms.iter().zip(unique.iter()).any(taken) {
        return false;
    }
    for (form, index) in forms.into_iter().zip(unique) {
        if let Some(form) = form {
            index.insert(form, Digest::of(row.key()));
        }
    }
    true
}
