//! Logins at servers that ask for one (OAuth 2.1, as MCP has it): a link for a person's browser, what the browser brings back, and
//! the tokens that come of it.
//!
//! The SDK finds who issues tokens for a server (RFC 9728, RFC 8414), registers Hob there, and asks with PKCE for this server alone.
//! What was found at the login is kept with the tokens: they are renewed there, even if the server names another place later.
//!
//! Never: a token for anybody but the server that it was issued for, a request past the guard, or a login that no person began.
//! Start at [`begin`].

mod guarded;
pub(super) mod stored;
#[cfg(test)]
mod tests;
mod token_client;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, OAuthClientConfig, StoredCredentials, WWWAuthenticateParams,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use tokio_util::task::TaskTracker;
use url::{Host, Url};

use crate::mcp::error::McpError;
use crate::mcp::excerpt;
use crate::mcp::login::guarded::GuardedClient;
use crate::mcp::login::stored::{Issued, LoginFile, LoginStore};
use crate::mcp::login::token_client::TokenClient;
use crate::mcp::settings::{LoginSettings, ServerTransport, Settings};
use crate::net::EgressGuard;
use crate::net::resolve::SystemResolver;
use hob_core::policy::net::AllowedPlaces;

/// Where the page takes what a browser brings back.
pub const CALLBACK: &str = "/mcp/callback";
/// Where a browser is sent if nobody says where the page is: Hob's usual address. On another machine than Hob's nobody is there, and
/// the address is to be copied.
pub const NOWHERE: &str = "http://127.0.0.1:8787/mcp/callback";
/// How long a link holds.
const HOLDS: SignedDuration = SignedDuration::from_mins(15);

/// Logins that people have begun with this Hob, by the servers' names: one each, the last one.
pub(super) type PendingLogins = Arc<Mutex<BTreeMap<String, PendingLogin>>>;

/// No login.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// There is no such server.
    #[error("there is no [mcp.{0}] in the config")]
    NoServer(String),
    /// There is no link.
    #[error("nobody has begun a login at {0}, or it is over: begin again")]
    NotBegun(String),
    /// There is nothing to log in at.
    #[error("{0} is a program, and logs in by itself if it has to")]
    Program(String),
    /// The config has a token.
    #[error("[mcp.{0}] has a bearer token; without it, Hob can log in")]
    HasBearer(String),
    /// Who issues tokens was not found, or does not do what is needed.
    #[error("it offers no login: {0}")]
    Unavailable(String),
    /// The link held too long ago.
    #[error("the link has expired: begin again")]
    Expired,
    /// What came back is not for this login.
    #[error("this is not what the browser brought back from that link: {0}")]
    Foreign(&'static str),
    /// A person, or whoever issues tokens, has said no.
    #[error("it was refused: {0}")]
    Refused(String),
    /// The tokens cannot be kept.
    #[error("the login cannot be kept: {0}")]
    Unkept(#[from] std::io::Error),
}

/// A login that a person has begun.
pub struct PendingLogin {
    manager: AuthorizationManager,
    store: LoginStore,
    /// What is kept when it ends well.
    issued: Issued,
    link: Url,
    expires: Timestamp,
}

/// Finds out who issues tokens for a server, and makes the link for a person.
///
/// # Errors
/// When the server needs no login, or none is to be had.
pub async fn begin(settings: &Settings, data_dir: &Path, now: Timestamp) -> Result<PendingLogin, LoginError> {
    let (url, login) = address(settings)?;
    let store = LoginStore::new(data_dir, &settings.name, url);
    let before = store.read()?;
    let client = Arc::new(client(url, login)?);
    let manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::clone(&client) as _).await;
    let mut manager = manager.map_err(unavailable)?;
    let challenge = before.as_ref().and_then(|file| file.challenge.as_deref());
    let metadata = manager.resolve_metadata_from_challenge(challenge).await.map_err(unavailable)?.metadata;
    // The one is for a person's browser, the other gets codes and tokens.
    for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
        client.address(endpoint).map_err(|error| LoginError::Unavailable(error.to_string()))?;
    }
    manager.set_metadata(metadata.clone());
    let mut scopes = further_scopes(before.as_ref(), url);
    if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let known = registered(&mut manager, login, &scopes).await?;
    let link = manager.get_authorization_url(&scopes).await.map_err(unavailable)?;
    let link = Url::parse(&link).map_err(|error| LoginError::Unavailable(error.to_string()))?;
    let issued = Issued {
        resource: parameter(&link, "resource").unwrap_or_else(|| url.to_owned()),
        metadata,
        client_id: known.client_id,
        client_secret: known.client_secret,
        redirect: known.redirect_uri,
        credentials: None,
    };
    Ok(PendingLogin { manager, store, issued, link, expires: now + HOLDS })
}

impl PendingLogin {
    /// Where the person goes.
    pub fn link(&self) -> &str {
        self.link.as_str()
    }

