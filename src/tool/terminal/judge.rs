//! What a command would do: [`crate::policy::shell`] reads its text, and here the places that it names are looked at as they are.

use std::path::{Path, PathBuf};

use crate::domain::tools::{Assessment, Grade, Risk};
use crate::policy::shell::{self, Grounds, Verdict};
use crate::tool::terminal::{Settings, scope};

/// So many places of one command are looked at; who names more must ask.
const PLACES_MAX: usize = 256;

/// What a command would do, run in `dir`.
pub(super) async fn judge(settings: &Settings, command: &str, dir: &Path, network: bool) -> Assessment {
    let (settings, command, dir) = (settings.clone(), command.to_owned(), dir.to_owned());
    let judged = tokio::task::spawn_blocking(move || judged(&settings, &command, &dir, network)).await;
    judged.unwrap_or_else(|error| {
        tracing::error!(%error, "a command could not be judged");
        let reasons = vec!["It could not be judged".to_owned()];
        Assessment { grade: Grade::Critical, reasons, ..Assessment::usual(Risk::Execute) }
    })
}

fn judged(settings: &Settings, command: &str, dir: &Path, network: bool) -> Assessment {
    let (sandbox, granted) = (&settings.confined.sandbox, settings.confined.reach.network);
    let workspace = &settings.workspace;
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let root = real(&workspace.root);
    let grounds = Grounds {
        sandboxed: sandbox.is_whole(),
        network: granted || network,
        cwd: dir.to_owned(),
        home: Some(root.clone()),
        workspace: root,
        writable: workspace.write.iter().map(real).collect(),
        readable: workspace.read.iter().map(real).collect(),
    };
    let Verdict { risk, mut grade, mut reasons, paths } = shell::assess(command, &grounds);
    let uses_network = reasons.iter().any(|reason| reason.ends_with(shell::USES_NETWORK));
    let mut raise = |to: Grade, why: String| {
        grade = grade.max(to);
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    };
    if paths.len() > PLACES_MAX {
        raise(Grade::High, format!("It names more than {PLACES_MAX} places"));
    }
    for path in paths.iter().take(PLACES_MAX) {
        let led = resolved(&dir.join(path));
        if led != *path
            && let Some(reason) = shell::outside(&led, &grounds)
        {
            raise(reason.grade, format!("{} leads elsewhere: {}", path.display(), reason.text));
        }
    }
    if network && !granted {
        raise(Grade::High, "It asks for the network".to_owned());
    } else if uses_network && !granted && sandbox.is_whole() {
        raise(Grade::Safe, "It has no network here, so that part will fail".to_owned());
    }
    if !sandbox.is_whole() {
        raise(Grade::High, format!("Here {}", sandbox.strength()));
    }
    let risk = if network || granted { risk.max(Risk::Send) } else { risk };
    Assessment { grade, reasons, always: scope::of(command), ..Assessment::usual(risk) }
}

/// Where a path leads, as far as it exists: of what does not, the folder that it would be in.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
        // A link to what is not there yet: a command may make it there.
        if let Ok(target) = ancestor.read_link() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return ancestor.parent().unwrap_or(Path::new("/")).join(target).join(rest);
        }
    }
    path.to_owned()
}
