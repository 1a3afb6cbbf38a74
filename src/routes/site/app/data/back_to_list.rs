//! The way back from a row, or from a page beside the list, to the list as it was looked at: its
//! filter, its order, the page that it was turned to. The address keeps it (decision 33).

use url::form_urlencoded::{self, Serializer};

use super::collection_page;
use crate::routes::site::page_context::{DONE, PageContext};

/// The parameter that holds the list's query.
const PARAMETER: &str = "list";

/// The list that a page leads back to.
pub struct BackToList {
    /// The page of the collection, without a query.
    list: String,
    /// What was asked of it.
    query: String,
}

impl BackToList {
    /// The list itself, as it is looked at.
    #[must_use]
    pub fn from_here(context: &PageContext, app: &str, collection: &str) -> Self {
        Self { list: collection_page(app, collection), query: tidy(context.asked()) }
    }

    /// The list that led to the page that is looked at.
    #[must_use]
    pub fn back(context: &PageContext, app: &str, collection: &str) -> Self {
        let mut pairs = form_urlencoded::parse(context.asked().as_bytes());
        let query = pairs.find(|(name, _)| name == PARAMETER).map(|(_, query)| tidy(&query));
        Self { list: collection_page(app, collection), query: query.unwrap_or_default() }
    }

    /// The address of the list.
    #[must_use]
    pub fn list(&self) -> String {
        match self.query.as_str() {
            "" => self.list.clone(),
            query => format!("{}?{query}", self.list),
        }
    }

    /// The address of a page that leads back to it.
    #[must_use]
    pub fn to(&self, page: &str) -> String {
        if self.query.is_empty() {
            return page.to_owned();
        }
        let mut query = Serializer::new(String::new());
        format!("{page}?{}", query.append_pair(PARAMETER, &self.query).finish())
    }
}

/// A query as an address writes it, without what the last action did. It may come from anybody.
fn tidy(query: &str) -> String {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let pairs = pairs.filter(|(name, _)| name != DONE);
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}
