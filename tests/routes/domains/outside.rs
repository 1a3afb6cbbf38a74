//! Real counterparts of custom domains: a DNS server, and an edge provider that speaks the
//! custom-hostnames API. Both say what a test has told them.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Path, Query, Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::get,
};
use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{RData, Record, RecordType, rdata::TXT},
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, UdpSocket};

/// What proves the service to the edge provider.
pub const TOKEN: &str = "the token between us and the edge";
/// Where owners point their domains.
pub const TARGET: &str = "edge.rookery.example.net";

/// What both know.
#[derive(Default)]
pub struct World {
    /// The TXT records, by name.
    pub txt: HashMap<String, Vec<String>>,
    /// The custom hostnames, by id: name and whether it is active.
    pub hosts: BTreeMap<String, (String, bool)>,
    /// What the provider says of certificates, where that is another thing than of hostnames.
    pub certificate: Option<&'static str>,
    /// Whether it spreads a change of what is active.
    pub redeploys: bool,
    /// What the provider answers instead.
    pub fault: Option<u16>,
    made: u32,
}

/// The counterparts, and where they listen.
#[derive(Clone)]
pub struct Outside {
    pub world: Arc<Mutex<World>>,
    pub dns: SocketAddr,
    pub api: String,
}

type Shared = Arc<Mutex<World>>;

impl Outside {
    pub async fn start() -> Self {
        let world = Shared::default();
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let dns = socket.local_addr().expect("an address");
        tokio::spawn(answer_dns(socket, Arc::clone(&world)));
        let hosts = "/zones/zone1/custom_hostnames";
        let router = Router::new()
            .route(hosts, get(find).post(create))
            .route(&format!("{hosts}/{{id}}"), get(read).delete(remove))
            .layer(middleware::from_fn_with_state(Arc::clone(&world), guard))
            .with_state(Arc::clone(&world));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let api = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { world, dns, api }
    }

    /// Sets a TXT record in place of what is there.
    pub fn set_txt(&self, name: &str, value: &str) {
        let values = vec!["v=spf1 -all".to_owned(), value.to_owned()];
        self.world.lock().expect("the world").txt.insert(name.to_owned(), values);
    }

    /// The names that the edge provider hands on.
    pub fn hosts(&self) -> Vec<String> {
        let world = self.world.lock().expect("the world");
        world.hosts.values().map(|(name, _)| name.clone()).collect()
    }

    /// The edge provider is ready with everything.
    pub fn activate(&self) {
        for (_, is_active) in self.world.lock().expect("the world").hosts.values_mut() {
            *is_active = true;
        }
    }

    /// The edge provider does not hand requests on any more.
    pub fn deactivate(&self) {
        for (_, is_active) in self.world.lock().expect("the world").hosts.values_mut() {
            *is_active = false;
        }
    }

    /// The edge provider answers this from now on.
    pub fn fail(&self, status: Option<u16>) {
        self.world.lock().expect("the world").fault = status;
    }
}

async fn answer_dns(socket: UdpSocket, world: Shared) {
    let mut buffer = [0; 1_500];
    loop {
        let (size, peer) = socket.recv_from(&mut buffer).await.expect("a question");
        let asked = Message::from_vec(&buffer[..size]).expect("a DNS message");
        let mut answer = Message::response(asked.metadata.id, asked.metadata.op_code);
        for query in &asked.queries {
            answer.add_query(query.clone());
            let name = query.name.to_ascii().to_lowercase();
            let world = world.lock().expect("the world");
            match world.txt.get(name.trim_end_matches('.')) {
                Some(values) if query.query_type == RecordType::TXT => {
                    for value in values {
                        // In two strings, as long records come.
                        let (one, two) = value.split_at(value.len() / 2);
                        let txt = TXT::new(vec![one.to_owned(), two.to_owned()]);
                        let data = RData::TXT(txt);
                        answer.add_answer(Record::from_rdata(query.name.clone(), 60, data));
                    }
                }
                _ => answer.metadata.response_code = ResponseCode::NXDomain,
            }
        }
        let bytes = answer.to_vec().expect("a DNS message");
        socket.send_to(&bytes, peer).await.expect("an answer");
    }
}

async fn guard(State(world): State<Shared>, request: Request, next: Next) -> Response {
    let fault = world.lock().expect("the world").fault;
    if let Some(status) = fault {
        let status = StatusCode::from_u16(status).expect("a status");
        return (status, Json(json!({"success": false, "errors": [], "result": null})))
            .into_response();
    }
    let expected = format!("Bearer {TOKEN}");
    let given = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    if given != Some(&expected) {
        return (StatusCode::FORBIDDEN, Json(json!({"success": false, "errors": []})))
            .into_response();
    }
    next.run(request).await
}

fn shown(id: &str, (name, is_active): &(String, bool), world: &World) -> Value {
    let status = match is_active {
        true if world.redeploys => "active_redeploying",
        true => "active",
        false => "pending",
    };
    let of_certificate = if *is_active { "active" } else { "pending" };
    let ssl = json!({"status": world.certificate.unwrap_or(of_certificate), "method": "http"});
    json!({
        "id": id, "hostname": name, "status": status, "ssl": ssl,
        "ownership_verification": {
            "type": "txt", "name": format!("_cf-custom-hostname.{name}"), "value": "5cc07c04",
        },
        "verification_errors": if *is_active { json!([]) } else { json!(["no CNAME yet"]) },
        "created_at": "2026-01-31T12:00:00Z",
    })
}

fn result(status: StatusCode, result: Value) -> Response {
    let body = json!({"success": true, "errors": [], "messages": [], "result": result});
    (status, Json(body)).into_response()
}

fn refused(status: StatusCode, code: u32) -> Response {
    let body = json!({"success": false, "errors": [{"code": code, "message": "no"}],
        "messages": [], "result": null});
    (status, Json(body)).into_response()
}

async fn create(State(world): State<Shared>, Json(body): Json<Value>) -> Response {
    let mut world = world.lock().expect("the world");
    let name = body["hostname"].as_str().expect("a name").to_owned();
    if world.hosts.values().any(|(known, _)| *known == name) {
        return refused(StatusCode::CONFLICT, 1_406);
    }
    world.made += 1;
    let id = format!("host{}", world.made);
    let host = (name, false);
    let answer = shown(&id, &host, &world);
    world.hosts.insert(id, host);
    result(StatusCode::CREATED, answer)
}

async fn find(
    State(world): State<Shared>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let world = world.lock().expect("the world");
    let found = world.hosts.iter().filter(|(_, (name, _))| *name == query["hostname"]);
    result(StatusCode::OK, found.map(|(id, host)| shown(id, host, &world)).collect())
}

async fn read(State(world): State<Shared>, Path(id): Path<String>) -> Response {
    let world = world.lock().expect("the world");
    match world.hosts.get(&id) {
        Some(host) => result(StatusCode::OK, shown(&id, host, &world)),
        None => refused(StatusCode::NOT_FOUND, 1_436),
    }
}

async fn remove(State(world): State<Shared>, Path(id): Path<String>) -> Response {
    match world.lock().expect("the world").hosts.remove(&id) {
        Some(_) => result(StatusCode::OK, json!({"id": id})),
        None => refused(StatusCode::NOT_FOUND, 1_436),
    }
}
