//! What the text of a command line says of it before it is run (row D6).
//!
//! It decides little: what a command did is looked at afterwards, in its draft. The text serves where there can be no draft.
//!
//! | verdict | what earns it | then |
//! |---|---|---|
//! | looks | a pipeline of plain words: known programs with known options (`looking`) | it needs no question |
//! | refused | what nobody means, such as `rm -rf /` (`refused`); a courtesy, and no protection | it is not run |
//! | asks | everything else | a person is asked, where there can be no draft |
//!
//! Never: a guess in the command's favour.
//! Start at [`assess`].

mod hidden_characters;
mod read_only;
mod refused;

/// The longest command that is looked at.
pub(crate) const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// What a command line would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandVerdict {
    /// It only looks at something.
    Looks,
    /// Nobody can say from its text; these are the programs that it names.
    Asks {
        /// Each in quotes, without what could mislead.
        programs: Vec<String>,
    },
    /// Nobody may have it run.
    Refused {
        /// Why, in words for people: a sentence without its full stop.
        why: String,
    },
}

/// What a command line would do.
pub fn assess(command: &str) -> CommandVerdict {
    if command.len() > COMMAND_BYTES_MAX {
        return CommandVerdict::Refused { why: "It is longer than 16 KiB".to_owned() };
    }
    if let Some(why) = hidden_characters::hidden(command).or_else(|| refused::why(command)) {
        return CommandVerdict::Refused { why };
    }
    if read_only::only_looks(command) {
        return CommandVerdict::Looks;
    }
    CommandVerdict::Asks {
        programs: refused::programs(command).iter().map(|name| hidden_characters::quoted(name)).collect(),
    }
}

#[cfg(test)]
mod tests;
