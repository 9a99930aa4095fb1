//! The page: where it is served, and who is let in first.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router as Routes;
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio_util::sync::CancellationToken;

use crate::daemon::error::StartError;
use crate::daemon::reload::running::CurrentConfig;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::triggers::check_beyond_schema;
use crate::daemon::{Blueprint, local_api, terminal_notice, toolset};
use hob_config::Config;
use hob_config::good_configs::GoodConfigHistory;
use hob_config::webhooks::ListenAddress;
use hob_config::writer::Writer;
use hob_router::intake::Router;
use hob_store::{daemons, web_access};
use hob_web::access::login::{self, link};
use hob_web::access::origin_check::PageHosts;
use hob_web::access::{PageAccess, PageRole, new_key};
use hob_web::app_state::AppState;
use hob_web::chat::channel::PageChannel;
use hob_web::forward::{self, LeaderAddress};
use hob_web::operations::context::{ConfigFile, OperationsContext};
use hob_web::push::trigger;

/// So many callers may wait to be heard: as many as the standard library's own listeners let wait.
const BACKLOG: u32 = 128;

/// Where Hob is to be called, if anywhere.
fn listens(blueprint: &Blueprint) -> Option<ListenAddress> {
    let listens = blueprint.config.server.listens(&blueprint.environment).filter(|_| blueprint.stays);
    // Who sits at the terminal has no page unless the config says so.
    listens.filter(|listens| listens.asked_for || blueprint.serves.is_configured())
}

/// Takes the port where Hob is called. One that nobody has asked for may be somebody else's.
pub(super) async fn listener(blueprint: &Blueprint) -> Result<Option<TcpListener>, StartError> {
    let Some(ListenAddress { address, asked_for }) = listens(blueprint) else { return Ok(None) };
    match bind(&address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(source) if has_inbound_calls(&blueprint.config) => Err(StartError::Listen { address, source }),
        // Nobody but the page is there: no reason to leave those alone who write elsewhere.
        Err(error) if asked_for => {
            tracing::error!(address, %error, "server.failed: the page is not served until the next start; see [server] listen");
            Ok(None)
        }
        Err(error) => {
            tracing::warn!(address, %error, "the page is not served; another address under [server] listen may do");
            Ok(None)
        }
    }
}

/// While this daemon stands by for a leader: hands on to it what it is asked at its own port. The port is free when this is dropped.
pub(crate) async fn forward(blueprint: &Blueprint, mut leader: LeaderAddress) -> Infallible {
    let Some(ListenAddress { address, .. }) = listens(blueprint) else { return std::future::pending().await };
    let mut is_told = false;
    // Not before that one has its own port: on one machine it may be the same.
    while leader.wait_for(Option::is_some).await.is_ok() {
        match bind(&address).await.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((listens, listener)) => {
                tracing::info!(address = %listens, "server.forwarding: what is asked here is answered by the daemon that leads");
                let hosts = PageHosts::new(listens, blueprint.config.server.public().as_ref());
                let stop = CancellationToken::new();
                let _ends = stop.clone().drop_guard();
                hob_web::serve::serve(listener, forward::routes(hosts, leader.clone()), stop).await;
            }
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(address, %error, "server.not_forwarded: this daemon cannot be asked while it stands by");
                }
                // It may be that one's.
                if leader.changed().await.is_err() {
                    break;
                }
            }
        }
    }
    std::future::pending().await
}

/// Listens there, also where the machine gets the address only later: that of a private network, when it boots.
async fn bind(address: &str) -> io::Result<TcpListener> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "no address has that name");
    for at in lookup_host(address).await? {
        match bind_at(at) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn bind_at(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    if at.is_ipv4() {
        sockopt::set_ip_freebind(&socket, true)?;
    } else {
        sockopt::set_ipv6_freebind(&socket, true)?;
    }
    socket.bind(at)?;
    socket.listen(BACKLOG)
}

/// Whether others call in, for whom the address is no matter of taste.
fn has_inbound_calls(config: &Config) -> bool {
    !config.webhooks.is_empty() || config.telegrams().any(|bot| bot.section.webhook_url.is_some())
}

/// The page's side of its conversations; none: Hob does not listen, or somebody sits at the terminal.
pub(super) fn page_channel(blueprint: &Blueprint, listener: Option<&TcpListener>) -> Option<Arc<PageChannel>> {
    let is_served = listener.is_some() && blueprint.serves.is_configured();
    is_served.then(|| Arc::new(PageChannel::new(Arc::clone(&blueprint.clock))))
}

/// Under which address people reach the page; none: it is not served.
pub(super) fn address(listener: &TcpListener, page: Option<&Arc<PageChannel>>, config: &Config) -> Option<String> {
    page?;
    let public = config.server.public().map(|url| url.to_string().trim_end_matches('/').to_owned());
    public.or_else(|| listener.local_addr().ok().map(|listens| format!("http://{}", own_name(listens))))
}

/// How this machine calls what listens there. Nobody is at the address that stands for all.
fn own_name(listens: SocketAddr) -> String {
    if listens.ip().is_unspecified() { format!("localhost:{}", listens.port()) } else { listens.to_string() }
}

/// Who answers at the port.
pub(super) struct PageServer<'a> {
    pub(super) blueprint: &'a Blueprint,
    pub(super) shutdown: &'a ShutdownStages,
    pub(super) router: &'a Arc<Router>,
}

