//! What a run may do that has listened to words nobody vouches for, and what a dangerous call needs (rows D6, N6).

use super::agents::{agent, ended, spawns};
use super::{
    ANNA, BEN, Script, accepted, answers, begun, completion, crash, done, finished, presses, principal, says, stop,
    system, wants,
};
use crate::machine::accepted_input::{AcceptedInput, SteeringMessage};
use crate::machine::agents::AgentTask;
use crate::machine::answer_rights::{self, PermittedAnswerer};
use crate::machine::approval;
use crate::machine::event::{Event, RunEnd, ToolOutcome};
use crate::machine::outbound_allowance;
use crate::machine::policy::Policy;
use crate::machine::question::{CallConcern, Question};
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use crate::machine::status::Status;
use crate::machine::step;
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::inbound::{ALOUD, ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, Risk, ToolFacts};
use hob_model::message::Pictures;

/// `look` looks, `send` tells somebody, `old` is only known to change something, `ask` is asked about and looks, `pay` is asked
/// about and spends, `wipe` is asked about each time.
fn run_start() -> RunStart {
    let facts = |risk, approval| ToolFacts { risk, approval, changes: risk != Risk::Read, ..ToolFacts::default() };
    let old = ToolFacts { changes: true, ..ToolFacts::default() };
    let tools = [
        ("look", facts(Risk::Read, Approval::Free)),
        ("send", facts(Risk::Send, Approval::Free)),
        ("again", facts(Risk::Write, Approval::Free)),
        ("old", old),
        ("ask", facts(Risk::Read, Approval::Ask)),
        ("pay", facts(Risk::Spend, Approval::Ask)),
        ("wipe", facts(Risk::Write, Approval::Critical)),
    ];
    let mut policy = Policy::default();
    policy.guards.enabled = false;
    RunStart {
        policy: Some(Box::new(policy)),
        tools: tools.map(|(name, facts)| (name.to_owned(), facts)).into(),
        idempotent_tools: vec!["look".to_owned(), "again".to_owned()],
        ..begun()
    }
}

fn started(begun: RunStart) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(begun)), &["ask a/one Work"]);
    run
}

/// The tool answers with words that nobody vouches for.
fn reads(call: &str, origin: Origin, what: &str) -> Event {
    let outcome = ToolOutcome::Text { text: "ok".to_owned(), is_error: false };
    Event::ToolFinished {
        call: CallId(call.to_owned()),
        outcome,
        source: Some(OriginSource::new(origin, what)),
        draft: None,
        undo: None,
    }
}

fn assessed(all: &[(Risk, DangerGrade, &str)]) -> Event {
    let of = |(risk, grade, why): &(Risk, DangerGrade, &str)| Assessment {
        risk: *risk,
        grade: *grade,
        reasons: vec![(*why).to_owned()],
        ..Assessment::default()
    };
    Event::Assessed { calls: all.iter().map(of).collect() }
}

/// A run that has read a page.
fn tainted() -> Script {
    let mut run = started(run_start());
    run.check(wants(&["look"]), &["run 1.0 look #1"]);
    run.check(reads("1.0", Origin::Web, "https://a.example/"), &["ask a/one Work"]);
    run
}

fn concern(run: &Script) -> (bool, CallConcern) {
    let Phase::Waiting { question: Question::Approval { grantable, concern, .. }, .. } = &run.run().phase else {
        panic!("{:?}", run.run().phase)
    };
    (*grantable, CallConcern::clone(concern))
}

fn sources(run: &Script) -> Vec<String> {
    concern(run).1.sources.iter().map(ToString::to_string).collect()
}

