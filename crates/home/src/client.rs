//! Home Assistant's REST API, asked through Hob's own way out to the network.
//!
//! Never: a redirect followed, an answer read beyond its limit, or the token in a text.
//! Start at [`Client`].

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::net::TcpStream;
use url::Url;

use crate::entity::{EntityState, RawState};
use crate::error::HomeError;
use crate::exposure::EntityId;
use hob_core::domain::network::NamedPlace;
use hob_core::domain::secret::Secret;
use hob_tools::net::{Credentials, EgressGuard, FetchRequest, Limits};

/// The most bytes of an answer: all states of a large home.
const BYTES_MAX: usize = 8_000_000;
/// How long a question, and a service, may take. Home Assistant itself waits ten seconds for a service.
const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(20), bytes_max: BYTES_MAX, redirects_max: 0 };

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HomeInfo {
    pub version: String,
    /// `RUNNING`, or what it does before.
    #[serde(default)]
    pub state: String,
}

#[derive(Debug, Serialize)]
struct ServiceCall<'a> {
    entity_id: &'a [String],
    #[serde(flatten)]
    data: &'a Map<String, Value>,
}

/// The server.
#[derive(Clone)]
pub struct Client {
    guard: EgressGuard,
    base: Url,
    token: Secret,
    authorization: HeaderValue,
}

impl Client {
    /// For this server, which may be in a private network: the operator named it.
    ///
    /// # Errors
    /// When the token cannot be sent.
    pub fn new(guard: &EgressGuard, base: Url, token: Secret) -> Result<Self, HomeError> {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut authorization = value.map_err(|_unfit| HomeError::Unauthorized)?;
        authorization.set_sensitive(true);
        Ok(Self { guard: guard.allowing_host(&base).within(LIMITS), base, token, authorization })
    }

    /// The token, for the one message of the socket's that needs it.
    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    /// Where the API's `path` is.
    pub(crate) fn url(&self, path: &str) -> Result<Url, HomeError> {
        let base = self.base.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}/api/{path}")).map_err(|_no_url| HomeError::Unreadable("its address is none"))
    }

    /// The token, for the server alone.
    fn credentials(&self) -> Credentials {
        let place = self.base.host_str().zip(self.base.port_or_known_default());
        let place = place.and_then(|(host, port)| NamedPlace::parse(&format!("{host}:{port}")).ok());
        Credentials { places: place.into_iter().collect(), name: AUTHORIZATION, value: self.authorization.clone() }
    }

    /// A connection to the server, to speak something else there than its API over HTTP. Only where the token may go.
    pub(crate) async fn connect(&self) -> Result<TcpStream, HomeError> {
        let addresses = self.guard.addresses_for(&self.credentials(), &self.base).await?;
        if addresses.is_empty() {
            return Err(HomeError::Unauthorized);
        }
        TcpStream::connect(addresses.as_slice()).await.map_err(|_refused| HomeError::Lost("nobody answers there"))
    }

    async fn send(&self, method: Method, path: &str, body: Option<Vec<u8>>) -> Result<Vec<u8>, HomeError> {
        let (url, credentials) = (self.url(path)?, Some(self.credentials()));
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let answer = self.guard.send(FetchRequest { method, url, headers, body, credentials }).await?;
        match HomeError::of_status(answer.status) {
            Some(error) => Err(error),
            None if answer.cut => Err(HomeError::Unreadable("it is too long")),
            None => Ok(answer.body),
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, HomeError> {
        let body = self.send(Method::GET, path, None).await?;
        serde_json::from_slice(&body).map_err(|error| {
            tracing::debug!(%error, path, "Home Assistant's answer has another form");
            HomeError::Unreadable("it has another form than Home Assistant's")
        })
    }

    /// Who answers.
    ///
    /// # Errors
    /// When nobody does, or the token is not known.
    pub async fn info(&self) -> Result<HomeInfo, HomeError> {
        self.get("config").await
    }

    /// All entities; what is none is left out.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn states(&self) -> Result<Vec<EntityState>, HomeError> {
        let all: Vec<Value> = self.get("states").await?;
        let entity = |value: Value| EntityState::of(serde_json::from_value::<RawState>(value).ok()?);
        Ok(all.into_iter().filter_map(entity).collect())
    }

    /// One entity.
    ///
    /// # Errors
    /// When it does not say, or there is none.
    pub async fn state(&self, id: &EntityId) -> Result<EntityState, HomeError> {
        let raw: RawState = self.get(&format!("states/{id}")).await?;
        let told = EntityState::of(raw).filter(|state| state.id == *id);
        told.ok_or(HomeError::Unreadable("it tells of another entity"))
    }

    /// Calls a service for these entities.
    ///
    /// # Errors
    /// When it is not done, or nobody knows.
    pub async fn call(
        &self,
        domain: &str,
        service: &str,
        ids: &[EntityId],
        data: &Map<String, Value>,
    ) -> Result<(), HomeError> {
        let entity_id: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let body = serde_json::to_vec(&ServiceCall { entity_id: &entity_id, data });
        let body = body.map_err(|_no_form| HomeError::Unreadable("the call has no form"))?;
        self.send(Method::POST, &format!("services/{domain}/{service}"), Some(body)).await.map(drop)
    }
}
