//! What can be done with which kind of entity, and how grave that is. Pure: one table.
//!
//! Services and their fields are those of Home Assistant 2024.3 (`homeassistant/components/DOMAIN/services.yaml`), device classes
//! those of `CoverDeviceClass` (<https://developers.home-assistant.io/docs/core/entity/cover/#available-device-classes>). What is
//! not in the table cannot be called: neither what has no entity as its target (`homeassistant.restart`, `shell_command`), nor
//! what names others in its data (`scene.apply`, `group.set`, `media_player.join`), plays or writes what an address says
//! (`play_media`, `snapshot`), sends codes of its own (`remote.send_command`), or takes a door's code.

use hob_core::domain::tools::DangerGrade;
use hob_core::domain::tools::DangerGrade::{Critical, High, Medium, Safe};

/// A kind of entity.
#[derive(Debug)]
pub struct DomainClass {
    pub name: &'static str,
    /// How grave it is to do something with one whose device class says nothing else.
    pub grade: DangerGrade,
    /// The same by device class.
    pub(crate) by_class: &'static [(&'static str, DangerGrade)],
    /// What can be done, each with the data that it takes.
    pub services: &'static [(&'static str, &'static [&'static str])],
}

const ON_OFF: &[(&str, &[&str])] = &[("turn_on", &[]), ("turn_off", &[]), ("toggle", &[])];
const PRESS: &[(&str, &[&str])] = &[("press", &[])];
const SELECT: &[(&str, &[&str])] = &[
    ("select_option", &["option"]),
    ("select_next", &["cycle"]),
    ("select_previous", &["cycle"]),
    ("select_first", &[]),
    ("select_last", &[]),
];
const COLORS: &[&str] = &[
    "transition",
    "brightness_pct",
    "brightness_step_pct",
    "color_name",
    "rgb_color",
    "color_temp_kelvin",
    "effect",
    "flash",
];

const fn plain(
    name: &'static str,
    grade: DangerGrade,
    services: &'static [(&'static str, &'static [&'static str])],
) -> DomainClass {
    DomainClass { name, grade, by_class: &[], services }
}

/// All that can be switched or set.
pub const DOMAINS: [DomainClass; 29] = [
    // Whoever changes these lets somebody in or out, or wakes the street.
    plain("lock", Critical, &[("lock", &[]), ("unlock", &[]), ("open", &[])]),
    plain(
        "alarm_control_panel",
        Critical,
        &[
            ("alarm_arm_home", &[]),
            ("alarm_arm_away", &[]),
            ("alarm_arm_night", &[]),
            ("alarm_arm_vacation", &[]),
            ("alarm_disarm", &[]),
            ("alarm_trigger", &[]),
        ],
    ),
    plain(
        "valve",
        Critical,
        &[("open_valve", &[]), ("close_valve", &[]), ("stop_valve", &[]), ("set_valve_position", &["position"])],
    ),
    plain("siren", Critical, &[("turn_on", &["tone", "volume_level", "duration"]), ("turn_off", &[])]),
    // One that does not say what it moves may be the garage's.
    DomainClass {
        name: "cover",
        grade: Critical,
        by_class: &[
            ("awning", Safe),
            ("blind", Safe),
            ("curtain", Safe),
            ("shade", Safe),
            ("shutter", Safe),
            ("damper", Medium),
            ("window", Critical),
            ("door", Critical),
            ("garage", Critical),
            ("gate", Critical),
        ],
        services: &[
            ("open_cover", &[]),
            ("close_cover", &[]),
            ("stop_cover", &[]),
            ("set_cover_position", &["position"]),
            ("open_cover_tilt", &[]),
            ("close_cover_tilt", &[]),
            ("stop_cover_tilt", &[]),
            ("set_cover_tilt_position", &["tilt_position"]),
        ],
    },
    plain("update", High, &[("install", &[])]),
    plain("camera", High, &[("turn_on", &[]), ("turn_off", &[])]),
    // What these do is known to Home Assistant alone.
    plain("script", Medium, &[("turn_on", &[]), ("turn_off", &[])]),
    plain("scene", Medium, &[("turn_on", &["transition"])]),
    plain("automation", Medium, &[("turn_on", &[]), ("turn_off", &[]), ("trigger", &[])]),
    plain("button", Medium, PRESS),
    plain("input_button", Medium, PRESS),
    plain("remote", Medium, ON_OFF),
    plain("number", Medium, &[("set_value", &["value"])]),
    plain("select", Medium, SELECT),
    plain("text", Medium, &[("set_value", &["value"])]),
    plain("water_heater", Medium, &[("set_temperature", &["temperature"]), ("turn_on", &[]), ("turn_off", &[])]),
    plain("lawn_mower", Medium, &[("start_mowing", &[]), ("pause", &[]), ("dock", &[])]),
    // What is put back as easily as it was changed.
    plain("light", Safe, &[("turn_on", COLORS), ("turn_off", &["transition"]), ("toggle", &[])]),
    plain("switch", Safe, ON_OFF),
    plain("input_boolean", Safe, ON_OFF),
    plain("input_number", Safe, &[("set_value", &["value"]), ("increment", &[]), ("decrement", &[])]),
    plain("input_select", Safe, SELECT),
    plain(
        "fan",
        Safe,
        &[
            ("turn_on", &["percentage"]),
            ("turn_off", &[]),
            ("toggle", &[]),
            ("set_percentage", &["percentage"]),
            ("oscillate", &["oscillating"]),
        ],
    ),
    plain(
        "humidifier",
        Safe,
        &[("turn_on", &[]), ("turn_off", &[]), ("set_humidity", &["humidity"]), ("set_mode", &["mode"])],
    ),
    plain(
        "climate",
        Safe,
        &[
            ("set_temperature", &["temperature", "target_temp_high", "target_temp_low", "hvac_mode"]),
            ("set_hvac_mode", &["hvac_mode"]),
            ("set_preset_mode", &["preset_mode"]),
            ("set_fan_mode", &["fan_mode"]),
            ("turn_on", &[]),
            ("turn_off", &[]),
        ],
    ),
    plain(
        "media_player",
        Safe,
        &[
            ("turn_on", &[]),
            ("turn_off", &[]),
            ("media_play", &[]),
            ("media_pause", &[]),
            ("media_stop", &[]),
            ("media_next_track", &[]),
            ("media_previous_track", &[]),
            ("volume_up", &[]),
            ("volume_down", &[]),
            ("volume_set", &["volume_level"]),
            ("volume_mute", &["is_volume_muted"]),
            ("select_source", &["source"]),
        ],
    ),
    plain("vacuum", Safe, &[("start", &[]), ("pause", &[]), ("stop", &[]), ("return_to_base", &[]), ("locate", &[])]),
    plain("timer", Safe, &[("start", &["duration"]), ("pause", &[]), ("cancel", &[])]),
];

