//! The errors that any deploy may answer: those of its files, and one for each kind of violation
//! that a manifest can have.

/// A list of error codes: those of any deploy, and the ones named.
macro_rules! deploy_errors {
    ($($code:ident)*) => {
        &[
            $(rookery_domain::ErrorCode::$code,)*
            rookery_domain::ErrorCode::PayloadTooLarge,
            rookery_domain::ErrorCode::ManifestInvalid,
            rookery_domain::ErrorCode::ManifestTooLarge,
            rookery_domain::ErrorCode::TooManyCollections,
            rookery_domain::ErrorCode::TooManyExternalHosts,
            rookery_domain::ErrorCode::TooManyEmbeds,
            rookery_domain::ErrorCode::CollectionNameInvalid,
            rookery_domain::ErrorCode::CollectionSchemaInvalid,
            rookery_domain::ErrorCode::PermissionRoleInvalid,
            rookery_domain::ErrorCode::CapabilityInvalid,
            rookery_domain::ErrorCode::ExternalHostInvalid,
            rookery_domain::ErrorCode::EmbedInvalid,
            rookery_domain::ErrorCode::NotifyInvalid,
            rookery_domain::ErrorCode::NotifyChannelNotEnabled,
            rookery_domain::ErrorCode::NotifyPushRequiresPublic,
            rookery_domain::ErrorCode::NotifySubmitterNotEnabled,
            rookery_domain::ErrorCode::ScheduleInvalid,
            rookery_domain::ErrorCode::WebhookInvalid,
            rookery_domain::ErrorCode::IngestInvalid,
            rookery_domain::ErrorCode::AgentTaskInvalid,
        ]
    };
}

pub(in crate::routes::apps) use deploy_errors;
