//! The service: the unit that is installed, and whether it is this Hob's.

use std::path::PathBuf;

use crate::doctor::rules::finding::{Check, Finding};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledUnit {
    pub file: PathBuf,
    /// How it is installed anew: `hob service install --user`.
    pub install: &'static str,
    /// Whether it is one of Hob's; else it is the operator's own.
    pub is_ours: bool,
    /// The binary that it starts; none: it cannot be told.
    pub starts: Option<PathBuf>,
    pub binary: PathBuf,
    /// Whether it is what this version would write.
    pub is_current: bool,
    /// Whether systemd looks after it.
    pub is_watched: bool,
    /// For a user's: whether it goes on when the user has logged out.
    pub lingers: Option<bool>,
}

pub fn service(units: &[InstalledUnit]) -> Vec<Finding> {
    if units.is_empty() {
        return vec![Finding::note(Check::Service, "Hob is not installed as a service; `hob service install` does it")];
    }
    units.iter().flat_map(unit).collect()
}

fn unit(unit: &InstalledUnit) -> Vec<Finding> {
    let InstalledUnit { file, install, is_ours, starts, binary, is_current, is_watched, lingers } = unit;
    let file = file.display();
    let mut found = Vec::new();
    match starts {
        Some(starts) if starts != binary => {
            let what = format!("{file} starts {}, and this is {}", starts.display(), binary.display());
            found.push(Finding::warn(Check::Service, what, format!("if this one is meant, `{install}`")));
        }
        Some(_) => {}
        None => found.push(Finding::note(Check::Service, format!("what {file} starts cannot be told"))),
    }
    if *is_ours && !is_current {
        let what = format!("{file} is not what this version writes");
        found.push(Finding::warn(
            Check::Service,
            what,
            format!("`{install}` writes it anew; changes of your own belong in a drop-in (`systemctl edit hob`)"),
        ));
    }
    if !is_watched {
        let what = format!("{file} has no WatchdogSec=, so a Hob that hangs is not restarted");
        found.push(Finding::warn(Check::Service, what, "add `WatchdogSec=60` with `Type=notify`"));
    }
    if *lingers == Some(false) {
        let what = "your services end when you log out";
        found.push(Finding::warn(Check::Service, what, "`loginctl enable-linger` lets Hob go on without you"));
    }
    if found.is_empty() {
        found.push(Finding::ok(Check::Service, format!("{file} starts this binary")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_the_unit() {
        let good = || InstalledUnit {
            file: "/u/hob.service".into(),
            install: "hob service install --user",
            is_ours: true,
            starts: Some("/bin/hob".into()),
            binary: "/bin/hob".into(),
            is_current: true,
            is_watched: true,
            lingers: Some(true),
        };
        let shown =
            |units: &[InstalledUnit]| service(units).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(shown(&[]), @"note service: Hob is not installed as a service; `hob service install` does it");
        insta::assert_snapshot!(shown(&[good(), InstalledUnit { lingers: None, ..good() }]), @r"
        ok   service: /u/hob.service starts this binary
        ok   service: /u/hob.service starts this binary
        ");
        let other = InstalledUnit {
            starts: Some("/old/hob".into()),
            is_current: false,
            is_watched: false,
            lingers: Some(false),
            ..good()
        };
        insta::assert_snapshot!(shown(&[other]), @r"
        warn service: /u/hob.service starts /old/hob, and this is /bin/hob; if this one is meant, `hob service install --user`
        warn service: /u/hob.service is not what this version writes; `hob service install --user` writes it anew; changes of your own belong in a drop-in (`systemctl edit hob`)
        warn service: /u/hob.service has no WatchdogSec=, so a Hob that hangs is not restarted; add `WatchdogSec=60` with `Type=notify`
        warn service: your services end when you log out; `loginctl enable-linger` lets Hob go on without you
        ");
        let own = InstalledUnit { is_ours: false, is_current: false, starts: None, ..good() };
        insta::assert_snapshot!(shown(&[own]), @"note service: what /u/hob.service starts cannot be told");
    }
}
