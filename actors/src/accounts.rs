//! Rows of an account over all its apps, reserved in memory when a row is decided and given back
//! when its commit aborts; what goes is given back only when that is durable, since commits of
//! different apps overtake each other. The first app of an account that wakes seeds the number from
//! storage.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, Result, id::HumanId};
use rookery_storage::StorageError;
use tokio::sync::OnceCell;

use crate::store::AppStore;

/// What counts of one account.
#[derive(Debug, Default)]
pub struct Account {
    rows: AtomicI64,
}

/// Rows that an account counts for a creation under way. Dropping gives them back, unless they were
/// kept.
#[must_use]
pub(crate) struct Reservation {
    account: Arc<Account>,
    rows: u64,
}

impl Reservation {
    /// The rows are there, or may be: they count from now on.
    pub(crate) fn keep(&mut self) {
        self.rows = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.add(-(self.rows as i64));
    }
}

impl Account {
    /// Reserves `n` rows.
    ///
    /// # Errors
    /// `account_quota_exceeded` when that would be more than `rows_max`.
    pub(crate) fn reserve(self: &Arc<Self>, n: u64, rows_max: u64) -> Result<Reservation> {
        let reserve = |rows| with_more(rows, n, rows_max);
        match self.rows.fetch_update(Ordering::AcqRel, Ordering::Acquire, reserve) {
            Ok(_) => Ok(Reservation { account: self.clone(), rows: n }),
            Err(_) => Err(exceeded(n, rows_max)),
        }
    }

    /// Whether `n` more rows would fit, without reserving them.
    ///
    /// # Errors
    /// As [`Account::reserve`].
    pub(crate) fn check(&self, n: u64, rows_max: u64) -> Result<()> {
        with_more(self.rows(), n, rows_max).map(drop).ok_or_else(|| exceeded(n, rows_max))
    }

    /// Counts rows that came or went otherwise.
    pub(crate) fn add(&self, delta: i64) {
        self.rows.fetch_add(delta, Ordering::AcqRel);
    }

    /// Rows counted now, uncommitted ones included.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.rows.load(Ordering::Acquire)
    }
}

/// `rows` and `n` more; `None` where these are more than `rows_max` together. No more are always fine: an
/// account may hold too many since its limit was lowered.
fn with_more(rows: i64, n: u64, rows_max: u64) -> Option<i64> {
    let after = rows.saturating_add_unsigned(n);
    (n == 0 || after <= i64::try_from(rows_max).unwrap_or(i64::MAX)).then_some(after)
}

fn exceeded(n: u64, rows_max: u64) -> Error {
    let message = match n {
        ..=1 => format!("the account's apps may hold {rows_max} rows together, and do"),
        n => format!("{n} more rows do not fit: the account's apps may hold {rows_max} together"),
    };
    Error::new(ErrorCode::AccountQuotaExceeded, message)
        .with_details(serde_json::json!({"dimension": "rows", "limit": rows_max}))
}

/// One app's rows in its account, for the life of one incarnation. Closing it takes back what was
/// reserved and never became durable; from then on it changes nothing, so an incarnation that is
/// still winding down cannot disturb its successor.
pub(crate) struct CountedRows(Mutex<Counted>);

struct Counted {
    account: Arc<Account>,
    /// Rows of this app that the account counts now; `None` once closed.
    rows: Option<i64>,
    /// Of these, the ones that go with a commit that has not come to its end.
    leaving: i64,
    /// Who counts the app's rows as well, until the commit that moves them to `account` has.
    former: Option<Former>,
}

/// An account that an app is leaving.
struct Former {
    account: Arc<Account>,
    rows: i64,
    leaving: i64,
}

/// What is decided of an app's rows and not yet with the writer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Behind {
    /// So many go.
    pub(crate) leaving: i64,
    /// All of them count for another account.
    pub(crate) is_moving: bool,
}

/// What an account counts of an app while it is dormant.
#[derive(Clone)]
pub(crate) struct DormantRows {
    /// The account that counts it.
    pub(crate) account: Arc<Account>,
    /// Rows.
    pub(crate) rows: i64,
}

impl CountedRows {
    /// The rows of an app of which storage holds `rows`. `dormant` is what was counted since its
    /// last incarnation, by this account or, when the owner changed in a commit whose outcome
    /// nobody heard, by another. `None` for the first incarnation: the account was seeded from
    /// storage then.
    pub(crate) fn open(account: Arc<Account>, rows: u64, dormant: Option<DormantRows>) -> Self {
        let rows = rows as i64;
        if let Some(dormant) = dormant {
            dormant.account.add(-dormant.rows);
            account.add(rows);
        }
        Self(Mutex::new(Counted { account, rows: Some(rows), leaving: 0, former: None }))
    }

