//! The span of a request: from its complete head to its answer's head.

use std::time::Instant;

use rookery_domain::{
    id::AppId,
    trace::{Trace, Value},
};

use crate::http::edge::{figures, request_log::Line};

/// Ends the span of a request, which is told by `line` and was for `app` if it was for one. An
/// answer below 500 is no failure of the service.
pub fn end_request(
    trace: &Trace,
    began: Instant,
    ended: Instant,
    line: &Line<'_>,
    app: Option<AppId>,
) {
    let verb = figures::verb(line.method);
    let status = line.status;
    let mut fields = vec![
        ("http.request.method", Value::from(verb)),
        ("http.route", line.route.to_owned().into()),
        ("http.response.status_code", Value::Number(status.as_u16().into())),
        ("request.id", line.request_id.to_str().unwrap_or_default().to_owned().into()),
    ];
    fields.extend(app.map(|app| ("app.id", app.to_string().into())));
    fields.extend(line.code.map(|code| ("error.type", code.as_str().into())));
    let failed = status.is_server_error().then(|| line.code.map_or("error", |it| it.as_str()));
    trace.end(format!("{verb} {}", line.route), began, ended, failed, fields);
}
