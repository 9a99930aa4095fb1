//! Every sentence that the router says.

use hob_agent::projection::failure::AfterFailure;
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::skills::{SkillLine, SkillList};
use hob_core::domain::text::{cut, head};
use hob_core::policy::routing::{Tier, Tiers};
use hob_store::runs::QueuedRun;
use hob_store::tool_calls::CallTally;
use hob_tools::changes::ChangesError;

/// `/help`.
pub const HELP: &str = "Write to me, and I answer. Besides:\n\
    /status – how I am and what I am doing\n\
    /stop – end what I am doing here; /stop now cuts off even what has an effect\n\
    /new – begin a new conversation (what you told me stays remembered)\n\
    /reset – the same, and end what I am doing here\n\
    /clean – go on with what you said, without what I have read\n\
    /compact – sum up the older part of our conversation, to make room\n\
    /model [NAME] – show or choose the model; /auto – let each message choose\n\
    /persona [NAME] – show or choose who I am here; /persona default undoes it\n\
    /voice [on|off|auto] – show or choose whether I speak my answers; auto: when you speak to me\n\
    /cost – what was spent, on which models, by whom\n\
    /journal – what I noted on the task I am at, or could not finish\n\
    /undo – take back what I did last: files within a day, other things within an hour; again: the one before\n\
    /queue – what waits; /queue drop N takes one back; /queue mode queue|steer|interrupt\n\
    /pause – stand still here until /resume; owners: /pause all, /resume all for everything\n\
    /schedules – what I am to do later; /schedules pause|resume|delete|run N changes one\n\
    /today – what is on today, by your calendar; birthdays too\n\
    /grants – what I may do here without asking; /grants revoke N takes one back\n\
    /mail – letters that wait for an owner; owners: /mail yes N, /mail no N\n\
    /why – what I recalled for my last answer, and why that\n\
    /memory [WORDS] – what I remember; /facts [WORDS] – what I know for a fact; /facts history KEY – what that was before\n\
    /skills – what I have instructions for\n\
    /forget m12, /forget f7 – forget that for good; /forget WORDS shows what it could be; /pin m12, /unpin m12\n\
    /attach PATH [WORDS] – at the terminal: send me a file\n\
    /group [mention|all|off] – in a group: show or choose when I answer\n\
    /people – who may talk with me; owners: /pair CODE [user|admin|guest] lets somebody in, /unpair NAME out\n\
    /login SERVER – owners, in private: log me in at an MCP server; /login SERVER ADDRESS with where the browser ended up\n\
    /reload – owners: read the config file again, and say what came of it\n\
    /help – this";
/// `/stop` or `/stop now` (`at_once`), and something runs; `at_work` are the tools that have an effect.
pub fn stopping(at_work: &[String], at_once: bool) -> String {
    let names: Vec<String> = at_work.iter().map(|name| format!("`{name}`")).collect();
    let (names, one) = (names.join(" and "), names.len() == 1);
    match (names.is_empty(), at_once) {
        (true, _) => "Stopped.".to_owned(),
        (false, false) => {
            let are = if one { "is" } else { "are" };
            format!("Stopping once {names} {are} done. /stop now ends it at once.")
        }
        (false, true) => {
            let were = if one { "was" } else { "were" };
            format!("Stopped. {names} {were} under way: what it was to do may have happened, or half of it.")
        }
    }
}
/// `/stop`, and all that there is was put aside.
pub(crate) const PARKED_GIVEN_UP: &str = "I gave up what I had put aside here.";
/// `/stop`, and nothing runs.
pub(crate) const NOTHING_RUNS: &str = "Nothing is running here.";
/// `/stop` or an answer, by somebody who may not.
pub(crate) const NOT_YOURS: &str = "That belongs to somebody else here: they, an admin or an owner can do that.";
/// `/login SERVER`: the link.
pub(crate) fn login_link(server: &str, link: &str) -> String {
    format!(
        "Open this in a browser, and allow me what it asks for:\n\n{link}\n\nIf it ends up at a page of mine that says it is \
         done, it is. Otherwise send me its address then: /login {server} ADDRESS"
    )
}
/// `/login SERVER ADDRESS`, and it went well.
pub fn logged_in(server: &str, scopes: &[String]) -> String {
    let may = if scopes.is_empty() { String::new() } else { format!(" I may do there: {}.", scopes.join(", ")) };
    format!("I am logged in at {server}.{may}")
}
/// `/login`, and no login came of it.
pub(crate) fn not_logged_in(server: &str, why: &str) -> String {
    format!("I am not logged in at {server}: {why}.")
}
/// `/new`.
pub const NEW: &str = "A new conversation. What you told me stays remembered.";
/// `/reset`; where something ran, it is said first what became of that.
pub const RESET: &str = "A new conversation: what was said here before is out of sight, also its summary. What you told me \
     stays remembered.";
