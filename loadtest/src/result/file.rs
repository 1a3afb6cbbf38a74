//! Reading and writing `result.json`.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{FORMAT, ResultFile};
use crate::failure::{Failure, Result};

impl ResultFile {
    /// Reads a result.
    ///
    /// # Errors
    /// [`Failure::File`]; [`Failure::Format`] when it is none of this format.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|source| Failure::File { path: name.clone(), source })?;
        Self::parse(&text).map_err(|reason| Failure::Format { path: name, reason })
    }

    /// Reads a result from its text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version.format != FORMAT {
            return Err(format!("format {}, and this tool reads {FORMAT}", version.format));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { measurements, series, figures, .. } = self;
        measurements.is_empty() && series.is_empty() && figures.is_empty()
    }

    /// Its text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers, lists and string-keyed maps always serialize.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}
