//! The config: what runs, what stands in the file, and the good ones that are kept. Never a secret of any of them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::operations::context::ConfigFile;
use hob_config::good_configs::KeptConfig;
use hob_config::writer::WriteError;
use hob_config::writer::snapshot::FileSnapshot;
use hob_config::{diff, show};
use hob_core::domain::config_status::ConfigStatus;
use hob_core::domain::redactor::Redactor;

/// So long it is waited for what comes of a reload.
const RELOADS_WITHIN: Duration = Duration::from_secs(10);

/// How it stands with the config.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ConfigState {
    /// The file; none: Hob was started without one.
    file: Option<String>,
    /// Since when what runs runs, in milliseconds since 1970.
    loaded_at: Option<i64>,
    /// How many keys it changed; none: it is what Hob was started with.
    changes: Option<usize>,
    /// Keys whose change waits for a restart.
    waits: Vec<String>,
    /// What was refused since.
    refused: Option<ReloadRefusal>,
    /// What stands in the file and does not run, key by key; without secrets.
    not_running: Vec<String>,
    /// What is wrong with the file, if it cannot be compared.
    unreadable: Option<String>,
    /// The configs with which a model answered, the newest first.
    good: Vec<GoodConfig>,
    /// Kept files that cannot be used, and why.
    broken: Vec<String>,
}

/// A config that was not taken over.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ReloadRefusal {
    /// When, in milliseconds since 1970.
    at: i64,
    /// Why.
    why: String,
}

/// A config with which a model answered.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct GoodConfig {
    /// The fingerprint of its text: by that it is put back.
    print: String,
    /// When a model answered with it first, in milliseconds since 1970.
    at: i64,
    /// The Hob that it ran on.
    version: String,
    /// It is what runs.
    runs: bool,
    /// It is what stands in the file.
    on_disk: bool,
    /// What putting it back would change in the file, key by key; without secrets.
    would_change: Vec<String>,
}

fn change_lines(changes: Vec<diff::Change>, redactor: &Redactor) -> Vec<String> {
    changes.iter().map(|change| redactor.redact(&change.to_string()).into_owned()).collect()
}

/// What the files say beside how it stands.
struct ConfigFiles {
    not_running: Vec<String>,
    unreadable: Option<String>,
    good: Vec<GoodConfig>,
    broken: Vec<String>,
}

impl ConfigFiles {
    fn look(config: &ConfigFile, redactor: &Redactor) -> Self {
        let running = (config.running)();
        let now = config.writer.look();
        let (text, unreadable) = match &now {
            Ok(seen) => match seen.text() {
                Some(text) if text.parse::<toml::Table>().is_ok() => (Some(text), None),
                Some(_) => (None, Some("it is not TOML".to_owned())),
                None => (None, Some(format!("it {}", seen.told()))),
            },
            Err(error) => (None, Some(error.to_string())),
        };
        let shelf = config.history.shelf();
        let good = shelf.good.iter().map(|KeptConfig { good, .. }| GoodConfig {
            print: good.text_print().to_owned(),
            at: good.when.as_millisecond(),
            version: good.version.clone(),
            runs: good.text.expose() == running.expose(),
            on_disk: text == Some(good.text.expose()),
            would_change: text
                .map(|text| change_lines(diff::changes_between(text, good.text.expose()), redactor))
                .unwrap_or_default(),
        });
        Self {
            good: good.collect(),
            not_running: text
                .map(|text| change_lines(diff::changes_between(running.expose(), text), redactor))
                .unwrap_or_default(),
            unreadable,
            broken: shelf.broken.iter().map(|(path, why)| format!("{} {why}", path.display())).collect(),
        }
    }
}

/// Does what waits for the disk beside everything else.
async fn run_blocking<T: Send + 'static>(
    app: &Arc<AppState>,
    work: impl FnOnce(&ConfigFile, &Redactor) -> T + Send + 'static,
) -> Result<Option<T>, ApiError> {
    let app = Arc::clone(app);
    let done = tokio::task::spawn_blocking(move || {
        app.operations_context.config.as_ref().map(|config| work(config, &app.router.redactor))
    });
    done.await.map_err(|error| ApiError::Broken(format!("the config could not be looked at: {error}")))
}

