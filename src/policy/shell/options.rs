//! Options that make a harmless program do more than its name says.

use super::words::Word;
use crate::domain::tools::{Grade, Risk};

/// What an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// Its value is a file that is written.
    Written,
    /// Its value is run.
    Command,
    /// Its value is sent off.
    Upload,
    /// Its value is nothing that matters.
    Value,
    /// Its value is an expression, so that the first operand is none.
    Pattern,
    /// It changes the files that it is given.
    InPlace,
    /// It is dangerous as such.
    Is(Risk, Grade, &'static str),
}

/// The options of programs.
const OPTIONS: &[(&[&str], &[&str], Means)] = &[
    (&["sort"], &["-o", "--output"], Means::Written),
    (&["sort"], &["--compress-program"], Means::Command),
    (&["tree"], &["-o"], Means::Written),
    (&["uniq", "shuf", "xmllint", "yq"], &["-o", "--output"], Means::Written),
    (&["grep", "egrep", "fgrep", "rg", "ag", "ack"], &["-e", "--regexp", "-f", "--file"], Means::Pattern),
    (
        &["grep", "egrep", "fgrep", "rg", "ag", "ack"],
        &["-A", "-B", "-C", "-m", "-g", "-t", "-T", "--max-count", "--context"],
        Means::Value,
    ),
    (&["rg"], &["--pre", "--hostname-bin"], Means::Command),
    (
        &["fd", "fdfind"],
        &["-x", "-X", "--exec", "--exec-batch"],
        Means::Is(Risk::Execute, Grade::High, "runs a command for each file"),
    ),
    (&["jq"], &["-f", "--from-file"], Means::Pattern),
    (&["jq"], &["--arg", "--argjson", "--slurpfile", "--rawfile", "--indent"], Means::Value),
    (&["yq"], &["-i", "--inplace"], Means::InPlace),
    (&["man", "less", "more", "bat", "batcat"], &["-P", "--pager", "-H", "--html"], Means::Command),
    (&["split"], &["--filter"], Means::Command),
    (&["zip"], &["-TT", "--unzip-command"], Means::Command),
    (&["dos2unix", "exiftool"], &["-n", "-overwrite_original", "-o"], Means::InPlace),
    (
        &["journalctl"],
        &["--vacuum-size", "--vacuum-time", "--rotate", "--flush"],
        Means::Is(Risk::Write, Grade::High, "deletes records"),
    ),
    (&["dmesg"], &["-C", "-c", "--clear"], Means::Is(Risk::Write, Grade::High, "deletes records")),
    (&["date"], &["-s", "--set"], Means::Is(Risk::Execute, Grade::Critical, "changes the machine itself")),
    (&["mapfile", "readarray"], &["-C"], Means::Command),
    (&["hash"], &["-p"], Means::Is(Risk::Execute, Grade::High, "changes what a name runs")),
    (&["make", "gmake"], &["--eval", "-E"], Means::Command),
    (&["gcc", "g++", "cc", "clang"], &["-wrapper"], Means::Command),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++", "rustc"], &["-o"], Means::Written),
    (&["sed"], &["-i", "--in-place"], Means::InPlace),
    (
        &["tar", "bsdtar"],
        &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
        Means::Command,
    ),
    (
        &["tar", "bsdtar"],
        &["--checkpoint-action"],
        Means::Is(Risk::Execute, Grade::High, "runs a command while it packs"),
    ),
    (&["tar", "bsdtar"], &["-P", "--absolute-names"], Means::Is(Risk::Write, Grade::High, "may write anywhere")),
    (
        &["tar", "bsdtar"],
        &["--remove-files", "--recursive-unlink"],
        Means::Is(Risk::Write, Grade::High, "deletes what it packs"),
    ),
    (&["tar", "bsdtar"], &["-C", "--directory"], Means::Written),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"], Means::Command),
    (
        &["rsync"],
        &["--delete", "--del", "--delete-after", "--delete-excluded", "--remove-source-files"],
        Means::Is(Risk::Write, Grade::High, "deletes what is not on the other side"),
    ),
    (
        &["curl"],
        &[
            "-o",
            "--output",
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--output-dir",
            "--etag-save",
        ],
        Means::Written,
    ),
    (
        &["curl"],
        &[
            "-d",
            "--data",
            "--data-binary",
            "--data-raw",
            "--data-urlencode",
            "--data-ascii",
            "--json",
            "-F",
            "--form",
            "-T",
            "--upload-file",
            "--form-string",
        ],
        Means::Upload,
    ),
    (&["curl"], &["-K", "--config"], Means::Is(Risk::Send, Grade::High, "takes its orders from a file")),
    (
        &["curl"],
        &["--unix-socket", "--abstract-unix-socket"],
        Means::Is(Risk::Send, Grade::Critical, "talks to a service of this machine"),
    ),
    (
        &["curl"],
        &[
            "-H",
            "--header",
            "-X",
            "--request",
            "-A",
            "-u",
            "--user",
            "-b",
            "-e",
            "-m",
            "--retry",
            "--max-time",
            "-w",
            "-x",
        ],
        Means::Value,
    ),
    (&["wget"], &["-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file", "-a"], Means::Written),
    (&["wget"], &["--post-file", "--body-file"], Means::Is(Risk::Send, Grade::High, "sends a file")),
    (&["wget"], &["--use-askpass"], Means::Command),
    (
        &["wget"],
        &["-e", "--execute", "--config"],
        Means::Is(Risk::Send, Grade::High, "takes its orders from elsewhere"),
    ),
    (
        &["vim", "vi", "nvim", "view", "ex", "ed", "emacs"],
        &["-c", "--cmd", "-S", "--eval", "--execute", "-l", "-batch", "--script", "-f", "-s"],
        Means::Is(Risk::Execute, Grade::High, "runs commands of the editor"),
    ),
    (
        &["docker", "podman", "nerdctl"],
        &["--privileged", "--cap-add", "-v", "--volume", "--mount", "--pid", "--device", "--network", "--net"],
        Means::Is(Risk::Send, Grade::Critical, "opens the machine to a container"),
    ),
    (&["sqlite3"], &["-cmd"], Means::Is(Risk::Execute, Grade::High, "runs commands of its own")),
    (
        &["nc", "ncat", "netcat"],
        &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"],
        Means::Is(Risk::Send, Grade::Refused, "hands a shell to another machine"),
    ),
    (
        &["git"],
        &["--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager", "-O", "--extcmd"],
        Means::Command,
    ),
    (
        &["git"],
        &["--ext-diff", "--textconv"],
        Means::Is(Risk::Execute, Grade::Medium, "runs what the repository names"),
    ),
    (&["git"], &["--output"], Means::Written),
    (&["git"], &["-m", "--message", "-S", "-G", "--author", "--format", "--pretty", "--grep", "--date"], Means::Value),
    (&["cp", "mv", "ln", "install"], &["-t", "--target-directory"], Means::Written),
    (&["mktemp"], &["-p", "--tmpdir"], Means::Written),
    (&["unzip"], &["-d"], Means::Written),
    (&["patch"], &["-o", "-d", "-r"], Means::Written),
    (&["cargo"], &["--config"], Means::Is(Risk::Execute, Grade::High, "changes how it builds")),
];

