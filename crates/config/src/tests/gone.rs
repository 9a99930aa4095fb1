//! Keys that are gone.

use std::path::Path;

use crate::environment::Environment;
use crate::gone::GONE;
use crate::load::of_text;
use crate::shape::{self, Field, Shape};
use crate::{Config, place};

#[test]
fn n7_a_key_that_is_gone_stops_nobody_and_is_told() {
    let text = "[agent]\nqueue_len_max = 'many'\niterations_max = 9\n[guards]\nwindow_calls = 12\n\
                [mcp.notes]\ncommand = ['x']\nstart_timeout_secs = 5\n";
    let loaded = of_text(Path::new("/w/config.toml"), text, &Environment::of("/w", [("A", "1:a")])).unwrap();
    assert_eq!((loaded.config.agent.iterations_max, loaded.config.mcp.len()), (9, 1));
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(notes.join("\n"), @r"
    line 2: agent.queue_len_max is gone: Hob lets 50 messages wait in a conversation by itself; remove it
    line 5: guards.window_calls is gone: Hob looks at a run's last 6 tool calls by itself; remove it
    line 8: mcp.notes.start_timeout_secs is gone: Hob gives a server a minute to start by itself; remove it
    ");
}

/// Is there a key at this path?
fn is_known(fields: &[Field], path: &[&str]) -> bool {
    let [first, rest @ ..] = path else { return true };
    let Some(field) = fields.iter().find(|field| field.name == *first) else { return false };
    match (&field.shape, rest) {
        (_, []) => true,
        (Shape::Section(inner), _) => is_known(inner, rest),
        (Shape::Map { item, .. }, [_, rest @ ..]) => matches!(&**item, Shape::Section(inner) if is_known(inner, rest)),
        _ => false,
    }
}

#[test]
fn n7_what_is_gone_is_no_key_and_its_section_is_there() {
    let root = shape::of::<Config>();
    for (path, _) in GONE {
        let name = path.iter().fold(String::new(), |at, step| place::child(&at, step));
        assert!(!is_known(&root, path), "{name} is a key");
        let section = path.iter().take(path.len() - 1).copied().collect::<Vec<_>>();
        assert!(is_known(&root, &section), "{name}: there is no such section");
    }
}
