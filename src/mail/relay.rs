//! Where mail is handed over: what `mail.smtp_url` and `mail.ca_file` say, as a transport.
//!
//! `smtps://` is TLS from the first byte, `smtp://` with `?tls=required` is STARTTLS or nothing,
//! with `?tls=opportunistic` STARTTLS where the server offers it, and without either no TLS.

use std::time::Duration;

use lettre::{
    AsyncSmtpTransport, Tokio1Executor,
    transport::smtp::{
        client::{Certificate, Tls, TlsParameters},
        extension::ClientId,
    },
};
use secrecy::ExposeSecret as _;
use url::{Host, Url};

use crate::{config::Mail, http::loopback::is_loopback_host};

/// For one command of the SMTP dialogue.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) type Transport = AsyncSmtpTransport<Tokio1Executor>;

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
    if security == Security::Never {
        url.set_query(None);
    }
    Ok((url, security))
}

/// The host of an address. Numbers are names to the parser, because the scheme is none of the
/// web's.
fn bare_host(url: &Url) -> Option<&str> {
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then_some(host)
}

/// The transport that the settings describe, for a site at `public_url`.
pub(super) fn transport(settings: &Mail, public_url: &str) -> Result<Transport, &'static str> {
    let (url, security) = read(settings.smtp_url.expose_secret())?;
    // The cause may quote the address.
    let wrong = |_| "mail.smtp_url: cannot be used";
    let mut builder = Transport::from_url(url.as_str()).map_err(wrong)?.timeout(Some(TIMEOUT));
    let host = bare_host(&url).unwrap_or_default();
    builder = builder.tls(match security {
        Security::Never => Tls::None,
        Security::IfOffered => Tls::Opportunistic(trust(settings, host)?),
        Security::Always => Tls::Required(trust(settings, host)?),
        Security::FromTheFirstByte => Tls::Wrapper(trust(settings, host)?),
    });
    // A path in the address says it otherwise.
    if url.path().len() <= 1
        && let Some(name) = Url::parse(public_url).ok().as_ref().and_then(greeting)
    {
        builder = builder.hello_name(name);
    }
    Ok(builder.build())
}

/// What the service calls itself to a mail server (RFC 5321, section 4.1.1.1).
fn greeting(site: &Url) -> Option<ClientId> {
    Some(match site.host()? {
        Host::Domain(name) => ClientId::Domain(name.to_owned()),
        Host::Ipv4(address) => ClientId::Ipv4(address),
        Host::Ipv6(address) => ClientId::Ipv6(address),
    })
}

/// The public authorities, and those of `mail.ca_file`.
fn trust(settings: &Mail, host: &str) -> Result<TlsParameters, &'static str> {
    let mut parameters = TlsParameters::builder(host.to_owned());
    if !settings.ca_file.is_empty() {
        let pem = std::fs::read(&settings.ca_file).map_err(|_| "mail.ca_file: cannot be read")?;
        let none = "mail.ca_file: holds no certificate in PEM";
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            return Err(none);
        }
        parameters =
            parameters.add_root_certificate(Certificate::from_pem(&pem).map_err(|_| none)?);
    }
    parameters.build().map_err(|_| "mail.ca_file: holds a certificate that cannot be used")
}
