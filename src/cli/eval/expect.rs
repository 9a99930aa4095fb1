//! What came of a case beside what was expected. Pure.

use regex::Regex;

use crate::cli::eval::case::Expectations;
use hob_agent::replay::tree::Evaluation;

/// What was expected and is not so, each in a sentence; what a judge decides is not among it.
pub(super) fn failures(expect: &Expectations, came: &Evaluation) -> Vec<String> {
    let text = came.text.as_deref().unwrap_or_default();
    let result = came.final_tool_result.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    let lacking = |what: &str, whole: &str, parts: &[String]| {
        let missing = parts.iter().filter(|part| !whole.contains(part.as_str()));
        missing.map(|part| format!("{what} does not contain {part:?}")).collect::<Vec<_>>()
    };
    found.extend(lacking("text", text, &expect.text_contains));
    let unwanted = expect.text_lacks.iter().filter(|part| text.contains(part.as_str()));
    found.extend(unwanted.map(|part| format!("text contains {part:?}")));
    found.extend(mismatch("text", text, expect.text_regex.as_deref()));
    found.extend(lacking("final_tool_result", result, &expect.final_tool_result_contains));
    found.extend(mismatch("final_tool_result", result, expect.final_tool_result_regex.as_deref()));
    if let Some(most) = expect.cycles_max.filter(|most| came.cycles > *most) {
        found.push(format!("it took {} cycles, expected at most {most}", came.cycles));
    }
    if let Some(end) = expect.terminated_by.as_deref().filter(|end| came.terminated_by.as_deref() != Some(*end)) {
        found.push(format!("it ended by {}, expected {end}", came.terminated_by.as_deref().unwrap_or("nothing yet")));
    }
    found
}

fn mismatch(what: &str, whole: &str, pattern: Option<&str>) -> Option<String> {
    let pattern = pattern?;
    // The file was refused if it is none.
    let matches = Regex::new(pattern).is_ok_and(|regex| regex.is_match(whole));
    (!matches).then(|| format!("{what} does not match {pattern:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_each_expectation_can_fail_by_itself() {
        let came = Evaluation {
            text: Some("It is 12:30.".to_owned()),
            final_tool_result: Some("12:30".to_owned()),
            cycles: 2,
            terminated_by: Some("answer".to_owned()),
            ok: Some(true),
        };
        let of = |text: &str| failures(&toml::from_str(text).unwrap(), &came).join("; ");
        for good in [
            "text_contains = ['12', '30']\ntext_lacks = ['13']",
            "text_regex = '^It is \\d+:\\d+'",
            "final_tool_result_contains = ['12:30']\nfinal_tool_result_regex = '^\\d'",
            "cycles_max = 2\nterminated_by = 'answer'",
        ] {
            assert_eq!(of(good), "", "{good}");
        }
        for (bad, why) in [
            ("text_contains = ['12', '13']", "text does not contain \"13\""),
            ("text_lacks = ['12']", "text contains \"12\""),
            ("text_regex = '^12'", "text does not match \"^12\""),
            ("final_tool_result_contains = ['13']", "final_tool_result does not contain \"13\""),
            ("final_tool_result_regex = 'x'", "final_tool_result does not match \"x\""),
            ("cycles_max = 1", "it took 2 cycles, expected at most 1"),
            ("terminated_by = 'silence'", "it ended by answer, expected silence"),
        ] {
            assert_eq!(of(bad), why);
        }
    }
}
