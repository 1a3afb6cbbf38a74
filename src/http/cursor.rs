//! Cursors of lists that are not rows: a signed position, bound to the list and to whose it is.

use rookery_domain::{
    Error, Result, Timestamp,
    sealed::{ServerKey, TokenPurpose},
};
use uuid::Uuid;

/// Bytes of a position: time and id of the last item.
const POSITION_BYTES: usize = 24;

/// A list that a cursor belongs to.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// Its route.
    pub route: &'static str,
    /// Whose it is.
    pub owner: Uuid,
    /// What signs its cursors.
    pub key: &'a ServerKey,
}

impl List<'_> {
    /// The cursor that leads on from the item at this time and id.
    #[must_use]
    pub fn cursor(&self, at: Timestamp, id: Uuid) -> String {
        let mut payload = self.binding();
        payload.extend_from_slice(&at.0.to_be_bytes());
        payload.extend_from_slice(id.as_bytes());
        self.key.sign(TokenPurpose::ListPage, &payload)
    }

    /// Reads the query parameter `cursor`.
    ///
    /// # Errors
    /// `invalid_request` for one that was altered, or made for another list.
    pub fn position(&self, cursor: Option<&str>) -> Result<Option<(Timestamp, Uuid)>> {
        let Some(cursor) = cursor else { return Ok(None) };
        let payload = self.key.verify(TokenPurpose::ListPage, cursor);
        let position = payload.as_deref().and_then(|payload| self.decode(payload));
        let foreign = || Error::invalid("query parameter cursor: is not a cursor of this list");
        position.map(Some).ok_or_else(foreign)
    }

    fn binding(&self) -> Vec<u8> {
        [self.route.as_bytes(), &[0], self.owner.as_bytes()].concat()
    }

    fn decode(&self, payload: &[u8]) -> Option<(Timestamp, Uuid)> {
        let position = payload.strip_prefix(self.binding().as_slice())?;
        let position: &[u8; POSITION_BYTES] = position.try_into().ok()?;
        let (at, id) = position.split_first_chunk::<8>()?;
        Some((Timestamp(i64::from_be_bytes(*at)), Uuid::from_slice(id).ok()?))
    }
}