impl PageServer<'_> {
    /// Answers whoever calls: where others call in (`called`), how Hob fares, and the page.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        page: Option<Arc<PageChannel>>,
        current: CurrentConfig,
        called: Routes,
    ) -> Result<(), StartError> {
        let config = &self.blueprint.config;
        let listens = listener.local_addr();
        let listens = listens.map_err(|source| StartError::Listen { address: "the port taken".to_owned(), source })?;
        tracing::info!(address = %listens, "server.listening");
        if self.blueprint.serves.is_configured() {
            self.tell_other_daemons(listens).await?;
        }
        let hosts = PageHosts::new(listens, config.server.public().as_ref());
        let mut routes = called.merge(hob_web::health::routes_at(hosts.clone(), Arc::clone(self.router)));
        if let Some(page) = page {
            self.tell_login_link(&address(&listener, Some(&page), config).unwrap_or_default()).await?;
            routes = routes.merge(self.page(page, hosts, current));
        }
        let stop = self.shutdown.intake.clone();
        self.shutdown.keep("the page", hob_web::serve::serve(listener, routes, stop));
        Ok(())
    }

    /// Lets daemons that stand by hand on what they are asked.
    async fn tell_other_daemons(&self, listens: SocketAddr) -> Result<(), StartError> {
        if self.router.store.is_file() {
            return Ok(());
        }
        match self.router.store.write(async move |tx| daemons::serve_at(tx, listens).await).await? {
            Some(at) if at.ip().is_loopback() && !listens.ip().is_loopback() => tracing::warn!(
                "server.unknown_address: the database server sees this machine at {at}, where other machines do not reach it; name its \
                 address under [server] listen, so that daemons that stand by can hand on what they are asked"
            ),
            Some(at) => {
                tracing::info!(%at, "server.announced: daemons that stand by hand on what they are asked to this address")
            }
            None => {}
        }
        Ok(())
    }

    /// Where no owner was ever let in, a link that lets the owner in is told at the terminal, if there is one.
    async fn tell_login_link(&self, at: &str) -> Result<(), StartError> {
        let (store, blueprint) = (&self.router.store, self.blueprint);
        if store.read(web_access::owner_entered).await? {
            return Ok(());
        }
        tracing::info!("Hob's page is at {at}: `hob web` prints a link that logs you in.");
        // A link lets in whoever reads it: it is for a terminal, and for no log.
        if terminal_notice::is_at_terminal() {
            let (key, now) = (new_key(&*blueprint.rng), blueprint.clock.now());
            let kept = key.clone();
            store.write(async move |tx| login::invite(tx, &kept, PageRole::Owner, now).await).await?;
            terminal_notice::tell_terminal(&format!("{} logs you in, once, within 15 minutes.", link(at, &key)));
        }
        Ok(())
    }

    /// The page and its API.
    fn page(&self, page: Arc<PageChannel>, hosts: PageHosts, current: CurrentConfig) -> Routes {
        let (router, stop) = (Arc::clone(self.router), self.shutdown.intake.clone());
        let page_access = PageAccess::new(Arc::clone(&router), hosts);
        let operations_context = operations_context(self.blueprint, current);
        let guard = toolset::web::guard(&self.blueprint.config.web);
        let (bell, ringer) = trigger::hung(&router, &page, guard.clone(), sender(&self.blueprint.config));
        page.set_push_trigger(bell.clone());
        self.shutdown.keep("page.push", ringer.work(stop.clone()));
        hob_web::page::routes(Arc::new(AppState { router, page, page_access, operations_context, bell, guard, stop }))
    }
}

/// Whom push services may ask about what they are sent.
fn sender(config: &Config) -> String {
    let public = config.server.public().filter(|url| url.scheme() == "https");
    public.map_or_else(|| "mailto:hob@localhost".to_owned(), |url| url.to_string())
}

/// What the page's operations need beside the router.
fn operations_context(blueprint: &Blueprint, current: CurrentConfig) -> OperationsContext {
    let config = blueprint.config_file.as_ref().map(|file| {
        // The process may change its directory, the file stays where it is.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        ConfigFile {
            history: GoodConfigHistory::of(&file, Some(&blueprint.data_dir)),
            writer: Writer::new(file, blueprint.environment.clone(), check_beyond_schema),
            environment: blueprint.environment.clone(),
            running: Box::new(move || current.borrow().source.clone()),
        }
    });
    OperationsContext { places: local_api::places(blueprint), config }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_a_link_names_an_address_at_which_the_page_answers() {
        for (listens, expected) in
            [("0.0.0.0:8787", "localhost:8787"), ("[::]:80", "localhost:80"), ("10.0.0.5:8787", "10.0.0.5:8787")]
        {
            assert_eq!(own_name(listens.parse().unwrap()), expected);
        }
    }

    #[tokio::test]
    async fn n8_it_listens_where_the_machine_is_not_yet() {
        // An address for documentation: no machine has it.
        let listener = bind("192.0.2.1:0").await.unwrap();
        assert_eq!(listener.local_addr().unwrap().ip().to_string(), "192.0.2.1");
        let taken = bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let first = bind(&taken.to_string()).await.unwrap();
        let second = bind(&first.local_addr().unwrap().to_string()).await;
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