async fn look(app: &Arc<AppState>) -> Result<ConfigState, ApiError> {
    let ConfigStatus { at, changes, refused, waits, .. } = app.router.config().services.config.status();
    let files = run_blocking(app, ConfigFiles::look).await?;
    let ConfigFiles { not_running, unreadable, good, broken } = files.unwrap_or_else(|| ConfigFiles {
        not_running: Vec::new(),
        unreadable: None,
        good: Vec::new(),
        broken: Vec::new(),
    });
    let redactor = &app.router.redactor;
    Ok(ConfigState {
        file: app.operations_context.config.as_ref().map(|config| config.writer.file().display().to_string()),
        loaded_at: at.map(Timestamp::as_millisecond),
        changes,
        waits,
        refused: refused
            .map(|(at, why)| ReloadRefusal { at: at.as_millisecond(), why: redactor.redact(&why).into_owned() }),
        not_running,
        unreadable,
        good,
        broken,
    })
}

/// How it stands with the config: what runs, what stands in the file, and the good ones.
#[utoipa::path(get, path = "/api/operations/config", tag = "operations", responses((status = 200, body = ConfigState), (status = 401, body = Problem)))]
pub(crate) async fn standing(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
) -> Result<Json<ConfigState>, ApiError> {
    look(&app).await.map(Json)
}

/// What stands in the file.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ShownConfig {
    /// Each value with where it comes from; secrets are left out. Or what is wrong with it.
    text: String,
    /// Hob could begin with it.
    good: bool,
}

/// What stands in the file, each value with where it comes from, without secrets: `hob config show`.
#[utoipa::path(get, path = "/api/operations/config/text", tag = "operations", responses((status = 200, body = ShownConfig), (status = 401, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn shown(State(app): State<Arc<AppState>>, _visitor: Visitor) -> Result<Json<ShownConfig>, ApiError> {
    let shown = run_blocking(&app, |config, redactor| {
        let (text, good) = match show::show(Some(config.writer.file()), &config.environment, false) {
            Ok(text) => (text, true),
            Err(error) => (error.to_string(), false),
        };
        ShownConfig { text: redactor.redact(&text).into_owned(), good }
    });
    shown.await?.map(Json).ok_or(NO_FILE)
}

const NO_FILE: ApiError = ApiError::NotFound("config file: Hob was started without one");

/// Has the file read again; what came of it is told.
#[utoipa::path(post, path = "/api/operations/config/reload", tag = "operations",
    responses((status = 200, body = ConfigState), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn reload(State(app): State<Arc<AppState>>, _owner: Owner) -> Result<Json<ConfigState>, ApiError> {
    if app.operations_context.config.is_none() {
        return Err(NO_FILE);
    }
    reload_and_wait(&app).await;
    look(&app).await.map(Json)
}

/// Rings, and waits until the file was looked at; where that takes too long, how it stands then is told.
async fn reload_and_wait(app: &AppState) {
    let services = Arc::clone(&app.router.config().services);
    let mut heard = services.config.subscribe();
    heard.mark_unchanged();
    services.config.wake_reloader();
    if tokio::time::timeout(RELOADS_WITHIN, heard.changed()).await.is_err() {
        tracing::warn!("the config is still being read again");
    }
}

/// Which one is put back.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct PutBack {
    /// Its fingerprint.
    print: String,
}

/// Puts a config with which a model answered in the place of the file, which is kept beside it, and has it read.
#[utoipa::path(post, path = "/api/operations/config/rollback", tag = "operations", request_body = PutBack,
    responses((status = 200, body = ConfigState), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn roll_back(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Json(PutBack { print }): Json<PutBack>,
) -> Result<Json<ConfigState>, ApiError> {
    let now = app.router.clock.now();
    let done = run_blocking(&app, move |config, redactor| restore_config(config, &print, now, redactor));
    done.await?.ok_or(NO_FILE)??;
    reload_and_wait(&app).await;
    look(&app).await.map(Json)
}

fn restore_config(config: &ConfigFile, print: &str, now: Timestamp, redactor: &Redactor) -> Result<(), ApiError> {
    let shelf = config.history.shelf();
    let kept = shelf.good.iter().find(|kept| kept.good.text_print() == print);
    let good = kept.ok_or(ApiError::NotFound("config that is kept"))?.good.text.expose();
    let failed = |error: WriteError| ApiError::Conflict(redactor.redact(&error.to_string()).into_owned());
    let seen: FileSnapshot = config.writer.look().map_err(failed)?;
    if seen.text() == Some(good) {
        return Err(ApiError::Conflict("the file is this config already".to_owned()));
    }
    let aside = config.writer.replace(&seen, good, now).map_err(failed)?;
    let aside = aside.map(|path| path.display().to_string());
    tracing::info!(aside, "config.rolled_back: an owner put a good config back");
    Ok(())
}
