//! Device authorization (RFC 8628), the device's side. The human's side is the page `/device`.

pub mod code;
pub mod token;
