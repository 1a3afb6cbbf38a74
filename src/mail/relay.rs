//! The mail server: what `mail.smtp_url` and `mail.ca_file` say of it, and a connection to it.
//!
//! `smtps://` is TLS from the first byte, `smtp://` with `?tls=required` is STARTTLS or nothing,
//! with `?tls=opportunistic` STARTTLS where the server offers it, and without either no TLS.

use std::time::Duration;

use lettre::transport::smtp::{
    self, SMTP_PORT, SUBMISSION_PORT, SUBMISSIONS_PORT,
    authentication::{Credentials, DEFAULT_MECHANISMS},
    client::{AsyncSmtpConnection, Certificate, Tls, TlsParameters},
    extension::ClientId,
};
use secrecy::ExposeSecret as _;
use url::{Host, Url};

use crate::{
    config::Mail,
    http::{host, loopback::is_loopback_host},
    percent,
};

/// For each address of the server to take a connection. What is said on it is for the caller to
/// bound: the library waits for an answer without end.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether TLS is spoken, and from when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    Never,
    IfOffered,
    Always,
    FromTheFirstByte,
}

/// What is wrong with an address of an SMTP server, if anything is. The address may hold a
/// password, so nothing of it is quoted.
#[must_use]
pub fn problem(url: &str) -> Option<&'static str> {
    read(url).err()
}

/// Reads an address, without its query.
fn read(text: &str) -> Result<(Url, Security), &'static str> {
    let wrong = "mail.smtp_url: must be an address such as smtps://user:password@host";
    let mut url = Url::parse(text).map_err(|_| wrong)?;
    let host = bare_host(&url).ok_or(wrong)?;
    let here = is_loopback_host(host);
    let mut asked = url.query_pairs();
    let tls = match (asked.next(), asked.next()) {
        (None, _) => None,
        (Some((name, value)), None) if name == "tls" => Some(value.into_owned()),
        _ => return Err("mail.smtp_url: takes the parameter tls and no other"),
    };
    let security = match (url.scheme(), tls.as_deref()) {
        ("smtps", None) => Security::FromTheFirstByte,
        ("smtp", Some("required")) => Security::Always,
        ("smtp", Some("opportunistic")) => Security::IfOffered,
        ("smtp", Some("none")) => Security::Never,
        ("smtp", None) if here || url.password().is_none() => Security::Never,
        ("smtp", None) => {
            return Err(
                "mail.smtp_url: a password needs TLS: smtps://, or ?tls=required for STARTTLS \
                 (or ?tls=none, if the network is yours)",
            );
        }
        ("smtp", Some(_)) => {
            return Err("mail.smtp_url: tls is required, opportunistic or none");
        }
        ("smtps", Some(_)) => return Err("mail.smtp_url: smtps:// takes no parameter"),
        _ => return Err("mail.smtp_url: must begin with smtp:// or smtps://"),
    };
    if url.port() == Some(0) {
        return Err("mail.smtp_url: nobody listens on port 0");
    }
    decoded(url.username())?;
    decoded(url.password().unwrap_or_default())?;
    let greets_as = url.path().trim_start_matches('/');
    if !greets_as.is_empty() && !is_full_name(greets_as) {
        return Err(
            "mail.smtp_url: has no path; behind the slash may stand the name that the service greets \
             with, such as rookery.example.org",
        );
    }
    url.set_query(None);
    Ok((url, security))
}

/// A user or a password. What is no percent-encoding would be sent as it stands, as a password that
/// nobody has.
fn decoded(text: &str) -> Result<String, &'static str> {
    let bytes = percent::decode(text)
        .ok_or("mail.smtp_url: user or password is not percent-encoded: a % in one is %25")?;
    String::from_utf8(bytes).map_err(|_| "mail.smtp_url: user or password is no UTF-8")
}

/// Whether `text` is the name of a host with its domain.
fn is_full_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_word)
    };
    text.contains('.') && text.split('.').all(is_label)
}

