//! The frame of an app's pages: which app, what the human is to it, which page this is.

use rookery_actors::control::ShownStatus;
use rookery_domain::{Error, ErrorCode, id::OrgId};
use serde::{Deserialize, de::IgnoredAny};

use super::data::collection_path;
use crate::{
    error::ApiResult,
    routes::{
        self_apps::record::OwnApps,
        site::{
            frame::{Frame, Section},
            page_context::PageContext,
            records::{App, Collection},
        },
    },
};

/// Collections that a page shows beside each other; more of them are folded away.
const COLLECTIONS_SIDE_BY_SIDE: usize = 5;

/// An app's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// What it is and what it does.
    Overview,
    /// Its rows.
    Data,
    /// Its versions.
    Versions,
    /// Who else reaches it.
    Sharing,
    /// How its pages are seen.
    Analytics,
    /// What it uses.
    Usage,
    /// What its owner can set.
    Settings,
}

impl Tab {
    /// Whether the page says which organization the app is in.
    fn names_org(self) -> bool {
        matches!(self, Self::Overview | Self::Sharing | Self::Settings)
    }
}

/// What a page of an app's owner asks before it does what its form says: the API lets others do some of
/// it too, who do not see the page.
///
/// # Errors
/// What `GET /v1/apps/:id` answers.
pub async fn require_owner(context: &PageContext, id: &str) -> ApiResult<()> {
    context.api.get::<IgnoredAny>(&format!("/v1/apps/{id}")).await.map(drop)
}

/// Where a page of an app stands, inside the site's frame.
pub struct AppPage {
    /// The app.
    pub app: App,
    /// Which page this is.
    pub tab: Tab,
    /// Whether the human acts as its owner.
    pub own: bool,
    /// The organization that it is in.
    pub org: Option<OrgOfApp>,
}

/// The organization that an app is in, as whoever looks at the app sees it.
pub struct OrgOfApp {
    /// Its id.
    pub id: OrgId,
    /// Its name. An owner knows it though it left the organization.
    pub name: Option<String>,
    /// Whether the human is in it, and its page opens.
    pub opens: bool,
}

impl OrgOfApp {
    async fn of(context: &PageContext, id: OrgId, own: bool) -> ApiResult<Self> {
        let seen = context.api.get_if_allowed::<Named>(&format!("/v1/orgs/{id}")).await?;
        let opens = seen.is_some();
        let name = match seen {
            None if own => context.state.rooms.directory.org_name(id)?,
            seen => seen.map(|org| org.name),
        };
        Ok(Self { id, name, opens })
    }

    /// What it is called here.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// Of an organization, what it is called.
#[derive(Deserialize)]
struct Named {
    name: String,
}

impl AppPage {
    /// The frame and the app with this id or slug, for a page of its owner.
    ///
    /// # Errors
    /// What `GET /v1/apps/:id` answers.
    pub async fn of_owner(context: &PageContext, id: &str, tab: Tab) -> ApiResult<(Frame, Self)> {
        let app: App = context.api.get(&format!("/v1/apps/{id}")).await?;
        Self::new(context, app, tab, true).await
    }

    /// The same for a page that members see, too; and, of its owner, an app in the trash.
    ///
    /// # Errors
    /// `app_not_found`, for who is neither; those of the API.
    pub async fn of_anybody(context: &PageContext, id: &str, tab: Tab) -> ApiResult<(Frame, Self)> {
        let path = format!("/v1/apps/{id}?include_deleted=true");
        match context.api.get::<App>(&path).await {
            Ok(app) => Self::new(context, app, tab, true).await,
            Err(failed) if failed.error.code == ErrorCode::Forbidden => {
                let handle = context.state.rooms.apps().find(id).await?;
                let own_apps = OwnApps::open(&context.state, context.human).await?;
                let detail = context.state.rooms.control().detail(&handle).await?;
                let app = own_apps.show(&handle, detail, None).await?;
                let app = app.ok_or_else(Error::app_not_found)?;
                // No route shows a member one app; the record in its list reads as the API's does.
                let app = serde_json::to_value(app).and_then(serde_json::from_value::<App>);
                let app = app.map_err(|_| Error::internal())?;
                if app.deleted_at.is_some() {
                    return Err(Error::app_not_found().into());
                }
                Self::new(context, app, tab, false).await
            }
            Err(failed) => Err(failed),
        }
    }

    async fn new(
        context: &PageContext,
        mut app: App,
        tab: Tab,
        own: bool,
    ) -> ApiResult<(Frame, Self)> {
        let favorites = context.state.rooms.directory.favorites(context.human).await?;
        app.favorite = favorites.contains(&app.id);
        if own && app.deleted_at.is_none() {
            for one in app.collections.iter_mut().filter(|one| one.set_aside().is_some()) {
                let path = format!("{}/retention", collection_path(&app.id.to_string(), &one.name));
                one.undeclared = context.api.get_if_allowed::<IgnoredAny>(&path).await?.is_none();
            }
        }
        let org = match app.org_id.filter(|_| tab.names_org()) {
            Some(id) => Some(OrgOfApp::of(context, id, own).await?),
            None => None,
        };
        Ok((context.frame(Section::Apps), Self { app, tab, own, org }))
    }

    /// Whether the tabs stand at `tab`.
    #[must_use]
    pub fn is_at(&self, tab: Tab) -> bool {
        self.tab == tab
    }

    /// The collections of the app's version.
    #[must_use]
    pub fn declared(&self) -> Vec<&Collection> {
        self.app.collections.iter().filter(|one| !one.undeclared).collect()
    }

    /// Whether those are too many to be shown beside each other.
    #[must_use]
    pub fn folds(&self) -> bool {
        self.declared().len() > COLLECTIONS_SIDE_BY_SIDE
    }

    /// Whether the app was taken down: it can be read, and nothing else.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.app.status == ShownStatus::Closed
    }

    /// Whether anybody is shown the app itself.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.app.opens()
    }

    /// Whether the app is in the trash.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.app.status == ShownStatus::Deleted
    }
}