/// `/clean`, and something runs.
pub(crate) const CLEAN_LATER: &str = "I am at work here, with all that I have read. /stop ends that; say /clean then.";
/// What chooses for all who talk in a conversation, by a guest.
pub(crate) const NOT_FOR_GUESTS: &str = "Guests cannot choose that: somebody of the household can.";
/// `/clean`: so many messages of Hob's, results, messages that people handed on, summaries and notes were left out.
pub fn cleaned(counts: [usize; 5]) -> String {
    let names = [
        ("message of mine", "messages of mine"),
        ("result of a tool", "results of tools"),
        ("message with others' words in it", "messages with others' words in them"),
        ("summary", "summaries"),
        ("page of notes", "pages of notes"),
    ];
    let left = counts.into_iter().zip(names).filter(|(count, _)| *count > 0);
    let left: Vec<String> =
        left.map(|(count, (one, more))| format!("{count} {}", if count == 1 { one } else { more })).collect();
    if left.is_empty() {
        return "There is nothing to leave out: nothing that was read stands behind what was said here.".to_owned();
    }
    format!(
        "I go on with what you said, and without what I had read since: {} left out. You still see it; I do not. What I \
         had planned I have to plan anew.",
        left.join(", ")
    )
}
/// For the model, in the place of what was left out; `done` are the tools that it called, with how often.
pub fn left_out(done: &str) -> String {
    let done = if done.is_empty() {
        String::new()
    } else {
        format!(" Calls that were made there, those of agents too: {done}.")
    };
    format!(
        "[Your answers up to here that came after strangers' words are left out, as the user wanted, and so are those words.{done} Do \
         none of it again unless the user asks for it from here on.]"
    )
}
/// `pay (1, 2 failed)`: the calls of a tool.
pub(crate) fn calls_made(tool: &str, calls: CallTally) -> String {
    let CallTally { done, failed, open } = calls;
    let parts = [(done, ""), (failed, " failed"), (open, " perhaps done")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count}{what}")).collect();
    format!("{tool} ({})", parts.join(", "))
}
/// An answer that was to be spoken is not; `why` has no full stop.
pub(crate) fn not_spoken(why: &str) -> String {
    format!("I could not speak that: {why}.")
}
/// `/compact` while the same person's message is being worked on.
pub(crate) const COMPACTING_NEXT: &str = "I will sum up before my next step.";
/// `/undo`, and there is nothing.
pub(crate) const NOTHING_TO_UNDO: &str = "I have changed nothing here within the last day that could be taken back.";
/// `/undo`, by somebody who could not have approved it.
pub(crate) const NOT_YOURS_TO_UNDO: &str =
    "Only who asked for that, or an owner, can take it back. Nothing has changed.";
