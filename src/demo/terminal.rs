//! Sending a request and showing it: as a curl line that can be pasted, and what came back.

use std::io::{self, Write as _};

use reqwest::{Client, Method, multipart::Form};
use serde_json::Value;

use super::DemoError;

/// Characters of an answer that are shown.
const SHOWN_CHARS_MAX: usize = 300;

/// Whose credential a call carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Credential {
    Nobody,
    Agent,
    Human,
}

/// A request of the demo.
pub(super) struct Call {
    method: Method,
    path: String,
    credential: Credential,
    header: Option<(&'static str, &'static str)>,
    json: Option<Value>,
    form: Option<(Form, String)>,
}

impl Call {
    /// A request without credential or body.
    pub(super) fn new(method: Method, path: &str) -> Self {
        let path = path.to_owned();
        Self { method, path, credential: Credential::Nobody, header: None, json: None, form: None }
    }

    /// By the agent, with its key.
    pub(super) fn by_agent(mut self) -> Self {
        self.credential = Credential::Agent;
        self
    }

    /// By the human, with the session.
    pub(super) fn by_human(mut self) -> Self {
        self.credential = Credential::Human;
        self
    }

    pub(super) const fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(super) fn json(mut self, body: Value) -> Self {
        self.json = Some(body);
        self
    }

    /// With a form; `shown` is how curl is told the same.
    pub(super) fn form(mut self, form: Form, shown: String) -> Self {
        self.form = Some((form, shown));
        self
    }
}

/// Where the demo happens.
pub(super) struct Terminal {
    client: Client,
    base: String,
    key: String,
    session: String,
}

impl Terminal {
    pub(super) const fn new(client: Client, base: String) -> Self {
        Self { client, base, key: String::new(), session: String::new() }
    }

    /// A part of the demo begins.
    pub(super) fn heading(&self, words: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "\n# {words}")
    }

    /// Something to know.
    pub(super) fn note(&self, words: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{words}")
    }

    /// The agent's key, as the variable that later lines use.
    pub(super) fn remember(&mut self, variable: &str, secret: &str) -> io::Result<()> {
        secret.clone_into(&mut self.key);
        writeln!(io::stdout().lock(), "export {variable}={secret}")
    }

    /// Opens the mailed link and keeps the session.
    pub(super) async fn sign_in(&mut self, path: &str) -> Result<(), DemoError> {
        let call = Call::new(Method::GET, path);
        self.show(&call)?;
        let answer = self.client.get(format!("{}{path}", self.base)).send().await?;
        let status = answer.status().as_u16();
        let cookie = answer
            .headers()
            .get_all("set-cookie")
            .iter()
            .filter_map(|value| value.to_str().ok()?.split(';').next())
            .find(|pair| pair.contains("service_session="));
        let Some(cookie) = cookie else {
            let body = answer.text().await?;
            return Err(DemoError::Unexpected { step: "the mailed link".into(), status, body });
        };
        cookie.clone_into(&mut self.session);
        let mut out = io::stdout().lock();
        writeln!(out, "  {status} (a link works once; the session is kept for the next lines)")?;
        writeln!(out, "export ROOKERY_SESSION='{}'", self.session)?;
        Ok(())
    }

    /// Sends `call`, shows it and its answer, and returns the answer's body.
    pub(super) async fn call(&self, call: Call, expected: u16) -> Result<Value, DemoError> {
        self.show(&call)?;
        let step = format!("{} {}", call.method, call.path);
        let mut request =
            self.client.request(call.method.clone(), format!("{}{}", self.base, call.path));
        request = match call.credential {
            Credential::Nobody => request,
            Credential::Agent => request.bearer_auth(&self.key),
            Credential::Human => {
                request.header("cookie", &self.session).header("origin", &self.base)
            }
        };
        if let Some((name, value)) = call.header {
            request = request.header(name, value);
        }
        if let Some(body) = call.json {
            request = request.json(&body);
        }
        if let Some((form, _)) = call.form {
            request = request.multipart(form);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let body = answer.text().await?;
        let mut shown: String = body.chars().take(SHOWN_CHARS_MAX).collect();
        if shown.len() < body.len() {
            shown.push_str("...");
        }
        writeln!(io::stdout().lock(), "  {status} {shown}")?;
        if status != expected {
            return Err(DemoError::Unexpected { step, status, body });
        }
        Ok(serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn show(&self, call: &Call) -> io::Result<()> {
        let mut line = String::from("curl");
        if call.method != Method::GET && !(call.method == Method::POST && call.form.is_some()) {
            line.push_str(&format!(" -X {}", call.method));
        }
        line.push_str(&format!(" '{}{}'", self.base, call.path));
        match call.credential {
            Credential::Nobody => {}
            Credential::Agent => line.push_str(" -H \"authorization: Bearer $ROOKERY_KEY\""),
            Credential::Human => {
                line.push_str(&format!(" -b \"$ROOKERY_SESSION\" -H 'origin: {}'", self.base))
            }
        }
        if let Some((name, value)) = call.header {
            line.push_str(&format!(" -H '{name}: {value}'"));
        }
        if let Some(body) = &call.json {
            let body = body.to_string().replace('\'', "'\\''");
            line.push_str(&format!(" -H 'content-type: application/json' -d '{body}'"));
        }
        if let Some((_, shown)) = &call.form {
            line.push(' ');
            line.push_str(shown);
        }
        writeln!(io::stdout().lock(), "\n{line}")
    }
}
