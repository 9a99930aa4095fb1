//! Every event comes back from its row as it was.

use jiff::Timestamp;
use proptest::prelude::*;

use crate::journal::{VERSION, decode, encode};
use crate::machine::event::Event;
use crate::machine::tests::laws::{any_event, choices};
use crate::machine::tests::world::DrivenRun;
use crate::machine::tests::{done, panic};
use hob_core::domain::ids::RunId;

fn round_trips(event: &Event) {
    let row = encode(event, 7, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!((row.seq, row.kind.as_str(), row.version), (7, event.kind(), VERSION));
    let body: serde_json::Value = serde_json::from_str(&row.body).unwrap();
    assert_eq!(body["kind"], event.kind(), "the column and the body name the same kind");
    assert_eq!(&decode(RunId(1), &row).unwrap(), event);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whole_runs_come_back(choices in choices()) {
        DrivenRun::new(&choices).events().for_each(round_trips);
    }

    #[test]
    fn any_event_comes_back(event in any_event()) {
        round_trips(&event);
    }
}

#[test]
fn what_cannot_be_read_names_its_row() {
    let mut row = encode(&done("1.0"), 7, Timestamp::UNIX_EPOCH).unwrap();
    row.version = 2;
    insta::assert_snapshot!(decode(RunId(3), &row).unwrap_err(), @"the database is inconsistent: run_events 3/7: version 2 of tool.finished is not known here");
    row.version = VERSION;
    row.body = r#"{"kind":"run.danced"}"#.to_owned();
    assert!(decode(RunId(3), &row).unwrap_err().to_string().contains("run_events"));
    round_trips(&panic());
}