    /// Is this the address at which a browser ends up that has followed the link?
    pub(crate) fn is_answered_by(&self, pasted: &str) -> bool {
        let pasted = Url::parse(pasted.trim()).ok();
        pasted.is_some_and(|pasted| parameter(&pasted, "state") == Some(self.state()))
    }

    fn state(&self) -> String {
        parameter(&self.link, "state").unwrap_or_default()
    }

    /// With the address at which the browser ended up, or the code in it. Gives what Hob may do there now, in the words of
    /// whoever issued the tokens. This ends the login, whatever comes of it.
    ///
    /// # Errors
    /// When it is for another login, too late, or refused.
    pub async fn finish(self, pasted: &str, now: Timestamp) -> Result<Vec<String>, LoginError> {
        if now > self.expires {
            return Err(LoginError::Expired);
        }
        let back = Callback::read(pasted)?;
        if back.state.is_some_and(|state| state != self.state()) {
            return Err(LoginError::Foreign("it belongs to another login"));
        }
        let state = self.state();
        let Self { manager, store, mut issued, .. } = self;
        let issuer = back.issuer.as_deref();
        let tokens = manager.exchange_code_for_token_with_issuer(&back.code, &state, issuer).await;
        let (tokens, scopes) = (tokens.map_err(refused)?, manager.get_current_scopes().await);
        let received = u64::try_from(now.as_second()).ok();
        let credentials = StoredCredentials::new(issued.client_id.clone(), Some(tokens), scopes.clone(), received);
        issued.credentials = Some(credentials.with_issuer(issued.metadata.issuer.clone()));
        store.update(move |file| (file.issued, file.challenge) = (Some(issued), None)).await?;
        Ok(scopes.iter().map(|scope| excerpt(scope)).collect())
    }
}

/// Forgets the tokens. Gives whether there were any.
///
/// # Errors
/// When the server needs no login, or the file stays.
pub fn forget(settings: &Settings, data_dir: &Path) -> Result<bool, LoginError> {
    let (url, _) = address(settings)?;
    Ok(LoginStore::new(data_dir, &settings.name, url).remove()?)
}

/// The login of a server, where it may have one.
pub(super) fn store(settings: &Settings, data_dir: &Path) -> Option<LoginStore> {
    let (url, _) = address(settings).ok()?;
    Some(LoginStore::new(data_dir, &settings.name, url))
}

/// A client that shows the token that was issued for this server, and renews it. None: there is none.
pub(super) async fn client_with_token(
    settings: &Settings,
    data_dir: &Path,
    tracker: &TaskTracker,
    plain: &reqwest::Client,
) -> Result<Option<TokenClient>, LoginError> {
    let Ok((url, login)) = address(settings) else { return Ok(None) };
    let store = LoginStore::new(data_dir, &settings.name, url);
    let issued = store.read()?.and_then(|file| file.issued).filter(|issued| issued.credentials.is_some());
    let Some(issued) = issued else { return Ok(None) };
    let client = Arc::new(client(url, login)?);
    let manager = AuthorizationManager::new_with_oauth_http_client(issued.resource.as_str(), client).await;
    let mut manager = manager.map_err(unavailable)?;
    manager.set_metadata(issued.metadata);
    let known = OAuthClientConfig::new(issued.client_id, issued.redirect);
    let known = issued.client_secret.into_iter().fold(known, OAuthClientConfig::with_client_secret);
    manager.configure_client(known).map_err(unavailable)?;
    manager.set_credential_store(store);
    Ok(Some(TokenClient::new(AuthClient::new(plain.clone(), manager), tracker.clone())))
}

/// What a server said when it asked for a login; none: it is something else that has failed.
pub(super) fn challenge(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::AuthRequired(asked)) => return Some(asked.www_authenticate_header.clone()),
            Some(StreamableHttpError::InsufficientScope(asked)) => {
                let header = &asked.www_authenticate_header;
                let nowhere = Url::parse(NOWHERE).ok()?;
                return WWWAuthenticateParams::parse(header, &nowhere).is_insufficient_scope().then(|| header.clone());
            }
            Some(StreamableHttpError::Auth(AuthError::AuthorizationRequired)) => return Some(String::new()),
            _ => cause = error.source(),
        }
    }
    None
}

/// A server's login, for whoever speaks with it.
pub(super) struct ServerLogin {
    server: String,
    /// None: it is a program, or the config has its token.
    store: Option<LoginStore>,
}

impl ServerLogin {
    /// That of this server.
    pub(super) fn of(settings: &Settings, data_dir: &Path) -> Self {
        Self { server: settings.name.clone(), store: store(settings, data_dir) }
    }

    /// The error in words for people; that a login is needed is kept.
    pub(super) async fn explained(&self, error: McpError) -> McpError {
        match (error, &self.store) {
            (McpError::Challenged(words), Some(store)) => {
                store.challenged(&words).await;
                McpError::NeedsLogin(self.server.clone())
            }
            (McpError::Challenged(_), None) => McpError::Refused("it does not take the token in the config".to_owned()),
            (McpError::Lost(why), Some(store)) => McpError::Lost(store.redact(why)),
            (McpError::Refused(why), Some(store)) => McpError::Refused(store.redact(why)),
            (other, _) => other,
        }
    }