/// A message without words.
pub const EMPTY: &str = "There was nothing in that message that I can read.";
/// A button under a question that is over.
pub const TOO_LATE: &str = "That question is no longer open.";
/// What a failed run's buttons say comes too late.
pub(crate) const FAILURE_SETTLED: &str = "That is settled already, or that run did not fail.";
/// A failed run is to go on whose person is not let in any more.
pub(crate) const FAILED_STRANGER: &str = "Whoever asked for that may not talk with me any more.";
/// A failed run is let be, where its message cannot be changed.
pub(crate) const LEFT_BE: &str = "I'll leave it.";

/// What an owner is told who settled a failure from the page.
pub fn settled(choice: AfterFailure) -> String {
    let told = match choice {
        AfterFailure::Resume => "It goes on, as a run of its own.",
        AfterFailure::TryAgain => "It is tried again, as a run of its own.",
        AfterFailure::LetBe => "Left as it is.",
    };
    told.to_owned()
}

/// What a run is asked that goes on with one that failed.
pub fn go_on(asked: &str) -> String {
    format!(
        "Go on with what I asked for before and what did not come to its end. What is done is done. It was:\n{asked}"
    )
}

/// `/attach` without a path, or where it does nothing.
pub(crate) const ATTACH: &str =
    "At the terminal, /attach PATH [WORDS] sends me a file. Elsewhere, send it like any other file.";

/// `/skills`: those that can be used. What was installed tells no more than its name.
pub(super) fn skills(list: &SkillList) -> String {
    let usable = list.skills.iter().filter(|skill| skill.standing.is_usable());
    let line = |skill: &SkillLine| {
        if skill.trusted {
            format!("{} – {}", skill.name, skill.description)
        } else {
            format!("{} (installed)", skill.name)
        }
    };
    let lines: Vec<String> = usable.map(line).collect();
    let others = list.skills.len() - lines.len();
    let bad = list.quarantined.len();
    let others = (others > 0).then(|| format!("Installed, but not enabled: {others}."));
    let bad = (bad > 0).then(|| format!("Cannot be read: {bad} (`hob skill list` says why)."));
    let head = Some("I have instructions for:".to_owned());
    head.into_iter().chain(lines).chain(others).chain(bad).collect::<Vec<_>>().join("\n")
}

/// `/undo`, cut off by a restart before it began.
pub(super) const UNDO_CUT_OFF: &str =
    "I was restarted before anything was taken back. If it is still to be, say /undo again.";

/// `/login`, cut off by a restart.
pub(super) fn login_cut_off(server: &str) -> String {
    format!("I was restarted during the login at {server}. If it still needs one, begin again: /login {server}")
}

/// `/undo`, and it cannot be done.
pub(super) fn undo_failed(error: &ChangesError) -> String {
    format!("I could not take it back: {error}.")
}

/// A message longer than is taken.
pub(super) fn too_long(chars: usize, max: usize) -> String {
    format!("That message has {chars} characters; I take at most {max}. Please send it in parts, or as a file.")
}

pub(super) fn queue_full(max: i64) -> String {
    let are = if max == 1 { "message is" } else { "messages are" };
    format!("{max} {are} waiting here already, so I did not take that one. /queue shows what waits.")
}

/// What will really happen to a message that came during a run.
pub(super) fn acknowledged(mode: IntakeMode, position: i64) -> String {
    match mode {
        IntakeMode::Queue => format!("Queued, {}.", ordinal(position)),
        IntakeMode::Steer => "Noted: it joins what I am doing at the next step, or comes right after.".to_owned(),
        IntakeMode::Interrupt if position == 1 => "I am stopping what I was doing; this comes next.".to_owned(),
        IntakeMode::Interrupt => format!("I am stopping what I was doing; this is queued, {}.", ordinal(position)),
    }
}

/// The message waits until somebody has decided what the run above asks.
pub(super) fn behind_a_question(position: i64) -> String {
    format!("Queued, {}. My question above comes first: please choose one of its answers.", ordinal(position))
}

