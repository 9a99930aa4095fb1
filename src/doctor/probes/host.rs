//! The machine.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::tz::TimeZone;
use rustix::process::{Resource, getrlimit};

use crate::doctor::DoctorInputs;
use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::host::{self, ConfigFacts, DiskRoom, FileModeFacts, TimeZoneSource};
use hob_config::data_dir::create_data_dir;
use hob_config::environment::Environment;

pub(in crate::doctor) fn config(patient: &DoctorInputs) -> Vec<Finding> {
    let mut findings = host::config(&ConfigFacts {
        path: patient.loaded.as_ref().and_then(|loaded| loaded.path.as_deref()),
        problems: &patient.problems,
        has_channel: patient
            .config()
            .is_some_and(|config| config.has_channel() || config.server.listens(&patient.environment).is_some()),
    });
    let off = patient.loaded.iter().flat_map(|loaded| &loaded.off);
    findings.extend(off.map(|off| {
        let what = format!("[{}] is off: {} {}", off.section, off.key, off.what);
        Finding::fail(Check::Config, what, off.fix.clone())
    }));
    findings
}

pub(in crate::doctor) fn permissions(patient: &DoctorInputs) -> Vec<Finding> {
    let Some((loaded, path)) = patient.loaded.as_ref().and_then(|loaded| Some((loaded, loaded.path.as_deref()?)))
    else {
        return Vec::new();
    };
    // Without an environment only what stands in the file itself is left.
    let secrets = !loaded.secrets(&Environment::default()).is_empty();
    match file_mode_facts(path) {
        Ok(file) => host::permissions(&file, secrets),
        Err(error) => {
            vec![Finding::fail(Check::Permissions, format!("{}: {error}", path.display()), "see to that file")]
        }
    }
}

fn file_mode_facts(path: &Path) -> std::io::Result<FileModeFacts<'_>> {
    let (file, me) = (fs::metadata(path)?, rustix::process::geteuid().as_raw());
    Ok(FileModeFacts { path, mode: file.mode(), owner: file.uid(), me })
}

pub(in crate::doctor) fn data(patient: &DoctorInputs) -> Vec<Finding> {
    let folder = match &patient.data_dir {
        Ok(folder) => folder,
        Err(why) => return vec![Finding::fail(Check::Data, why.clone(), "set $HOB_HOME")],
    };
    if !folder.exists() {
        let file = folder.ancestors().find(|above| above.exists()).filter(|above| !above.is_dir());
        let what =
            file.map(|file| format!("{} is not a folder, so {} cannot be made", file.display(), folder.display()));
        return host::no_data(folder, what);
    }
    // What is there is not made, only looked at: as a start does.
    let refusal = create_data_dir(folder).err().map(|error| error.to_string());
    match file_mode_facts(folder) {
        Ok(facts) => host::data(&facts, refusal),
        Err(error) => vec![Finding::fail(Check::Data, format!("{}: {error}", folder.display()), "see to that folder")],
    }
}

pub(in crate::doctor) fn disk(patient: &DoctorInputs) -> Vec<Finding> {
    let Some(above) = patient.data_dir.as_deref().ok().and_then(|dir| dir.ancestors().find(|above| above.exists()))
    else {
        return Vec::new();
    };
    match rustix::fs::statvfs(above) {
        Ok(room) => host::disk(DiskRoom {
            bytes: room.f_bavail.saturating_mul(room.f_frsize),
            files: (room.f_files > 0).then_some(room.f_favail),
        }),
        Err(error) => vec![Finding::fail(Check::Disk, format!("{}: {error}", above.display()), "see to that folder")],
    }
}

pub(in crate::doctor) fn files() -> Vec<Finding> {
    host::files(getrlimit(Resource::Nofile).current)
}

pub(in crate::doctor) fn zone(patient: &DoctorInputs) -> Vec<Finding> {
    let named = patient.config().and_then(|config| config.agent.time_zone.clone());
    let machine = || TimeZone::try_system().ok().and_then(|zone| zone.iana_name().map(str::to_owned));
    host::zone(&match (named, machine()) {
        (Some(named), _) => TimeZoneSource::Named(named),
        (None, Some(machine)) => TimeZoneSource::Machine(machine),
        (None, None) => TimeZoneSource::Unknown,
    })
}
