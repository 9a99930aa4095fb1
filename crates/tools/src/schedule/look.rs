//! Looks whether a schedule has something to do (row F1), so that no model need be asked: by a command, or at a page.
//!
//! Never: an effect of Hob's own. A look can be repeated, and is after a crash.
//! Start at [`Looker`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use crate::net::{EgressGuard, address};
use crate::process::{self, ProcessOutput, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::sandbox::confinement::Confinement;
use crate::web_fetch::{self, FetchedContent};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Principal;
use hob_core::domain::text::hex;
use hob_core::policy::schedule::check::{CheckEnd, LookTarget, LookVerdict, judge};

/// The most that is kept of each of a check's outputs, in bytes: of more the middle is left out, and that is said in it.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// The most that people are told of what a failed check printed, in characters: its end.
const SAID_CHARS_MAX: usize = 300;

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookResult {
    /// What it comes to.
    pub verdict: LookVerdict,
    /// Whose words its data is: nobody here vouches for them.
    pub source: OriginSource,
    /// What a page is like now.
    pub seen: Option<String>,
    /// What a check that failed has printed, for people: its end.
    pub said: String,
}

/// A look that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookOrder {
    pub target: LookTarget,
    /// What a page was like the last time.
    pub seen: Option<String>,
    /// The schedule was made in a chat; else the config names it.
    pub is_from_chat: bool,
    /// In whose name.
    pub reader: Principal,
}

/// Whoever looks.
#[async_trait]
pub trait Looker: Send + Sync {
    /// Looks; dropping the future ends what it began.
    async fn look(&self, order: &LookOrder) -> LookResult;
}

/// What looks are made with: the sandbox of the terminal's commands, and the guard of `web_fetch`.
pub struct HouseLooker {
    /// The way out to the network.
    pub guard: EgressGuard,
    /// The sandbox of a check.
    pub confinement: Confinement,
    /// May what a chat has made run commands (`[terminal] enabled`)?
    pub terminal: bool,
    /// Where it works.
    pub dir: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// Whose mark it carries.
    pub leftovers: ProcessReaper,
    /// Who knows how things at home stand.
    pub home: Option<Arc<dyn Looker>>,
    /// Who knows what is on.
    pub calendars: Option<Arc<dyn Looker>>,
}

#[async_trait]
impl Looker for HouseLooker {
    async fn look(&self, order: &LookOrder) -> LookResult {
        match &order.target {
            LookTarget::Command { command, network } => {
                let held = if order.is_from_chat { self.why_held().await } else { None };
                match held {
                    Some(why) => LookResult::failed(check_source(command), why.to_owned()),
                    None => Box::pin(self.run(command, *network)).await,
                }
            }
            LookTarget::Page { url } => self.read(url, order.seen.as_deref()).await,
            LookTarget::Entity(_) => look_by(self.home.as_deref(), "Home Assistant", order).await,
            LookTarget::Today => look_by(self.calendars.as_deref(), "calendar", order).await,
        }
    }
}

/// As `looker` looks, who is there if such a thing is set up.
async fn look_by(looker: Option<&dyn Looker>, what: &str, order: &LookOrder) -> LookResult {
    match looker {
        Some(looker) => looker.look(order).await,
        None => LookResult::failed(OriginSource::new(Origin::Tool, what), format!("no {what} is set up")),
    }
}

impl LookResult {
    /// One that has no answer.
    pub fn failed(source: OriginSource, why: String) -> Self {
        Self { verdict: LookVerdict::Failed { why }, source, seen: None, said: String::new() }
    }
}

fn check_source(command: &[String]) -> OriginSource {
    OriginSource::new(Origin::Tool, &format!("the check {}", command.join(" ")))
}

impl HouseLooker {
    /// Why commands that chats have made don't run now: people said yes to them once, as they stood then.
    async fn why_held(&self) -> Option<&'static str> {
        if !self.terminal {
            return Some("commands are off here ([terminal] enabled)");
        }
        let is_walled = self.confinement.sandbox.result().await.is_fully_enforced();
        (!is_walled).then_some("commands have no whole sandbox here any more; /status says what is missing")
    }

    async fn run(&self, command: &[String], network: bool) -> LookResult {
        let source = check_source(command);
        let spec = ProcessSpec {
            vector: command.to_vec(),
            dir: self.dir.clone(),
            environment: vec![
                ("HOME".to_owned(), self.dir.display().to_string()),
                ("TERM".to_owned(), "dumb".to_owned()),
            ],
            input: None,
            bytes_max: OUTPUT_BYTES_MAX,
            leftovers: self.leftovers.clone(),
            confinement: Some(self.confinement.clone().with_network(network)),
        };
        let (end, printed) = match tokio::time::timeout(self.timeout, Box::pin(process::run(spec))).await {
            Ok(Ok(printed)) => (CheckEnd::Exited(printed.status.code()), Some(printed)),
            Ok(Err(error)) => return LookResult::failed(source, format!("it could not be run: {error}")),
            Err(_elapsed) => (CheckEnd::TimedOut(self.timeout.as_secs()), None),
        };
        let verdict = judge(printed.as_ref().map_or("", |printed| &printed.out), end);
        let is_failure = matches!(verdict, LookVerdict::Failed { .. });
        let said = printed.filter(|_| is_failure).map(|printed| end_of(&printed)).unwrap_or_default();
        LookResult { verdict, source, seen: None, said }
    }

    async fn read(&self, url: &str, seen: Option<&str>) -> LookResult {
        let asked = OriginSource::new(Origin::Web, url);
        let url = match address(url) {
            Ok(url) => url,
            Err(error) => return LookResult::failed(asked, clause(&error.to_string())),
        };
        match web_fetch::fetch(&self.guard, &url).await {
            Ok(page) => compare(page, seen),
            Err(error) => LookResult::failed(asked, clause(&error.own_words(&url))),
        }
    }
}

/// A sentence as a part of another.
fn clause(sentence: &str) -> String {
    sentence.trim_end_matches('.').to_owned()
}

/// What a page that was read comes to: the first look only keeps what it is like.
fn compare(page: web_fetch::FetchedPage, seen: Option<&str>) -> LookResult {
    let source = OriginSource::new(Origin::Web, page.url.as_str());
    let text = match page.content {
        _ if !(200..300).contains(&page.status) => {
            return LookResult::failed(source, format!("the server answers {}", page.status));
        }
        FetchedContent::Unreadable(_) => return LookResult::failed(source, "it cannot be read as text".to_owned()),
        FetchedContent::Page(page) => [page.title.unwrap_or_default(), page.text].join("\n").trim().to_owned(),
    };
    if text.is_empty() {
        return LookResult::failed(source, "it has no text".to_owned());
    }
    let now = hex(&Sha256::digest(&text));
    let verdict = match seen {
        Some(seen) if seen != now => LookVerdict::Wake { data: text },
        Some(_) | None => LookVerdict::Idle,
    };
    LookResult { verdict, source, seen: Some(now), said: String::new() }
}

/// The end of what a check printed.
fn end_of(output: &ProcessOutput) -> String {
    let printed = output.printed();
    let excess = printed.chars().count().saturating_sub(SAID_CHARS_MAX);
    let end: String = printed.chars().skip(excess).collect();
    if excess > 0 { format!("… {end}") } else { end }
}

#[cfg(test)]
mod tests;
