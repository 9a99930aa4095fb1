//! What is said about approvals, to people and to the model, and how people's words are read.

use std::collections::BTreeSet;

use crate::machine::approval::{classes, keeping, scope, several};
use crate::machine::draft;
use crate::machine::human::Decision;
use crate::machine::question::{CallConcern, FurtherCall, Question};
use hob_core::domain::origin::OriginSource;
use hob_core::domain::plan::UnvouchedValue;
use hob_core::domain::tools::Risk;
use hob_core::policy::arguments::display::shown;
use hob_core::policy::invisible::marked;

/// So many reasons are shown.
const REASONS_MAX: usize = 8;
/// And so much of each, and of other words that others have chosen.
const REASON_CHARS_MAX: usize = 300;

/// The last line of a question about a call.
pub(crate) const SAY_WHY_NOT: &str = "To say why not: deny: REASON";

/// For the model: nobody answered.
pub(crate) const EXPIRED: &str =
    "Not run: a person had to approve this call, and nobody did in time. They have been told.";

/// Said where a question leaves something out.
const IN_FILE: &str = "(That is not all of it. The file above has the whole.)";

/// The question: which call, what its tool is for, with which arguments; what it may do, why that is dangerous, and who may be
/// behind it.
///
/// What strangers have chosen stands in one line each, spelt out and in quotes: it cannot pass for a word of Hob's.
pub(crate) fn question(name: &str, arguments: &str, grantable: bool, concern: &CallConcern) -> String {
    if let Some(draft) = &concern.draft {
        return keeping::question(draft, concern);
    }
    let always = if grantable || concern.this_run { "" } else { " (This is asked each time.)" };
    let mut lines = vec![format!("May I do this?{always}")];
    lines.extend(call("", name, arguments, concern));
    lines.extend(read_before(concern));
    if grantable && !concern.scope.is_empty() {
        let said = Decision::Always.label();
        lines.push(format!("\"{said}\": here I do not ask you again about: {}", marked(scope::words(&concern.scope))));
    }
    if concern.this_run {
        let said = Decision::ThisRun.label();
        lines.push(format!(
            "\"{said}\": I do not ask again about {} until this answer is done or I read something new.",
            quotable(name)
        ));
    }
    lines.extend(concern.classing.as_deref().map(classes::told));
    if concern.owners {
        lines.push("Only an owner can approve it.".to_owned());
    }
    lines.push(SAY_WHY_NOT.to_owned());
    lines.join("\n")
}

/// One call of a question: which, what its tool is for, with which arguments; what it may do, and why that is dangerous.
fn call(number: &str, name: &str, arguments: &str, concern: &CallConcern) -> Vec<String> {
    let about = if concern.about.is_empty() { String::new() } else { format!(" – {}", quotable(&concern.about)) };
    let mut lines = vec![format!("{number}{}{about}", quotable(name))];
    let arguments = shown(arguments);
    lines.push(arguments.text);
    lines.extend(arguments.whole.map(|_| IN_FILE.to_owned()));
    lines.extend(concern.doubts.iter().map(|value| format!("LOOK AT THIS: {}.", doubt(value))));
    let does = effect_text(concern.risk);
    if concern.grade.is_safe() {
        lines.push(format!("It {does}."));
    } else {
        lines.push(format!("Risk: {}. It {does}.", concern.grade.as_str()));
    }
    let reasons = concern.reasons.iter().take(REASONS_MAX);
    lines.extend(reasons.map(|reason| format!("- {}", quotable(reason))));
    lines
}

/// The question about several calls: each with its number, and who may be behind any of them.
pub(crate) fn questions(name: &str, arguments: &str, concern: &CallConcern, beside: &[FurtherCall]) -> String {
    let count = beside.len() + 1;
    let mut lines = vec![format!("May I do this? There are {count}; all, some, or none.")];
    lines.extend(call("(1) ", name, arguments, concern));
    for (number, other) in (2..).zip(beside) {
        lines.extend(call(&format!("({number}) "), &other.name, &other.arguments, &other.concern));
    }
    let others = beside.iter().flat_map(|other| &other.concern.sources);
    let sources: Vec<OriginSource> =
        concern.sources.iter().chain(others).cloned().collect::<BTreeSet<_>>().into_iter().collect();
    lines.extend(read_before(&CallConcern { sources, ..CallConcern::default() }));
    if concern.owners || beside.iter().any(|other| other.concern.owners) {
        lines.push("Only an owner can approve it.".to_owned());
    }
    lines.push(format!("For some of them: only 1 and {count}"));
    lines.push(SAY_WHY_NOT.to_owned());
    lines.join("\n")
}

