//! `docs/rows.md`: what Hob must do, and the tests that prove it, by the ids that the tests' names begin with.
//!
//! `UPDATE_ROWS=1` writes it anew.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hob_config::environment::Environment;
use sha2::{Digest, Sha256};

/// Where rows are proven.
const ROOMS: [&str; 3] = ["crates", "src", "tests"];

/// The platforms, as a row's words and as files name them.
const PLATFORMS: [(&str, &str); 5] =
    [("telegram", "telegram"), ("slack", "slack"), ("discord", "discord"), ("matrix", "matrix"), ("e-mail", "email")];

/// What more rows than so many say tells nothing of one.
const ROWS_OF_A_WORD_MAX: usize = 8;
/// Shorter words are in every text; of the others the beginning counts, whatever their ending.
const WORD_CHARS_MIN: usize = 4;
const STEM_CHARS: usize = 5;

struct Row {
    id: String,
    /// As agreed.
    words: String,
    /// What Hob does otherwise on purpose, and because of what.
    differs: Option<String>,
    /// Further words by which the code speaks of it.
    also: String,
}

/// A test that carries a row's id.
struct Proof {
    file: String,
    name: String,
    /// Of its name, its file's path and heading, and what it does.
    words: BTreeSet<String>,
}

impl Row {
    fn read(id: &str, value: &toml::Value) -> Self {
        let of = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let words = value.as_str().map(str::to_owned).or_else(|| of("row")).unwrap();
        Self { id: id.to_owned(), words, differs: of("differs"), also: of("also").unwrap_or_default() }
    }

    /// Of which platform's doings its words speak; of none: of everything.
    fn platforms(&self) -> Vec<&'static str> {
        let words = self.words.to_lowercase();
        PLATFORMS.iter().filter(|(name, _)| words.contains(name)).map(|(_, folder)| *folder).collect()
    }

    /// Can what stands in this file prove it? What one platform's own tests show is nothing about another one.
    fn is_of(&self, file: &str) -> bool {
        let parts = || file.split(['/', '.']);
        let room = PLATFORMS.iter().map(|(_, folder)| *folder).find(|folder| parts().any(|part| part == *folder));
        let platforms = self.platforms();
        room.is_none_or(|room| platforms.is_empty() || platforms.contains(&room))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn file() -> String {
    fs::read_to_string(root().join("docs/rows.toml")).unwrap()
}

/// The groups of rows in their order, each with its title.
fn groups() -> Vec<(String, Vec<Row>)> {
    let text = file();
    let all: toml::Table = text.parse().unwrap();
    // The order of the file is the order of the page.
    let mut found = Vec::new();
    for letter in text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')) {
        let group = all[letter].as_table().unwrap();
        let rows = group.iter().filter(|(id, _)| *id != "title");
        let mut rows: Vec<Row> = rows.map(|(id, value)| Row::read(id, value)).collect();
        rows.sort_by_key(|row| row.id[1..].parse::<u32>().unwrap());
        found.push((format!("{letter}. {}", group["title"].as_str().unwrap()), rows));
    }
    found
}

/// The words of a text by their beginnings.
fn words(text: &str) -> BTreeSet<String> {
    let mut apart = String::new();
    let mut before = ' ';
    for sign in text.chars() {
        if before.is_lowercase() && sign.is_uppercase() {
            apart.push(' ');
        }
        apart.push(sign);
        before = sign;
    }
    let words = apart.split(|sign: char| !sign.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    words.map(|word| word.to_lowercase().chars().take(STEM_CHARS).collect()).collect()
}

/// The words that tell each row from the others.
fn telling<'a>(rows: &[&'a Row]) -> BTreeMap<&'a str, BTreeSet<String>> {
    let said: Vec<BTreeSet<String>> = rows.iter().map(|row| words(&row.words)).collect();
    let is_telling = |word: &String| said.iter().filter(|words| words.contains(word)).count() <= ROWS_OF_A_WORD_MAX;
    let of = |(row, said): (&&'a Row, &BTreeSet<String>)| {
        let own = said.iter().filter(|word| is_telling(word)).cloned();
        (row.id.as_str(), own.chain(words(&row.also)).collect())
    };
    rows.iter().zip(&said).map(of).collect()
}