/// The host of an address. Numbers are names to the parser, because the scheme is none of the
/// web's.
fn bare_host(url: &Url) -> Option<&str> {
    let host = host::bare(url.host_str()?);
    (!host.is_empty()).then_some(host)
}

/// A mail server, and how it is spoken to. Its credentials are in no `Debug`.
pub(super) struct Relay {
    host: String,
    port: u16,
    tls: Tls,
    hello: ClientId,
    credentials: Option<Credentials>,
}

impl Relay {
    /// The server that the settings name, for a site at `public_url`.
    ///
    /// # Errors
    /// What is wrong with a setting, by its name.
    pub(super) fn of(settings: &Mail, public_url: &str) -> Result<Self, &'static str> {
        let (url, security) = read(settings.smtp_url.expose_secret())?;
        let host = bare_host(&url).unwrap_or_default();
        // Also where no TLS is spoken: what is set is right.
        authority(settings)?;
        let (tls, port) = match security {
            Security::Never => (Tls::None, SMTP_PORT),
            Security::IfOffered => (Tls::Opportunistic(trust(settings, host)?), SUBMISSION_PORT),
            Security::Always => (Tls::Required(trust(settings, host)?), SUBMISSION_PORT),
            Security::FromTheFirstByte => (Tls::Wrapper(trust(settings, host)?), SUBMISSIONS_PORT),
        };
        let credentials = match url.password() {
            Some(password) => Some(Credentials::new(decoded(url.username())?, decoded(password)?)),
            None => None,
        };
        // A path in the address says it otherwise.
        let hello = match url.path().trim_matches('/') {
            "" => Url::parse(public_url).ok().as_ref().and_then(greeting).unwrap_or_default(),
            name => ClientId::Domain(name.to_owned()),
        };
        Ok(Self {
            host: host.to_owned(),
            port: url.port().unwrap_or(port),
            tls,
            hello,
            credentials,
        })
    }

    /// A connection on which mail can be sent.
    ///
    /// # Errors
    /// When it is refused, cannot be encrypted as the settings want it, or the credentials are wrong.
    pub(super) async fn connect(&self) -> Result<AsyncSmtpConnection, smtp::Error> {
        let from_the_first_byte = match &self.tls {
            Tls::Wrapper(trust) => Some(trust.clone()),
            _ => None,
        };
        let (server, timeout) = ((self.host.as_str(), self.port), Some(CONNECT_TIMEOUT));
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            server,
            timeout,
            &self.hello,
            from_the_first_byte,
            None,
        )
        .await?;
        match &self.tls {
            Tls::Required(trust) => connection.starttls(trust.clone(), &self.hello).await?,
            Tls::Opportunistic(trust) if connection.can_starttls() => {
                connection.starttls(trust.clone(), &self.hello).await?;
            }
            _ => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// What the service calls itself to a mail server (RFC 5321, section 4.1.1.1).
fn greeting(site: &Url) -> Option<ClientId> {
    Some(match site.host()? {
        Host::Domain(name) => ClientId::Domain(name.to_owned()),
        Host::Ipv4(address) => ClientId::Ipv4(address),
        Host::Ipv6(address) => ClientId::Ipv6(address),
    })
}

/// Those of `mail.ca_file`, where it names one.
///
/// # Errors
/// What is wrong with the file.
pub(super) fn authority(settings: &Mail) -> Result<Option<Certificate>, &'static str> {
    if settings.ca_file.is_empty() {
        return Ok(None);
    }
    let pem = std::fs::read(&settings.ca_file).map_err(|_| "mail.ca_file: cannot be read")?;
    let none = "mail.ca_file: holds no certificate in PEM";
    if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
        return Err(none);
    }
    Certificate::from_pem(&pem).map(Some).map_err(|_| none)
}

/// The public authorities, and those of `mail.ca_file`.
fn trust(settings: &Mail, host: &str) -> Result<TlsParameters, &'static str> {
    let mut parameters = TlsParameters::builder(host.to_owned());
    if let Some(authority) = authority(settings)? {
        parameters = parameters.add_root_certificate(authority);
    }
    parameters.build().map_err(|_| "mail.ca_file: holds a certificate that cannot be used")
}
