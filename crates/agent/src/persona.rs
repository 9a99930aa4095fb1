//! The personas of this Hob (row C3): what each changes about a run, and where each is used.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::policy::{ContextPolicy, DeclaredLoop, GatePolicy, Policy, ToolPolicy};
use hob_core::domain::choices::ContextStrategy;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::policy::persona::{PersonaAssignments, PersonaContext, ResolvedPersona};
use hob_store::sessions::Session;

/// Who Hob is in some conversations; what is none or empty is as everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Persona {
    /// What the model is told after the instructions that hold everywhere.
    pub prompt: Option<String>,
    /// The label of the model to ask first.
    pub model: Option<String>,
    /// The modules whose tools are on offer; empty: all.
    pub modules: BTreeSet<String>,
    /// Tokens of a reply, at most.
    pub max_output_tokens: Option<u64>,
    /// Model calls before more have to be asked for.
    pub iterations: Option<u32>,
    /// Model calls, at most.
    pub iterations_cap: Option<u32>,
    /// The messages of the history that go along, at most.
    pub history_messages_max: Option<i64>,
    /// Which calls a person approves in any case.
    pub gate: GatePolicy,
    /// What a run may cost.
    pub run_usd: Option<Money>,
    pub declared: Option<DeclaredLoop>,
    /// What is done when the context fills its window.
    pub strategy: Option<ContextStrategy>,
    pub window_tokens: Option<u64>,
}

impl Persona {
    /// How its runs are decided, where others go by `policy`.
    pub fn policy(&self, policy: &Policy) -> Policy {
        let strategy = self.strategy.unwrap_or(policy.context.strategy);
        let window_tokens = self.window_tokens.or(policy.context.window_tokens);
        let context = ContextPolicy { strategy, window_tokens, ..policy.context.clone() };
        let tools = ToolPolicy { gate: self.gate.clone(), ..policy.tools.clone() };
        Policy { context, tools, declared: self.declared.clone(), run_usd: self.run_usd, ..policy.clone() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Personas {
    pub by_name: BTreeMap<String, Persona>,
    /// Where each is used.
    pub assigned: PersonaAssignments,
    /// The modules of guests where the persona does not choose; none: all.
    pub guest_modules: Option<BTreeSet<String>>,
}

impl Personas {
    /// Who Hob is in `place`, which is this session's.
    pub fn resolve<'a>(&'a self, place: &Conversation, session: &'a Session) -> ResolvedPersona<'a> {
        let (server, chosen) = (session.server.as_deref(), session.persona.as_deref());
        self.assigned.resolve(place, PersonaContext { server, chosen })
    }

    pub fn get(&self, name: Option<&str>) -> Option<&Persona> {
        self.by_name.get(name?)
    }

    /// The modules of whose tools somebody is offered some by `persona`; none: all.
    pub fn modules<'a>(&'a self, persona: &'a Persona, role: Role) -> Option<&'a BTreeSet<String>> {
        let chosen = Some(&persona.modules).filter(|modules| !modules.is_empty());
        chosen.or_else(|| self.guest_modules.as_ref().filter(|_| role == Role::Guest))
    }

    /// The system prompt of the persona with this name; one that is not there any more adds nothing.
    pub fn system(&self, base: &str, name: Option<&str>) -> String {
        match self.get(name).and_then(|persona| persona.prompt.as_deref()) {
            Some(prompt) => format!("{base}\n\n{prompt}"),
            None => base.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_what_a_persona_declares_goes_before_the_policy() {
        let mut policy = Policy::default();
        policy.context.window_tokens = Some(9_000);
        assert_eq!(Persona::default().policy(&policy), policy);
        let declared = Some(DeclaredLoop { max_cycles: 3, terminate: Vec::new() });
        let persona = Persona {
            declared: declared.clone(),
            strategy: Some(ContextStrategy::RollingWindow),
            window_tokens: Some(4_000),
            ..Persona::default()
        };
        let made = persona.policy(&policy);
        assert_eq!((made.declared, made.context.window_tokens), (declared, Some(4_000)));
        assert_eq!(made.context.strategy, ContextStrategy::RollingWindow);
        assert_eq!(made.guards, policy.guards);
    }

    #[test]
    fn c3_guests_are_kept_to_their_modules_where_the_persona_does_not_choose() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let cook = Persona { modules: set(&["files"]), ..Persona::default() };
        let plain = Persona::default();
        let kept = |guest_modules| Personas { guest_modules, ..Personas::default() };
        let (open, time, shut) = (kept(None), kept(Some(set(&["time"]))), kept(Some(set(&[]))));
        let table = [
            (&open, &plain, Role::Guest, None),
            (&time, &plain, Role::Guest, Some(set(&["time"]))),
            (&shut, &plain, Role::Guest, Some(set(&[]))),
            (&time, &cook, Role::Guest, Some(set(&["files"]))),
            (&time, &plain, Role::User, None),
            (&shut, &cook, Role::Owner, Some(set(&["files"]))),
        ];
        for (personas, persona, role, expected) in table {
            assert_eq!(personas.modules(persona, role), expected.as_ref(), "{role:?} {expected:?}");
        }
    }

    #[test]
    fn a3_the_prompt_is_the_households_then_the_personas() {
        let cook = Persona { prompt: Some("Cook.".to_owned()), ..Persona::default() };
        let by_name = BTreeMap::from([("cook".to_owned(), cook), ("bare".to_owned(), Persona::default())]);
        let personas = Personas { by_name, ..Personas::default() };
        let table = [(Some("cook"), "Hob.\n\nCook."), (Some("bare"), "Hob."), (Some("gone"), "Hob."), (None, "Hob.")];
        for (name, expected) in table {
            assert_eq!(personas.system("Hob.", name), expected, "{name:?}");
        }
    }
}
