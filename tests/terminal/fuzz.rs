//! Shell lines out of a grammar, against the real thing: a line that is judged to only look changes nothing when it is run.
//!
//! The lines are the corpus's, spliced and spoilt. The oracle is the overlay: its upper layer is what the line did.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hob_core::domain::ids::{RunId, SessionKey, UserId};
use hob_core::policy::shell::{self, CommandVerdict};
use hob_tools::changes::draft_dir::DraftDir;
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::sandbox::SandboxProfile;
use hob_tools::workspace::Workspace;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::place::{Harness, IsolationMode};
use hob_config::environment::Environment;

const CORPUS: &str = include_str!("../../crates/core/src/policy/shell/verdicts.txt");
/// So many lines that look are run in one overlay; if anything changed, each is run by itself.
const BATCH: usize = 40;
const RUN_IN_SUITE: usize = 400;
/// What lines are spoilt with.
const SPICE: &[&str] = &[
    "> made",
    ">> made",
    "2> made",
    "&> made",
    ">| made",
    "<> made",
    "; touch made",
    "&& touch made",
    "|| touch made",
    "| tee made",
    "& touch made",
    "\ntouch made",
    "$(touch made)",
    "`touch made`",
    "<(touch made)",
    ">(touch made)",
    "${x:=made}",
    "$((x=1))",
    "-o made",
    "--output=made",
    "--output made",
    "-w made",
    "-delete",
    "-exec touch made ;",
    "-execdir touch made ;",
    "-fprint made",
    "-fls made",
    "-ok touch made ;",
    "--pre=touch",
    "--pre touch",
    "-i",
    "-i.bak",
    "--in-place",
    "w made",
    "s/a/b/w made",
    "e touch made",
    "--ext-diff",
    "--output-directory=made",
    "-C made",
    "-c made",
    "--compress-program=touch",
    "-T made",
    "--files0-from=made",
    "-f made",
    "--exec=touch",
    "-x touch",
    "-X touch",
    "-s 1",
    "--set=1",
    "-d made",
    "made",
    "a.txt",
    "d/b.txt",
    "*",
    "?.txt",
    "{a,b}.txt",
    "~",
    "..",
    ".",
    "/",
    "'a b'",
    "\"$x\"",
    "\\",
    "'",
    "\"",
    "#",
    "!",
    "!!",
    "=touch",
    "x=1",
    "x+=1",
    "()",
    "{ ",
    " }",
    "[",
    "]",
    "--",
    "-",
    "+x",
    "\t",
    "\r",
    "\u{a0}",
    "-n",
    "-e",
    "-rf",
    "@",
    "%",
    "^",
    "|",
    "&",
    ";",
    "|&",
    "if",
    "then",
    "fi",
    "function",
    "time",
    "exec",
    "command",
    "builtin",
    "eval",
    "source",
    ".",
    "env",
    "xargs",
    "sudo",
    "nohup",
    "nice",
    "awk",
    "sed",
    "tee",
    "touch",
    "split",
    "csplit",
    "truncate",
    "shuf -o made",
    "uniq a.txt made",
    "sort -o made a.txt",
    "tree -o made",
    "xxd -r a made",
];

/// Numbers that look like chance, the same for the same seed (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % sides
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// Lines to begin with; those whose program is not here are named.
fn seeds() -> Vec<String> {
    let lines = CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '@']));
    let commands = lines.filter_map(|line| line.split_once(' ')).filter(|(_, command)| !command.contains("<U+"));
    let environment = Environment::of_process();
    let is_here = |name: &str| {
        let paths = environment.get("PATH").unwrap_or_default();
        name.contains('/') || std::env::split_paths(paths).any(|dir| dir.join(name).is_file())
    };
    let (here, gone): (Vec<String>, Vec<String>) = commands
        .map(|(_, command)| command.replace('⏎', "\n"))
        .partition(|command| command.split_whitespace().next().is_some_and(is_here));
    let gone: std::collections::BTreeSet<&str> =
        gone.iter().filter_map(|command| command.split_whitespace().next()).collect();
    eprintln!("not tried, as it is not installed here: {gone:?}");
    here
}

