//! What a server asks during `hob mcp call` is asked at the terminal.

use std::io::{self, BufRead as _};

use hob_core::domain::elicitation::{ElicitReply, Elicitation, ElicitationError};

/// So often somebody may try to answer.
const TRIES_MAX: usize = 3;

/// Asks whoever sits there; what is not asked they are told.
pub(super) async fn ask_person(asked: Result<Elicitation, ElicitationError>) -> ElicitReply {
    match asked {
        Ok(asked) => tokio::task::spawn_blocking(move || ask(&asked)).await.unwrap_or(ElicitReply::Cancel),
        Err(error) => {
            eprintln!("The server asks you for something, and was refused: {error}.");
            ElicitReply::Decline
        }
    }
}

fn ask(asked: &Elicitation) -> ElicitReply {
    eprintln!("{}\n(An empty line ends the answer.)", asked.question);
    for _ in 0..TRIES_MAX {
        let Some(words) = paragraph() else { return ElicitReply::Cancel };
        match asked.reply(&words) {
            Ok(reply) => return reply,
            Err(missing) => eprintln!("{missing}"),
        }
    }
    ElicitReply::Cancel
}

/// Lines up to an empty one; none: nobody says anything.
fn paragraph() -> Option<String> {
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    let first = lines.next()?;
    let lines = std::iter::once(first).chain(lines).take_while(|line| !line.trim().is_empty());
    Some(lines.collect::<Vec<_>>().join("\n"))
}
