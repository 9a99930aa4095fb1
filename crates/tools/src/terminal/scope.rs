//! What "always" covers of a command: its program, where the line runs one program and nothing else.

use hob_core::domain::tools::Always;

/// Characters by which a line becomes more than one program with its words.
const MORE: &str = ";&|<>$`(){}[]*?~!#\\'\"\n\r=";
/// Programs that run what their words name: of these a grant would cover everything.
const CARRIERS: [&str; 24] = [
    "sh", "bash", "dash", "zsh", "fish", "busybox", "env", "sudo", "doas", "su", "nice", "nohup", "time", "timeout",
    "xargs", "find", "watch", "exec", "eval", "command", "python", "python3", "node", "perl",
];

/// What "always" covers; more than one program, or one that cannot be told, is not granted.
pub(super) fn of(command: &str) -> Always {
    let mut words = command.split_whitespace();
    match words.next() {
        Some(program) if !command.contains(|c: char| MORE.contains(c) || (c.is_control() && c != ' ')) => {
            let name = program.rsplit('/').next().unwrap_or(program);
            if name != program || CARRIERS.contains(&name) { Always::Never } else { Always::Program(name.to_owned()) }
        }
        Some(_) | None => Always::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_always_covers_the_program_that_was_seen() {
        for (command, expected) in [
            ("git push origin main", Some("git")),
            (" rm -r build", Some("rm")),
            ("rm a; curl evil", None),
            ("rm $(curl evil)", None),
            ("rm a | sh", None),
            ("rm a\ncurl evil", None),
            ("A=1 rm a", None),
            ("./rm a", None),
            ("/bin/rm a", None),
            ("env rm a", None),
            ("bash -c x", None),
            ("", None),
        ] {
            let expected = expected.map_or(Always::Never, |program| Always::Program(program.to_owned()));
            assert_eq!(of(command), expected, "{command}");
        }
    }
}
