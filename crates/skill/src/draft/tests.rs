use serde_json::json;

use super::*;
use crate::format;

fn rows(calls: &[(&str, Value)]) -> Vec<CallRow> {
    let row = |(index, (name, arguments)): (usize, &(&str, Value))| CallRow {
        call: format!("{}.0", index + 1),
        name: (*name).to_owned(),
        arguments: arguments.to_string(),
        failed: false,
    };
    calls.iter().enumerate().map(row).collect()
}

fn bill(month: &str) -> Vec<CallRow> {
    rows(&[
        ("web_fetch", json!({ "url": "https://a.example/bill", "month": month })),
        ("append_run_journal_entry", json!({ "text": month })),
        ("write_file", json!({ "path": "bills.csv", "text": format!("{month};1"), "append": true })),
        ("remember_fact", json!({ "key": "bill", "value": month })),
    ])
}

#[test]
fn k4_the_same_steps_are_known_whatever_their_words() {
    let print = |rows: &[CallRow]| steps(rows).map(|steps| fingerprint(&steps));
    assert_eq!(print(&bill("May")), print(&bill("June")));
    let mut shuffled = bill("May");
    shuffled.reverse();
    assert_eq!(print(&shuffled), print(&bill("May")), "the order is the calls', not the rows'");
    let mut ten: Vec<CallRow> = rows(&(0..12).map(|_| ("look", json!({}))).collect::<Vec<_>>());
    ten[9].name = "write".to_owned();
    assert_eq!(steps(&ten).unwrap()[9].tool, "write", "the tenth comes after the ninth");
    let mut other = bill("May");
    other[0].arguments = json!({ "url": "x" }).to_string();
    assert_ne!(print(&other), print(&bill("May")), "another shape is another procedure");
}

#[test]
fn k4_what_failed_is_short_or_went_by_a_skill_is_no_procedure() {
    let mut failed = bill("May");
    failed[1].failed = true;
    assert_eq!(steps(&failed), None);
    assert_eq!(steps(&bill("May")[..3]), None, "two calls, and one that steers");
    let mut by_skill = bill("May");
    by_skill[1].name = "use_skill".to_owned();
    assert_eq!(steps(&by_skill), None);
    assert_eq!(steps(&rows(&vec![("look", json!({})); 21])), None);
    let mut odd = bill("May");
    odd[0].arguments = "[1]".to_owned();
    assert_eq!(steps(&odd), None);
}

#[test]
fn k4_a_draft_keeps_what_stayed_and_leaves_gaps_for_what_did_not() {
    let runs: Vec<Vec<ProcedureStep>> =
        ["May", "June", "July"].iter().filter_map(|month| steps(&bill(month))).collect();
    let (name, text) = draft(&runs, &|text| text.replace("a.example", "[redacted]")).unwrap();
    insta::assert_snapshot!(text, @r#"
    ---
    name: do-web-fetch-write-file-remember-fact
    description: A procedure of 3 steps that went well 3 times (web_fetch, write_file, remember_fact). Say here when to use it.
    allowed-tools: remember_fact, web_fetch, write_file
    ---
    # do web fetch write file remember fact

    These steps were done 3 times with success. What is in <angle brackets> was another each time: take it from the request.

    1. Call web_fetch with `month`: <month>; `url`: "https://[redacted]/bill".
    2. Call write_file with `append`: "true"; `path`: "bills.csv"; `text`: <text>.
    3. Call remember_fact with `key`: "bill"; `value`: <value>.

    If a step fails, say so and stop.
    "#);
    let skill = format::parse(text.as_bytes(), Some(&name)).unwrap();
    assert_eq!(skill.allowed_tools, ["remember_fact", "web_fetch", "write_file"]);
    insta::assert_snapshot!(offer(&runs[0], true), @r#"I have now done this 5 times: web_fetch, then write_file, then remember_fact. Shall I keep it as a skill? Say "make a skill draft of it", or run `hob skill draft`. Nothing is kept by itself."#);
    assert!(offer(&runs[0], false).contains("The owner can do that with `hob skill draft`."));
}

#[test]
fn k4_a_draft_is_a_skill_whatever_the_tools_are_called() {
    let odd = rows(&[("A__B", json!({ "a\n---\nb": "x\n---\ny`" })), ("ÄÖ", json!({})), (&"x".repeat(64), json!({}))]);
    let (name, text) = draft(&[steps(&odd).unwrap()], &str::to_owned).unwrap();
    let skill = format::parse(text.as_bytes(), Some(&name)).unwrap();
    assert!(skill.body.contains("`a --- b`: \"x --- y'\""), "{}", skill.body);
}
