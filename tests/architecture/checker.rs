//! The checker itself, on small sources: it must be able to fail.

use std::path::Path;

use crate::check;

fn complaints(file: &str, source: &str) -> String {
    let found = check(Path::new(file), source);
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn pure_rooms_do_not_see_the_world() {
    assert_eq!(
        complaints("crates/core/src/policy/mod.rs", "use std::time::Duration; fn f(rand: u64) -> u64 { rand }"),
        ""
    );
    assert_eq!(complaints("crates/agent/src/driver.rs", "async fn f() { tokio::task::yield_now().await; }"), "");
    insta::assert_snapshot!(
        complaints(
            "crates/agent/src/machine/apply.rs",
            "use std::time;\nuse std::fs::File;\nfn f() { std::env::args(); }\nfn g() {\n    assert!(rand::random());\n}\nasync fn h() {}\n"
        ),
        @"
    crates/agent/src/machine/apply.rs:1: pure `hob_agent::machine::apply` uses `std::time`: what it tells must come in as an argument or an event
    crates/agent/src/machine/apply.rs:2: pure `hob_agent::machine::apply` uses `std::fs::File`: what it tells must come in as an argument or an event
    crates/agent/src/machine/apply.rs:3: pure `hob_agent::machine::apply` uses `std::env::args`: what it tells must come in as an argument or an event
    crates/agent/src/machine/apply.rs:5: pure `hob_agent::machine::apply` uses `rand::random`: what it tells must come in as an argument or an event
    crates/agent/src/machine/apply.rs:7: pure `hob_agent::machine::apply` waits: return what is to be done, and let the caller await it
    "
    );
}

#[test]
fn the_machine_does_not_know_its_driver() {
    let apply = "crates/agent/src/machine/apply.rs";
    assert_eq!(complaints(apply, "use crate::machine::state::State; use super::event; use hob_model::message;"), "");
    insta::assert_snapshot!(
        complaints(apply, "use crate::driver::Driver;"),
        @"crates/agent/src/machine/apply.rs:1: pure `hob_agent::machine::apply` imports `hob_agent::driver::Driver`: of its own crate it may know pure rooms alone"
    );
}

#[test]
fn groups_renames_globs_and_supers_are_seen_through() {
    insta::assert_snapshot!(
        complaints(
            "crates/agent/src/machine/apply.rs",
            "use crate::{\n    machine::state,\n    driver as hidden,\n};\nuse super::super::journal::*;\n\
             mod tests {\n    use super::super::super::quota;\n}\n"
        ),
        @"
    crates/agent/src/machine/apply.rs:3: pure `hob_agent::machine::apply` imports `hob_agent::driver`: of its own crate it may know pure rooms alone
    crates/agent/src/machine/apply.rs:5: pure `hob_agent::machine::apply` imports `hob_agent::journal`: of its own crate it may know pure rooms alone
    crates/agent/src/machine/apply.rs:7: pure `hob_agent::machine::apply` imports `hob_agent::quota`: of its own crate it may know pure rooms alone
    "
    );
}

#[test]
fn macros_are_looked_into() {
    insta::assert_snapshot!(
        complaints("crates/agent/src/machine/apply.rs", "fn f() {\n    let x = vec![Some(\n        crate::driver::ONE),\n    ];\n}\n"),
        @"crates/agent/src/machine/apply.rs:3: pure `hob_agent::machine::apply` imports `hob_agent::driver::ONE`: of its own crate it may know pure rooms alone"
    );
}
