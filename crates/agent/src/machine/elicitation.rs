//! What the server of a tool asks a person while it works on a call (MCP's elicitation).
//!
//! The call waits at its server, the person is asked like by the model, and the server goes on with what they say.
//! The answer is kept with the call: where the server was gone by then, and the call is made once more, the same question has the
//! same answer. Start at [`put`].

use crate::machine::accepted_input::RunKind;
use crate::machine::batch::{AnsweredForm, CallProgress, OpenCall, OpenForm};
use crate::machine::effect::Effect;
use crate::machine::human;
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::tools;
use hob_core::domain::elicitation::{ElicitReply, Elicitation};
use hob_core::domain::ids::CallId;
use hob_core::domain::principal::{Role, Trust};

impl OpenCall {
    /// It asks a person: the model does by it, or the server of this try.
    pub(super) fn asks(&mut self, question: &str, form: Option<&Elicitation>, attempt: u32) {
        // What a try is asked twice is another question: the first answer was none that it could use.
        let holds = |known: &AnsweredForm| known.form.attempt < attempt && known.reply != ElicitReply::Cancel;
        self.answered = self.answered.take().filter(|known| holds(known));
        let form = form.map(|asked| Box::new(OpenForm { asked: asked.clone(), attempt }));
        self.progress = CallProgress::Asks { question: question.to_owned(), form };
    }

    /// What the server of this try goes on with.
    pub fn reply(&self, attempt: u32) -> Option<&ElicitReply> {
        self.answered.as_ref().filter(|known| known.form.attempt == attempt).map(|known| &known.reply)
    }
}

/// What is due where servers ask, the first call first: it goes on, if it is known what with; else the person is asked.
pub(super) fn put(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let is_attended = is_attended(run);
    let Phase::Acting(batch) = &mut run.phase else { return None };
    let open = batch.calls.iter_mut().find(|open| matches!(open.progress, CallProgress::Asks { form: Some(_), .. }))?;
    let CallProgress::Asks { form: Some(form), .. } = &open.progress else { return None };
    let form = OpenForm::clone(form);
    let known = open.answered.as_ref().filter(|known| known.form.asked == form.asked).map(|known| known.reply.clone());
    let Some(reply) = known.or_else(|| (!is_attended).then_some(ElicitReply::Decline)) else {
        let (text, form) = (form.asked.question.clone(), Some(Box::new(form.asked)));
        return Some(vec![Effect::AskHuman(Question::Asked { call: open.call.id.clone(), text, form })]);
    };
    let attempt = form.attempt;
    open.answered = Some(Box::new(AnsweredForm { form, reply }));
    open.progress = CallProgress::Started { attempt };
    Some(vec![Effect::RunTool { call: open.call.clone(), attempt, delay_ms: 0 }])
}

/// Is there somebody who could say something? Nobody is where an agent, a schedule or an event works; and neither a guest nor
/// anybody whom nobody vouches for says something to a server of the house.
fn is_attended(run: &ActiveState) -> bool {
    let input = &run.input;
    let is_trusted = input.principal.trust == Trust::Trusted && input.principal.role > Role::Guest;
    input.agent.is_none() && input.order == RunKind::Answer && is_trusted
}

/// A person has said something to a form.
pub(super) fn on_answered(run: &mut ActiveState, call: &CallId, form: &Elicitation, words: &str) -> Vec<Effect> {
    match form.reply(words) {
        Ok(reply) => hand_over(run, call, reply),
        Err(missing) => {
            let (call, text) = (call.clone(), format!("{missing}\n\n{}", form.question));
            vec![Effect::AskHuman(Question::Asked { call, text, form: Some(Box::new(form.clone())) })]
        }
    }
}

/// The server that asked goes on with its call.
pub(super) fn hand_over(run: &mut ActiveState, call: &CallId, reply: ElicitReply) -> Vec<Effect> {
    human::unpause(run);
    if let Phase::Acting(batch) = &mut run.phase
        && let Some(open) = batch.find(call)
        && let CallProgress::Asks { form: Some(form), .. } = &open.progress
    {
        open.answered = Some(Box::new(AnsweredForm { form: OpenForm::clone(form), reply }));
    }
    tools::settle(run)
}
