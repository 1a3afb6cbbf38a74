//! Custom domains towards the outside: the DNS proves whose they are, the edge provider ends TLS
//! for them and hands their requests on. Which app a name leads to is in `rookery_actors::domains`.
//!
//! A name is given to the provider only once control over it is proven, so that nobody fills the
//! zone with names of others.

mod dns;
mod edge;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use futures::future::try_join_all;
use governor::{Quota, clock::MonotonicClock};
use rookery_actors::{AppHandle, domains::Domains, task::to_the_end};
use rookery_domain::{
    Error, Result,
    domains::{DomainName, proof_value},
    id::{AppId, HumanId},
};
use rookery_storage::domains::Domain;
use tokio_util::sync::CancellationToken;

pub use self::{
    dns::TxtRecords,
    edge::{Edge, EdgeHost, EdgeRecord},
};
use crate::{boot::BootError, config::Config, gcra::Rates, pages::origin::Origins};

/// Between two times that the edge provider is told of destroyed apps.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(600);
/// Domains of destroyed apps that it is told of at a time.
const LEFTOVERS_MAX: u32 = 100;
/// Looks at domains of one app outside, at once, and in each minute after that: the edge provider counts
/// the requests of this service together, and would soon answer none for anybody.
const LOOKS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(120).unwrap();
/// Counters of apps whose domains are looked at.
const LOOK_COUNTERS: usize = 1 << 12;

/// What the settings say of custom domains.
pub struct CustomDomains {
    edge: Arc<Edge>,
    txt: TxtRecords,
    looks: Rates,
    cname_target: String,
    /// The service's own names, which no app is given.
    platform: Vec<String>,
}

/// A domain as it is now, after everybody was asked.
#[derive(Debug, Clone)]
pub struct DomainView {
    /// What is stored of it.
    pub domain: Domain,
    /// What the edge provider says, once it knows the domain.
    pub host: Option<EdgeHost>,
    /// Whether another app proved control first.
    pub is_taken: bool,
    /// Whether everybody who had to be asked has answered; else it is as it was stored last.
    pub is_fresh: bool,
}

impl DomainView {
    /// A domain of which the provider has said nothing.
    #[must_use]
    pub const fn stored(domain: Domain) -> Self {
        Self { domain, host: None, is_taken: false, is_fresh: true }
    }
}

impl CustomDomains {
    /// The custom domains of the settings, if there are any.
    ///
    /// # Errors
    /// [`BootError`], when nobody could be asked at all.
    pub fn of(config: &Config, origins: &Origins) -> Result<Option<Self>, BootError> {
        let Some(edge) = Edge::of(&config.domains)? else { return Ok(None) };
        let txt = TxtRecords::new(&config.domains.resolver)
            .ok_or(BootError::Setting("domains.resolver: no DNS servers can be asked"))?;
        let cname_target = config.domains.cname_target.to_ascii_lowercase();
        let mut platform: Vec<String> = origins.own_hosts();
        platform.push(cname_target.clone());
        let quota = Quota::per_minute(LOOKS_PER_MINUTE);
        let looks = Rates::new(quota, LOOK_COUNTERS, MonotonicClock);
        Ok(Some(Self { edge: Arc::new(edge), txt, looks, cname_target, platform }))
    }

    /// Reads a name that an app is to be given.
    ///
    /// # Errors
    /// `domain_invalid`.
    pub fn parse(&self, text: &str) -> Result<DomainName> {
        let platform: Vec<&str> = self.platform.iter().map(String::as_str).collect();
        DomainName::parse(text, &platform)
    }

    /// What a domain's CNAME record names.
    #[must_use]
    pub fn cname_target(&self) -> &str {
        &self.cname_target
    }

