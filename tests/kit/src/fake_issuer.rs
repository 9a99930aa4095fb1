//! Whoever issues tokens by a code that a person types in (RFC 8628), strictly.
//!
//! A request has exactly the fields that it must have, a refresh token holds once, and one that is shown again ends the login, as with issuers that take it for stolen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::served::Served;

/// Who Hob is there, and what it is to ask for.
pub const CLIENT: &str = "hob-household";
pub const SCOPE: &str = "imap smtp offline_access";
/// Whose mail its tokens are for.
const USER: &str = "ada";

/// What a strict issuer remembers.
#[derive(Default)]
struct World {
    /// The codes that were given out and lead to tokens.
    codes: BTreeSet<String>,
    /// What the next questions about a code are told.
    answers: VecDeque<&'static str>,
    /// The access tokens that servers take.
    holds: BTreeSet<String>,
    /// The refresh token that holds.
    refresh: String,
    /// How often tokens were issued.
    issued: usize,
    /// It answers nobody.
    down: bool,
    /// What was wrong with requests.
    wrong: Vec<String>,
}

pub struct FakeIssuer {
    pub url: String,
    world: Arc<Mutex<World>>,
    _served: Served,
}

impl FakeIssuer {
    pub async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&world));
        let served = Served::start(app).await;
        Self { url: served.root(), world, _served: served }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// The next questions about a code are told these; after them the person has typed it in.
    pub fn answers(&self, answers: &[&'static str]) {
        self.world().answers.extend(answers);
    }

    /// No server takes the access tokens any more that were issued.
    pub fn revoke_access(&self) {
        self.world().holds.clear();
    }

    /// Nothing is renewed any more.
    pub fn revoke_login(&self) {
        self.world().refresh.clear();
    }

    /// It answers nobody, or does again.
    pub fn goes_down(&self, down: bool) {
        self.world().down = down;
    }

    /// How often tokens were issued.
    pub fn issued(&self) -> usize {
        self.world().issued
    }

    /// What was wrong with requests. A good test ends with this being empty.
    pub fn wrong(&self) -> Vec<String> {
        self.world().wrong.clone()
    }
}

async fn answer(State(world): State<Arc<Mutex<World>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut world = world.lock().unwrap();
    if world.down {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    if uri.path() == "/introspect" {
        return introspect(&world, &form);
    }
    let is_form = headers.get("content-type").is_some_and(|kind| kind == "application/x-www-form-urlencoded");
    if !is_form || headers.contains_key("authorization") {
        return world.fault("it is no form, or has a header with credentials");
    }
    if form.get("client_id").map(String::as_str) != Some(CLIENT) {
        return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    match (uri.path(), form.get("grant_type").map(String::as_str)) {
        ("/device", None) => world.code(&form),
        ("/token", Some("urn:ietf:params:oauth:grant-type:device_code")) => world.typed_in(&form),
        ("/token", Some("refresh_token")) => world.renew(&form),
        (path, grant) => world.fault(&format!("nobody asks {path} for {grant:?}")),
    }
}

impl World {
    fn fault(&mut self, why: &str) -> Response {
        self.wrong.push(why.to_owned());
        refuse(StatusCode::BAD_REQUEST, "invalid_request")
    }

    fn has_only(&mut self, form: &BTreeMap<String, String>, wanted: &[&str]) -> bool {
        let is = form.keys().map(String::as_str).eq(wanted.iter().copied());
        if !is {
            self.wrong.push(format!("{:?} instead of {wanted:?}", form.keys()));
        }
        is
    }

    fn code(&mut self, form: &BTreeMap<String, String>) -> Response {
        if !self.has_only(form, &["client_id", "scope"]) || form["scope"] != SCOPE {
            return self.fault("the scope is another");
        }
        let code = format!("device-code-{}", self.codes.len() + 1);
        self.codes.insert(code.clone());
        let page = "https://issuer.example/device";
        let answer = json!({ "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": page, "expires_in": 60,
            "interval": 1 });
        Json(answer).into_response()
    }

    fn typed_in(&mut self, form: &BTreeMap<String, String>) -> Response {
        if !self.has_only(form, &["client_id", "device_code", "grant_type"]) {
            return self.fault("fields");
        }
        if !self.codes.contains(&form["device_code"]) {
            return refuse(StatusCode::BAD_REQUEST, "invalid_grant");
        }
        match self.answers.pop_front() {
            Some(told) => refuse(StatusCode::BAD_REQUEST, told),
            None => {
                self.codes.remove(&form["device_code"]);
                self.issue()
            }
        }
    }

    fn renew(&mut self, form: &BTreeMap<String, String>) -> Response {
        if !self.has_only(form, &["client_id", "grant_type", "refresh_token", "scope"]) {
            return self.fault("fields");
        }
        if form["refresh_token"] != self.refresh {
            self.refresh.clear();
            self.holds.clear();
            return refuse(StatusCode::BAD_REQUEST, "invalid_grant");
        }
        self.issue()
    }

    fn issue(&mut self) -> Response {
        self.issued += 1;
        let access = format!("access-token-{}", self.issued);
        self.refresh = format!("refresh-token-{}", self.issued);
        self.holds.insert(access.clone());
        let answer = json!({ "access_token": access, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": self.refresh });
        Json(answer).into_response()
    }
}

/// What mail servers ask it (RFC 7662).
fn introspect(world: &World, form: &BTreeMap<String, String>) -> Response {
    let holds = form.get("token").is_some_and(|token| world.holds.contains(token));
    Json(if holds { json!({ "active": true, "username": USER }) } else { json!({ "active": false }) }).into_response()
}

fn refuse(status: StatusCode, error: &str) -> Response {
    let body: Value = json!({ "error": error, "error_description": "as the test wants it" });
    (status, Json(body)).into_response()
}