    /// Reserves `n` rows. As many of the app's own that are leaving make room for them: they are gone
    /// no later. Returns how many did.
    ///
    /// # Errors
    /// As [`Account::reserve`].
    pub(crate) fn reserve(&self, n: u64, rows_max: u64) -> Result<i64> {
        let mut counted = self.0.lock();
        let n = n as i64;
        let replaced = counted.leaving.min(n);
        let mut reserved = counted.account.reserve((n - replaced).cast_unsigned(), rows_max)?;
        if let Some(rows) = &mut counted.rows {
            *rows += n - replaced;
            reserved.keep();
        }
        counted.leaving -= replaced;
        Ok(replaced)
    }

    /// Takes a reservation of `n` rows back, `replaced` of which took the place of others.
    pub(crate) fn take_back(&self, n: i64, replaced: i64) {
        self.add(replaced - n);
        self.leave(replaced);
    }

    /// Counts rows that came, whether there is room for them or not; fewer than none takes that back.
    pub(crate) fn add(&self, delta: i64) {
        let mut counted = self.0.lock();
        if let Some(rows) = &mut counted.rows {
            *rows += delta;
            counted.account.add(delta);
        }
    }

    /// Rows that are to go; fewer than none stay after all.
    pub(crate) fn leave(&self, delta: i64) {
        self.0.lock().leaving += delta;
    }

    /// A group is durable: what left with it is counted no more. `behind` tells what is decided behind
    /// it; it is asked only where something is leaving at all.
    pub(crate) fn settle(&self, behind: impl FnOnce() -> Behind) {
        let mut counted = self.0.lock();
        if counted.leaving == 0 && counted.former.is_none() {
            return;
        }
        let Behind { leaving: still_leaving, is_moving } = behind();
        let Counted { account, rows, leaving, former } = &mut *counted;
        match former {
            Some(former) if is_moving => {
                former.account.add(-former.leaving);
                former.rows -= std::mem::take(&mut former.leaving);
            }
            _ => {
                if let Some(former) = former.take() {
                    former.account.add(-former.rows);
                }
                let gone = (*leaving - still_leaving).max(0);
                if let Some(rows) = rows {
                    *rows -= gone;
                    account.add(-gone);
                }
                *leaving -= gone;
            }
        }
    }

    /// Has another account count the app's rows, as soon as that is durable it alone.
    ///
    /// # Errors
    /// As [`Account::reserve`], of the other one.
    pub(crate) fn move_to(&self, to: Arc<Account>, rows_max: u64) -> Result<()> {
        let mut counted = self.0.lock();
        let Some(rows) = counted.rows else { return Ok(()) };
        let staying = rows - counted.leaving;
        to.reserve(staying.max(0).cast_unsigned(), rows_max)?.keep();
        let account = std::mem::replace(&mut counted.account, to);
        let leaving = std::mem::take(&mut counted.leaving);
        counted.former = Some(Former { account, rows, leaving });
        counted.rows = Some(staying);
        Ok(())
    }

    /// Takes [`Self::move_to`] back.
    pub(crate) fn move_back(&self) {
        let mut counted = self.0.lock();
        let Some(former) = counted.former.take() else { return };
        counted.account.add(-counted.rows.unwrap_or(0));
        counted.account = former.account;
        counted.rows = Some(former.rows);
        counted.leaving = former.leaving;
    }

    /// Closes it: the account counts `rows` of the app, as many as are published. `None` when it
    /// was closed before.
    pub(crate) fn close(&self, rows: i64) -> Option<DormantRows> {
        let mut counted = self.0.lock();
        let before = counted.rows.take()?;
        counted.account.add(rows - before);
        if let Some(former) = counted.former.take() {
            former.account.add(-former.rows);
        }
        Some(DormantRows { account: counted.account.clone(), rows })
    }
}

/// The accounts of which an app has been awake lately, and those whose rows somebody counts.
#[derive(Default)]
pub(crate) struct Accounts(Mutex<HashMap<HumanId, Arc<OnceCell<Arc<Account>>>>>);

impl Accounts {
    /// The account of `owner`, seeded from storage the first time.
    pub(crate) async fn get(
        &self,
        owner: HumanId,
        store: &dyn AppStore,
    ) -> Result<Arc<Account>, StorageError> {
        let cell = self.0.lock().entry(owner).or_default().clone();
        cell.get_or_try_init(|| async {
            let rows = store.account_rows(owner).await?;
            Ok(Arc::new(Account { rows: AtomicI64::new(rows as i64) }))
        })
        .await
        .cloned()
    }

    /// Forgets the accounts that nobody holds: what they count is what storage does.
    pub(crate) fn forget_idle(&self) {
        let is_held = |cell: &Arc<OnceCell<Arc<Account>>>| {
            Arc::strong_count(cell) > 1
                || cell.get().is_some_and(|account| Arc::strong_count(account) > 1)
        };
        self.0.lock().retain(|_, cell| is_held(cell));
    }
}
