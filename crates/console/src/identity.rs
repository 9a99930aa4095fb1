//! Which program draws the terminal, where its name leaves that open. Asked before the editor reads, as the answer comes as if typed.
//!
//! Never: a wait without an end, or settings that are not put back.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

/// "What are you?" (secondary device attributes).
const QUESTION: &[u8] = b"\x1b[>c";
/// What an answer begins with; then come the kind's number, more numbers, and [`END`].
const ANSWER: &[u8] = b"\x1b[>";
const END: u8 = b'c';
/// The number of tmux: the letter that it begins with.
const TMUX: &[u8] = b"84";
/// How long each sign of the answer may take, in tenths of a second: a terminal that is far away is slow.
const WAIT_TENTHS: u8 = 10;
/// The longest answer.
const ANSWER_BYTES_MAX: usize = 64;

/// Whether tmux draws this terminal: from within it, by ssh, `$TMUX` is not known.
pub(super) fn is_tmux() -> bool {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return false;
    }
    asked()
        .inspect_err(|error| tracing::debug!(%error, "the terminal is not asked what it is"))
        .is_ok_and(|said| is_tmuxs(&said))
}

fn asked() -> io::Result<Vec<u8>> {
    let before = tcgetattr(io::stdin())?;
    let mut raw: Termios = before.clone();
    raw.make_raw();
    raw.special_codes[SpecialCodeIndex::VMIN] = 0;
    raw.special_codes[SpecialCodeIndex::VTIME] = WAIT_TENTHS;
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    let said = exchanged();
    tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
    said
}

fn exchanged() -> io::Result<Vec<u8>> {
    let mut out = io::stdout().lock();
    out.write_all(QUESTION)?;
    out.flush()?;
    let (mut said, mut sign) = (Vec::new(), [0]);
    while said.last() != Some(&END) && said.len() < ANSWER_BYTES_MAX && rustix::io::read(io::stdin(), &mut sign)? > 0 {
        said.extend(sign);
    }
    Ok(said)
}

/// Whether an answer is tmux's. What was typed meanwhile may stand before it.
fn is_tmuxs(said: &[u8]) -> bool {
    let begin = said.windows(ANSWER.len()).position(|window| window == ANSWER);
    let kind = begin.and_then(|begin| said.get(begin + ANSWER.len()..)).and_then(|rest| rest.strip_prefix(TMUX));
    kind.is_some_and(|rest| rest.first() == Some(&b';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_tmux_is_known_by_its_number() {
        for (said, expected) in [
            ("\u{1b}[>84;0;0c", true),
            ("hello\u{1b}[>84;0;0c", true),
            ("\u{1b}[>83;40500;0c", false),
            ("\u{1b}[>0;276;0c", false),
            ("\u{1b}[>841;0c", false),
            ("\u{1b}[?84;0c", false),
            ("", false),
        ] {
            assert_eq!(is_tmuxs(said.as_bytes()), expected, "{said:?}");
        }
    }
}