/// A line by the grammar: a seed, or parts of two, with some of it spoilt.
fn line(dice: &mut Dice, seeds: &[String]) -> String {
    let mut words: Vec<String> = dice.pick(seeds).split(' ').map(str::to_owned).collect();
    if dice.roll(4) == 0 {
        let other: Vec<String> = dice.pick(seeds).split(' ').map(str::to_owned).collect();
        let (at, from) = (dice.roll(words.len() + 1), dice.roll(other.len()));
        words.truncate(at);
        words.extend_from_slice(&other[from..]);
    }
    for _ in 0..dice.roll(4) {
        let at = dice.roll(words.len() + 1);
        match dice.roll(5) {
            0 if at < words.len() => drop(words.remove(at)),
            1 if at < words.len() => words[at] = (*dice.pick(SPICE)).to_owned(),
            2 if at < words.len() => {
                let spice = *dice.pick(SPICE);
                words[at].push_str(spice);
            }
            3 if at < words.len() => {
                let mut chars: Vec<char> = words[at].chars().collect();
                let place = dice.roll(chars.len() + 1);
                chars.insert(
                    place,
                    *dice.pick(&['-', '\'', '"', '\\', '$', ' ', '\n', '=', '>', '|', ';', 'o', 'w', 'i']),
                );
                words[at] = chars.into_iter().collect();
            }
            _ => words.insert(at, (*dice.pick(SPICE)).to_owned()),
        }
    }
    words.join(" ")
}

struct DraftFuzzer {
    place: Harness,
    drafts: Drafts,
    runs: i64,
}

impl DraftFuzzer {
    fn open(&mut self) -> DraftDir {
        self.runs += 1;
        let (session, now) = (SessionKey("7".into()), Timestamp::UNIX_EPOCH);
        let of = DraftOwner { run: RunId(self.runs), session, user: UserId(1), now };
        self.drafts.open(&of, &DraftId::Shared(0)).unwrap()
    }

    /// What these lines changed, one after the other.
    fn changed(&mut self, lines: &[String]) -> Option<String> {
        let draft = self.open();
        let temporary = self.place.path("data/scratch-of-test");
        fs::create_dir_all(&temporary).unwrap();
        let reach = self.place.confinement.reach.clone();
        let room = SandboxProfile { reach, overlays: draft.overlays(), temporary };
        let mut vector =
            ["/bin/bash", "-c", "for line; do timeout -k 1 2 /bin/bash -c \"$line\" & wait $!; done", "fuzz"]
                .map(str::to_owned)
                .to_vec();
        vector.extend_from_slice(lines);
        let vector = self.place.sandbox.vector(&room, &vector).unwrap();
        let mut command = Command::new(&vector[0]);
        command.args(&vector[1..]).current_dir(self.place.workspace());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let _held = child.stdin.take();
        child.wait().unwrap();
        let set = draft.change_set().unwrap();
        let shown = (!set.is_empty()).then(|| set.summary(0).shown);
        draft.discard().unwrap();
        shown
    }

    /// Tries lines until `enough` of those that look were run.
    fn fuzz(&mut self, seed: u64, enough: impl Fn(usize) -> bool) -> usize {
        let (seeds, mut dice, mut run, mut made) = (seeds(), Dice(seed | 1), 0, 0_u64);
        while !enough(run) {
            let mut batch = Vec::new();
            while batch.len() < BATCH {
                let line = line(&mut dice, &seeds);
                made += 1;
                if !line.contains('\0') && matches!(shell::assess(&line), CommandVerdict::Looks) {
                    batch.push(line);
                }
            }
            run += batch.len();
            if self.changed(&batch).is_some() {
                for line in &batch {
                    let changed = self.changed(std::slice::from_ref(line));
                    assert_eq!(changed, None, "judged to look, and changed something (seed {seed}): {line:?}");
                }
                panic!("together they changed something (seed {seed}): {batch:#?}");
            }
        }
        eprintln!("{made} lines, {run} of which look and were run");
        run
    }
}

async fn lab() -> Option<DraftFuzzer> {
    let place = Harness::new(IsolationMode::Namespaces).await;
    if !place.sandbox.overlays() {
        eprintln!("skipped: this kernel gives no overlay ({})", place.sandbox.strength());
        return None;
    }
    let root = place.workspace();
    fs::create_dir_all(root.join("d/src")).unwrap();
    for path in ["a.txt", "b.txt", "d/b.txt", "d/src/main.rs", "names.txt", "README.md", "Cargo.toml", "package.json"] {
        fs::write(root.join(path), "{\"name\": \"x\"}\n").unwrap();
    }
    let data = place.path("data");
    let drafts = Drafts::new(Path::new(&data), &Workspace::of(&data));
    Some(DraftFuzzer { place, drafts, runs: 0 })
}

#[tokio::test]
async fn no_line_that_is_judged_to_look_changes_anything() {
    let Some(mut lab) = lab().await else { return };
    assert!(lab.fuzz(20_261_123, |run| run >= RUN_IN_SUITE) >= RUN_IN_SUITE);
}

#[tokio::test]
#[ignore = "takes as many minutes as it is given: scripts/fuzz-shell MINUTES"]
async fn fuzz_for_minutes() {
    let Some(mut lab) = lab().await else { return };
    let number = |name| Environment::of_process().text(name).unwrap().parse::<u64>().unwrap();
    let (minutes, seed) = (number("HOB_FUZZ_MINUTES"), number("HOB_FUZZ_SEED"));
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    lab.fuzz(seed, |_| Instant::now() >= end);
}
