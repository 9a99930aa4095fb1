//! Pictures that come with messages: by reference in all that is recorded, and read by a run of which a model sees.

use super::{ANNA, BEN, Script, accepted, begun, done, principal, says, wants};
use crate::machine::accepted_input::{AcceptedInput, SteeringMessage};
use crate::machine::compaction::ContextView;
use crate::machine::effect::ModelCall;
use crate::machine::event::Event;
use crate::machine::fingerprint::fingerprint;
use crate::machine::run_start::RunStart;
use hob_core::domain::ids::{FileId, RunId};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_model::error::ErrorClass;
use hob_model::message::{MediaType, Message, Picture, Pictures};
use hob_model::tokens;

fn photo() -> Picture {
    let (hash, name) = ("5".repeat(64), "photo.jpg".to_owned());
    Picture { file: FileId(3), hash, media_type: MediaType::Jpeg, name, bytes: 900 }
}

fn shown() -> AcceptedInput {
    AcceptedInput { pictures: vec![photo()].into(), ..accepted() }
}

fn of(begun: RunStart) -> Script {
    let mut run = Script::fresh();
    run.check(Event::Accepted(shown()), &[]);
    run.check(Event::Begun(Box::new(begun)), &["ask a/one Work"]);
    run
}

fn joins(taint: Taint) -> Event {
    let (principal, text) = (principal(BEN), "and this".to_owned());
    Event::Steered(SteeringMessage { run: RunId(9), principal, text, taint, pictures: vec![photo()].into() })
}

#[test]
fn c6_a_picture_is_in_the_history_by_reference_and_counts_as_one() {
    let run = of(begun());
    let first = &run.run().transcript.messages()[0];
    assert_eq!(*first, Message::user_with("hello", &[photo()]));
    assert_eq!(run.run().transcript.tokens(), tokens::message(&Message::user("hello")) + 1_000);
    let plain = Script::begun();
    assert_ne!(run.run().transcript.digest(), plain.run().transcript.digest(), "another request");
    assert_ne!(fingerprint(&run.state), fingerprint(&plain.state));
}

#[test]
fn c6_a_message_without_pictures_is_stored_as_ever() {
    let stored = serde_json::to_string(&Event::Accepted(accepted())).unwrap();
    assert!(!stored.contains("pictures"), "{stored}");
    let begun = serde_json::to_string(&Event::Begun(Box::new(begun()))).unwrap();
    assert!(!begun.contains("sees"), "{begun}");
    for event in [Event::Accepted(shown()), joins(Taint::default())] {
        let stored = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&stored).unwrap(), event, "{stored}");
    }
    assert!(Pictures::from(Vec::new()).is_empty());
}

#[test]
fn n6_a_picture_that_joins_is_read_where_a_model_sees() {
    let read = Taint::from_iter([OriginSource::new(Origin::File, "photo.jpg")]);
    for (sees, expected) in [(true, read), (false, Taint::default())] {
        let mut run = of(RunStart { sees, ..begun() });
        run.check(wants(&["look"]), &["run 1.0 look #1"]);
        run.check(joins(Taint::default()), &[]);
        assert_eq!(run.run().taint, expected, "sees: {sees}");
        run.check(done("1.0"), &["ask a/one Work"]);
        let joined = run.run().transcript.messages().last().unwrap();
        assert_eq!(*joined, Message::user_with("[Ben] and this", &[photo()]));
        run.check(says("Nice."), &["answer Nice.", "end Completed"]);
    }
}

#[test]
fn n6_what_others_say_in_a_recording_taints_whom_it_joins() {
    let taint = Taint::from_iter([OriginSource::new(Origin::File, "song.mp3")]);
    let mut run = Script::acting(&["look"]);
    run.check(joins(taint.clone()), &[]);
    assert_eq!(run.run().taint, taint);
}

#[test]
fn c6_a_quoted_message_keeps_its_words_and_not_its_pictures() {
    let run = of(begun());
    let view = ContextView { from: 1, left_out: 1, ..ContextView::default() };
    assert_eq!(view.of_transcript(&run.run().transcript, 0), [Message::user("hello")]);
    assert_eq!(
        ContextView::default().of_transcript(&run.run().transcript, 0),
        [Message::user_with("hello", &[photo()])]
    );
    assert_eq!(run.run().transcript.entries().next().unwrap().author, Some(ANNA));
}

fn refuses(class: ErrorClass, pictures: bool) -> Event {
    Event::ModelFailed { class, message: "no".to_owned(), retry_after_ms: None, pictures }
}

fn asked(run: &Script) -> ModelCall {
    run.run().open_call().unwrap().clone()
}

#[test]
fn c6_pictures_that_a_model_refuses_are_left_out_of_a_call_of_its_own() {
    for class in [ErrorClass::BadRequest, ErrorClass::Refused] {
        let mut run = of(RunStart { sees: true, ..begun() });
        let first = asked(&run);
        run.check(refuses(class, true), &["ask a/one Work"]);
        let second = asked(&run);
        assert!(second.blind && !first.blind && second.digest != first.digest, "another request, on record");
        let recorded = run.journal.iter().filter(|event| matches!(event, Event::ModelAsked { .. })).count();
        assert_eq!(recorded, 2);
        run.check(wants(&["look"]), &["run 1.0 look #1"]);
        run.check(done("1.0"), &["ask a/one Work"]);
        assert!(asked(&run).blind, "it is not asked in vain each time");
        assert_ne!(fingerprint(&run.state), fingerprint(&of(RunStart { sees: true, ..begun() }).state));
        run.check(says("Nice."), &["answer Nice.", "end Completed"]);
    }
}

#[test]
fn c6_what_is_refused_without_pictures_is_refused() {
    let mut run = of(RunStart { sees: true, ..begun() });
    run.check(refuses(ErrorClass::BadRequest, true), &["ask a/one Work"]);
    run.check(refuses(ErrorClass::BadRequest, false), &["ask b/two Work"]);
    assert!(!asked(&run).blind, "the next model may see");
    run.check(refuses(ErrorClass::BadRequest, true), &["ask b/two Work"]);
    assert!(asked(&run).blind);
    for class in [ErrorClass::Auth, ErrorClass::UnknownModel, ErrorClass::Billing] {
        let mut run = of(RunStart { sees: true, ..begun() });
        run.check(refuses(class, true), &["ask b/two Work"]);
    }
}
