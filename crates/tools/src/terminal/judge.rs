//! What is to be known of a command before it runs: what its text says ([`hob_core::policy::shell`]), and whether what it does can
//! be looked at afterwards.

use crate::draft_workspace::DraftWorkspace;
use crate::terminal::{Action, Fields};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk};
use hob_core::policy::shell::{self, CommandVerdict};

/// What a command would do; one in the foreground can work in a draft.
pub(super) async fn judge(draft_workspace: &DraftWorkspace, command: &str, fields: &Fields) -> Assessment {
    let (network, foreground) = (fields.network, fields.action == Action::Run);
    let verdict = shell::assess(command);
    if let CommandVerdict::Refused { why } = verdict {
        return Assessment { grade: DangerGrade::Refused, reasons: vec![why], ..Assessment::usual(Risk::Execute) };
    }
    let (sandbox, granted) =
        (draft_workspace.confinement.sandbox.result().await, draft_workspace.confinement.reach.network);
    let can_be_reviewed = draft_workspace.can_be_reviewed().await;
    let mut known =
        Assessment { contained: can_be_reviewed && foreground && !network && !granted, ..Assessment::default() };
    if !sandbox.is_fully_enforced() {
        raise_grade(&mut known, DangerGrade::High, format!("Here {}", sandbox.strength()));
    }
    if network && !granted {
        raise_grade(&mut known, DangerGrade::High, "It asks for the network".to_owned());
    }
    if let CommandVerdict::Asks { programs } = verdict {
        known.risk = Risk::Execute;
        if !(can_be_reviewed && foreground) {
            let named = if programs.is_empty() { "it".to_owned() } else { programs.join(", ") };
            let why = format!("What {named} changes is in the workspace at once and cannot be undone");
            raise_grade(&mut known, DangerGrade::Medium, why);
        }
    }
    if network || granted {
        known.risk = known.risk.max(Risk::Send);
    }
    known
}

/// The same of a command that is to be run again and again: somebody is asked, whatever it says.
pub(crate) async fn judge_repeated(draft_workspace: &DraftWorkspace, command: &str) -> Assessment {
    let (action, network) = (Action::Start, false);
    let fields = Fields { command: None, action, id: None, dir: None, timeout_secs: None, network };
    let mut known = judge(draft_workspace, command, &fields).await;
    known.risk = known.risk.max(Risk::Execute);
    raise_grade(&mut known, DangerGrade::Medium, "It is run again and again, and nobody is asked then".to_owned());
    known
}

fn raise_grade(known: &mut Assessment, to: DangerGrade, why: String) {
    known.grade = known.grade.max(to);
    known.reasons.push(why);
}
