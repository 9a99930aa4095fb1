//! What this Hob answers over the socket in its data directory.

use std::sync::Arc;

use crate::daemon::Blueprint;
use crate::daemon::backups::folder;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::terminal_windows::{self, TerminalWindows};
use hob_router::intake::Router;
use hob_web::local::LocalSocket;
use hob_web::status::StatusPaths;

/// Answers until all is said. Without a socket Hob works as well: only nobody can ask it from beside.
///
/// `page_at`: under which address the page is reached.
pub(super) fn serve(
    shutdown: &ShutdownStages,
    router: &Arc<Router>,
    blueprint: &Blueprint,
    page_at: Option<String>,
    windows: &Arc<TerminalWindows>,
) {
    let local = match LocalSocket::open(&blueprint.data_dir) {
        Ok(local) => local,
        Err(error) => return tracing::warn!(%error, "local.absent: {error}"),
    };
    let places = places(blueprint);
    let routes = hob_web::health::routes(Arc::clone(router)).merge(hob_web::status::routes(Arc::clone(router), places));
    let routes = routes.merge(hob_web::page::whereabouts(page_at)).merge(hob_web::undo::routes(Arc::clone(router)));
    let routes = routes.merge(hob_web::classes::routes(Arc::clone(router)));
    let routes = routes.merge(terminal_windows::routes(shutdown.window_service(windows, router)));
    shutdown.keep("the socket", local.serve(routes, shutdown.silence.clone()));
}

/// Where things are.
pub(super) fn places(blueprint: &Blueprint) -> StatusPaths {
    StatusPaths {
        data_dir: blueprint.data_dir.clone(),
        state: blueprint.state.clone(),
        backups: folder(&blueprint.data_dir, blueprint.config.backup.dir.as_ref()),
        config: blueprint.config_file.clone(),
    }
}
