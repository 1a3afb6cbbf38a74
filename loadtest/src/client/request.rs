//! Requests as bytes: the part that is the same for all is built once.

use std::{fmt::Write as _, io::Write as _};

use super::Endpoint;

/// The header fields that all requests of one kind share.
#[derive(Debug, Clone)]
pub struct RequestHead {
    fields: String,
}

impl RequestHead {
    /// Requests to `endpoint`, with these fields besides Host.
    #[must_use]
    pub fn new(endpoint: &Endpoint, fields: &[(&str, &str)]) -> Self {
        let mut text = format!(" HTTP/1.1\r\nhost: {}\r\n", endpoint.authority());
        for (name, value) in fields {
            // Writing to a String does not fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        Self { fields: text }
    }

    /// Writes a request without a body over `out`.
    pub fn bodiless(&self, out: &mut Vec<u8>, method: &str, path: impl std::fmt::Display) {
        out.clear();
        // Writing to a Vec does not fail.
        let _ = write!(out, "{method} {path}{}\r\n", self.fields);
    }

    /// Writes a request with a JSON body over `out`.
    pub fn json(&self, out: &mut Vec<u8>, method: &str, path: impl std::fmt::Display, body: &[u8]) {
        out.clear();
        let length = body.len();
        let _ = write!(
            out,
            "{method} {path}{}content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.fields
        );
        out.extend_from_slice(body);
    }
}