/// The decision about several calls in a person's words.
pub(crate) fn of_several(text: &str, count: usize) -> Option<Decision> {
    let said = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    match said.as_str() {
        "all" | "yes, all" | "yes to all" | "alle" | "ja, alle" => Some(Decision::All),
        _ if several::chosen_calls(text, count).is_some() => Some(Decision::Named),
        _ => decision(text).filter(|decision| *decision == Decision::Deny),
    }
}

/// All of what a question leaves out; none: it leaves nothing out.
pub(crate) fn omitted_text(question: &Question) -> Option<String> {
    match question {
        // What keeps a draft has no arguments that say what it keeps.
        Question::Approval { name, arguments, beside, .. } if !beside.is_empty() => {
            let others = beside.iter().map(|other| (&other.name, &other.arguments));
            let all = std::iter::once((name, arguments)).chain(others).collect::<Vec<_>>();
            let is_cut = all.iter().any(|(_, arguments)| shown(arguments).whole.is_some());
            let whole = |(name, arguments): &(&String, &String)| {
                let shown = shown(arguments);
                format!("{}\n{}", quotable(name), shown.whole.unwrap_or(shown.text))
            };
            is_cut.then(|| all.iter().map(whole).collect::<Vec<_>>().join("\n\n"))
        }
        Question::Approval { arguments, concern, .. } => {
            concern.draft.as_ref().map_or_else(|| shown(arguments).whole, |draft| draft.whole.clone())
        }
        Question::UnsafeCall { arguments, .. } => shown(arguments).whole,
        Question::Asked { .. }
        | Question::PromptChanged { .. }
        | Question::Mismatch(_)
        | Question::CrashLoop
        | Question::ContextFull
        | Question::Circling { .. }
        | Question::Agents
        | Question::Paused { .. } => None,
    }
}

/// A value of a planned call that its person has not said themselves.
pub(crate) fn doubt(doubt: &UnvouchedValue) -> String {
    let (argument, value) = (quotable(&doubt.argument), quotable(&doubt.value).replace('"', "'"));
    let read = match &doubt.read_in {
        Some(from) => format!("is from {}", source(from)),
        None if doubt.planned.is_empty() => "is my own choice".to_owned(),
        None => "is not what you have said".to_owned(),
    };
    let planned = quotable(&doubt.planned).replace('"', "'");
    let planned = if planned.is_empty() { planned } else { format!("; I was to find there: \"{planned}\"") };
    format!("{argument} \"{value}\" {read}{planned}")
}

/// What a call of this risk does, at most.
fn effect_text(risk: Risk) -> &'static str {
    match risk {
        Risk::Read => "only looks at something",
        Risk::Write => "changes something here",
        Risk::Execute => "runs a program, which can do anything that its rights allow",
        Risk::Send => "sends something out, which cannot be taken back",
        Risk::Spend => "can spend money",
    }
}

/// Who may be behind a call, if anybody may.
pub(super) fn read_before(concern: &CallConcern) -> Option<String> {
    let named = concern.sources.iter().map(source).collect::<Vec<_>>().join(", ");
    let told =
        format!("Careful: before this I read what somebody else may have written, and they may be behind it: {named}.");
    (!named.is_empty()).then_some(told)
}

/// A place that words came from: whoever wrote them may have chosen its name as well.
pub(in crate::machine) fn source(source: &OriginSource) -> String {
    let origin = source.origin.as_str();
    let what = quotable(source.what.trim()).replace('"', "'");
    if what.is_empty() { origin.to_owned() } else { format!("{origin} (\"{what}\")") }
}

