//! What a deploy brings, checked and compiled: everything that can be known before the rows are
//! looked at.

use std::{any::Any, collections::BTreeMap, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Result,
    id::HumanId,
    json,
    limits::Limits,
    manifest::{self, Manifest, ParseContext, Visibility, Warning},
    schema::CompiledSchema,
    timezone::Zone,
};
use rookery_storage::versions::VersionAsset;

use crate::{app::deploy::EventSchemas, env::Env};

/// The files of a version as a request brings them.
#[derive(Debug, Clone, Default)]
pub struct Bundle {
    /// The authored HTML.
    pub html: Arc<str>,
    /// The manifest's text, as it was sent.
    pub manifest: Option<String>,
    /// The assets, by distinct normal paths.
    pub assets: Option<Vec<VersionAsset>>,
    /// The visibility that the request names.
    pub visibility: Option<Visibility>,
    /// The timezone that the request names.
    pub timezone: Option<String>,
    /// What is held for as long as the bundle is.
    pub hold: Hold,
}

impl Bundle {
    /// Bytes that it brings.
    pub(super) fn bytes(&self) -> usize {
        let assets = self.assets.iter().flatten().map(VersionAsset::new_bytes);
        self.html.len() + self.manifest.as_ref().map_or(0, String::len) + assets.sum::<usize>()
    }
}

/// Something that is dropped with its last clone, such as a share of a budget.
#[derive(Clone, Default)]
pub struct Hold(Option<Arc<dyn Any + Send + Sync>>);

impl Hold {
    /// Holds `what`.
    #[must_use]
    pub fn of(what: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(what)))
    }
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hold").field(&self.0.is_some()).finish()
    }
}

/// A bundle that has passed every rule that needs no row.
pub(super) struct Draft {
    pub(super) manifest: Arc<Manifest>,
    pub(super) manifest_text: Arc<str>,
    pub(super) schemas: BTreeMap<Arc<str>, Arc<CompiledSchema>>,
    pub(super) events: EventSchemas,
    /// What the request names, or the manifest it brings. A manifest that is carried over was
    /// obeyed when it was deployed; what its owner set since then stands.
    pub(super) visibility: Option<Visibility>,
    pub(super) timezone: Option<Arc<str>>,
    pub(super) warnings: Vec<Warning>,
}

/// The app that a version is for.
pub(super) struct Target {
    /// Whose it is.
    pub(super) owner: HumanId,
    /// Where it is served.
    pub(super) host: String,
    /// Its custom domains.
    pub(super) domains: Vec<Box<str>>,
    /// The visibility that holds when neither the request nor the manifest names one.
    pub(super) visibility: Option<Visibility>,
}

/// Checks sizes: document, number and bytes of assets.
///
/// # Errors
/// `payload_too_large`, naming what is too large.
pub(super) fn check_sizes(bundle: &Bundle, limits: &Limits) -> Result<()> {
    let too_large = |what: &str, has: usize, max: usize, unit: &str| {
        Err(Error::new(
            ErrorCode::PayloadTooLarge,
            format!("`{what}` has {has} {unit}, at most {max} are allowed"),
        ))
    };
    if bundle.html.len() > limits.html_bytes_max {
        return too_large("html", bundle.html.len(), limits.html_bytes_max, "bytes");
    }
    let assets = bundle.assets.as_deref().unwrap_or_default();
    if assets.len() > limits.asset_files_max {
        return too_large("assets", assets.len(), limits.asset_files_max, "files");
    }
    let bytes = assets.iter().map(VersionAsset::size).sum::<u64>() as usize;
    if bytes > limits.asset_bytes_max {
        return too_large("assets", bytes, limits.asset_bytes_max, "bytes");
    }
    Ok(())
}

/// Checks and compiles a manifest's text for `target`.
///
/// # Errors
/// Every code of part 2.2; `invalid_request` for text that is no JSON, for a visibility that
/// contradicts the manifest's, and for an unknown timezone.
pub(super) async fn draft(
    env: &Arc<Env>,
    text: Arc<str>,
    bundle: &Bundle,
    target: Target,
) -> Result<Draft> {
    let (shared, owner) = (env.clone(), target.owner);
    let asked = bundle.visibility;
    let carried = bundle.manifest.is_none();
    let zone = bundle.timezone.as_deref().map(Zone::parse).transpose()?;
    // Compiling what a stranger wrote may take a while: not on a thread that serves requests.
    let work = move || compile(&shared, text, asked, &target, carried);
    let draft = env.compiling.run(owner, work).await??;
    Ok(Draft { timezone: zone.map(|zone| zone.name().into()), ..draft })
}

fn compile(
    env: &Env,
    text: Arc<str>,
    asked: Option<Visibility>,
    target: &Target,
    carried: bool,
) -> Result<Draft> {
    if !carried {
        manifest::check_size(text.len(), &env.limits)?;
    }
    let value = json::parse(text.as_bytes()).map_err(|mut error| {
        error.message = format!("`manifest`: {}", error.message);
        error
    })?;
    let manifest = if carried {
        // It was admitted before, by the rules of that time.
        manifest::reload(&value)?
    } else {
        let domains = target.domains.iter().map(|name| &**name);
        let own_hosts: Vec<&str> = domains.chain([&*target.host]).collect();
        let visibility = asked.or(target.visibility);
        let context = ParseContext { own_hosts: &own_hosts, visibility };
        manifest::parse(&value, text.len(), &env.limits, &context)?
    };
    let apart = asked.map(|asked| hold_against(asked, &manifest, carried)).transpose()?.flatten();
    let mut warnings = manifest::warnings(&value, &manifest);
    warnings.extend(apart);
    let compiled = |source| match carried {
        true => env.schemas.in_force(source),
        false => env.schemas.get(source),
    };
    let mut schemas = BTreeMap::new();
    for (name, decl) in &manifest.collections {
        if let Some(source) = &decl.schema {
            schemas.insert(name.clone(), compiled(source)?);
        }
    }
    let mut events = BTreeMap::new();
    for (kind, decl) in &manifest.events {
        let schema = decl.schema.as_ref().map(compiled).transpose()?;
        events.insert(kind.clone(), schema);
    }
    Ok(Draft {
        visibility: asked.or(manifest.visibility.filter(|_| !carried)),
        timezone: None,
        warnings,
        manifest: Arc::new(manifest),
        manifest_text: text,
        schemas,
        events,
    })
}

/// Holds the visibility that a request asks for against the manifest; of one that is `carried` over it
/// warns where they differ.
///
/// # Errors
/// `invalid_request` for another one than a manifest declares that comes with the request; what rules
/// that are carried over refuse.
fn hold_against(asked: Visibility, manifest: &Manifest, carried: bool) -> Result<Option<Warning>> {
    if let (true, Some(rules)) = (carried, &manifest.rules) {
        // They were checked against the visibility of another deploy.
        rules.check_visibility(asked)?;
    }
    match manifest.visibility {
        Some(kept) if kept != asked && carried => Ok(Some(Warning::visibility_apart(asked, kept))),
        Some(declared) if declared != asked => Err(Error::invalid(format!(
            "`visibility` is {:?}, but the manifest declares {:?}",
            asked.as_str(),
            declared.as_str()
        ))),
        _ => Ok(None),
    }
}