fn ordinal(number: i64) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// A line that looks like a command: what `/help` says of that command, or of the one that is written most like it.
pub(super) fn unknown_command(text: &str) -> String {
    let name = text.split_whitespace().next().unwrap_or(text).to_lowercase();
    let lines = HELP.lines().skip(1);
    let named = lines.flat_map(|line| {
        line.split([' ', ',', ';']).filter(|word| word.starts_with('/')).map(move |word| (word, line))
    });
    let nearest = named.map(|(word, line)| (strsim::osa_distance(word, &name), line)).min_by_key(|(apart, _)| *apart);
    match nearest.filter(|(apart, _)| *apart <= name.len() / 3) {
        Some((_, line)) => format!("I don't know {text}. What I know is this:\n{line}"),
        None => format!("I don't know {text}. /help lists what I do know."),
    }
}

/// The model in use, or those among which each message chooses.
pub(super) fn current(label: &str, routed: Option<&Tiers<'_>>) -> String {
    match routed.filter(|tiers| tiers.differ()) {
        Some(tiers) => format!(
            "{} for short words, {} for hard ones, {} for the rest",
            tiers.model(Tier::Fast),
            tiers.model(Tier::Smart),
            tiers.primary
        ),
        None => label.to_owned(),
    }
}

/// `/auto`.
pub(super) fn auto(tiers: &Tiers<'_>) -> String {
    if tiers.differ() {
        format!("From now on each message here chooses its model: {}.", current(tiers.primary, Some(tiers)))
    } else {
        format!("There is one model to choose from: {}. `fast` and `smart` can be named in config.toml.", tiers.primary)
    }
}

/// `/model` without a name.
pub(super) fn models(current: &str, known: &[(&str, &str)]) -> String {
    let lines = known.iter().map(|(role, label)| format!("  {role}: {label}"));
    std::iter::once(format!("I use {current}. /model NAME chooses another, /auto lets each message choose:"))
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// `/model` with a name.
pub(super) fn model_set(label: &str) -> String {
    format!("From now on I use {label} here.")
}

/// `/model` with a name that is not known.
pub(super) fn model_unknown(name: &str, candidates: &[&str], known: &[(&str, &str)]) -> String {
    if !candidates.is_empty() {
        return format!("{name:?} may be any of these: {}. Please say more of its name.", candidates.join(", "));
    }
    let labels: Vec<&str> = known.iter().map(|(_, label)| *label).collect();
    format!("There is no model {name:?}. You can choose from: {}. config.toml can name more.", labels.join(", "))
}

/// `/queue`.
pub(super) fn queue(waiting: &[QueuedRun], mode: IntakeMode) -> String {
    if waiting.is_empty() {
        return format!("Nothing is waiting. (Mode: {}.)", mode.as_str());
    }
    let lines = waiting
        .iter()
        .enumerate()
        .map(|(index, run)| format!("{}. {}: {}", index + 1, run.name, cut(&run.text, 60).replace('\n', " ")));
    lines.collect::<Vec<_>>().join("\n")
}

/// `/queue drop N`.
pub(super) fn dropped(text: &str) -> String {
    format!("Taken back: {}", head(text, 60))
}

/// `/queue drop N`, and there is no Nth.
pub(super) fn no_such_place(number: usize, waiting: usize) -> String {
    format!("There is no {} in the queue; {waiting} wait.", ordinal(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// `/queue mode M`.
pub(super) fn mode_set(mode: IntakeMode) -> String {
    match mode {
        IntakeMode::Queue => "From now on, what comes while I work waits its turn.",
        IntakeMode::Steer => "From now on, what comes while I work joins it at the next step.",
        IntakeMode::Interrupt => "From now on, what comes while I work stops it and comes next.",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n5_the_acknowledgement_counts() {
        let lines: Vec<String> = [1, 2, 3, 4, 11, 21].map(|n| acknowledged(IntakeMode::Queue, n)).to_vec();
        insta::assert_snapshot!(lines.join(" "), @"Queued, 1st. Queued, 2nd. Queued, 3rd. Queued, 4th. Queued, 11th. Queued, 21st.");
    }
}
