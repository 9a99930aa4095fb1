//! How what a server's tool does is taken back, as its owner has declared it, as far as the server's tools are so (row N16).
//!
//! Never: an inverse that nobody has classed, that only looks, or of which an argument is missing or unknown.

use crate::mcp::classes::ClassStatus;
use crate::mcp::listed::ListedTool;
use crate::mcp::settings::Settings;
use hob_core::domain::tool_class::ToolClass;
use hob_core::policy::undo::UndoRule;
use serde_json::Value;

/// The rule for this tool, whose inverse is called as it is called here; none: there is none, or it does not fit what the server has.
pub(super) fn known(
    settings: &Settings,
    tool: &str,
    offered: &[(String, ListedTool)],
    class: &dyn Fn(&ListedTool) -> ClassStatus,
) -> Option<UndoRule> {
    let rule = settings.undo.get(tool)?;
    let (name, inverse) = offered.iter().find(|(_, listed)| listed.name == rule.tool)?;
    let is_classed = matches!(class(inverse), ClassStatus::Said(ToolClass::Changes | ToolClass::Critical));
    if !is_classed || !takes(&inverse.schema, rule) {
        tracing::warn!(
            server = settings.name,
            tool,
            inverse = rule.tool,
            "mcp.undo.unfit: it is not classed, or wants other arguments"
        );
        return None;
    }
    Some(UndoRule { tool: name.clone(), with: rule.with.clone() })
}

/// Does it take these arguments, and want no other?
fn takes(schema: &Value, rule: &UndoRule) -> bool {
    let known = |name: &String| schema.pointer("/properties").and_then(|all| all.get(name)).is_some();
    let required = schema.get("required").and_then(Value::as_array);
    let mut wanted = required.into_iter().flatten().filter_map(Value::as_str);
    rule.with.keys().all(known) && wanted.all(|name| rule.with.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::listed::ToolKind;
    use crate::mcp::tests::program;
    use hob_core::policy::undo::ArgumentSource;
    use serde_json::json;

    #[test]
    fn n16_an_inverse_is_known_classed_and_has_all_that_it_wants() {
        let listed = |name: &str, required: &[&str]| ListedTool {
            name: name.to_owned(),
            description: String::new(),
            schema: json!({ "type": "object", "properties": { "id": {}, "note": {} }, "required": required }),
            reads_only: false,
            idempotent: false,
            destroys: None,
            kind: ToolKind::Tool,
        };
        let of = |with: &str, required: &[&str], class: ClassStatus| {
            let with = [(with.to_owned(), ArgumentSource::parse("$.id").unwrap())].into();
            let rule = UndoRule { tool: "delete_event".to_owned(), with };
            let settings = Settings { undo: [("create_event".to_owned(), rule)].into(), ..program(&["x"]) };
            let offered = [("cal__delete_event".to_owned(), listed("delete_event", required))];
            known(&settings, "create_event", &offered, &|_| class).map(|rule| rule.tool)
        };
        let critical = ClassStatus::Said(ToolClass::Critical);
        assert_eq!(of("id", &["id"], critical).as_deref(), Some("cal__delete_event"));
        assert_eq!(of("id", &[], ClassStatus::Said(ToolClass::Changes)).as_deref(), Some("cal__delete_event"));
        assert_eq!(of("id", &["id", "note"], critical), None, "one is missing");
        assert_eq!(of("event", &[], critical), None, "it has no such argument");
        for class in [ClassStatus::Unsaid, ClassStatus::Stale(ToolClass::Critical), ClassStatus::Said(ToolClass::Looks)]
        {
            assert_eq!(of("id", &["id"], class), None, "{class:?}");
        }
    }
}
