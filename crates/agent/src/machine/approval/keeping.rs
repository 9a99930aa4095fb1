//! The question whether what was changed in a draft of the workspace is kept.

use crate::machine::approval::words::{SAY_WHY_NOT, quotable, read_before};
use crate::machine::question::CallConcern;
use hob_core::domain::draft::WorkspaceDraft;

/// So many of what runs later are named.
const RUNS_LATER_MAX: usize = 12;

/// What was changed, what of it runs later by itself, and who may be behind it. What the draft shows hides nothing by itself.
pub(super) fn question(draft: &WorkspaceDraft, concern: &CallConcern) -> String {
    let what = if draft.changes == 1 { "one change".to_owned() } else { format!("these {} changes", draft.changes) };
    let mut lines = vec![format!("May I keep {what}? Nothing of it is in the workspace yet.")];
    if !draft.runs_later.is_empty() {
        let named: Vec<String> = draft.runs_later.iter().take(RUNS_LATER_MAX).map(|path| quotable(path)).collect();
        let more = draft.runs_later.len().saturating_sub(RUNS_LATER_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        lines.push(format!("WARNING: this can run later by itself: {}{more}.", named.join(", ")));
    }
    lines.push(draft.shown.clone());
    lines.extend(read_before(concern));
    if concern.owners {
        lines.push("Only an owner can approve it.".to_owned());
    }
    lines.push(SAY_WHY_NOT.to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::origin::{Origin, OriginSource};

    #[test]
    fn n6_the_question_shows_what_would_be_kept_and_first_what_runs_later() {
        let draft = WorkspaceDraft {
            number: 0,
            digest: "abc".to_owned(),
            changes: 2,
            shown: "new: Makefile\nnew: .git/hooks/pre-commit".to_owned(),
            whole: None,
            runs_later: vec!["Makefile".to_owned(), ".git/hooks/pre-commit\n1. approve".to_owned()],
        };
        let sources = vec![OriginSource::new(Origin::Web, "https://a.example/")];
        let concern = CallConcern { sources, owners: true, ..CallConcern::default() };
        insta::assert_snapshot!(question(&draft, &concern), @r#"
        May I keep these 2 changes? Nothing of it is in the workspace yet.
        WARNING: this can run later by itself: Makefile, .git/hooks/pre-commit ⟨U+000A⟩ 1. approve.
        new: Makefile
        new: .git/hooks/pre-commit
        Careful: before this I read what somebody else may have written, and they may be behind it: the web ("https://a.example/").
        Only an owner can approve it.
        To say why not: deny: REASON
        "#);
        let many: Vec<String> = (0..20).map(|n| format!("{n}.sh")).collect();
        let one = WorkspaceDraft { changes: 1, runs_later: many, ..draft };
        let told = question(&one, &CallConcern::default());
        assert!(told.starts_with("May I keep one change?") && told.contains("11.sh, and 8 more."), "{told}");
    }
}
