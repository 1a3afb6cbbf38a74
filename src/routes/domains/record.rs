//! How a custom domain is shown.

use rookery_domain::{Timestamp, domains::proof_value, id::DomainId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    domains::{CustomDomains, DomainView, EdgeRecord},
    http::idempotency::ShownOnce,
    openapi::ids,
};

/// The custom domains of an app.
#[derive(Debug, Serialize, ToSchema)]
pub struct DomainsBody {
    /// The one that serves the app; null while none of them works.
    domain: Option<String>,
    /// Those that redirect to it.
    aliases: Vec<String>,
    /// All of them, the oldest first, those that are not proven yet included.
    items: Vec<DomainBody>,
}

/// A custom domain.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DomainBody {
    #[schema(value_type = ids::DomainId)]
    id: DomainId,
    /// The name, in ASCII.
    #[schema(value_type = String, example = "app.example.com")]
    domain: String,
    /// What it does for the app.
    role: DomainRole,
    /// How far it is.
    status: DomainStatus,
    /// Whether this is as it is now; `false` when the DNS or the edge provider did not answer: then it
    /// is as it was stored last.
    refreshed: bool,
    /// The DNS records to set.
    dns_records: Vec<DnsRecord>,
    /// The state of its certificate, in the edge provider's words.
    certificate_status: Option<String>,
    /// What the edge provider says is wrong.
    errors: Vec<String>,
    /// When it was bound.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When control was proven.
    #[schema(value_type = Option<String>, format = DateTime)]
    verified_at: Option<Timestamp>,
}

/// What a domain does for its app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DomainRole {
    /// Nothing yet: control is not proven, or requests for it do not arrive.
    Pending,
    /// It serves the app: the oldest of those that work.
    Serving,
    /// It redirects to the one that serves.
    Alias,
}

/// How far a domain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DomainStatus {
    /// The TXT record was not there yet.
    PendingVerification,
    /// Another app has proven control over the name.
    Taken,
    /// Control is proven; the edge provider is not ready yet.
    PendingEdge,
    /// Requests for it arrive.
    Active,
}

impl DomainStatus {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PendingVerification => "pending_verification",
            Self::Taken => "taken",
            Self::PendingEdge => "pending_edge",
            Self::Active => "active",
        }
    }
}

/// A DNS record to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct DnsRecord {
    /// `CNAME`, `TXT`, or what else the edge provider asks for.
    #[serde(rename = "type")]
    kind: String,
    /// Where.
    name: String,
    /// With which value.
    value: String,
    /// What it is for.
    purpose: DnsPurpose,
}

/// What a DNS record is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DnsPurpose {
    /// Requests for the name arrive.
    Serving,
    /// It proves control over the name.
    Verification,
    /// The edge provider asks for it.
    Edge,
}

impl DomainsBody {
    /// The domains as they are now; one is `serving`, and the
    /// `aliases` redirect to it.
    #[must_use]
    pub fn new(
        custom: &CustomDomains,
        serving: Option<Box<str>>,
        aliases: Vec<Box<str>>,
        found: Vec<DomainView>,
    ) -> Self {
        let role = |view: &DomainView| match (view.domain.proven_at, serving.as_deref()) {
            (Some(_), Some(serving)) if serving == view.domain.name.as_str() => DomainRole::Serving,
            (Some(_), Some(_)) => DomainRole::Alias,
            _ => DomainRole::Pending,
        };
        let items: Vec<_> =
            found.into_iter().map(|view| DomainBody::new(custom, role(&view), view)).collect();
        let aliases = aliases.into_iter().map(String::from).collect();
        Self { items, aliases, domain: serving.map(String::from) }
    }
}

impl DomainBody {
    /// A domain in this role.
    #[must_use]
    pub fn new(custom: &CustomDomains, role: DomainRole, view: DomainView) -> Self {
        let DomainView { domain, host, is_taken, is_fresh } = view;
        let name = domain.name.to_string();
        let record = |kind: &str, name: String, value: String, purpose| DnsRecord {
            kind: kind.to_owned(),
            name,
            value,
            purpose,
        };
        let target = custom.cname_target().to_owned();
        let mut dns_records = vec![record("CNAME", name.clone(), target, DnsPurpose::Serving)];
        if domain.proven_at.is_none() {
            let value = proof_value(&domain.token);
            dns_records.push(record(
                "TXT",
                domain.name.proof_name(),
                value,
                DnsPurpose::Verification,
            ));
        }
        for EdgeRecord { kind, name, value } in host.iter().flat_map(|host| host.records.clone()) {
            dns_records.push(record(&kind.to_ascii_uppercase(), name, value, DnsPurpose::Edge));
        }
        let status = match domain.proven_at {
            _ if is_taken => DomainStatus::Taken,
            None => DomainStatus::PendingVerification,
            Some(_) if domain.serves => DomainStatus::Active,
            Some(_) => DomainStatus::PendingEdge,
        };
        Self {
            id: domain.id,
            domain: name,
            role,
            status,
            refreshed: is_fresh,
            dns_records,
            certificate_status: host.as_ref().and_then(|host| host.certificate.clone()),
            errors: host.map(|host| host.errors).unwrap_or_default(),
            created_at: domain.created_at,
            verified_at: domain.proven_at,
        }
    }
}

impl ShownOnce for DomainBody {
    /// The proof token is no secret: it is published in the DNS.
    fn without_secrets(self) -> Self {
        self
    }
}