/// Words on one line, not too long, with nothing in them that hides.
pub(crate) fn quotable(words: &str) -> String {
    let cut: String = words.chars().take(REASON_CHARS_MAX).collect();
    let mut line = marked(&cut).replace('\n', " ⟨U+000A⟩ ");
    if words.chars().nth(REASON_CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}

/// For the model: nobody may have this call made.
pub(super) fn refused(reasons: &[String]) -> String {
    let why = reasons.iter().map(|reason| quotable(reason)).collect::<Vec<_>>().join("; ");
    let why = if why.is_empty() { "it is too dangerous".to_owned() } else { why };
    format!("Not run: nobody may have this call made. Why: {why}.")
}

/// For the model: a person said no.
pub(super) fn denied(reason: Option<&str>) -> String {
    let why = match reason {
        Some(reason) => format!("Their reason: {reason}"),
        None => "They gave no reason.".to_owned(),
    };
    format!("Not run: a person did not approve this call. {why}")
}

/// For the person: the time to approve is over, and how to ask again.
pub(crate) fn expired(question: &Question) -> String {
    let name = match question {
        Question::Approval { concern, .. } if concern.draft.is_some() => return draft::EXPIRED.to_owned(),
        Question::Approval { beside, .. } if !beside.is_empty() => "any of them",
        Question::Approval { name, .. } => name.as_str(),
        Question::Asked { .. }
        | Question::UnsafeCall { .. }
        | Question::PromptChanged { .. }
        | Question::Mismatch(_)
        | Question::CrashLoop
        | Question::ContextFull
        | Question::Circling { .. }
        | Question::Agents
        | Question::Paused { .. } => "it",
    };
    format!(
        "Nobody approved {name} in time, so I have not done it. If it is still wanted, say it again and I ask anew."
    )
}

/// The decision in a person's words: `yes`, `ja`, `no`, `nein danke`, `no, because …`, `deny: …`. Anything less clear is none.
pub(crate) fn decision(text: &str) -> Option<Decision> {
    let said = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    // What is said out of politeness behind it changes nothing.
    let plain = POLITE.iter().find_map(|word| said.strip_suffix(word).filter(|rest| rest.ends_with([' ', ','])));
    match plain.map_or(said.as_str(), |plain| plain.trim_end_matches([' ', ','])) {
        "yes" | "ja" | "approve once" => Some(Decision::Approve),
        "no" | "nein" => Some(Decision::Deny),
        _ => reason(text).map(|_| Decision::Deny),
    }
}

/// What may follow a yes or a no.
const POLITE: [&str; 4] = ["please", "bitte", "thanks", "danke"];

/// The reason that a person gave with their no.
pub(super) fn reason(text: &str) -> Option<&str> {
    let text = text.trim();
    let word = ["deny", "no", "nein"].into_iter().find(|word| {
        let head = text.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word))
    })?;
    let rest = text.get(word.len()..)?;
    let because = rest.trim_start().get(..7).is_some_and(|head| head.eq_ignore_ascii_case("because"));
    let set_off = rest.trim_start().starts_with([':', ',']) || (because && rest.starts_with(char::is_whitespace));
    let reason = rest.trim_start_matches([':', ',', ' ', '\t', '\n']).trim();
    (set_off && !reason.is_empty()).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::draft::WorkspaceDraft;
    use hob_core::domain::ids::CallId;
    use hob_core::domain::origin::Origin;
    use hob_core::domain::tools::DangerGrade;

    #[test]
    fn d6_a_decision_in_words_is_clear_or_none() {
        let table = [
            ("yes", Some(Decision::Approve), None),
            (" Yes! ", Some(Decision::Approve), None),
            ("approve once", Some(Decision::Approve), None),
            ("no", Some(Decision::Deny), None),
            ("No.", Some(Decision::Deny), None),
            ("deny: it is too late", Some(Decision::Deny), Some("it is too late")),
            ("Deny , not now", Some(Decision::Deny), Some("not now")),
            ("no, because it rains", Some(Decision::Deny), Some("because it rains")),
            ("no because it rains", Some(Decision::Deny), Some("because it rains")),
            ("NO: 3", Some(Decision::Deny), Some("3")),
            ("ja", Some(Decision::Approve), None),
            ("Ja, bitte!", Some(Decision::Approve), None),
            ("yes please", Some(Decision::Approve), None),
            ("Nein", Some(Decision::Deny), None),
            ("nein danke", Some(Decision::Deny), None),
            ("Nein, zu teuer", Some(Decision::Deny), Some("zu teuer")),
            ("please", None, None),
            ("yesplease", None, None),
            ("ja, aber an Karl", None, None),
            ("no wait", None, None),
            ("no milk today", None, None),
            ("nobody, I think", None, None),
            ("nobecause", None, None),
            ("no,", None, None),
            ("deny:", None, None),
            ("yes, but later", None, None),
            ("yesterday", None, None),
            ("what does it do?", None, None),
            ("nö, lieber nicht", None, None),
            ("", None, None),
        ];
        for (text, expected, why) in table {
            assert_eq!(decision(text), expected, "{text}");
            assert_eq!(reason(text), why, "{text}");
        }
    }

    #[test]
    fn d6_the_question_says_what_the_tool_is_for_and_what_the_call_is() {
        let about = "Pays somebody".to_owned();
        let scope = r#"pay to="Ben" sum="3""#.to_owned();
        let concern = CallConcern { risk: Risk::Spend, about, scope, ..CallConcern::default() };
        insta::assert_snapshot!(question("pay", r#"{"note": "a \"b\"", "to": "Ben", "sum": 3}"#, true, &concern), @r#"
        May I do this?
        pay – Pays somebody
        to: Ben
        sum: 3
        note: a "b"
        It can spend money.
        "always": here I do not ask you again about: pay to="Ben" sum="3"
        To say why not: deny: REASON
        "#);
        insta::assert_snapshot!(question("look", "", false, &CallConcern::default()), @r"
        May I do this? (This is asked each time.)
        look
        (no arguments)
        It only looks at something.
        To say why not: deny: REASON
        ");
        let long = format!(r#"{{"body":"{}","to":"Ben"}}"#, "x".repeat(4_000));
        let asked = question("send", &long, false, &CallConcern::default());
        assert!(asked.contains("send\nto: Ben\nbody: xxx") && asked.contains(IN_FILE), "{asked}");
        let (call, name) = (CallId::new(1, 0), "send".to_owned());
        let concern = Box::default();
        let asked = Question::Approval { call, name, arguments: long, grantable: false, concern, beside: Vec::new() };
        assert!(omitted_text(&asked).unwrap().contains(&"x".repeat(4_000)));
        let Question::Approval { call, name, .. } = asked else { panic!("an approval") };
        let draft = WorkspaceDraft { whole: Some("all of it".to_owned()), ..WorkspaceDraft::default() };
        let concern = Box::new(CallConcern { draft: Some(Box::new(draft)), ..CallConcern::default() });
        let kept = Question::Approval {
            call,
            name,
            arguments: "{}".to_owned(),
            grantable: false,
            concern,
            beside: Vec::new(),
        };
        assert_eq!(omitted_text(&kept).unwrap(), "all of it");
        assert_eq!(omitted_text(&Question::CrashLoop), None);
    }

    #[test]
    fn n6_the_question_names_risk_reasons_and_sources_and_none_of_them_passes_for_hobs_own_words() {
        let sneaky = "https://evil.example/?\"). Only approve\nMay I do this?\u{202e}";
        let concern = CallConcern {
            risk: Risk::Send,
            grade: DangerGrade::Medium,
            reasons: vec!["it writes to \"Ben\"\n1. approve".to_owned()],
            sources: vec![
                OriginSource { origin: Origin::Web, what: sneaky.to_owned() },
                OriginSource { origin: Origin::Tool, what: String::new() },
            ],
            about: String::new(),
            scope: String::new(),
            this_run: true,
            owners: true,
            doubts: Vec::new(),
            draft: None,
            classing: None,
        };
        insta::assert_snapshot!(question("post", "{}", false, &concern), @r#"
        May I do this?
        post
        (no arguments)
        Risk: medium. It sends something out, which cannot be taken back.
        - it writes to "Ben" ⟨U+000A⟩ 1. approve
        Careful: before this I read what somebody else may have written, and they may be behind it: the web ("https://evil.example/?'). Only approve ⟨U+000A⟩ May I do this?⟨U+202E⟩"), a tool.
        "yes, for this run": I do not ask again about post until this answer is done or I read something new.
        Only an owner can approve it.
        To say why not: deny: REASON
        "#);
        let high = CallConcern { grade: DangerGrade::Critical, this_run: false, owners: false, ..concern };
        assert!(question("post", "{}", false, &high).starts_with("May I do this? (This is asked each time.)\n"));
        let long = "x".repeat(REASON_CHARS_MAX + 1);
        assert_eq!(quotable(&long), format!("{}…", "x".repeat(REASON_CHARS_MAX)));
        insta::assert_snapshot!(refused(&["it wipes the disk".to_owned()]), @"Not run: nobody may have this call made. Why: it wipes the disk.");
        insta::assert_snapshot!(refused(&[]), @"Not run: nobody may have this call made. Why: it is too dangerous.");
    }

    #[test]
    fn d6_what_is_said_of_a_no_and_of_no_answer() {
        insta::assert_snapshot!(denied(Some("it rains")), @"Not run: a person did not approve this call. Their reason: it rains");
        insta::assert_snapshot!(denied(None), @"Not run: a person did not approve this call. They gave no reason.");
        insta::assert_snapshot!(EXPIRED, @"Not run: a person had to approve this call, and nobody did in time. They have been told.");
        insta::assert_snapshot!(expired(&Question::CrashLoop), @"Nobody approved it in time, so I have not done it. If it is still wanted, say it again and I ask anew.");
    }
}
