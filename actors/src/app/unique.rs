//! The unique indexes of a collection, made from its rows. What keeps them in step with a write is
//! in [`working`](super::working); the normal form of a value is the domain's.

use std::{collections::hash_map::Entry, sync::Arc};

use rookery_domain::{json, row::Row, unique::UniqueKey};

use super::rows::{Digest, DigestMap, Rows};

/// The unique indexes over `rows`, and a field of which two rows share a value: the later holds it.
pub(crate) fn index_of<'a>(
    fields: &'a [Arc<str>],
    rows: &Rows,
) -> (Vec<DigestMap<Digest>>, Option<&'a Arc<str>>) {
    let (mut unique, mut shared) = (vec![DigestMap::default(); fields.len()], None);
    if fields.is_empty() {
        return (unique, shared);
    }
    for row in rows.iter() {
        let values = json::pick(row.data(), fields);
        for ((field, value), index) in fields.iter().zip(values).zip(&mut unique) {
            let Some(form) = value.as_ref().and_then(UniqueKey::of) else { continue };
            if index.is_empty() {
                // Where one row has the field, most do.
                index.reserve(rows.len());
            }
            if index.insert(Digest::of(form.as_str()), Digest::of(row.key())).is_some() {
                shared = shared.or(Some(field));
            }
        }
    }
    (unique, shared)
}

/// The keys of the rows that share their value of `field` with another, oldest first.
pub(crate) fn sharing<'a>(field: &Arc<str>, rows: &'a Rows) -> Vec<&'a str> {
    let mut first = DigestMap::default();
    let mut shares = vec![false; rows.len()];
    for (index, row) in rows.iter().enumerate() {
        let value = json::pick(row.data(), std::slice::from_ref(field)).pop().flatten();
        let Some(form) = value.as_ref().and_then(UniqueKey::of) else { continue };
        match first.entry(Digest::of(form.as_str())) {
            Entry::Vacant(free) => _ = free.insert(index),
            Entry::Occupied(held) => (shares[*held.get()], shares[index]) = (true, true),
        }
    }
    rows.iter().zip(shares).filter(|(_, shares)| *shares).map(|(row, _)| row.key()).collect()
}

/// Enters a row into the indexes, or leaves them alone and says false when a value is taken.
pub(crate) fn enter(fields: &[Arc<str>], unique: &mut [DigestMap<Digest>], row: &Row) -> bool {
    let forms: Vec<_> = json::pick(row.data(), fields)
        .into_iter()
        .map(|value| Some(Digest::of(UniqueKey::of(&value?)?.as_str())))
        .collect();
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