#[test]
fn n6_what_a_run_has_read_is_in_its_way_until_its_end() {
    let mut run = started(run_start());
    run.check(wants(&["send", "old"]), &["run 1.0 send #1", "run 1.1 old #1"]);
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
    run.check(wants(&["look"]), &["run 2.0 look #1"]);
    run.check(reads("2.0", Origin::Web, "https://a.example/"), &["ask a/one Work"]);
    run.check(wants(&["look", "send", "old"]), &["run 3.0 look #1"]);
    run.check(done("3.0"), &["human approves 3.1 send"]);
    assert_eq!(sources(&run), ["the web (https://a.example/)"]);
    let (grantable, asked) = concern(&run);
    assert!(!grantable && asked.this_run && !asked.owners && asked.risk == Risk::Send);
    run.check(answers("approve"), &["run 3.1 send #1"]);
    run.check(done("3.1"), &["human approves 3.2 old"]);
    assert_eq!(concern(&run).1.risk, Risk::Execute, "what is only known to change something is no look");
    run.check(answers("deny"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 4.0 send"]);
    run.check(answers("always"), &["human approves 4.0 send"]);
    run.check(answers("no"), &["ask a/one Work"]);
    assert_eq!(run.on(says("Not sent.")).last().unwrap(), "end Completed");
    assert!(run.run().granted.is_empty());
}

/// The next reply looks at these sites, by addresses that it was told.
fn looks_at(run: &mut Script, cycle: u32, sites: &[&str]) -> Vec<String> {
    let of = |site: &&str| Assessment { site: Some((*site).to_owned()), ..Assessment::usual(Risk::Read) };
    run.on(Event::Assessed { calls: sites.iter().map(of).collect() });
    let told = run.on(wants(&vec!["look"; sites.len()]));
    for (index, _) in sites
        .iter()
        .enumerate()
        .filter(|(index, _)| told.iter().any(|said| said.starts_with(&format!("run {cycle}.{index} "))))
    {
        run.on(done(&format!("{cycle}.{index}")));
    }
    told
}

#[test]
fn n6_a_tainted_run_looks_at_few_pages_of_a_site_unasked() {
    let mut run = tainted();
    let told = looks_at(&mut run, 2, &["evil.example"; 6]);
    assert_eq!(told, (0..4).map(|index| format!("run 2.{index} look #1")).collect::<Vec<_>>());
    let (_, asked) = concern(&run);
    assert_eq!(asked.risk, Risk::Send);
    insta::assert_snapshot!(asked.reasons.join("\n"), @"it has looked at 4 pages of evil.example unasked, and which one it chooses tells its host something");
    run.check(answers("no"), &["human approves 2.5 look"]);
    run.check(answers("no"), &["ask a/one Work"]);
    // A process that is new folds the same journal: it has not forgotten.
    run.check(crash(), &["ask a/one Work"]);
    assert_eq!(looks_at(&mut run, 3, &["evil.example"]), ["human approves 3.0 look"]);
    run.check(answers("no"), &["ask a/one Work"]);
    assert_eq!(looks_at(&mut run, 4, &["good.example"]), ["run 4.0 look #1"]);
}

#[test]
fn n6_a_tainted_run_looks_at_few_pages_in_all_unasked() {
    let mut run = tainted();
    let sites: Vec<String> = (0..20).map(|number| format!("{number}.example")).collect();
    let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
    let told = looks_at(&mut run, 2, &sites);
    assert_eq!(told.len(), 16, "{told:?}");
    let mut clean = started(run_start());
    assert_eq!(looks_at(&mut clean, 1, &["a.example"; 20]).len(), 20, "nobody has told a clean run what to choose");
}

/// The agent that this call handed a task on to.
fn agent_of(run: &Script, call: &str) -> Script {
    let looks = outbound_allowance::share_for_agent(run.run(), &CallId(call.to_owned()));
    let stored = serde_json::to_string(&AgentTask { looks, ..agent(1) }).unwrap();
    let agent = Some(Box::new(serde_json::from_str::<AgentTask>(&stored).unwrap()));
    let mut worker = Script::fresh();
    worker.on(Event::Accepted(AcceptedInput { agent, taint: run.run().taint.clone(), ..accepted() }));
    worker.on(Event::Begun(Box::new(RunStart { taint: run.run().taint.clone(), ..run_start() })));
    worker
}

/// It is done, and its looks were the run's.
fn reports(run: &mut Script, call: &str, worker: &Script) -> Vec<String> {
    let Event::ChildEnded(mut end) = ended(call, "Looked.", RunEnd::Completed) else { unreachable!() };
    end.reached = worker.run().reached.clone();
    let stored = serde_json::to_string(&Event::ChildEnded(end)).unwrap();
    run.on(serde_json::from_str(&stored).unwrap())
}

fn unasked(told: &[String]) -> usize {
    told.iter().filter(|said| said.starts_with("run ")).count()
}

#[test]
fn n6_agents_of_a_tainted_run_share_its_looks() {
    let mut run = tainted();
    assert_eq!(unasked(&looks_at(&mut run, 2, &["evil.example"; 2])), 2);
    run.on(wants(&["spawn_agent"]));
    run.check(spawns("3.0"), &["agents"]);
    let mut worker = agent_of(&run, "3.0");
    assert_eq!(unasked(&looks_at(&mut worker, 1, &["evil.example"; 4])), 2, "its count goes on from there");
    assert_eq!(reports(&mut run, "3.0", &worker), ["ask a/one Work"]);
    run.on(wants(&["spawn_agent", "spawn_agent", "spawn_agent"]));
    for call in ["4.0", "4.1", "4.2"] {
        run.on(spawns(call));
    }
    // Twelve are left in all, four of a site, none of the one.
    let mut there = 0;
    let workers = ["4.0", "4.1", "4.2"].map(|call| (call, agent_of(&run, call)));
    for ((call, mut worker), share) in workers.into_iter().zip([2, 1, 1]) {
        let told = looks_at(&mut worker, 1, &["evil.example", "b.example", "b.example", "b.example"]);
        assert_eq!(unasked(&told), share, "{call}: {told:?}");
        assert_eq!(concern(&worker).1.reasons.len(), 1);
        there += share;
        reports(&mut run, call, &worker);
    }
    assert_eq!(there, 4);
    assert_eq!(run.run().reached, [("b.example".to_owned(), 4), ("evil.example".to_owned(), 4)].into());
    let sites: Vec<String> = (0..12).map(|number| format!("{number}.example")).collect();
    let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
    assert_eq!(unasked(&looks_at(&mut run, 5, &sites)), 8);
}

#[test]
fn n6_a_run_may_begin_tainted() {
    let taint = Taint::from_iter([OriginSource::new(Origin::File, "/srv/notes.txt")]);
    let mut run = started(RunStart { taint, granted: vec![r#"pay a="1""#.to_owned()], ..run_start() });
    run.check(wants(&["pay"]), &["human approves 1.0 pay"]);
    assert_eq!(sources(&run), ["a file (/srv/notes.txt)"], "what was allowed for good does not hold here");
    run.check(answers("approve"), &["run 1.0 pay #1"]);
}

#[test]
fn n6_not_again_in_this_run_holds_until_something_new_is_read() {
    let mut run = tainted();
    run.check(wants(&["send", "old", "send"]), &["human approves 2.0 send"]);
    run.check(answers("2"), &["run 2.0 send #1"]);
    run.check(done("2.0"), &["human approves 2.1 old"]);
    run.check(answers("no"), &["human approves 2.2 send"]);
    assert_eq!(sources(&run), ["the web (https://a.example/)"], "what waited beside it was not seen, and is");
    run.check(answers("approve"), &["run 2.2 send #1"]);
    run.check(reads("2.2", Origin::Tool, "send"), &["ask a/one Work"]);
    assert!(run.run().excused.is_empty(), "its own answer came from somewhere new");
    run.check(wants(&["send"]), &["human approves 3.0 send"]);
    run.check(answers("yes, for this run"), &["run 3.0 send #1"]);
    run.check(reads("3.0", Origin::Tool, "send"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["run 4.0 send #1"]);
    run.check(done("4.0"), &["ask a/one Work"]);
    run.check(wants(&["look"]), &["run 5.0 look #1"]);
    run.check(reads("5.0", Origin::Web, "https://a.example/"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 6.0 send"]);
    assert!(run.run().granted.is_empty());
}

#[test]
fn n6_what_counts_is_new_words_and_not_a_new_name() {
    let many: Taint = (0..12).map(|n| OriginSource::new(Origin::File, &n.to_string())).collect();
    let mut run = started(RunStart { taint: many, ..run_start() });
    run.check(wants(&["send"]), &["human approves 1.0 send"]);
    run.check(answers("2"), &["run 1.0 send #1"]);
    // The place was known, what it says was not.
    run.check(reads("1.0", Origin::File, "3"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 2.0 send"]);
    run.check(answers("2"), &["run 2.0 send #1"]);
    run.check(reads("2.0", Origin::File, "3"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["run 3.0 send #1"]);
    let Event::ToolFinished { call, source, .. } = reads("3.0", Origin::File, "3") else { unreachable!("it is done") };
    let outcome = ToolOutcome::Text { text: "something else".to_owned(), is_error: false };
    run.check(Event::ToolFinished { call, outcome, source, draft: None, undo: None }, &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 4.0 send"]);
}

#[test]
fn n6_what_is_asked_about_anyway_is_covered_by_the_word_for_this_run() {
    let mut run = tainted();
    run.check(wants(&["pay"]), &["human approves 2.0 pay"]);
    run.check(answers("yes, for this run"), &["run 2.0 pay #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(wants(&["pay", "wipe"]), &["run 3.0 pay #1"]);
    run.check(done("3.0"), &["human approves 3.1 wipe"]);
    let (grantable, asked) = concern(&run);
    assert!(!grantable && !asked.this_run, "the critical is asked each time");
    assert_eq!(sources(&run), ["the web (https://a.example/)"]);
    run.check(answers("yes, for this run"), &["human approves 3.1 wipe"]);
    run.check(answers("no"), &["ask a/one Work"]);
    run.check(wants(&["ask"]), &["human approves 4.0 ask"]);
    assert!(concern(&run).0 && sources(&run).is_empty(), "a look is asked about for its tool's sake alone");
}

#[test]
fn n6_what_waits_for_its_turn_waits_for_a_word_once_something_was_read() {
    let mut household = run_start();
    household.tools.get_mut("send").unwrap().exclusive = true;
    let mut run = started(household);
    run.check(wants(&["look", "send", "again"]), &["run 1.0 look #1"]);
    run.check(reads("1.0", Origin::Email, "mallory@example.com"), &["human approves 1.1 send"]);
    run.check(answers("approve"), &["run 1.1 send #1"]);
    run.check(done("1.1"), &["human approves 1.2 again"]);
}

#[test]
fn d6_a_grade_decides_beside_the_tools_own_setting() {
    let table = [
        (DangerGrade::Safe, "run", false),
        (DangerGrade::Medium, "asked", true),
        (DangerGrade::High, "asked", false),
        (DangerGrade::Critical, "asked", false),
    ];
    for (grade, expected, grantable) in table {
        let mut run = started(run_start());
        run.check(assessed(&[(Risk::Execute, grade, "it deletes files")]), &[]);
        if expected == "run" {
            run.check(wants(&["send"]), &["run 1.0 send #1"]);
            continue;
        }
        run.check(wants(&["send"]), &["human approves 1.0 send"]);
        let (can, asked) = concern(&run);
        assert_eq!((can, asked.grade, asked.risk), (grantable, grade, Risk::Execute));
        assert_eq!(asked.reasons, ["it deletes files"]);
        run.check(answers(if grantable { "always" } else { "approve" }), &["run 1.0 send #1"]);
        run.check(done("1.0"), &["ask a/one Work"]);
        assert!(run.run().assessed.is_empty());
        run.check(assessed(&[(Risk::Execute, grade, "it deletes files")]), &[]);
        let next = if grantable { "run 2.0 send #1" } else { "human approves 2.0 send" };
        run.check(wants(&["send"]), &[next]);
    }
}

#[test]
fn d6_what_is_refused_is_never_made_whoever_says_so() {
    let mut run = started(RunStart { granted: vec!["pay".to_owned()], ..run_start() });
    let refused = (Risk::Execute, DangerGrade::Refused, "it wipes the disk");
    run.check(assessed(&[refused, (Risk::Read, DangerGrade::Safe, "")]), &[]);
    run.check(wants(&["pay", "look"]), &["run 1.1 look #1"]);
    run.check(done("1.1"), &["ask a/one Work"]);
    assert_eq!(run.said()[2], "tool 1.0 failed: Not run: nobody may have this call made. Why: it wipes the disk.");
    run.check(assessed(&[refused]), &[]);
    run.check(wants(&["pay"]), &["ask a/one Work"]);
    assert_eq!(run.state.status(), Status::Running);
}

#[test]
fn n6_a_call_that_only_looks_is_free_whatever_its_tool_may_do() {
    let mut run = tainted();
    run.check(assessed(&[(Risk::Read, DangerGrade::Safe, ""), (Risk::Write, DangerGrade::Safe, "")]), &[]);
    run.check(wants(&["send", "send"]), &["run 2.0 send #1"]);
    run.check(done("2.0"), &["human approves 2.1 send"]);
}

#[test]
fn n6_what_was_known_of_one_reply_says_nothing_of_the_next() {
    let mut run = tainted();
    run.check(assessed(&[(Risk::Read, DangerGrade::Safe, "")]), &[]);
    run.check(Event::ModelAnswered(completion("", &[])), &["ask a/one Work in 2000 ms"]);
    run.check(wants(&["send"]), &["human approves 2.0 send"]);
}

#[test]
fn n6_in_a_tainted_run_nothing_is_made_again_by_itself() {
    let passing = |call: &str| finished(call, ToolOutcome::Transient { text: "busy".to_owned() });
    let mut run = started(run_start());
    run.check(wants(&["again"]), &["run 1.0 again #1"]);
    run.check(passing("1.0"), &["agent.tool.retry", "run 1.0 again #2 in 500 ms"]);
    // What it says of its failure is not read before it is told.
    let Event::ToolFinished { call, outcome, .. } = passing("1.0") else { unreachable!("it is done") };
    let source = Some(OriginSource::new(Origin::Tool, "again"));
    run.check(
        Event::ToolFinished { call, outcome, source, draft: None, undo: None },
        &["agent.tool.retry", "run 1.0 again #3 in 2000 ms"],
    );
    assert!(run.run().taint.is_clean());
    let mut run = tainted();
    run.check(wants(&["again"]), &["human approves 2.0 again"]);
    run.check(answers("approve"), &["run 2.0 again #1"]);
    run.check(passing("2.0"), &["ask a/one Work"]);
    run.check(wants(&["again"]), &["human approves 3.0 again"]);
    run.check(crash(), &[]);
    run.check(answers("approve"), &["run 3.0 again #1"]);
    run.check(crash(), &["human unsafe 3.0 again"]);
    assert!(approval::is_due(run.run(), &CallId::new(3, 0)));
    run.check(answers("run it again"), &["run 3.0 again #2"]);
    // What was under way when something was read is not free either.
    let mut run = started(run_start());
    run.check(wants(&["look", "again"]), &["run 1.0 look #1", "run 1.1 again #1"]);
    run.check(reads("1.0", Origin::Web, "https://a.example/"), &[]);
    run.check(crash(), &["human unsafe 1.1 again"]);
}

#[test]
fn n6_pause_expiry_and_stop_stay_what_they_are() {
    let mut run = tainted();
    run.check(wants(&["send"]), &["human approves 2.0 send"]);
    run.check(Event::PauseRequested { by: BEN }, &[]);
    run.check(answers("approve"), &["paused"]);
    run.check(Event::PauseLifted { by: BEN }, &["run 2.0 send #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 3.0 send"]);
    run.check(presses(1, "1"), &["ignored: that question is no longer open"]);
    run.check(Event::Expired { question: run.run().questions }, &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 4.0 send"]);
    run.check(stop(), &["end Cancelled"]);
}

#[test]
fn n6_who_joins_brings_their_own_taint() {
    let joins = |role, trust| {
        let principal = Principal { role, trust, ..principal(BEN) };
        Event::Steered(SteeringMessage {
            run: RunId(9),
            principal,
            text: "and this".to_owned(),
            taint: Taint::default(),
            pictures: Pictures::default(),
        })
    };
    for (role, trust, taints) in [
        (Role::User, Trust::Trusted, false),
        (Role::Guest, Trust::Trusted, true),
        (Role::Owner, Trust::Untrusted, true),
    ] {
        let mut run = started(run_start());
        run.check(wants(&["look"]), &["run 1.0 look #1"]);
        run.check(joins(role, trust), &[]);
        assert_eq!(run.run().taint.is_clean(), !taints, "{role:?}");
        run.check(done("1.0"), &["ask a/one Work"]);
        run.check(wants(&["send"]), &[if taints { "human approves 2.0 send" } else { "run 2.0 send #1" }]);
    }
}

#[test]
fn n6_what_a_guest_wants_done_only_an_owner_allows() {
    let guest = Principal { role: Role::Guest, ..principal(ANNA) };
    let taint = Taint::from_iter(OriginSource::of_speaker(&guest, accepted().destination.conversation.channel));
    let mut run = Script::fresh();
    run.check(Event::Accepted(AcceptedInput { principal: guest, ..accepted() }), &[]);
    run.check(Event::Begun(Box::new(RunStart { taint, ..run_start() })), &["ask a/one Work"]);
    run.check(wants(&["send", "ask"]), &["human approves 1.0 send"]);
    assert!(concern(&run).1.owners && approval::is_for_owners(run.run(), &CallId::new(1, 0)));
    assert_eq!(sources(&run), ["a guest (Anna)"]);
    run.check(answers("deny"), &["human approves 1.1 ask"]);
    assert!(!concern(&run).1.owners, "a look is for who asked for it");
    assert!(!approval::is_for_owners(run.run(), &CallId::new(1, 1)));
}

#[test]
fn f9_what_is_asked_about_by_voice_only_an_owner_allows() {
    let mut heard = accepted();
    heard.destination.conversation = Conversation {
        channel: ChannelKind::Web,
        account: DEFAULT_ACCOUNT.to_owned(),
        chat: format!("{ALOUD}kitchen"),
        thread: None,
    };
    let mut run = Script::fresh();
    run.check(Event::Accepted(heard), &[]);
    run.check(Event::Begun(Box::new(run_start())), &["ask a/one Work"]);
    run.check(wants(&["send", "wipe"]), &["run 1.0 send #1"]);
    run.check(done("1.0"), &["human approves 1.1 wipe"]);
    assert!(concern(&run).1.owners && approval::is_for_owners(run.run(), &CallId::new(1, 1)));
}

#[test]
fn n6_what_a_guest_wanted_and_was_cut_off_is_for_owners_too() {
    let guest = Principal { role: Role::Guest, ..principal(ANNA) };
    let taint = Taint::from_iter(OriginSource::of_speaker(&guest, accepted().destination.conversation.channel));
    let mut run = Script::fresh();
    run.check(Event::Accepted(AcceptedInput { principal: guest, ..accepted() }), &[]);
    run.check(Event::Begun(Box::new(RunStart { taint, ..run_start() })), &["ask a/one Work"]);
    run.check(wants(&["send"]), &["human approves 1.0 send"]);
    run.check(answers("approve"), &["run 1.0 send #1"]);
    run.check(crash(), &["human unsafe 1.0 send"]);
    let Phase::Waiting { question, .. } = &run.run().phase else { panic!("it waits") };
    assert_eq!(PermittedAnswerer::of(run.run(), question), PermittedAnswerer::Owner);
    // Nobody answers: they are asked again, and may take longer each time.
    let number = run.run().questions;
    let mut before = 0;
    for _ in 0..5 {
        let open = answer_rights::stays_open_secs(run.run()).unwrap();
        assert!(open > before);
        before = open;
        run.check(Event::Expired { question: number }, &["human unsafe 1.0 send"]);
    }
    assert_eq!(answer_rights::stays_open_secs(run.run()), Some(before), "but no longer than that");
    assert_eq!(run.run().questions, number, "it is the same question, and its buttons hold");
    run.check(Event::Expired { question: number + 1 }, &["ignored: that question is no longer open"]);
    run.check(answers("it happened"), &["ask a/one Work"]);
}

#[test]
fn lesson_17_every_question_that_waits_for_somebody_has_its_time() {
    let mut run = started(run_start());
    assert_eq!(answer_rights::stays_open_secs(run.run()), None, "nobody is asked");
    run.check(wants(&["pay"]), &["human approves 1.0 pay"]);
    assert_eq!(answer_rights::stays_open_secs(run.run()), Some(300));
    for question in [
        Question::Asked { call: CallId::new(1, 0), text: "Which?".to_owned(), form: None },
        Question::PromptChanged { system: system(2) },
        Question::CrashLoop,
        Question::ContextFull,
        Question::Circling { what: String::new(), words: String::new() },
    ] {
        step(&mut run.state, Event::HumanAsked(question.clone()));
        assert!(answer_rights::stays_open_secs(run.run()).is_some_and(|secs| secs > 300), "{question:?}");
    }
    for nobodys in [Question::Paused { by: BEN }, Question::Agents] {
        let agents = nobodys == Question::Agents;
        step(&mut run.state, Event::HumanAsked(nobodys));
        assert_eq!(answer_rights::stays_open_secs(run.run()), agents.then_some(600));
    }
}
