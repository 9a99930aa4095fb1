//! Time zones, each read from its own file.
//!
//! jiff's own table opens every file of the machine's zones before it gives the first of them: it is asked only for what is not
//! found here, such as a name in other letters, or any name on a machine without zones.
//!
//! Start at [`named`].

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;

use crate::environment::Environment;

/// Where systems keep their zones.
const ZONES: &str = "/usr/share/zoneinfo/";
/// The machine's own: a link to one of them.
const LOCAL: &str = "/etc/localtime";

/// The zone of this IANA name.
pub fn named(name: &str) -> Result<TimeZone, jiff::Error> {
    own_file(name).map_or_else(|| TimeZone::get(name), Ok)
}

/// The machine's own zone; none: it cannot be told.
pub fn of_machine(environment: &Environment) -> Option<TimeZone> {
    // That variable has a grammar of its own.
    let linked = environment.get("TZ").is_none().then(|| fs::read_link(LOCAL).ok()).flatten();
    let name =
        linked.as_deref().and_then(Path::to_str).and_then(|link| link.rsplit_once("zoneinfo/")).map(|(_, name)| name);
    name.and_then(own_file).or_else(|| TimeZone::try_system().ok())
}

fn own_file(name: &str) -> Option<TimeZone> {
    if name == "UTC" {
        return Some(TimeZone::UTC);
    }
    let is_plain = name.split('/').all(|part| part.starts_with(|first: char| first.is_ascii_alphanumeric()));
    let bytes = is_plain.then(|| fs::read(Path::new(ZONES).join(name)).ok()).flatten()?;
    TimeZone::tzif(name, &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_what_jiff_says_it_is() {
        for name in ["Europe/Berlin", "America/Argentina/Ushuaia", "Etc/UTC", "UTC", "europe/berlin"] {
            assert_eq!(named(name).unwrap(), TimeZone::get(name).unwrap(), "{name}");
        }
        for name in ["Europe/Atlantis", "../../../etc/localtime", "/etc/localtime", "", "Europe", "tzdata.zi"] {
            assert!(named(name).is_err(), "{name}");
        }
        let machine = of_machine(&Environment::default());
        assert_eq!(machine.and_then(|zone| zone.iana_name().map(str::to_owned)), own_name());
    }

    fn own_name() -> Option<String> {
        TimeZone::try_system().ok().and_then(|zone| zone.iana_name().map(str::to_owned))
    }
}
