//! The table of commands, and the laws.

use proptest::prelude::*;

use super::*;

const VERDICTS: &str = include_str!("verdicts.txt");

/// The command that a line of the table writes down.
fn command_of(line: &str) -> String {
    let mut command = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("<U+") {
        let (code, after) = after.split_once('>').expect("a character ends with >");
        command.push_str(before);
        command.push(char::from_u32(u32::from_str_radix(code, 16).expect("hexadecimal")).expect("a character"));
        rest = after;
    }
    command.push_str(rest);
    command.replace('⏎', "\n")
}

/// Each line: what was once said of it, what is said now, the command.
fn table() -> Vec<(String, String, String)> {
    let mut once = String::new();
    let mut table = Vec::new();
    for line in VERDICTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(heading) = line.strip_prefix("@ ") {
            once = heading.to_owned();
            continue;
        }
        let (now, command) = line.split_once(' ').expect("a verdict and a command");
        table.push((once.clone(), now.to_owned(), command_of(command)));
    }
    table
}

fn verdict(command: &str) -> &'static str {
    match assess(command) {
        CommandVerdict::Looks => "looks",
        CommandVerdict::Asks { .. } => "asks",
        CommandVerdict::Refused { .. } => "refused",
    }
}

#[test]
fn d6_the_table_of_commands_has_the_verdicts_that_a_careful_owner_expects() {
    let table = table();
    assert!(table.len() >= 485, "{} commands", table.len());
    let wrong = |(once, now, command): &(String, String, String)| {
        let got = verdict(command);
        let fell = got == "looks" && once != "safe";
        (got != now || fell).then(|| format!("{got} {}", command.replace('\n', "⏎")))
    };
    let wrong: Vec<String> = table.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn d6_nothing_around_a_command_makes_it_a_look() {
    for (_, now, command) in table() {
        let around = [
            format!("{command}; rm a"),
            format!("{command} > a"),
            format!("{command} && touch a"),
            format!("a=b {command}"),
            format!("$({command})"),
            format!("`{command}`"),
            format!("{command}\ntouch a"),
            format!("{command} | tee a"),
            format!("{command} | xargs rm"),
            format!("{command} &"),
            format!("sudo {command}"),
            format!("sh -c '{command}'"),
            format!("f() {{ {command}; }}; f"),
        ];
        for wrapped in around {
            let got = verdict(&wrapped);
            assert_ne!(got, "looks", "{wrapped:?}");
            assert!(now != "refused" || !wrapped.starts_with("sudo") || got == "refused", "{wrapped:?} is {got}");
        }
    }
}

#[test]
fn d6_options_that_write_or_run_are_no_looks() {
    for command in [
        "sort -o a b",
        "sort --output=a b",
        "sort --compress-program=./a b",
        "sort -T . b",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint a",
        "find . -fls a",
        "find . -ok rm",
        "rg --pre ./a x",
        "rg -z x",
        "rg --hostname-bin ./a x",
        "tree -o a",
        "tree -R",
        "uniq a b",
        "date 01010000",
        "date -s 12:00",
        "date --set=12:00",
        "file -C -m a",
        "hostname a",
        "xxd a b",
        "tar -tf a:b",
        "tail -f a",
        "grep -f /etc/shadow a",
        "printf -v PATH a",
        "diff -l a b",
        "git diff",
        "git log",
        "cat /etc/passwd",
        "cat ../a",
        "cat a/../../b",
        "cat .env",
        "cat ~/a",
        "cat *",
        "cat a?",
        "ls $HOME",
        "ls \"$(id)\"",
        "=ls",
        "cat =ls",
        "less a",
        "man ls",
        "env",
        "sed -n 1p a",
        "awk 1 a",
        "column -o a",
        "jq -f a",
        "wc --files0-from=a",
        "cat a || rm b",
        "cat a |& tee b",
        "du --files0-from=-",
        "sort --files0-from=a",
        "test -f a -o -v b[0]",
        "",
    ] {
        assert_ne!(verdict(command), "looks", "{command:?}");
    }
    for command in [
        "cat a",
        "grep -rn '/api' src",
        "sort names.txt | uniq -c | sort -rn | head",
        "jq '.a | .b' x.json",
        "echo \"it's\"",
    ] {
        assert_eq!(verdict(command), "looks", "{command:?}");
    }
}

#[test]
fn d6_whoever_is_asked_is_told_which_programs_in_a_short_line() {
    for (_, _, command) in table() {
        if let CommandVerdict::Asks { programs } = assess(&command) {
            assert!(
                programs.len() <= 6 && programs.iter().all(|name| name.chars().count() <= 64),
                "{command}: {programs:?}"
            );
            assert!(!programs.concat().contains(char::is_control), "{command}");
        }
    }
    let CommandVerdict::Asks { programs } = assess("A=b cargo test && rm -rf build | tee x") else {
        panic!("it is asked about")
    };
    assert_eq!(programs, ["`cargo`", "`rm`", "`tee`"]);
}

#[test]
fn d6_what_is_written_into_a_file_is_refused_to_nobody() {
    for command in
        ["cat > a <<'EOF'\nrm -rf /\nit's\nEOF", "cat <<EOF > a\n:\nrm -rf ~\nEOF", "echo \"a; rm -rf /\" > a"]
    {
        assert_eq!(verdict(command), "asks", "{command:?}");
    }
    assert_eq!(verdict(&"a".repeat(COMMAND_BYTES_MAX + 1)), "refused");
}

fn shellish() -> impl Strategy<Value = String> {
    let tokens = [
        "(", ")", "((", "))", "$(", "$((", "{", "}", "${", "${a:-", "`", "<(", "[", "]", "[[", "]]", "'", "\"", "\\",
        "\n", ";", ";;", "&", "&&", "|", "||", "<", ">", ">>", "<<E", "E", "<<<", "$", "$a", "$'", "~", "*", "?", "!",
        "=", "a", "rm", "-rf", "/", "sh", "-c", "if ", "then ", "fi", "for ", "do ", "done", "case ", " in ", "esac",
        "f()", "{a,b}", "{1..3}", "#", " ", " ", "\u{202e}", "é", "\0", "find", "-exec", "cat", "ls", "echo",
    ];
    prop::collection::vec(prop::sample::select(tokens.to_vec()), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn d6_what_looks_holds_nothing_that_a_shell_would_do(command in prop_oneof![shellish(), "\\PC{0,200}", ".{0,100}"]) {
        if assess(&command) == CommandVerdict::Looks {
            let mut bare = command.clone();
            for quote in ['\'', '"'] {
                let parts: Vec<&str> = bare.split(quote).collect();
                bare = parts.into_iter().step_by(2).collect::<Vec<_>>().join("");
            }
            prop_assert!(!bare.contains(['$', '`', ';', '&', '<', '>', '(', ')', '{', '}', '*', '?', '[', '~', '\\', '#']), "{command:?}");
        }
    }
}
