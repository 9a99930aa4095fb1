//! The checker itself, on small sources: it must be able to fail.

use std::path::Path;

use crate::check;

fn complaints(file: &str, source: &str) -> String {
    let found = check(Path::new(file), source);
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn lower_ranks_may_be_imported() {
    assert_eq!(complaints("router/intake.rs", "use crate::store::Db; fn f() { crate::agent::run(); }"), "");
    assert_eq!(complaints("main.rs", "use hob::cli::run;"), "");
    assert_eq!(complaints("lib.rs", "pub mod anything;"), "");
}

#[test]
fn a_higher_rank_is_refused() {
    insta::assert_snapshot!(
        complaints("store/db.rs", "//! Not crate::router.\n\nuse crate::domain::ids::RunId;\nuse crate::router::intake::Intake;\n"),
        @"src/store/db.rs:4: `store` (rank 2) imports `router` (rank 7): only lower ranks may be imported; turn it round with a port in `domain`"
    );
}

#[test]
fn a_stranger_of_the_same_rank_is_refused() {
    insta::assert_snapshot!(
        complaints("policy/access.rs", "fn f() {\n    crate::config::load();\n}\n"),
        @"src/policy/access.rs:2: `policy` (rank 1) imports `config` (rank 1): modules of one rank are strangers; move what both need to a lower one"
    );
}

#[test]
fn groups_renames_globs_and_supers_are_seen_through() {
    insta::assert_snapshot!(
        complaints(
            "model/client.rs",
            "use crate::{\n    domain::ids,\n    agent::driver as hidden,\n};\nuse super::super::router::*;\n\
             mod tests {\n    use super::super::super::web;\n}\n"
        ),
        @"
    src/model/client.rs:3: `model` (rank 3) imports `agent` (rank 6): only lower ranks may be imported; turn it round with a port in `domain`
    src/model/client.rs:5: `model` (rank 3) imports `router` (rank 7): only lower ranks may be imported; turn it round with a port in `domain`
    src/model/client.rs:7: `model` (rank 3) imports `web` (rank 8): only lower ranks may be imported; turn it round with a port in `domain`
    "
    );
}

#[test]
fn macros_are_looked_into() {
    insta::assert_snapshot!(
        complaints("store/db.rs", "fn f() {\n    let x = vec![Some(\n        crate::router::ONE),\n    ];\n}\n"),
        @"src/store/db.rs:3: `store` (rank 2) imports `router` (rank 7): only lower ranks may be imported; turn it round with a port in `domain`"
    );
}

#[test]
fn a_new_module_needs_a_rank() {
    insta::assert_snapshot!(
        complaints("attic/mod.rs", ""),
        @"src/attic/mod.rs:1: `attic` has no rank: give it one in tests/architecture.rs and docs/architecture.md"
    );
    insta::assert_snapshot!(
        complaints("cli/run.rs", "use crate::attic::Box;"),
        @"src/cli/run.rs:1: `cli` imports `attic`, which has no rank: give it one in tests/architecture.rs, or name the module that owns it"
    );
}

#[test]
fn channels_are_strangers() {
    assert_eq!(complaints("channel/telegram/send.rs", "use crate::channel::telegram::api;"), "");
    insta::assert_snapshot!(
        complaints("channel/telegram/send.rs", "use crate::channel::console::LOCAL;"),
        @"src/channel/telegram/send.rs:1: `channel::telegram` imports `channel::console`: the children of `channel` are strangers; move what both need to `domain`"
    );
}

#[test]
fn pure_rooms_do_not_see_the_world() {
    assert_eq!(complaints("policy/mod.rs", "use std::time::Duration; fn f(rand: u64) -> u64 { rand }"), "");
    assert_eq!(complaints("agent/driver.rs", "async fn f() { tokio::task::yield_now().await; }"), "");
    insta::assert_snapshot!(
        complaints(
            "agent/machine/apply.rs",
            "use std::time;\nuse std::fs::File;\nfn f() { std::env::args(); }\nfn g() {\n    assert!(rand::random());\n}\nasync fn h() {}\n"
        ),
        @"
    src/agent/machine/apply.rs:1: pure `agent::machine::apply` uses `std::time`: what it tells must come in as an argument or an event
    src/agent/machine/apply.rs:2: pure `agent::machine::apply` uses `std::fs::File`: what it tells must come in as an argument or an event
    src/agent/machine/apply.rs:3: pure `agent::machine::apply` uses `std::env::args`: what it tells must come in as an argument or an event
    src/agent/machine/apply.rs:5: pure `agent::machine::apply` uses `rand::random`: what it tells must come in as an argument or an event
    src/agent/machine/apply.rs:7: pure `agent::machine::apply` waits: return what is to be done, and let the caller await it
    "
    );
}

#[test]
fn the_machine_does_not_know_its_driver() {
    assert_eq!(complaints("agent/machine/apply.rs", "use crate::agent::machine::state::State; use super::event;"), "");
    insta::assert_snapshot!(
        complaints("agent/machine/apply.rs", "use crate::agent::driver::Driver;"),
        @"src/agent/machine/apply.rs:1: pure `agent::machine::apply` imports `agent::driver::Driver`: only pure rooms and lower ranks are pure enough"
    );
}
