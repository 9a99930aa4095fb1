//! How what was switched is switched back (row N16): by another call of `home_do`, which is offered only if it brings back all that
//! people saw, and made only while things stand as they were left.

use serde_json::{Map, Value};

use crate::entity::EntityState;
use crate::tools::act::{Arguments, ServiceCall};
use hob_core::domain::undo::InverseCall;

/// What is on or off, and nothing else that a person sees. A light has its brightness and its colour besides.
const ON_OR_OFF: [&str; 3] = ["input_boolean", LIGHT, "switch"];
const LIGHT: &str = "light";

/// The call that takes this one back; none: there is no such call.
pub(super) fn of(order: &ServiceCall, before: &[EntityState], after: &[EntityState]) -> Option<InverseCall> {
    let is_known = ON_OR_OFF.contains(&order.domain) && matches!(order.service.as_str(), "turn_on" | "turn_off");
    if !is_known || after.len() != order.ids.len() {
        return None;
    }
    let (was, told) = (shared(before, |one| one.state.clone())?, shared(before, |one| one.told_state().text)?);
    let only_if = shared(after, |one| one.told_state().text)?;
    let look = shared(before, look)?;
    let (service, data) = match was.as_str() {
        "off" => ("turn_off", Map::new()),
        "on" => ("turn_on", if order.domain == LIGHT { look? } else { Map::new() }),
        _ => return None,
    };
    // What is as it was need not be brought back: unless it is a light that has another colour now.
    if told == only_if && shared(after, self::look)?.as_ref() == Some(&data) {
        return None;
    }
    let back = Arguments {
        service: format!("{}.{service}", order.domain),
        entities: order.ids.iter().map(ToString::to_string).collect(),
        data: (!data.is_empty()).then_some(data),
        only_if: Some(only_if),
    };
    Some(InverseCall { tool: "home_do".to_owned(), arguments: serde_json::to_string(&back).ok()? })
}

/// What all of them have alike.
fn shared<T: PartialEq>(states: &[EntityState], of: impl Fn(&EntityState) -> T) -> Option<T> {
    let (first, others) = states.split_first()?;
    let first = of(first);
    others.iter().all(|other| of(other) == first).then_some(first)
}

/// The data that makes a light look as it does; none: it cannot be told.
fn look(light: &EntityState) -> Option<Map<String, Value>> {
    let mut data = Map::new();
    let is_steady = |effect: &Value| effect.is_null() || effect.as_str().is_some_and(|effect| effect == "off");
    if !light.attribute("effect").is_none_or(is_steady) {
        return None;
    }
    if let Some(of_255) = light.attribute("brightness").and_then(Value::as_f64) {
        data.insert("brightness_pct".to_owned(), ((of_255 / 0.0255).round() / 100.0).into());
    }
    let color = match light.attribute("color_mode").and_then(Value::as_str) {
        None | Some("onoff" | "brightness" | "unknown") => return Some(data),
        Some("color_temp") => "color_temp_kelvin",
        Some("hs" | "rgb" | "xy") => "rgb_color",
        Some(_) => return None,
    };
    data.insert(color.to_owned(), light.attribute(color).filter(|value| !value.is_null())?.clone());
    Some(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn light(state: &str, attributes: Value) -> EntityState {
        let raw = json!({ "entity_id": "light.kitchen", "state": state, "attributes": attributes });
        EntityState::of(serde_json::from_value(raw).unwrap()).unwrap()
    }

    /// What takes a call back that is made for as many as there are.
    fn back(domain: &'static str, service: &str, before: &[EntityState], after: &[EntityState]) -> Option<Value> {
        let ids = before.iter().map(|one| one.id.clone()).collect();
        let order = ServiceCall { domain, service: service.to_owned(), ids, data: Map::new() };
        of(&order, before, after).map(|back| serde_json::from_str(&back.arguments).unwrap())
    }

    #[test]
    fn n16_a_light_gets_back_what_people_saw() {
        let (off, on) = (|| light("off", json!({})), || light("on", json!({})));
        let dim = || light("on", json!({ "brightness": 128, "color_mode": "color_temp", "color_temp_kelvin": 2700 }));
        let red = || light("on", json!({ "brightness": 128, "color_mode": "hs", "rgb_color": [255, 0, 0] }));
        let call = |service: &str, data: Value, only_if: &str| {
            let mut call =
                json!({ "service": service, "entities": ["light.kitchen"], "data": data, "only_if": only_if });
            if data.is_null() {
                call["data"] = Value::Null;
            }
            Some(call)
        };
        let warm = json!({ "brightness_pct": 50.2, "color_temp_kelvin": 2700 });
        for (service, before, after, expected) in [
            ("turn_on", off(), dim(), call("light.turn_off", Value::Null, "on, 50 %")),
            ("turn_off", dim(), off(), call("light.turn_on", warm.clone(), "off")),
            ("turn_on", dim(), red(), call("light.turn_on", warm, "on, 50 %")),
            // Nothing is other than before, or it does not come back.
            ("turn_on", on(), on(), None),
            ("turn_on", dim(), dim(), None),
            ("turn_off", off(), off(), None),
            ("turn_off", light("on", json!({ "effect": "rainbow" })), off(), None),
            ("turn_off", light("on", json!({ "color_mode": "rgbww" })), off(), None),
            ("turn_off", light("unavailable", json!({})), off(), None),
            ("toggle", off(), on(), None),
        ] {
            let told = format!("{service}: {before:?}");
            assert_eq!(back("light", service, &[before], &[after]), expected, "{told}");
        }
    }

    #[test]
    fn n16_only_what_is_on_or_off_and_alike_is_undone() {
        let (off, on) = (|| light("off", json!({})), || light("on", json!({})));
        assert!(back("switch", "turn_on", &[off(), off()], &[on(), on()]).is_some());
        assert_eq!(back("switch", "turn_on", &[off(), on()], &[on(), on()]), None);
        assert_eq!(back("switch", "turn_on", &[off(), off()], &[on()]), None, "of one it is not known how it stands");
        for other in ["lock", "cover", "script", "siren", "fan"] {
            assert_eq!(back(other, "turn_on", &[off()], &[on()]), None, "{other}");
        }
    }
}
