//! The country of a client: what a trusted proxy says in a header, else a database of networks in
//! MaxMind's format, else unknown. Both are settings; without them no country is known.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use maxminddb::{LookupResult, PathElement, Reader};
use rookery_domain::meters::visit::Country;

use crate::{config::Meters, http::client::RequestContext};

/// Where a record of a database has the code of its country: in MaxMind's own, and in two that others make in
/// its format.
const PLACES: [&[PathElement<'static>]; 3] = [
    &[PathElement::Key("country"), PathElement::Key("iso_code")],
    &[PathElement::Key("country_code")],
    &[PathElement::Key("country")],
];

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
                database(file).map_err(|why| format!("meters.country_database: {file}: {why}"))?,
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
        code(&self.database.as_ref()?.lookup(address).ok()?)
    }
}

/// A database that knows a country. One of another kind, such as of networks' owners, has the same format and
/// would say `unknown` of everybody for ever.
fn database(file: &str) -> Result<Reader<Vec<u8>>, String> {
    let database = Reader::open_readfile(file).map_err(|error| error.to_string())?;
    let mut records = database.networks(Default::default()).map_err(|error| error.to_string())?;
    match records.any(|record| record.is_ok_and(|record| code(&record).is_some())) {
        true => Ok(database),
        false => Err("no record has `country.iso_code`, so no country is known by it".to_owned()),
    }
}

/// The country that a record says.
fn code(record: &LookupResult<'_, Vec<u8>>) -> Option<Country> {
    PLACES.iter().find_map(|place| {
        let code: Option<&str> = record.decode_path(place).ok()?;
        Country::parse(code?)
    })
}
