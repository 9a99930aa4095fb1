//! Whoever calls a daemon that stands by is answered by the one that leads: the request goes on to it, and its answer comes back as it is made.
//!
//! Never: a judgement of who may ask. The one that leads makes it, as of whoever calls it itself.
//! Start at [`routes`].

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router as Routes;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::access::origin_check::{PageHosts, is_address, is_own_origin, with_port};
use crate::serve::LocalAddress;
use hob_core::domain::lock::lock;
use hob_telemetry::tasks;

/// How long a machine may take to take a connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// After how many seconds a caller should ask again: about so often somebody looks who leads.
const AGAIN_AFTER: HeaderValue = HeaderValue::from_static("2");

/// What is said of one connection, not of a request (RFC 9110, 7.6.1); and what is answered on the way.
const OF_A_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];

/// What a request bears that was handed on already: whom it reaches is no leader, and hands it to nobody.
const VIA: HeaderValue = HeaderValue::from_static("1.1 hob");

/// How long a machine that is gone counts as there, for a request that waits for it.
const SILENT_MAX: Duration = Duration::from_secs(20);

/// Why a request is not answered.
#[derive(Debug, thiserror::Error)]
enum ForwardError {
    #[error("no Hob leads at the moment; try again in a few seconds")]
    NobodyLeads,
    #[error("the Hob that leads cannot be reached from this one; it is looked for")]
    Unreachable(#[source] io::Error),
    #[error("the connection to the Hob that leads broke off; what was asked may have been done")]
    BrokenOff(#[source] Option<hyper::Error>),
}

impl IntoResponse for ForwardError {
    fn into_response(self) -> Response {
        let told = format!("{self}\n");
        match self {
            Self::NobodyLeads | Self::Unreachable(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, AGAIN_AFTER)], told).into_response()
            }
            Self::BrokenOff(_) => (StatusCode::BAD_GATEWAY, told).into_response(),
        }
    }
}

/// Where the one that leads serves; none: nobody does, or not where this one reaches it.
pub type LeaderAddress = watch::Receiver<Option<SocketAddr>>;

struct Forwarding {
    /// Names of this daemon's own.
    hosts: PageHosts,
    leader: LeaderAddress,
    /// Where one was that could not be reached: that is logged once, as anybody may ask.
    unreached: Mutex<Option<SocketAddr>>,
}

/// Everything that is asked here is asked of `leader`.
pub fn routes(hosts: PageHosts, leader: LeaderAddress) -> Routes {
    let forwarding = Forwarding { hosts, leader, unreached: Mutex::default() };
    Routes::new().fallback(forward).with_state(Arc::new(forwarding))
}

async fn forward(State(forwarding): State<Arc<Forwarding>>, request: Request) -> Result<Response, ForwardError> {
    let mut leader = forwarding.leader.clone();
    let at =
        leader.borrow_and_update().filter(|_| !is_handed_on(request.headers())).ok_or(ForwardError::NobodyLeads)?;
    let request = as_asked_there(request, &forwarding.hosts, at);
    let stream = forwarding.connect(at).await?;
    let answer = tokio::select! {
        answer = ask(stream, request) => answer.map_err(|error| ForwardError::BrokenOff(Some(error)))?,
        () = until_another(&mut leader, at) => return Err(ForwardError::BrokenOff(None)),
    };
    let (mut head, body) = answer.into_parts();
    drop_connection_headers(&mut head.headers);
    let body = body_while_it_leads(Body::new(body).into_data_stream(), leader, at);
    Ok(Response::from_parts(head, Body::from_stream(body)))
}

impl Forwarding {
    async fn connect(&self, at: SocketAddr) -> Result<TcpStream, ForwardError> {
        let connected = tokio::time::timeout(CONNECT_MAX, TcpStream::connect(at)).await;
        let connected = connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let connected = connected.and_then(|stream| notice_its_end(&stream).map(|()| stream));
        let mut unreached = lock(&self.unreached);
        match connected {
            Ok(stream) => {
                *unreached = None;
                Ok(stream)
            }
            Err(error) => {
                if unreached.replace(at) != Some(at) {
                    tracing::warn!(%at, %error, "server.not_forwarded: the daemon that leads cannot be reached there");
                }
                Err(ForwardError::Unreachable(error))
            }
        }
    }
}

/// Has the connection end when nothing is heard of the other machine: a stream of events may say nothing for hours.
fn notice_its_end(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENT_MAX / 2)?;
    sockopt::set_tcp_keepintvl(stream, SILENT_MAX / 4)?;
    Ok(sockopt::set_tcp_user_timeout(stream, u32::try_from(SILENT_MAX.as_millis()).unwrap_or(u32::MAX))?)
}

async fn ask(stream: TcpStream, request: Request) -> Result<hyper::Response<Incoming>, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer, or with whoever waits for that.
    drop(tasks::spawn("a forwarded request", async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a forwarded request ended early");
        }
    }));
    sender.send_request(request).await
}

fn is_handed_on(headers: &HeaderMap) -> bool {
    headers.get_all(header::VIA).iter().any(|via| via == VIA)
}

/// Completes when another leads, or nobody does.
async fn until_another(leader: &mut LeaderAddress, at: SocketAddr) {
    // Whoever says who leads is gone: this daemon stands by no more.
    if let Err(_gone) = leader.wait_for(|now| *now != Some(at)).await {}
}

/// What comes of an answer; it breaks off when another leads: nobody would end it.
fn body_while_it_leads(
    body: impl Stream<Item = Result<Bytes, axum::Error>> + Send + Unpin + 'static,
    leader: LeaderAddress,
    at: SocketAddr,
) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send + 'static {
    stream::unfold(Some((body, leader)), move |open| async move {
        let (mut body, mut leader) = open?;
        tokio::select! {
            biased;
            () = until_another(&mut leader, at) => {
                Some((Err(axum::Error::new(io::Error::from(io::ErrorKind::ConnectionAborted))), None))
            }
            piece = body.next() => piece.map(|piece| (piece, Some((body, leader)))),
        }
    })
}

/// The request as the one that leads is asked it. Where this daemon was called by a name or an address of its own, the other is called by
/// one of its own too; any other name stays, for it to judge.
fn as_asked_there(request: Request, hosts: &PageHosts, at: SocketAddr) -> Request {
    let (mut head, body) = request.into_parts();
    drop_connection_headers(&mut head.headers);
    let reached = head.extensions.get::<LocalAddress>().map(|reached| reached.0);
    // Whoever talks to a proxy says the whole address instead.
    let authority = head.uri.authority().map(|authority| authority.as_str().to_owned());
    let host = authority.or_else(|| text(&head.headers, &header::HOST).map(str::to_owned)).unwrap_or_default();
    let there = if hosts.know(&host) {
        with_port("localhost", at.port())
    } else if reached.is_some_and(|reached| is_address(&host, reached)) {
        at.to_string()
    } else {
        host.clone()
    };
    if there != host
        && let Some(origin) = text(&head.headers, &header::ORIGIN)
    {
        let origin = if is_own_origin(origin, &host) { format!("http://{there}") } else { "null".to_owned() };
        set(&mut head.headers, header::ORIGIN, &origin);
    }
    set(&mut head.headers, header::HOST, &there);
    head.headers.append(header::VIA, VIA);
    head.uri = Uri::from(head.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")));
    let mut request = Request::new(body);
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (head.method, head.uri, head.headers);
    request
}

/// Says this instead; nothing, if that can be no header.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    headers.remove(&name);
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn drop_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_A_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests;