    /// A server's words without its token, which it has heard.
    pub(super) fn redact(&self, words: String) -> String {
        match &self.store {
            Some(store) => store.redact(words),
            None => words,
        }
    }

    /// The same of a list.
    pub(super) fn redact_json(&self, list: Value) -> Result<Value, McpError> {
        let Some(store) = &self.store else { return Ok(list) };
        serde_json::from_str(&store.redact(list.to_string())).map_err(|_unreadable| McpError::Strange)
    }
}

fn address(settings: &Settings) -> Result<(&str, &LoginSettings), LoginError> {
    match &settings.way {
        ServerTransport::Program { .. } => Err(LoginError::Program(settings.name.clone())),
        ServerTransport::Address { bearer: Some(_), .. } => Err(LoginError::HasBearer(settings.name.clone())),
        ServerTransport::Address { url, login, .. } => Ok((url, login)),
    }
}

fn client(url: &str, login: &LoginSettings) -> Result<GuardedClient, LoginError> {
    let url = Url::parse(url).map_err(|error| LoginError::Unavailable(error.to_string()))?;
    let allowed = AllowedPlaces::new(login.private.clone());
    if !is_sealed(&url, &allowed) {
        let why = "tokens go over https, or to what [web] allow names, and its url is neither";
        return Err(LoginError::Unavailable(why.to_owned()));
    }
    let guard = EgressGuard::new(allowed, Arc::new(SystemResolver));
    Ok(GuardedClient::new(&guard, &url))
}

/// Can nobody read along on the way there?
fn is_sealed(url: &Url, allowed: &AllowedPlaces) -> bool {
    let is_own = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let place = url.host().zip(url.port_or_known_default());
    is_own || url.scheme() == "https" || place.is_some_and(|(host, port)| allowed.names(&host, port))
}

/// Who Hob is there: by the config, or as it is registered now.
async fn registered(
    manager: &mut AuthorizationManager,
    login: &LoginSettings,
    scopes: &[&str],
) -> Result<OAuthClientConfig, LoginError> {
    let Some((id, secret)) = &login.client else {
        return manager.register_client("Hob", &login.redirect, scopes).await.map_err(unavailable);
    };
    let known = OAuthClientConfig::new(id, &login.redirect);
    let known = secret.iter().fold(known, |known, secret| known.with_client_secret(secret.expose()));
    manager.configure_client(known.clone()).map_err(unavailable)?;
    Ok(known)
}

/// What a login that has tokens is to have besides: what it has, and what the server has asked for since.
fn further_scopes(file: Option<&LoginFile>, url: &str) -> Vec<String> {
    let had = file.and_then(|file| file.issued.as_ref()).and_then(|issued| issued.credentials.as_ref());
    let asked = file.and_then(|file| file.challenge.as_deref()).zip(Url::parse(url).ok());
    let asked = asked.and_then(|(challenge, url)| WWWAuthenticateParams::parse(challenge, &url).scope);
    let (Some(had), Some(asked)) = (had, asked) else { return Vec::new() };
    let asked = asked.split_whitespace().map(str::to_owned);
    had.granted_scopes.iter().cloned().chain(asked).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What a browser brought back.
struct Callback {
    code: String,
    /// None: it is the code alone, of which nobody knows for which login it is. It is worth nothing at another one, by PKCE.
    state: Option<String>,
    issuer: Option<String>,
}

impl Callback {
    fn read(pasted: &str) -> Result<Self, LoginError> {
        let pasted = pasted.trim();
        let Ok(url) = Url::parse(pasted) else {
            let is_code = !pasted.is_empty() && !pasted.contains(char::is_whitespace);
            let code = || Self { code: pasted.to_owned(), state: None, issuer: None };
            return is_code.then(code).ok_or(LoginError::Foreign("it is neither an address nor a code"));
        };
        if let Some(error) = parameter(&url, "error") {
            let about = parameter(&url, "error_description").unwrap_or_default();
            return Err(LoginError::Refused(excerpt(&format!("{error} {about}"))));
        }
        let (code, state) = parameter(&url, "code")
            .zip(parameter(&url, "state"))
            .ok_or(LoginError::Foreign("it has no code and no state in it"))?;
        Ok(Self { code, state: Some(state), issuer: parameter(&url, "iss") })
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn unavailable(error: AuthError) -> LoginError {
    LoginError::Unavailable(words(&error))
}

fn refused(error: AuthError) -> LoginError {
    LoginError::Refused(words(&error))
}

/// An error with those behind it: the SDK's own does not say what the guard says.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut all = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        all = format!("{all}: {error}");
        cause = error.source();
    }
    excerpt(&all)
}
