//! The closed error table (part 7 of the source documents, 90 rows, and our own `internal` and
//! `unavailable`) and the error value that every rule answers with.
//!
//! How an error becomes an HTTP answer is decided in one place of the server crate, not here.

use std::fmt;

use serde_json::Value;

/// A result whose failure is a row of the error table.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! error_table {
    ($($name:ident = $wire:literal, $status:literal, $retryable:literal, $hint:literal;)*) => {
        /// A row of the error table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = $hint] $name,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable code on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// Whether the same request may succeed later.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$name => $retryable,)* }
            }

            /// What it means and what to do about it, for every request alike.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }
        }
    };
}

error_table! {
    AccountQuotaExceeded = "account_quota_exceeded", 409, false, "A per-account cap (one of the MAX_*_PER_ACCOUNT dimensions: apps, rows, attachments) is reached; delete items or raise the cap or plan.";
    AgentNotClaimed = "agent_not_claimed", 403, false, "Agent deploys before being claimed by a human.";
    AgentTaskInvalid = "agent_task_invalid", 400, false, "An agentTasks rule is malformed (on, collection, taskType, prompt, reads/writes, when).";
    AppNotFound = "app_not_found", 404, false, "App id or slug wrong, or the app belongs to another owner.";
    AppQuotaExceeded = "app_quota_exceeded", 409, false, "The app's row or storage quota (MAX_ROWS_PER_APP, MAX_STORAGE_BYTES_PER_APP) is reached.";
    AppendOnly = "append_only", 403, false, "Update or delete on an append-only collection.";
    AttachmentNotFound = "attachment_not_found", 404, false, "Attachment id wrong, deleted, or owned by another agent.";
    AttachmentRefNotAccessible = "attachment_ref_not_accessible", 422, false, "A payload references attachment ids the caller does not own or that were deleted; on the read side an attachment is reachable only when referenced from this app's events or initial input_data and not soft-deleted.";
    AttachmentSizeExceeded = "attachment_size_exceeded", 413, false, "Attachment exceeds the per-attachment cap.";
    AttachmentTokenInvalid = "attachment_token_invalid", 401, false, "Attachment token unknown, expired, revoked, or a spent once-token.";
    AttachmentTokenNotFound = "attachment_token_not_found", 404, false, "Token id wrong or not on this attachment.";
    AuthorNotAllowed = "author_not_allowed", 403, false, "Only the row author may do this.";
    CapabilityInvalid = "capability_invalid", 400, false, "capabilities entry not in {camera, microphone, geolocation} or duplicated.";
    CliUpgradeRequired = "cli_upgrade_required", 426, false, "Command-line client older than the relay minimum; non-client callers may omit the version header to opt out (see part 9).";
    CollectionCountForbidden = "collection_count_forbidden", 403, false, "Principal not in the collection's countRead list.";
    CollectionDeleteForbidden = "collection_delete_forbidden", 403, false, "Principal not in the delete list; on a row the caller cannot read, row_not_found is answered instead.";
    CollectionNameInvalid = "collection_name_invalid", 400, false, "Name violates the collection name rule.";
    CollectionNotFound = "collection_not_found", 404, false, "Collection not declared in the app's manifest.";
    CollectionReadForbidden = "collection_read_forbidden", 403, false, "Principal not in the read list.";
    CollectionSchemaInvalid = "collection_schema_invalid", 400, false, "Schema not of the form $ref to #/$defs/<Name>, not resolving to an object, or not compiling as JSON Schema 2020-12.";
    CollectionWriteBudgetExceeded = "collection_write_budget_exceeded", 409, false, "Anonymous write budget reached; details.scope is perIpPerDay or perAppDay; resets after the daily window.";
    CollectionWriteForbidden = "collection_write_forbidden", 403, false, "Principal not in the list governing the write: create uses write; update uses update if declared, else write. The required array lists the roles consulted. Row-scoped subjects admit only the caller's own rows. For a row hidden by the read list, row_not_found is answered instead.";
    CommunityPublishDisabled = "community_publish_disabled", 403, false, "Community publishing is turned off.";
    Conflict = "conflict", 409, false, "Request conflicts with current state; for an if_match mismatch rebase against details.current and resend with its version.";
    ConnectionInvalid = "connection_invalid", 400, false, "A connection field is invalid (shape in part 2.3 of the first document).";
    ConnectionLimitReached = "connection_limit_reached", 409, false, "App already has the maximum number of connections (20).";
    ConnectionNotFound = "connection_not_found", 404, false, "No connection with that name on the app.";
    ConnectionOwnerOnly = "connection_owner_only", 403, false, "Only the owner or owning agent may set or read a connection's status.";
    ConsentOwnerOnly = "consent_owner_only", 403, false, "Only the app owner may grant the consent; an agent key cannot.";
    CredentialScopeForbidden = "credential_scope_forbidden", 403, false, "Refused by the service credential's own allowlist.";
    CsrfOriginMismatch = "csrf_origin_mismatch", 403, false, "Origin or Referer does not match the site origin.";
    CustomDomainsNotEnabled = "custom_domains_not_enabled", 501, false, "Deployment has no edge-provider configuration for custom domains (settings for API token, zone id and CNAME target are missing). Server error.";
    DomainExists = "domain_exists", 409, false, "App already has a custom domain (one at a time per the message); delete first to replace.";
    DomainInvalid = "domain_invalid", 400, false, "Not a bare valid DNS name; platform domains and subdomains, IP literals, wildcards, local or reserved names are rejected.";
    DomainNotFound = "domain_not_found", 404, false, "App has no custom domain.";
    DomainTaken = "domain_taken", 409, false, "Domain already bound to another app.";
    EmailNotVerified = "email_not_verified", 403, false, "Account email not verified.";
    EmbedInvalid = "embed_invalid", 400, false, "embeds entry not a valid https origin (grammar as externalHosts).";
    ExternalHostInvalid = "external_host_invalid", 400, false, "externalHosts entry not a valid https origin.";
    Forbidden = "forbidden", 403, false, "Authenticated identity may not do this.";
    AppClosed = "app_closed", 410, false, "App is closed or expired and cannot accept new events; create a new app. Code name: not shown.";
    GrantInvalid = "grant_invalid", 401, false, "Session grant missing, used, expired or for another app.";
    IngestInvalid = "ingest_invalid", 400, false, "An ingest rule is malformed.";
    IngestNotFound = "ingest_not_found", 404, false, "Catch-hook URL wrong: unknown hook, bad secret or disabled hook; same answer for all, so the endpoint is not an existence oracle.";
    IngestPayloadTooLarge = "ingest_payload_too_large", 413, false, "Body above INGEST_MAX_BODY_BYTES.";
    IngestSignatureInvalid = "ingest_signature_invalid", 401, false, "Verification enabled and signature missing, malformed, wrong, or signing secret not provisioned (all answer alike). The request is not journaled.";
    IngestUnsupportedMediaType = "ingest_unsupported_media_type", 415, false, "Content-Type is not application/json.";
    IngestWriteUnavailable = "ingest_write_unavailable", 503, true, "Retryable. Inbound delivery could not be stored because of quota; journaled as failed.";
    InputSchemaViolation = "input_schema_violation", 422, false, "Initial input_data fails the target collection schema; fields named in details.";
    InvalidRequest = "invalid_request", 400, false, "Malformed body or parameters; field named in the message.";
    ManifestIncompatibleRedeploy = "manifest_incompatible_redeploy", 422, false, "New manifest strands rows (removed collection, tightened schema, collection flipped append-only) or widens disclosure (collection reaching further, capability added, cdn on, new host in externalHosts, embeds or a webhook target). details.breaks names each; retry with force=true to proceed. Removing access is always compatible.";
    ManifestInvalid = "manifest_invalid", 400, false, "Top-level manifest shape wrong.";
    ManifestTooLarge = "manifest_too_large", 413, false, "Manifest over MAX_MANIFEST_BYTES or a $defs row schema over MAX_SCHEMA_BYTES.";
    MethodNotAllowed = "method_not_allowed", 405, false, "Verb unsupported; Allow response header lists valid verbs.";
    MimeDisallowed = "mime_disallowed", 415, false, "Sniffed MIME not in BLOB_MIME_ALLOWLIST (prefix list).";
    MimeMismatch = "mime_mismatch", 415, false, "Declared Content-Type differs from the sniffed type of the leading bytes.";
    NotAReviewer = "not_a_reviewer", 403, false, "Reviewer role required.";
    NotFound = "not_found", 404, false, "Generic missing resource.";
    NotImplemented = "not_implemented", 501, false, "Capability not implemented. Server error.";
    NotifyChannelNotEnabled = "notify_channel_not_enabled", 400, false, "Rule declares channel inapp, not yet available; only email is.";
    NotifyInvalid = "notify_invalid", 400, false, "A notify rule is malformed.";
    NotifyPushRequiresPublic = "notify_push_requires_public", 400, false, "Channel push on an app that is not public.";
    NotifySubmitterNotEnabled = "notify_submitter_not_enabled", 400, false, "Target submitter while external sending (NOTIFY_EXTERNAL_ENABLED) is off.";
    ParticipantTokenInvalid = "participant_token_invalid", 401, false, "Participant token unknown, malformed or revoked.";
    PayloadTooLarge = "payload_too_large", 413, false, "Payload over MAX_ARTIFACT_BYTES (templates), MAX_EVENT_DATA_BYTES (event data) or MAX_TASTE_BYTES (taste notes).";
    PermissionRoleInvalid = "permission_role_invalid", 400, false, "A permission list violates the rules in part 2.2 of the first document.";
    PurgeForbidden = "purge_forbidden", 403, false, "Only owner or owning agent may purge a row.";
    QuotaExceeded = "quota_exceeded", 413, false, "Per-scope (agent or app) attachment quota full.";
    RateLimited = "rate_limited", 429, true, "Retryable. Per-IP rolling-window limiter; honour Retry-After if present.";
    RelationSetForbidden = "relation_set_forbidden", 403, false, "A field of a relation declared set: 'writer' changed by someone other than the row creator.";
    ResyncRequired = "resync_required", 410, false, "Feed cursor below the retention floor.";
    RowNotFound = "row_not_found", 404, false, "No live row at the key, or the row exists and the read list hides it; deliberately indistinguishable on get, update, delete and keyed create. Soft-deleted rows read as absent.";
    RowSchemaViolation = "row_schema_violation", 422, false, "Row data fails the collection schema; failing paths in details; a non-conforming write never lands.";
    ScheduleInvalid = "schedule_invalid", 400, false, "A schedules rule is malformed.";
    SchemaIncompatibleUpgrade = "schema_incompatible_upgrade", 422, false, "Target template version narrows the current schema; retry with compat='force' to accept.";
    SchemaViolation = "schema_violation", 422, false, "Event or row fails the declared schema.";
    SlugNotAllowedForLink = "slug_not_allowed_for_link", 400, false, "Caller slug supplied with visibility link (link slugs are server-generated).";
    SlugTaken = "slug_taken", 409, false, "Slug already used by another app.";
    SoftDeleted = "soft_deleted", 410, false, "Entity is in trash; restore it before mutating, or read with ?include_deleted=true.";
    TooManyCollections = "too_many_collections", 400, false, "More than 50 collections (MAX_COLLECTIONS_PER_APP).";
    TooManyEmbeds = "too_many_embeds", 400, false, "More than 50 embeds entries (MAX_EMBEDS).";
    TooManyExternalHosts = "too_many_external_hosts", 400, false, "More than 50 externalHosts entries (MAX_EXTERNAL_HOSTS).";
    ChallengeRequired = "challenge_required", 403, false, "Collection has antiAbuse 'challenge' and the write carried no verification token.";
    ChallengeVerificationFailed = "challenge_verification_failed", 403, false, "Token expired, already used, or issued for another site key; tokens are single-use.";
    Unauthorized = "unauthorized", 401, false, "Missing or invalid bearer token.";
    UniqueBackfillConflict = "unique_backfill_conflict", 409, false, "Adding a unique field where live rows already share a value; never half-applied.";
    UniqueConflict = "unique_conflict", 409, false, "A live row already holds the value of a unique field; use a different value or upsert on the field.";
    UnknownEventType = "unknown_event_type", 422, false, "Event type not declared by the schema.";
    UploadForbidden = "upload_forbidden", 403, false, "Identity may not upload to this app.";
    WebhookInvalid = "webhook_invalid", 400, false, "A webhooks rule is malformed.";
    Internal = "internal", 500, false, "The service failed in a way it did not foresee; whether a write took effect is in details.outcome where it matters.";
    Unavailable = "unavailable", 503, true, "The request was not applied: the app or the service is too busy, draining, or cannot write now. Retry after Retry-After.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal or failure: a row of the table and what this request adds to it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    /// The row of the table.
    pub code: ErrorCode,
    /// What is wrong with this request: names the field, collection or value. Never a secret.
    pub message: String,
    /// The `details` member, an object, where the code has one.
    pub details: Option<Box<Value>>,
    /// The `required` member: the subjects consulted, for role refusals.
    pub required: Option<Vec<String>>,
}

impl Error {
    /// An error of `code` that says `message`.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, required: None }
    }

    /// Adds the `details` member.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds the `required` member.
    #[must_use]
    pub fn with_required(mut self, required: Vec<String>) -> Self {
        self.required = Some(required);
        self
    }

    /// `invalid_request`: the message names the field.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// `row_not_found`: one body for a row that is absent, deleted or hidden.
    #[must_use]
    pub fn row_not_found() -> Self {
        Self::new(ErrorCode::RowNotFound, "no row at this key")
    }

    /// `app_not_found`: one body for an unknown app and for somebody else's.
    #[must_use]
    pub fn app_not_found() -> Self {
        Self::new(ErrorCode::AppNotFound, "no such app")
    }

    /// `unavailable`: certainly not applied, may be sent again.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// `internal`, with nothing of the cause. `unknown_outcome` says that the write may or may
    /// not have been applied.
    #[must_use]
    pub fn internal(unknown_outcome: bool) -> Self {
        let error = Self::new(ErrorCode::Internal, "the service failed");
        if unknown_outcome {
            error.with_details(serde_json::json!({"outcome": "unknown"}))
        } else {
            error
        }
    }
}
