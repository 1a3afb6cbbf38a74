//! How times, sizes and counts stand on pages and in mails. What is not here: sentences.

use std::fmt;

use rookery_domain::Timestamp;
use serde::Deserialize;

/// A moment, as the API writes it. Shown in UTC; the page's script shows it in local time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct At(String);

impl At {
    /// RFC 3339, for `datetime`.
    #[must_use]
    pub fn iso(&self) -> &str {
        &self.0
    }
}

impl From<Timestamp> for At {
    fn from(at: Timestamp) -> Self {
        Self(at.to_string())
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.parse::<jiff::Timestamp>() {
            Ok(at) => write!(f, "{}", at.strftime("%-d %b %Y, %H:%M UTC")),
            Err(_) => f.write_str(&self.0),
        }
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.0 as f64, "B");
        for larger in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        match unit {
            "B" => write!(f, "{} B", self.0),
            _ if value < 10.0 => write!(f, "{value:.1} {unit}"),
            _ => write!(f, "{value:.0} {unit}"),
        }
    }
}

/// A count, its thousands set apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Count(pub u64);

impl Count {
    /// The count with the word for one or for several.
    #[must_use]
    pub fn of(self, one: &str, several: &str) -> String {
        format!("{self} {}", if self.0 == 1 { one } else { several })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// How full something is, in whole percent and never more than all of it.
#[must_use]
pub fn percent(used: u64, limit: u64) -> u64 {
    match limit {
        0 => 100,
        limit => (used.saturating_mul(100) / limit).min(100),
    }
}