/// What is known of a kind; none: nothing can be done with it.
pub fn domain(name: &str) -> Option<&'static DomainClass> {
    DOMAINS.iter().find(|domain| domain.name == name)
}

impl DomainClass {
    /// The data that a service takes; none: there is no such service.
    pub fn fields(&self, service: &str) -> Option<&'static [&'static str]> {
        self.services.iter().find(|(name, _)| *name == service).map(|(_, fields)| *fields)
    }

    /// What can be done, in a line for the model.
    pub fn in_words(&self) -> String {
        let service = |(name, fields): &(&str, &[&str])| match fields {
            [] => (*name).to_owned(),
            fields => format!("{name}({})", fields.join(", ")),
        };
        let services: Vec<String> = self.services.iter().map(service).collect();
        format!("{}: {}", self.name, services.join(", "))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntityClass<'a> {
    pub(crate) domain: &'a str,
    /// What its device is, if Home Assistant says so.
    pub(crate) device_class: Option<&'a str>,
}

impl EntityClass<'_> {
    /// How grave it is to do something with it; none: nothing can be.
    pub(crate) fn grade(self) -> Option<DangerGrade> {
        let known = domain(self.domain)?;
        let by_class = self.device_class.and_then(|class| known.by_class.iter().find(|(name, _)| *name == class));
        Some(by_class.map_or(known.grade, |(_, grade)| *grade))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f9_what_somebody_could_break_in_by_is_critical() {
        let grade = |domain, device_class| EntityClass { domain, device_class }.grade();
        for (domain, class) in [
            ("lock", None),
            ("alarm_control_panel", None),
            ("valve", Some("water")),
            ("siren", None),
            ("cover", Some("garage")),
            ("cover", Some("gate")),
            ("cover", Some("door")),
            ("cover", Some("window")),
            // Whatever it does not say, or says in words of its own.
            ("cover", None),
            ("cover", Some("Blind")),
            ("lock", Some("blind")),
        ] {
            assert_eq!(grade(domain, class), Some(Critical), "{domain} {class:?}");
        }
        assert_eq!(grade("cover", Some("blind")), Some(Safe));
        for unknowable in ["script", "scene", "automation", "button"] {
            assert!(grade(unknowable, None) > grade("light", None), "{unknowable}");
        }
        for nothing in
            ["sensor", "homeassistant", "shell_command", "python_script", "mqtt", "notify", "group", "hassio"]
        {
            assert_eq!(grade(nothing, None), None, "{nothing}");
        }
    }

    #[test]
    fn f9_no_field_names_others_or_holds_a_code() {
        let fields = DOMAINS.iter().flat_map(|domain| domain.services).flat_map(|(_, fields)| *fields);
        let wrong = [
            "entity_id",
            "device_id",
            "area_id",
            "label_id",
            "floor_id",
            "entities",
            "group_members",
            "code",
            "variables",
        ];
        let found: Vec<&&str> = fields.filter(|field| wrong.contains(field)).collect();
        assert_eq!(found, [&""; 0]);
        let mut names = DOMAINS.map(|domain| domain.name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DOMAINS.len());
    }
}
