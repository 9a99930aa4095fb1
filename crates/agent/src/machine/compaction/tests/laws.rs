//! What holds of any run and any view of it.

use proptest::prelude::*;

use super::*;

/// A run with a past and some batches, and how many messages of each kind.
fn any_run() -> impl Strategy<Value = ActiveState> {
    let rounds = proptest::collection::vec((1..4_usize, 1..60_usize), 0..6);
    (0..30_usize, 1..60_u64, rounds, any::<bool>()).prop_map(|(count, each, rounds, steered)| {
        let mut begun = with(past(count, each), ContextPolicy::default());
        begun.room = ContextBudget::default();
        let mut run = ActiveState::begin(accepted(), begun);
        for (number, (calls, size)) in rounds.into_iter().enumerate() {
            let names = vec!["look"; calls];
            let mut reply = completion("", &names);
            for (index, part) in reply.parts.iter_mut().enumerate() {
                if let ReplyPart::Call(call) = part {
                    call.id = CallId(format!("{number}.{index}"));
                }
            }
            run.transcript.push(Message::Assistant { parts: reply.parts });
            for index in 0..calls {
                let call = CallId(format!("{number}.{index}"));
                let result = ToolResult { call, name: "look".into(), text: words(size), is_error: index == 1 };
                run.transcript.push(Message::Tool(result));
            }
            if steered {
                run.transcript.push_from(UserId(1), words(size));
            }
        }
        run
    })
}

fn assert_paired(messages: &[Message]) -> Result<(), TestCaseError> {
    let mut owed: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            Message::Tool(result) => {
                prop_assert!(!owed.is_empty() && owed.remove(0) == result.call, "{} is an orphan", result.call);
            }
            Message::User { .. } | Message::Assistant { .. } => {
                prop_assert!(owed.is_empty(), "{owed:?} are not answered");
                owed = message.calls().map(|call| call.id.clone()).collect();
            }
        }
    }
    prop_assert!(owed.is_empty());
    Ok(())
}

proptest! {
    /// Whatever is kept, calls and results stay together, and what people said in the run stays.
    #[test]
    fn e11_calls_and_results_stay_paired_under_any_view(run in any_run(), keep in 1..20_u32, chars in 10..500_u32) {
        if let Some(plan) = CutPlan::keeping(&run, keep) {
            let view = ContextView { result_chars: Some(chars), ..plan.without_summary(&run) };
            let shown = view.of_transcript(&run.transcript, run.past.len());
            assert_paired(&shown)?;
            let people = run.transcript.entries().filter(|entry| entry.author.is_some()).count();
            prop_assert_eq!(shown.iter().filter(|message| matches!(message, Message::User { .. })).count(), people);
            prop_assert!(hidden(&run, 0, view.from) > 0);
        }
    }

    /// A compacted request does not exceed the window where what is kept as it is fits.
    #[test]
    fn b4_a_compacted_request_fits_where_what_is_kept_does(run in any_run(), keep in 1..20_u32, summary in 1..400_usize) {
        if let Some(plan) = CutPlan::keeping(&run, keep) {
            let bare = ContextView { from: plan.to, ..ContextView::default() };
            let view = fitted(&run, plan.with_summary(&run, words(summary)));
            // What stands in the place of a summary that does not fit is a line.
            if size::request(&run, &bare) + 60 <= size::window(&run).tokens {
                prop_assert!(!size::exceeds(&run, &view), "{:?}", view);
            }
        }
    }

    /// What is counted is what is sent.
    #[test]
    fn b4_the_size_is_that_of_the_messages(run in any_run(), keep in 1..20_u32, chars in proptest::option::of(10..500_u32)) {
        let mut run = run;
        run.past.clear();
        run.billing.context_tokens = 100;
        if let Some(plan) = CutPlan::keeping(&run, keep) {
            let view = ContextView { result_chars: chars, ..plan.without_summary(&run) };
            let shown = view.of_transcript(&run.transcript, 0);
            let block = view.block();
            let sum: u64 = block.iter().chain(&shown).map(tokens::message).sum();
            prop_assert_eq!(size::request(&run, &view), 100 + sum);
        }
    }
}
