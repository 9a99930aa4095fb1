//! Command lines that only look: an allow-list, and nothing that would have to be understood.
//!
//! Such a line is one pipeline of plain words. It has no assignment, function, expansion, substitution, redirection, or second
//! command; each word is letters, or stands in quotes in which nothing happens. Its programs are in [`PROGRAMS`], with options
//! that neither write nor run anything. Its places are named from here downwards, and no name begins with a dot.

/// What a program may be given besides options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Files to be read.
    Files,
    /// A pattern, then files to be read.
    Pattern,
    /// Words, whatever they say.
    Words,
    /// How to write the time, and nothing else: a time would be set.
    Format,
    /// Nothing: it would be written to.
    Nothing,
}

/// A program, the letters of its short options, its long options, and its operands.
type ReadOnlyProgram = (&'static str, &'static str, &'static [&'static str], Operands);

const SUMS: &str = "bctwz";
const FIND: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-newer",
    "-mtime",
    "-mmin",
    "-empty",
    "-print",
    "-print0",
    "-not",
    "-o",
    "-a",
    "-or",
    "-and",
    "-prune",
    "-L",
    "-P",
    "-perm",
    "-user",
    "-group",
];
const GREP: &[&str] =
    &["--include", "--exclude", "--exclude-dir", "--color", "--line-number", "--ignore-case", "--count"];
const RG: &[&str] = &["--files", "--hidden", "--no-ignore", "--type", "--glob", "--count", "--json", "--color"];
const LS: &[&str] = &["--all", "--almost-all", "--recursive", "--size", "--color", "--human-readable", "--full-time"];

/// Those that only look. Left out, as they can be made to write or to run something: awk, env, git, less, man, sed, tar, tee,
/// xargs, xxd, and options like `sort -o`, `find -exec`, `rg --pre`, `tree -o`.
const PROGRAMS: &[ReadOnlyProgram] = &[
    ("arch", "", &[], Operands::Nothing),
    ("b2sum", SUMS, &[], Operands::Files),
    ("base64", "diw", &["--decode", "--wrap"], Operands::Files),
    ("basename", "", &[], Operands::Words),
    ("cat", "AbeEnstTv", &[], Operands::Files),
    ("cksum", "", &[], Operands::Files),
    ("cmp", "bils", &[], Operands::Files),
    ("column", "ts", &[], Operands::Files),
    ("comm", "123", &[], Operands::Files),
    ("cut", "bcdfs", &[], Operands::Files),
    ("date", "uIR", &["--iso-8601", "--utc"], Operands::Format),
    ("df", "ahiTklP", &[], Operands::Files),
    ("diff", "abBiNqruUwy", &["--brief", "--unified", "--recursive"], Operands::Files),
    ("dirname", "", &[], Operands::Words),
    ("du", "abchksmx", &["--max-depth", "--apparent-size"], Operands::Files),
    ("echo", "neE", &[], Operands::Words),
    ("expand", "t", &[], Operands::Files),
    ("expr", "", &[], Operands::Words),
    ("false", "", &[], Operands::Words),
    ("file", "biL", &[], Operands::Files),
    ("find", "", FIND, Operands::Files),
    ("fold", "bsw", &[], Operands::Files),
    ("free", "bghkm", &[], Operands::Nothing),
    ("grep", "abcEFGhHiIlLnoPqrRsvwxzABCm", GREP, Operands::Pattern),
    ("groups", "", &[], Operands::Nothing),
    ("head", "cnqvz", &["--lines", "--bytes"], Operands::Files),
    ("hexdump", "bcCdns", &[], Operands::Files),
    ("id", "Ggnru", &[], Operands::Nothing),
    ("join", "12ajtv", &[], Operands::Files),
    ("jq", "aceMnrsS", &["--raw-output", "--compact-output", "--slurp"], Operands::Pattern),
    ("ls", "aAbBcCdfFgGhHiIklLmnNopqQrRsStuUvwxX1Z", LS, Operands::Files),
    ("md5sum", SUMS, &[], Operands::Files),
    ("nl", "abfhinsvw", &[], Operands::Files),
    ("nproc", "", &["--all"], Operands::Nothing),
    ("od", "abcdfijlNostvwxA", &[], Operands::Files),
    ("paste", "ds", &[], Operands::Files),
    ("printenv", "0", &[], Operands::Words),
    ("printf", "", &[], Operands::Words),
    ("ps", "AaefFlNTux", &[], Operands::Words),
    ("pwd", "LP", &[], Operands::Nothing),
    ("readlink", "efmn", &[], Operands::Files),
    ("realpath", "emsz", &[], Operands::Files),
    ("rev", "", &[], Operands::Files),
    ("rg", "acFgHhiIlLnNopqsStTUvwxABCm", RG, Operands::Pattern),
    ("seq", "sw", &[], Operands::Words),
    ("sha1sum", SUMS, &[], Operands::Files),
    ("sha256sum", SUMS, &[], Operands::Files),
    ("sha512sum", SUMS, &[], Operands::Files),
    ("sleep", "", &[], Operands::Words),
    ("sort", "bcCdfghikmMnrRstuVz", &["--numeric-sort", "--reverse", "--unique", "--key"], Operands::Files),
    ("stat", "cfLt", &["--format"], Operands::Files),
    ("strings", "anot", &[], Operands::Files),
    ("tac", "brs", &[], Operands::Files),
    ("tail", "cnqvz", &["--lines", "--bytes"], Operands::Files),
    ("tr", "cCdst", &[], Operands::Words),
    ("tree", "adfghiLpstu", &[], Operands::Files),
    ("true", "", &[], Operands::Words),
    ("uname", "aimnoprsv", &[], Operands::Nothing),
    ("uniq", "cdDiu", &[], Operands::Nothing),
    ("uptime", "ps", &[], Operands::Nothing),
    ("wc", "clLmw", &["--lines", "--words", "--bytes"], Operands::Files),
    ("which", "a", &[], Operands::Words),
    ("whoami", "", &[], Operands::Nothing),
];

