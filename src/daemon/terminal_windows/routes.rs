//! The routes on the socket that a terminal's windows are behind.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router as Routes};
use futures::StreamExt as _;

use crate::daemon::terminal_windows::asker::WindowAsker;
use crate::daemon::terminal_windows::{NoRest, NotTaken, ShownWhen, WindowFrame, WindowMessage, WindowService};
use hob_core::domain::channel::UpdateOutcome;

/// The largest message with its file, in bytes; a file is a third larger on its way.
const MESSAGE_BYTES_MAX: usize = 96 * 1024 * 1024;
/// What a window is told while nobody says anything, so that it is known whether it is still there.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// The routes. Only for the socket: whoever may use that may do anything with the data.
pub(in crate::daemon) fn routes(service: WindowService) -> Routes {
    let asker = Arc::new(WindowAsker(service.clone()));
    let clients = hob_web::mcp::local::routes(Arc::clone(&service.router), asker, service.stop.clone());
    Routes::new()
        .route("/terminal/{chat}", post(open))
        .route("/terminal/{chat}/say", post(say))
        .route("/terminal/{chat}/rest/{asked}", post(rest))
        .layer(DefaultBodyLimit::max(MESSAGE_BYTES_MAX))
        .with_state(service)
        .merge(clients)
}

/// Opens a window; the answer ends with it, or with Hob.
async fn open(State(window_service): State<WindowService>, Path(chat): Path<String>) -> Body {
    let frames = window_service.opened(&chat, ShownWhen::Queued).await;
    let stop = window_service.stop;
    let told = futures::stream::unfold((frames, stop), async |(mut frames, stop)| {
        let frame = tokio::select! {
            biased;
            frame = frames.recv() => frame?,
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(ALIVE_EVERY) => WindowFrame::Alive,
        };
        Some((line(&frame), (frames, stop)))
    });
    Body::from_stream(told.map(Ok::<_, Infallible>))
}

fn line(frame: &WindowFrame) -> String {
    // Its keys are strings: it has a form.
    serde_json::to_string(frame).unwrap_or_default() + "\n"
}

/// Hands a message in.
async fn say(
    State(window_service): State<WindowService>,
    Path(chat): Path<String>,
    Json(said): Json<WindowMessage>,
) -> Result<Json<UpdateOutcome>, (StatusCode, String)> {
    window_service.say(&chat, said).await.map(Json).map_err(|error| {
        let status = match &error {
            NotTaken::File(_) => StatusCode::BAD_REQUEST,
            NotTaken::Intake(_) | NotTaken::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, error.to_string())
    })
}

async fn rest(State(window_service): State<WindowService>, Path((chat, asked)): Path<(String, u64)>) -> StatusCode {
    match window_service.rest(&chat, asked).await {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(NoRest::Stopping) => StatusCode::SERVICE_UNAVAILABLE,
        Err(NoRest::Unseen) => StatusCode::GONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::channel::Progress;

    #[test]
    fn k2_a_frame_is_a_line() {
        let progress = Progress::Delta("a\nb".to_owned());
        let frame = WindowFrame::Progress { run: 7, progress };
        let told = line(&frame);
        assert_eq!(told.matches('\n').count(), 1, "{told}");
        assert_eq!(serde_json::from_str::<WindowFrame>(&told).unwrap(), frame);
    }
}
