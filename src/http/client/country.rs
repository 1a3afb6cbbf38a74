//! The country of a client: what a trusted proxy says in a header, else a database of networks in
//! MaxMind's format, else unknown. Both are settings; without them no country is known.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use maxminddb::{Reader, path};
use rookery_domain::meters::visit::Country;

use crate::{config::Meters, http::client::RequestContext};

/// Where countries come from.
#[derive(Default)]
pub struct Countries {
    header: Option<HeaderName>,
    database: Option<Reader<Vec<u8>>>,
}

impl Countries {
    /// Reads what the settings name.
    ///
    /// # Errors
    /// One line that names the setting.
    pub fn open(settings: &Meters) -> Result<Self, String> {
        let header = match settings.country_header.as_str() {
            "" => None,
            name => Some(
                name.parse::<HeaderName>()
                    .map_err(|error| format!("meters.country_header: {error}"))?,
            ),
        };
        let database = match settings.country_database.as_str() {
            "" => None,
            file => Some(
                Reader::open_readfile(file)
                    .map_err(|error| format!("meters.country_database: {file}: {error}"))?,
            ),
        };
        Ok(Self { header, database })
    }

    /// The country of the client behind a request.
    #[must_use]
    pub fn of(&self, context: &RequestContext, headers: &HeaderMap) -> Option<Country> {
        self.said(context, headers).or_else(|| self.listed(context.address))
    }

    /// What the proxy says; what a client writes into the header itself is not believed.
    fn said(&self, context: &RequestContext, headers: &HeaderMap) -> Option<Country> {
        let name = self.header.as_ref().filter(|_| context.by_proxy)?;
        headers.get(name).and_then(|value| Country::parse(value.to_str().ok()?))
    }

    fn listed(&self, address: IpAddr) -> Option<Country> {
        let found = self.database.as_ref()?.lookup(address).ok()?;
        let code: Option<&str> = found.decode_path(&path!["country", "iso_code"]).ok()?;
        Country::parse(code?)
    }
}
