//! What the meters say about an app or an account. Reading them wakes no app.

use rookery_domain::{
    Error, Result,
    id::HumanId,
    meters::{Flows, Window, hour_of, visit::OTHER},
};
use rookery_storage::{
    apps::{self, AccountSums},
    meters::{
        SourceKind,
        read::{self, Seen, SourceSum},
    },
    offload::Permit,
};

use super::Whose;
use crate::{Control, registry::AppHandle};

/// Most hours that a report of page views goes back.
const HOURS_SHOWN_MAX: i32 = 168;
/// Most countries, and most referrers, that a report names.
const SOURCES_SHOWN_MAX: u32 = 100;

/// Reports, over all accounts, that storage sums up at a time, one of an account: one of a long window looks
/// at as many records as days have names, and each begins with a transaction. Others wait.
pub(crate) const REPORT_PERMITS: usize = 2;

/// How the pages of an app were seen.
#[derive(Debug, Clone)]
pub struct Analytics {
    /// Of the whole window.
    pub page_views: u64,
    /// Of the whole window; whoever comes on two days counts twice.
    pub visitors: u64,
    /// By the day, days without views left out.
    pub days: Vec<Seen>,
    /// The first hour of `hours`.
    pub first_hour: i32,
    /// The running hour.
    pub last_hour: i32,
    /// By the hour, hours without views left out.
    pub hours: Vec<Seen>,
    /// By country, most views first.
    pub countries: Vec<SourceSum>,
    /// By referrer, most views first; the last may stand for all that have no name there.
    pub referrers: Vec<SourceSum>,
}

/// What an account holds and uses.
#[derive(Debug, Clone)]
pub struct AccountMeters {
    /// What it holds now.
    pub held: AccountSums,
    /// What flowed in the running month.
    pub month: Flows,
}

impl Control {
    /// How an app's pages were seen in `window`, until now.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn analytics(&self, app: &AppHandle, window: Window) -> Result<Analytics> {
        let (db, id) = (&self.db, app.id());
        let _turn = self.report_turn(app.record().owner, Whose::App(id)).await?;
        let last_hour =
            hour_of(self.env().clock.now()).clamp(window.first_hour(), window.end_hour() - 1);
        let first_hour = window.first_hour().max(last_hour - HOURS_SHOWN_MAX + 1);
        let days = read::seen_days(db, id, window).await?;
        let hours = read::seen_hours(db, id, first_hour, last_hour + 1).await?;
        let total = Seen {
            period: window.first,
            page_views: days.iter().map(|day| day.page_views).sum(),
            visitors: days.iter().map(|day| day.visitors).sum(),
        };
        let of = async |kind| {
            // One more than is shown: `other` is among them, and goes to the end.
            let named = read::sources(db, id, kind, window, SOURCES_SHOWN_MAX + 1).await;
            Ok::<_, Error>(with_rest(named?, total))
        };
        Ok(Analytics {
            page_views: total.page_views,
            visitors: total.visitors,
            countries: of(SourceKind::Country).await?,
            referrers: of(SourceKind::Referrer).await?,
            days,
            first_hour,
            last_hour,
            hours,
        })
    }

    /// Flow of an app by the day in `window`, until now; days without any are left out.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn usage(&self, app: &AppHandle, window: Window) -> Result<Vec<(i32, Flows)>> {
        let _turn = self.report_turn(app.record().owner, Whose::App(app.id())).await?;
        read::app_days(&self.db, app.id(), window).await.map_err(Error::from)
    }

    /// The turn of `owner` to have a report made, with all in it that was counted until now.
    async fn report_turn(&self, owner: HumanId, of: Whose) -> Result<Permit> {
        let turn = self.env().reporting.permit(owner).await?;
        self.bring_up_to_date(of).await?;
        Ok(turn)
    }

    /// What an account holds, and what its apps used this month.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn account_meters(&self, human: HumanId) -> Result<AccountMeters> {
        let held = apps::account_sums(&self.db, human).await?;
        Ok(AccountMeters { held, month: self.month_to_date(human).await? })
    }

    /// What an account's apps used in the running month, until now.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn month_to_date(&self, human: HumanId) -> Result<Flows> {
        let month = Window::month_to_date(self.env().clock.now());
        let mut sum = Flows::default();
        for (_, flows) in self.account_days(human, month).await? {
            sum += flows;
        }
        Ok(sum)
    }

    /// Flow of an account's apps by the day; days without any are left out.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn account_days(&self, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
        let _turn = self.report_turn(human, Whose::Account(human)).await?;
        read::account_days(&self.db, human, window).await.map_err(Error::from)
    }

    /// Flow of an account's apps by the hour; hours without any are left out.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer.
    pub async fn account_hours(&self, human: HumanId, window: Window) -> Result<Vec<(i32, Flows)>> {
        let _turn = self.report_turn(human, Whose::Account(human)).await?;
        read::account_hours(&self.db, human, window).await.map_err(Error::from)
    }
}

/// The list with everything that it does not name as its last entry.
fn with_rest(mut named: Vec<SourceSum>, total: Seen) -> Vec<SourceSum> {
    named.retain(|one| one.name != OTHER);
    named.truncate(SOURCES_SHOWN_MAX as usize);
    let views: u64 = named.iter().map(|one| one.page_views).sum();
    let visitors: u64 = named.iter().map(|one| one.visitors).sum();
    if total.page_views > views {
        named.push(SourceSum {
            name: OTHER.to_owned(),
            page_views: total.page_views - views,
            visitors: total.visitors.saturating_sub(visitors),
        });
    }
    named
}