    /// The domains of an app as they are now: what is not proven is looked up, what is proven is
    /// made known to the edge provider, and the provider is asked about it. What it says of whether
    /// requests arrive is stored; a domain of which nobody outside answers, or that was looked at too often
    /// lately, is as it was stored last.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn refreshed(&self, domains: &Domains, app: AppId) -> Result<Vec<DomainView>> {
        let found = domains.list(app).await?;
        try_join_all(found.into_iter().map(|domain| self.refresh(domains, domain))).await
    }

    async fn refresh(&self, domains: &Domains, mut domain: Domain) -> Result<DomainView> {
        if self.looks.count(domain.app).retry_after_s.is_some() {
            return Ok(DomainView { is_fresh: false, ..DomainView::stored(domain) });
        }
        if domain.proven_at.is_none() {
            let wanted = proof_value(&domain.token);
            // A name whose servers do not answer proves nothing, and fails nothing.
            let records = self.txt.of(&domain.name.proof_name()).await;
            let is_fresh = records.is_some();
            if !records.unwrap_or_default().contains(&wanted) {
                return Ok(DomainView { is_fresh, ..DomainView::stored(domain) });
            }
            domains.prove(&domain).await?;
            // Also when another request noted the same proof just now.
            let now = domains.list(domain.app).await?;
            match now.into_iter().find(|it| it.id == domain.id && it.proven_at.is_some()) {
                Some(proven) => domain = proven,
                None => return Ok(DomainView { is_taken: true, ..DomainView::stored(domain) }),
            }
        }
        let Some(host) = self.ask(domains, &domain).await? else {
            return Ok(DomainView { is_fresh: false, ..DomainView::stored(domain) });
        };
        let serves = host.serves(domain.serves);
        if serves != domain.serves {
            domains.set_serves(&domain, serves).await?;
        }
        (domain.edge_id, domain.serves) = (Some(host.id.clone()), serves);
        Ok(DomainView { host: Some(host), ..DomainView::stored(domain) })
    }

    /// What the edge provider says of a proven domain, which is made known to it where it is not known
    /// there yet, or not any more; `None` when it does not answer.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    async fn ask(&self, domains: &Domains, domain: &Domain) -> Result<Option<EdgeHost>> {
        let unanswered = |error: &Error| {
            tracing::warn!(%error, "a custom domain could not be refreshed");
        };
        if let Some(edge_id) = domain.edge_id.as_deref() {
            match self.edge.read(edge_id).await.inspect_err(unanswered) {
                Ok(None) => {}
                Ok(known) => return Ok(known),
                Err(_) => return Ok(None),
            }
        }
        let (edge, domains) = (Arc::clone(&self.edge), domains.clone());
        let (id, name) = (domain.id, domain.name.clone());
        // Else nobody would know of it, were the binding removed before the next look.
        to_the_end(async move {
            let Ok(host) = edge.create(&name).await.inspect_err(unanswered) else {
                return Ok(None);
            };
            domains.set_edge(id, host.id.clone()).await?;
            Ok(Some(host))
        })
        .await
    }

    /// Has the edge provider forget the domains of destroyed apps, those behind `after`. Returns
    /// behind which the next are: what it does not take has its turn again after all others.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn clean_up(&self, domains: &Domains, after: &str) -> Result<String> {
        let mut after = after.to_owned();
        for _ in 0..LEFTOVERS_MAX {
            // Each is looked up when it is its turn: another binding may have taken it over while the
            // provider answered about those before it.
            let Some(edge_id) = domains.leftover(&after).await? else { return Ok(String::new()) };
            match self.edge.delete(&edge_id).await {
                Ok(()) => domains.forgotten(&edge_id).await?,
                // Those behind it have their turn all the same.
                Err(error) => {
                    tracing::warn!(edge_id, %error, "the edge provider still has a domain")
                }
            }
            after = edge_id;
        }
        Ok(after)
    }

    /// Cleans up every [`CLEAN_UP_INTERVAL`], until the server drains.
    pub async fn keep_clean(&self, domains: &Domains, drain: &CancellationToken) {
        let mut after = String::new();
        loop {
            tokio::select! {
                () = drain.cancelled() => return,
                () = tokio::time::sleep(CLEAN_UP_INTERVAL) => {}
            }
            match self.clean_up(domains, &after).await {
                Ok(last) => after = last,
                Err(error) => {
                    tracing::warn!(%error, "domains of destroyed apps could not be looked up")
                }
            }
        }
    }

    /// Takes a domain away from the edge provider, then from its app, in the name of `by`.
    ///
    /// # Errors
    /// `app_not_found` when the app is somebody else's by now, or `unavailable`; the domain stays then.
    /// If it was storage that did not answer, the provider has forgotten the domain already, and the
    /// outcome is unknown.
    pub async fn remove(
        &self,
        domains: &Domains,
        app: &AppHandle,
        by: Option<HumanId>,
        domain: &Domain,
    ) -> Result<()> {
        let owner = app.owner_for(by)?;
        let Some(edge_id) = &domain.edge_id else { return domains.remove(domain, owner).await };
        self.edge.delete(edge_id).await?;
        domains.remove(domain, owner).await.map_err(Error::after_change)
    }
}