/// The tests in a file, be they functions or laws within `proptest!`: the name of each, and what follows up to the next.
fn tests_in(source: &str) -> Vec<(String, String)> {
    let mut tests: Vec<(String, String)> = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if marked && let Some(name) = function(line) {
            tests.push((name.to_owned(), String::new()));
            marked = false;
        } else if let Some((_, body)) = tests.last_mut().filter(|_| !marked) {
            body.extend([line, "\n"]);
        }
    }
    tests
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_')?;
    Some(&rest[..end])
}

/// The rows that a test's name says it proves: `a5_d4_…` is about two.
fn proven<'a>(name: &str, known: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let ids = name.split('_').map_while(|part| known.get(part.to_uppercase().as_str()).copied());
    ids.collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The tests of each row, by its id.
fn proofs(known: &BTreeSet<&str>) -> BTreeMap<String, Vec<Proof>> {
    let mut files = Vec::new();
    for room in ROOMS {
        sources(&root().join(room), &mut files);
    }
    let mut proofs: BTreeMap<String, Vec<Proof>> = BTreeMap::new();
    // What this file holds are texts about tests.
    for path in files.into_iter().filter(|path| !path.ends_with(file!())) {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        let source = fs::read_to_string(&path).unwrap();
        let heading = source.lines().filter(|line| line.starts_with("//!")).collect::<String>();
        for (name, body) in tests_in(&source) {
            for id in proven(&name, known) {
                let words = words(&format!("{file} {heading} {name} {body}"));
                proofs.entry(id.to_owned()).or_default().push(Proof { file: file.clone(), name: name.clone(), words });
            }
        }
    }
    proofs
}

fn page() -> String {
    let groups = groups();
    let known: BTreeSet<&str> = groups.iter().flat_map(|(_, rows)| rows).map(|row| row.id.as_str()).collect();
    let proofs = proofs(&known);
    let mut page = String::from(
        "# What Hob must do, and what proves it\n\n\
         Made from `docs/rows.toml` and the names of the tests by `tests/rows.rs` (`UPDATE_ROWS=1` writes it anew).\n",
    );
    let mut open = Vec::new();
    for (title, rows) in &groups {
        writeln!(page, "\n## {title}").unwrap();
        for Row { id, words, differs, .. } in rows {
            writeln!(page, "\n**{id}** {words}.\n").unwrap();
            if let Some(differs) = differs {
                writeln!(page, "differs: {differs}.\n").unwrap();
            }
            let Some(tests) = proofs.get(id) else {
                open.push(id.as_str());
                writeln!(page, "- no test yet").unwrap();
                continue;
            };
            let files: BTreeSet<&String> = tests.iter().map(|proof| &proof.file).collect();
            for file in files {
                let names = tests.iter().filter(|proof| proof.file == *file).map(|proof| format!("`{}`", proof.name));
                writeln!(page, "- {file}: {}", names.collect::<Vec<_>>().join(", ")).unwrap();
            }
        }
    }
    writeln!(page, "\n## Not covered yet\n").unwrap();
    let open = if open.is_empty() { "Nothing".to_owned() } else { open.join(", ") };
    writeln!(page, "{open}.").unwrap();
    page
}

#[test]
fn the_page_is_what_the_tests_say() {
    let path = root().join("docs/rows.md");
    let page = page();
    if Environment::of_process().get("UPDATE_ROWS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/rows.md is stale: UPDATE_ROWS=1 cargo nextest run --test rows");
}

#[test]
fn rows_say_what_was_agreed_and_why_they_differ() {
    let all: toml::Table = file().parse().unwrap();
    let mut words = Sha256::new();
    for Row { id, words: row, differs, .. } in groups().iter().flat_map(|(_, rows)| rows) {
        words.update(format!("{id} {row}\n"));
        let told = differs.as_ref().is_none_or(|differs| differs.contains(", because "));
        assert!(told, "{id} says what is otherwise, and not why");
    }
    let words: String = words.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let agreed = all["agreed"].as_str().unwrap();
    assert_eq!(words, agreed, "a row was reworded: what Hob does otherwise stands in `differs`");
}