/// Does it only look, as far as its text is known through and through?
pub(super) fn only_looks(command: &str) -> bool {
    pipeline(command.trim_matches([' ', '\n'])).is_some_and(|programs| programs.iter().all(|words| looks(words)))
}

/// The words of each program of a pipeline; none: it is anything else, or more.
fn pipeline(text: &str) -> Option<Vec<Vec<String>>> {
    let mut programs = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '|' => {
                programs.last_mut()?.extend(word.take());
                if c == '|' {
                    programs.push(Vec::new());
                }
            }
            '\'' | '"' => {
                let quoted = within(&mut rest, c)?;
                word.get_or_insert_default().push_str(&quoted);
            }
            // Where a word begins with it, some shells put a program's path in its place.
            '=' if word.is_none() => return None,
            _ if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    programs.last_mut()?.extend(word);
    Some(programs)
}

/// A character that means nothing but itself to any shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | ',' | '@' | '%' | '+' | '=' | '-')
}

/// What stands in quotes, up to their end; none: something happens in it, or it has no end.
fn within(rest: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut words = String::new();
    for c in rest {
        match c {
            _ if c == quote => return Some(words),
            '$' | '`' | '\\' | '!' if quote == '"' => return None,
            '\n' => return None,
            _ => words.push(c),
        }
    }
    None
}

fn looks(words: &[String]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let Some((_, letters, long, operands)) = PROGRAMS.iter().find(|(known, ..)| known == name) else { return false };
    let mut pattern = *operands == Operands::Pattern;
    arguments.iter().all(|word| {
        if word.len() > 1 && word.starts_with('-') {
            return is_known(word, letters, long);
        }
        match operands {
            Operands::Words => true,
            Operands::Pattern if std::mem::take(&mut pattern) => true,
            Operands::Files | Operands::Pattern => is_below(word),
            Operands::Format => word.starts_with('+'),
            Operands::Nothing => false,
        }
    })
}

fn is_known(option: &str, letters: &str, long: &[&str]) -> bool {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    if long.contains(&name) {
        return value.is_none_or(is_below);
    }
    let short = option.strip_prefix('-').filter(|short| !short.starts_with('-'));
    short.is_some_and(|short| {
        short.chars().all(|c| letters.contains(c) || c.is_ascii_digit() || matches!(c, ',' | ':' | '.'))
    })
}

/// Is it a place from here downwards, and no hidden one?
fn is_below(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part == "." || !part.starts_with('.'))
}
