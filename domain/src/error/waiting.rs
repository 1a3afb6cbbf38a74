//! Codes that no route answers yet, and what they wait for. A feature that is built takes its codes
//! off this list: the error reference and the tests read it from here.

use super::ErrorCode;

impl ErrorCode {
    /// The feature that this code waits for; `None` for a code that is in use.
    #[must_use]
    pub const fn waits_for(self) -> Option<&'static str> {
        match self {
            Self::AttachmentNotFound
            | Self::AttachmentRefNotAccessible
            | Self::AttachmentSizeExceeded
            | Self::AttachmentTokenInvalid
            | Self::AttachmentTokenNotFound
            | Self::MimeDisallowed
            | Self::MimeMismatch
            | Self::QuotaExceeded
            | Self::UploadForbidden => Some("attachments"),
            Self::ConnectionInvalid
            | Self::ConnectionLimitReached
            | Self::ConnectionNotFound
            | Self::ConnectionOwnerOnly
            | Self::ConsentOwnerOnly => Some("connections"),
            Self::IngestNotFound
            | Self::IngestPayloadTooLarge
            | Self::IngestSignatureInvalid
            | Self::IngestUnsupportedMediaType
            | Self::IngestWriteUnavailable => Some("inbound hooks"),
            Self::CommunityPublishDisabled
            | Self::NotAReviewer
            | Self::SchemaIncompatibleUpgrade => Some("the template gallery"),
            _ => None,
        }
    }
}