#[test]
fn a_platforms_tests_prove_no_row_of_another_platform() {
    let groups = groups();
    let rows: BTreeMap<&str, &Row> =
        groups.iter().flat_map(|(_, rows)| rows).map(|row| (row.id.as_str(), row)).collect();
    let proofs = proofs(&rows.keys().copied().collect());
    let wrong = proofs.iter().flat_map(|(id, tests)| {
        let strange = tests.iter().filter(|proof| !rows[id.as_str()].is_of(&proof.file));
        strange.map(|proof| format!("{}: {}", proof.file, proof.name))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "these carry the id of a row about another platform");
}

#[test]
fn a_test_speaks_of_its_row() {
    let groups = groups();
    let rows: Vec<&Row> = groups.iter().flat_map(|(_, rows)| rows).collect();
    let telling = telling(&rows);
    let proofs = proofs(&telling.keys().copied().collect());
    let wrong = proofs.iter().flat_map(|(id, tests)| {
        let strange = tests.iter().filter(|proof| proof.words.is_disjoint(&telling[id.as_str()]));
        strange.map(|proof| format!("{}: {}", proof.file, proof.name))
    });
    let why =
        "these share no word with the row whose id they carry: drop the id, or say in `also` how the code speaks of it";
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "{why}");
}

#[test]
fn words_that_many_rows_have_tell_nothing() {
    let row = |id: &str, words: &str, also: &str| Row {
        id: id.to_owned(),
        words: words.to_owned(),
        differs: None,
        also: also.to_owned(),
    };
    let mut rows: Vec<Row> = (1..=8).map(|id| row(&format!("A{id}"), "Every model is asked", "")).collect();
    rows.push(row("B1", "E-mail as a real channel: each model's DKIM result", "letter"));
    let telling = telling(&rows.iter().collect::<Vec<_>>());
    let expected = ["chann", "dkim", "each", "lette", "mail", "real", "resul"];
    assert_eq!(telling["B1"], expected.map(str::to_owned).into());
    let speaks = |test: &str| !words(test).is_disjoint(&telling["B1"]);
    let table = [
        ("crates/email/src/quotes.rs //! Letters b1_only_what_is_new_is_left", true),
        ("crates/slack/src/signs.rs b1_a_model_sees_signs", false),
        ("fn b1_x let theResult = read();", true),
    ];
    for (test, expected) in table {
        assert_eq!(speaks(test), expected, "{test}");
    }
}

#[test]
fn a_row_about_letters_is_proven_where_letters_are() {
    let row = |words: &str| Row { id: String::new(), words: words.to_owned(), differs: None, also: String::new() };
    let letters = row("E-mail as a real channel");
    let table = [
        ("tests/platforms/slack/signs.rs", false),
        ("tests/platforms/email/mod.rs", true),
        ("crates/router/src/mail.rs", true),
    ];
    for (file, expected) in table {
        assert_eq!(letters.is_of(file), expected, "{file}");
    }
    assert!(row("Telegram, Slack and e-mail").is_of("tests/platforms/slack/signs.rs"));
    assert!(row("Honest status").is_of("crates/discord/src/call.rs"));
}

#[test]
fn tests_are_found_by_their_marks() {
    let source = "
        #[test]
        fn a1_plain() {}
        fn a2_helper() {}
        #[tokio::test(start_paused = true)]
        #[expect(clippy::x, reason = \"y\")]
        async fn a3_waits() {}
        proptest! {
            #[test]
            fn a4_law(x in 0..3) {}
        }
        // #[test]
        fn a5_no_test() {}
        #[test]
        pub fn nothing<T>() {}";
    let names: Vec<String> = tests_in(source).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a1_plain", "a3_waits", "a4_law", "nothing"]);
}

#[test]
fn ids_match_whole() {
    let known = BTreeSet::from(["B1", "B12", "A5"]);
    let table: [(&str, &[&str]); 7] = [
        ("b1_retries", &["B1"]),
        ("b12_notes", &["B12"]),
        ("b123_nothing", &[]),
        ("b1", &["B1"]),
        ("a5_b1_both", &["A5", "B1"]),
        ("the_b1_later", &[]),
        ("a5x_b1", &[]),
    ];
    for (name, expected) in table {
        assert_eq!(proven(name, &known), expected, "{name}");
    }
}
