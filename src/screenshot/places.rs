//! Requests that wait for a picture: each account has so many places, and waits in turns with others.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use parking_lot::Mutex;
use rookery_domain::id::HumanId;

/// Requests of one account's apps that may wait for a picture to be taken; later ones get a drawn one.
const WAITING_MAX: usize = 32;

/// Who waits, by the owner of the app. Only accounts that have somebody; at most one entry for each
/// connection.
#[derive(Debug, Default)]
pub(super) struct Places(Mutex<HashMap<HumanId, usize>>);

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    owner: HumanId,
}

impl Places {
    /// A place for a picture of an app of `owner`, if there is one.
    pub(super) fn take(self: &Arc<Self>, owner: HumanId) -> Option<Place> {
        let mut taken = self.0.lock();
        let of_owner = taken.entry(owner).or_default();
        if *of_owner >= WAITING_MAX {
            return None;
        }
        *of_owner += 1;
        Some(Place { places: Arc::clone(self), owner })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut of_owner) = self.places.0.lock().entry(self.owner) {
            *of_owner.get_mut() -= 1;
            if *of_owner.get() == 0 {
                of_owner.remove();
            }
        }
    }
}