/// An option as it was met.
pub(super) struct Met {
    /// Its name, as it is known.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) means: Means,
    /// Its value, if it can have one.
    pub(super) value: Option<Word>,
}

/// A program's words, sorted into options that matter and operands.
#[derive(Default)]
pub(super) struct Sorted {
    /// Options that matter.
    pub(super) met: Vec<Met>,
    /// All words that are options.
    pub(super) options: Vec<Word>,
    /// What is left.
    pub(super) operands: Vec<Word>,
}

/// Sorts the words after a program's name.
pub(super) fn sort(program: &str, words: &[Word]) -> Sorted {
    let mut sorted = Sorted::default();
    let mut index = 0;
    let mut only_operands = false;
    while let Some(word) = words.get(index) {
        index += 1;
        if only_operands || !word.text.starts_with('-') || word.text.len() == 1 {
            sorted.operands.push(word.clone());
            continue;
        }
        if word.text == "--" {
            only_operands = true;
            continue;
        }
        sorted.options.push(word.clone());
        for (names, means) in known(program) {
            let Some((name, inside)) =
                names.iter().find_map(|name| matching(name, &word.text).map(|rest| (*name, rest)))
            else {
                continue;
            };
            let takes = match means {
                Means::Written | Means::Command | Means::Upload | Means::Value | Means::Pattern => true,
                Means::InPlace | Means::Is(..) => false,
            };
            let value = match inside {
                "" if takes => words.get(index).cloned(),
                inside => (!inside.is_empty()).then(|| Word { text: inside.to_owned(), ..word.clone() }),
            };
            if takes && inside.is_empty() {
                index += 1;
            }
            sorted.met.push(Met { name, means, value });
            if takes {
                break;
            }
        }
    }
    sorted
}

fn known(program: &str) -> impl Iterator<Item = (&'static [&'static str], Means)> {
    OPTIONS.iter().filter(move |(programs, _, _)| programs.contains(&program)).map(|(_, names, means)| (*names, *means))
}

/// Whether a word is this option, perhaps shortened or in a cluster; its value within the same word.
pub(super) fn matching<'a>(name: &str, word: &'a str) -> Option<&'a str> {
    if let Some(long) = name.strip_prefix("--") {
        let given = word.strip_prefix("--")?;
        let (given, value) = given.split_once('=').unwrap_or((given, ""));
        // Programs take any beginning of a long option that is not two options'.
        return (!given.is_empty() && long.starts_with(given)).then_some(value);
    }
    if name.len() > 2 {
        return word.strip_prefix(name).map(|rest| rest.strip_prefix('=').unwrap_or(rest));
    }
    let letter = name.strip_prefix('-')?;
    let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let at = cluster.find(letter)?;
    // Before it there may be only other letters: what follows a value is none.
    cluster[..at].chars().all(|c| c.is_ascii_alphabetic()).then(|| &cluster[at + letter.len()..])
}

/// Whether one of these options is there.
pub(super) fn has(sorted: &Sorted, names: &[&str]) -> bool {
    sorted.options.iter().any(|word| names.iter().any(|name| matching(name, &word.text).is_some()))
}
