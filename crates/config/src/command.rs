//! What `hob config check` says, as text.

use crate::environment::Environment;
use crate::load::{self, LoadedConfig};
use crate::switched_off::SectionOff;

/// What is to be said of a config without problems: what is off, what is to be known, or that all is well.
pub fn report_text(loaded: &LoadedConfig, off: &[SectionOff], env: &Environment) -> String {
    let Some(path) = &loaded.path else {
        let places: Vec<String> = load::usual_places(env).iter().map(|place| place.display().to_string()).collect();
        return format!("no config file ({}): every setting has its default\n", places.join(", "));
    };
    let path = path.display();
    let mut text = String::new();
    for SectionOff { section, key, line, what, fix } in off {
        let line = line.map(|line| format!("{line}:")).unwrap_or_default();
        add(&mut text, &format!("{path}:{line} {key}: {what}; {fix}. Until then [{section}] is off\n"));
    }
    for note in &loaded.notes {
        add(&mut text, &format!("{path}: {note}\n"));
    }
    if off.is_empty() && loaded.config.remarks().is_empty() {
        add(&mut text, &format!("{path}: no problems\n"));
    }
    text
}

/// Adds a piece of text.
fn add(out: &mut String, text: &str) {
    out.push_str(text);
}
