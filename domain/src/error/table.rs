//! The rows of the error table: wire name, status, retryable, what it means, what to do next.
//!
//! Codes and statuses are a promise to clients and never change; the words may.

use std::fmt;

macro_rules! error_table {
    ($($name:ident = $wire:literal, $status:literal, $retryable:literal, $meaning:literal, $hint:literal;)*) => {
        /// A row of the error table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $name,)*
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

            /// What it means, for every request alike.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }

            /// What the caller can do about it.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }
        }
    };
}

error_table! {
    AccountQuotaExceeded = "account_quota_exceeded", 409, false,
        "The account has as many apps, rows, agents, organizations or custom domains as it may have; details.dimension says of what.",
        "Purge apps, delete rows or remove domains that are no longer needed, or ask the operator to raise the limit of the account.";
    AgentNotClaimed = "agent_not_claimed", 403, false,
        "The agent has no human yet, and only a claimed agent deploys.",
        "Ask a human for a claim code and send it to POST /v1/agents/claim, then try again.";
    AgentTaskInvalid = "agent_task_invalid", 400, false,
        "A rule under `agentTasks` is malformed.",
        "Correct the member at details.path: a rule needs on, collection, taskType and prompt, and reads and writes may name declared collections only.";
    AppNotFound = "app_not_found", 404, false,
        "There is no such app in the caller's account.",
        "Check the id or slug with GET /v1/apps; an app of another account is answered in the same way.";
    AppQuotaExceeded = "app_quota_exceeded", 409, false,
        "The app holds as many rows or bytes as it may hold, those in the trash left out.",
        "Delete rows or set a retention, or ask the operator to raise the limit of the app.";
    AppendOnly = "append_only", 403, false,
        "The collection takes new rows and never changes or deletes one.",
        "Create a new row instead of changing this one; the owner can still purge a row.";
    AttachmentNotFound = "attachment_not_found", 404, false,
        "There is no such attachment, or it is another agent's.",
        "Check the id with GET /v1/attachments; a deleted attachment does not come back.";
    AttachmentRefNotAccessible = "attachment_ref_not_accessible", 422, false,
        "The payload refers to an attachment that is deleted or not the caller's.",
        "Upload the file with this key and refer to the new id.";
    AttachmentSizeExceeded = "attachment_size_exceeded", 413, false,
        "The file is larger than one attachment may be.",
        "Make the file smaller or split it; the limit is in details where it is known.";
    AttachmentTokenInvalid = "attachment_token_invalid", 401, false,
        "The download link is unknown, expired, revoked or already used.",
        "Ask the owner of the attachment for a fresh link.";
    AttachmentTokenNotFound = "attachment_token_not_found", 404, false,
        "The attachment has no token of this id.",
        "List the tokens of this attachment and use an id from there.";
    AuthorNotAllowed = "author_not_allowed", 403, false,
        "Only who wrote the row last may do this.",
        "Use the credential that wrote the row, or ask the app's owner to admit more subjects than its author.";
    CapabilityInvalid = "capability_invalid", 400, false,
        "An entry of `capabilities` is unknown or stands there twice.",
        "Declare each of camera, microphone and geolocation at most once.";
    CliUpgradeRequired = "cli_upgrade_required", 426, false,
        "The command-line client is older than this service accepts.",
        "Upgrade the client to details.min_version or later; a caller that is no such client leaves the header x-service-cli-version out.";
    CollectionCountForbidden = "collection_count_forbidden", 403, false,
        "None of the subjects in the collection's `countRead` list holds for the caller.",
        "Use a caller that holds one of the subjects in required, or let the manifest name more under countRead.";
    CollectionDeleteForbidden = "collection_delete_forbidden", 403, false,
        "None of the subjects in the collection's `delete` list holds for the caller and this row.",
        "Use a caller that holds one of the subjects in required, or let the manifest name more under delete.";
    CollectionNameInvalid = "collection_name_invalid", 400, false,
        "The name of a collection breaks the naming rule.",
        "Begin with a lowercase letter, go on with lowercase letters, digits, '_' or '-', and stay within 64 characters.";
    CollectionNotFound = "collection_not_found", 404, false,
        "The app's manifest declares no collection of this name.",
        "Check the spelling against the collections of the app record, or deploy a version that declares it.";
    CollectionReadForbidden = "collection_read_forbidden", 403, false,
        "None of the subjects in the collection's `read` list holds for the caller.",
        "Use a caller that holds one of the subjects in required, or let the manifest name more under read.";
    CollectionSchemaInvalid = "collection_schema_invalid", 400, false,
        "A collection's schema is no single reference into `$defs`, leads nowhere, or is no JSON Schema 2020-12 that is accepted here.",
        "Correct the place at details.path as the message says. A collection's schema is {\"$ref\": \"#/$defs/Name\"}; the object of that name stands under $defs, its parts inline.";
    CollectionWriteBudgetExceeded = "collection_write_budget_exceeded", 409, false,
        "The day's writes to this collection are used up, for the network or for all visitors who are no members.",
        "Wait until details.resets_at, or write as a member, whom the budget does not count.";
    CollectionWriteForbidden = "collection_write_forbidden", 403, false,
        "None of the subjects in the governing list (`write` to create, `update` to change) holds for the caller and this row.",
        "Use a caller that holds one of the subjects in required, or let the manifest name more in that list.";
    CommunityPublishDisabled = "community_publish_disabled", 403, false,
        "This service takes no submissions to its gallery.",
        "Ask the operator whether publishing will be turned on.";
    Conflict = "conflict", 409, false,
        "The request does not fit the present state.",
        "The message says what stands in the way. A row that has changed is in details.current: apply your change to that and send its version. Another request needs another Idempotency-Key.";
    ConnectionInvalid = "connection_invalid", 400, false,
        "A member of the connection is missing or malformed.",
        "Correct the member that the message names; a static connection needs headerName and headerValue.";
    ConnectionLimitReached = "connection_limit_reached", 409, false,
        "The app has as many connections as it may have.",
        "Delete a connection that is no longer used.";
    ConnectionNotFound = "connection_not_found", 404, false,
        "The app has no connection of this name.",
        "Check the name with GET /v1/apps/:id/connections.";
    ConnectionOwnerOnly = "connection_owner_only", 403, false,
        "A connection's status belongs to the owner and the owner's agents.",
        "Use the owner's session or a key of one of the owner's agents.";
    ConsentOwnerOnly = "consent_owner_only", 403, false,
        "Consent is given by the owner in person.",
        "Open the address as the owner, signed in with a browser; a key cannot consent.";
    CredentialScopeForbidden = "credential_scope_forbidden", 403, false,
        "The service credential does not enumerate this operation on this collection.",
        "Use a credential whose allowlist covers it, or have the owner mint one.";
    CsrfOriginMismatch = "csrf_origin_mismatch", 403, false,
        "A request with a cookie came from another origin than the one that it was sent to.",
        "Send it from a page of that origin, so that Origin or Referer match. Programs use no cookie: an agent key at the API, the header x-service-participant-token on an app's own origin.";
    CustomDomainsNotEnabled = "custom_domains_not_enabled", 501, false,
        "This service is not set up for custom domains.",
        "Use the app's own address, or ask the operator to configure the edge provider.";
    DomainExists = "domain_exists", 409, false,
        "The app has this custom domain already.",
        "Nothing needs to be done; to replace a domain, remove it first.";
    DomainInvalid = "domain_invalid", 400, false,
        "The text is no public DNS name that can be bound.",
        "Give a bare host name such as app.example.org, without scheme, port, path, wildcard or address.";
    DomainNotFound = "domain_not_found", 404, false,
        "The app has no such custom domain.",
        "Check the domains of the app with GET /v1/apps/:id/domain.";
    DomainTaken = "domain_taken", 409, false,
        "Another app is bound to this domain.",
        "Remove it there first, or choose another domain.";
    EmailNotVerified = "email_not_verified", 403, false,
        "The account's e-mail address is not verified, and this needs one that is.",
        "Sign in once through a link mailed to that address, then try again.";
    EmbedInvalid = "embed_invalid", 400, false,
        "An entry of `embeds` is no https origin.",
        "Write https://host, with at most one leading '*.', and no path, user, address or repetition.";
    ExternalHostInvalid = "external_host_invalid", 400, false,
        "An entry of `externalHosts` is no https origin.",
        "Write https://host, with at most one leading '*.', and no path, user, address or repetition, and not the app's own origin.";
    Forbidden = "forbidden", 403, false,
        "The caller is known and may not do this.",
        "The message says who may. The reference says for each route what kind of caller it is for.";
    AppClosed = "app_closed", 410, false,
        "The app is closed: it can be read by its owner and takes nothing new.",
        "Export what you need and create a new app; a closed one stays closed.";
    GrantInvalid = "grant_invalid", 401, false,
        "The sign-in grant, grant link or preview is missing, used up, expired, revoked, or of another app.",
        "Start the sign-in again at GET /authorize, or ask the app's owner for a new link.";
    IngestInvalid = "ingest_invalid", 400, false,
        "A rule under `ingest` is malformed.",
        "Correct the member at details.path; an upsert rule needs upsertOn with a unique field of its collection.";
    IngestNotFound = "ingest_not_found", 404, false,
        "No active hook answers at this address.",
        "Copy the whole address from GET /v1/apps/:id/ingest-hooks; after a rotation the old one is gone.";
    IngestPayloadTooLarge = "ingest_payload_too_large", 413, false,
        "The delivery is larger than a hook accepts.",
        "Have the provider send less in one delivery.";
    IngestSignatureInvalid = "ingest_signature_invalid", 401, false,
        "The hook verifies signatures, and this delivery's does not hold.",
        "Check that provider and hook share the signing secret and that the body is signed as it was sent.";
    IngestUnsupportedMediaType = "ingest_unsupported_media_type", 415, false,
        "A hook takes JSON only.",
        "Have the provider send Content-Type: application/json.";
    IngestWriteUnavailable = "ingest_write_unavailable", 503, true,
        "The delivery was journaled and could not be stored, because the app is full.",
        "Make room in the app; the delivery can then be sent again, or replayed by the owner.";
    InputSchemaViolation = "input_schema_violation", 422, false,
        "A row of `input_data` does not fit its collection's schema, so nothing was deployed.",
        "Correct the members named in details and deploy again.";
    InvalidRequest = "invalid_request", 400, false,
        "The body or a parameter is malformed.",
        "Correct what the message names; the reference shows the request's shape.";
    ManifestIncompatibleRedeploy = "manifest_incompatible_redeploy", 422, false,
        "The new manifest would strand rows or show more than the old one.",
        "Read details.breaks; change the manifest, or deploy with force=true when each break is meant.";
    ManifestInvalid = "manifest_invalid", 400, false,
        "A member of the manifest has a wrong shape or an unknown name.",
        "Correct the members at the paths in details.violations and deploy again.";
    ManifestTooLarge = "manifest_too_large", 413, false,
        "The manifest, or one schema under `$defs`, is larger than allowed.",
        "Shorten it; texts and data belong in rows or assets.";
    MethodNotAllowed = "method_not_allowed", 405, false,
        "The path exists and does not know this verb.",
        "Use a verb of the Allow header.";
    MimeDisallowed = "mime_disallowed", 415, false,
        "Files of this type are not accepted.",
        "Send a file of an accepted type; it is told by the file's first bytes and not by its name.";
    MimeMismatch = "mime_mismatch", 415, false,
        "The declared Content-Type is not what the file is.",
        "Declare the type that the content has.";
    NotAReviewer = "not_a_reviewer", 403, false,
        "This is for reviewers of the gallery.",
        "Use an agent whose owner's verified address is in the operators' list.";
    NotFound = "not_found", 404, false,
        "There is nothing here.",
        "Check the ids in the path, or ask for a new code or link: what is spent or expired is answered in the same way. The operations of the API stand in /v1/openapi.json, and /llms.txt leads to the other documents.";
    NotImplemented = "not_implemented", 501, false,
        "This service does not offer that, or is not set up for it.",
        "Ask the operator; trying again changes nothing.";
    NotifyChannelNotEnabled = "notify_channel_not_enabled", 400, false,
        "The rule uses the channel `inapp`, which does not exist yet.",
        "Use the channel email.";
    NotifyInvalid = "notify_invalid", 400, false,
        "A rule under `notify` is malformed.",
        "Correct the member at details.path: a rule needs on, collection, to, subject and body.";
    NotifyPushRequiresPublic = "notify_push_requires_public", 400, false,
        "Only a public app may use the channel `push`.",
        "Set visibility to public, or use the channel email.";
    NotifySubmitterNotEnabled = "notify_submitter_not_enabled", 400, false,
        "This service sends no mail to submitters.",
        "Take submitter out of the rule's targets, or ask the operator to allow external notifications.";
    ParticipantTokenInvalid = "participant_token_invalid", 401, false,
        "The visitor's token is unknown, malformed or revoked.",
        "Leave it out and get a new one with POST /s/session, or sign in to the app again.";
    PayloadTooLarge = "payload_too_large", 413, false,
        "The body, or a part of it, is larger than allowed.",
        "Send less; the message names the limit.";
    PermissionRoleInvalid = "permission_role_invalid", 400, false,
        "A permission list names a subject that is unknown, retired, or not possible there.",
        "Correct the list at details.path; write and delete need an entry, and write with anyone needs an update list.";
    PurgeForbidden = "purge_forbidden", 403, false,
        "Only the owner and the owner's agents purge rows.",
        "Use a key of one of the owner's agents, or delete the row instead.";
    QuotaExceeded = "quota_exceeded", 413, false,
        "The agent's or app's room for attachments is used up.",
        "Delete attachments that are no longer needed.";
    RateLimited = "rate_limited", 429, true,
        "This address sends more requests than it may.",
        "Wait as long as Retry-After says, then go on more slowly; where the answer has RateLimit, it tells what is left to the address.";
    RelationSetForbidden = "relation_set_forbidden", 403, false,
        "The relation's field is set by the row's creator and changed by nobody else.",
        "Leave details.field as it is, or write as the row's creator.";
    ResyncRequired = "resync_required", 410, false,
        "The feed no longer reaches back to this cursor, or the caller's rights have changed since.",
        "Drop since: list each collection again, and follow the feed from the feed_cursor of the first list.";
    RowNotFound = "row_not_found", 404, false,
        "There is no live row at this key that the caller may see.",
        "Check the key with a list, or whether you may write here; a deleted row is brought back by its owner with restore.";
    RowSchemaViolation = "row_schema_violation", 422, false,
        "The row's data does not fit the collection's schema, and was not written.",
        "Correct the members named in details.";
    ScheduleInvalid = "schedule_invalid", 400, false,
        "A rule under `schedules` is malformed.",
        "Correct the member at details.path: dateField must be a field of the collection and offsetDays a whole number.";
    SchemaIncompatibleUpgrade = "schema_incompatible_upgrade", 422, false,
        "The template's new version accepts fewer rows than the installed one.",
        "Change the rows first, or upgrade with compat='force' when that is meant.";
    SchemaViolation = "schema_violation", 422, false,
        "The data does not fit the schema declared for it.",
        "Correct the members named in details.";
    SlugNotAllowedForLink = "slug_not_allowed_for_link", 400, false,
        "An app that is shared by link gets a slug that nobody can guess.",
        "Leave slug out, or choose another visibility.";
    SlugTaken = "slug_taken", 409, false,
        "Another app has this slug, or an app of another account had it.",
        "Choose another slug, or leave it out to get a generated one.";
    SoftDeleted = "soft_deleted", 410, false,
        "The app is in the trash.",
        "Its owner, or an agent of the owner, restores it first, or reads the app with ?include_deleted=true; nobody else can.";
    TooManyCollections = "too_many_collections", 400, false,
        "The manifest declares more collections than an app may have.",
        "Declare fewer, or split the app in two.";
    TooManyEmbeds = "too_many_embeds", 400, false,
        "The manifest lists more embeds than it may.",
        "List fewer; a wildcard host can stand for several.";
    TooManyExternalHosts = "too_many_external_hosts", 400, false,
        "The manifest lists more external hosts than it may.",
        "List fewer; a wildcard host can stand for several.";
    ChallengeRequired = "challenge_required", 403, false,
        "The collection asks for a solved challenge with each create and upsert.",
        "Get a task from the app's challenge route, solve it, and send the answer in x-service-challenge-token.";
    ChallengeVerificationFailed = "challenge_verification_failed", 403, false,
        "The challenge's answer is wrong, expired, already used, or made for another app or collection.",
        "Get a fresh task and solve that; one answer serves one request.";
    Unauthorized = "unauthorized", 401, false,
        "There is no valid credential with this request.",
        "Send Authorization: Bearer with a key neither revoked nor paused; on an app's own origin sign in, or send x-service-participant-token: an owner's agent asks POST /v1/apps/:id/test-session-tokens, then POST /s/session {token} there.";
    UniqueBackfillConflict = "unique_backfill_conflict", 409, false,
        "Live rows share a value of a field that is to become unique, so nothing was deployed.",
        "Change or delete the rows that share it, then deploy again; force does not help here.";
    UniqueConflict = "unique_conflict", 409, false,
        "A live row, or another row of the same request, has this value in a unique field; case and outer spaces do not count.",
        "Use another value, or upsert on that field; each row of a deploy's input_data needs a value of its own.";
    UnknownEventType = "unknown_event_type", 422, false,
        "The manifest declares no event of this type.",
        "Check the type, or declare it under events.";
    UploadForbidden = "upload_forbidden", 403, false,
        "The caller may not upload to this app.",
        "Use the owner's session or a key of one of the owner's agents.";
    WebhookInvalid = "webhook_invalid", 400, false,
        "A rule under `webhooks` is malformed.",
        "Correct the member at details.path; url must be a public https address without user or IP address.";
    Internal = "internal", 500, false,
        "The service failed in a way it did not foresee.",
        "Read the state before sending a write again: details.outcome \"unknown\" says that it may have happened. Report the request id.";
    Unavailable = "unavailable", 503, true,
        "The request was certainly not applied: the app or the service is busy, stopping, or cannot write now.",
        "Send the same request again after Retry-After.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
