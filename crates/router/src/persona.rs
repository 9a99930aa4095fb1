//! `/persona`: who Hob is in a conversation (row C3), its answers and its words.

use crate::command_handlers::Caller;
use hob_agent::persona::Personas;
use hob_core::policy::persona::ResolvedPersona;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::sessions::{self, Session};

/// The word that undoes a choice.
const DEFAULT: &str = "default";

/// The answer to `/persona`, with a name or without.
pub(super) async fn answer(
    tx: &mut Tx,
    personas: &Personas,
    caller: &Caller<'_>,
    name: Option<&str>,
) -> Result<String, StoreError> {
    let known: Vec<&str> = personas.by_name.keys().map(String::as_str).collect();
    let resolved = personas.resolve(caller.place, caller.session);
    let Some(name) = name else {
        return Ok(listed(&resolved, &known));
    };
    if name == DEFAULT {
        sessions::set_persona(tx, caller.session.id, None).await?;
        let session = Session { persona: None, ..caller.session.clone() };
        let resolved = personas.resolve(caller.place, &session);
        return Ok(format!("From now on I am {} here, as configured.", shown(resolved.name())));
    }
    if !personas.by_name.contains_key(name) {
        return Ok(unknown(name, &known));
    }
    sessions::set_persona(tx, caller.session.id, Some(name)).await?;
    Ok(format!("From now on I am {name} here. /persona default undoes it."))
}

/// What `/status` shows; none: nobody in particular, and nothing is amiss.
pub(super) fn line(personas: &Personas, caller: &Caller<'_>) -> Option<String> {
    let resolved = personas.resolve(caller.place, caller.session);
    let persona = resolved.persona.map(|(name, origin)| format!("{name}, {}", origin.words()));
    match resolved.gone {
        Some(gone) => Some(format!(
            "{} ({gone}, which was chosen here, is not configured any more)",
            persona.as_deref().unwrap_or("nobody in particular")
        )),
        None => persona,
    }
}

fn shown(name: Option<&str>) -> &str {
    name.unwrap_or("nobody in particular")
}

fn listed(resolved: &ResolvedPersona<'_>, known: &[&str]) -> String {
    let mut lines = Vec::new();
    lines.extend(resolved.gone.map(|gone| format!("{gone}, which was chosen here, is not configured any more.")));
    let why = resolved.persona.map(|(_, origin)| format!(" ({})", origin.words())).unwrap_or_default();
    if known.is_empty() {
        lines.push("There are no personas; they can be declared under [personas] in config.toml.".to_owned());
    } else {
        lines.push(format!("I am {}{why}.", shown(resolved.name())));
        lines.push(format!("/persona NAME chooses another, /persona default undoes that: {}.", known.join(", ")));
    }
    lines.join("\n")
}

fn unknown(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!(
            "I have no persona {name:?}, nor any other. They are declared under [personas] in config.toml."
        );
    }
    format!("I have no persona {name:?}. There are: {}. More can be declared in config.toml.", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::policy::persona::PersonaOrigin;

    #[test]
    fn c3_the_words() {
        let cook = ResolvedPersona { persona: Some(("cook", PersonaOrigin::Chat)), gone: None };
        let gone = ResolvedPersona { persona: None, gone: Some("nurse") };
        insta::assert_snapshot!(listed(&cook, &["clerk", "cook"]), @r"
        I am cook (set for this chat).
        /persona NAME chooses another, /persona default undoes that: clerk, cook.
        ");
        insta::assert_snapshot!(listed(&gone, &[]), @r"
        nurse, which was chosen here, is not configured any more.
        There are no personas; they can be declared under [personas] in config.toml.
        ");
        insta::assert_snapshot!(unknown("cok", &["clerk", "cook"]), @r#"I have no persona "cok". There are: clerk, cook. More can be declared in config.toml."#);
        insta::assert_snapshot!(unknown("cok", &[]), @r#"I have no persona "cok", nor any other. They are declared under [personas] in config.toml."#);
    }
}
