//! What is kept, in which order, whatever ends when; and starts from it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use super::fallback::{Fallback, load_or_good};
use super::*;
use crate::Config;
use crate::load::{LoadError, LoadedConfig};
use crate::problem::Finding;
use crate::writer::commit::CommitStep;
use hob_core::domain::secret::Secret;

const TELEGRAM: &str = "[telegram]\nbot_token = '1:hunter2'\nowner_user_ids = [1]\n";

struct Harness {
    dir: TempDir,
}

impl Harness {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("config.toml")
    }

    fn env(&self) -> Environment {
        Environment::of(self.dir.path(), [("HOB_HOME", self.dir.path().join("data"))])
    }

    fn history(&self) -> GoodConfigHistory {
        GoodConfigHistory::found(&self.file(), &self.env())
    }

    fn good(&self, minute: i64, text: &str) -> GoodConfig {
        let config = load::parse(&self.file(), text, &self.env()).unwrap_or_default();
        GoodConfig::new(&self.file(), &Secret::new(text.to_owned()), &config, at(minute))
    }

    fn keep(&self, minute: i64, text: &str) -> Option<PathBuf> {
        self.history().keep(&self.good(minute, text), &mut |_| {}).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.history().shelf().good.iter().map(|kept| kept.good.text.expose().to_owned()).collect()
    }

    fn start(&self) -> Result<(LoadedConfig, Option<Fallback>), LoadError> {
        load_or_good(None, &self.env(), |_| Vec::new())
    }

    /// What runs although the file is bad.
    fn degraded(&self) -> (LoadedConfig, Fallback) {
        let (loaded, fallback) = self.start().unwrap();
        (loaded, fallback.expect("the file is bad"))
    }
}

fn at(minute: i64) -> Timestamp {
    "2026-11-21T20:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute)
}

fn iterations(number: u32) -> String {
    format!("# {number}\n{TELEGRAM}[agent]\niterations_max = {number}\n")
}

#[test]
fn a8_a_good_config_is_kept_once_for_its_user_and_says_what_it_is() {
    let home = Harness::new();
    let kept = home.keep(1, TELEGRAM).unwrap();
    assert_eq!(kept, home.dir.path().join("config.toml.lastgood"));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kept), 0o600);
    let folder = home.dir.path().join("config.toml.good");
    assert_eq!(mode(&folder), 0o700);
    assert!(files_in(&folder).iter().all(|path| mode(path) == 0o600));
    let text = fs::read_to_string(&kept).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("# hob ") && lines[2] == "# when 2026-11-21T20:01:00Z", "{text}");
    assert!(lines[4].starts_with("# text sha256 ") && text.ends_with(&format!("\n#\n{TELEGRAM}")), "{text}");
    assert_eq!(home.keep(2, TELEGRAM), None, "it differs not");
    assert!(home.keep(3, &iterations(1)).is_some() && home.keep(4, TELEGRAM).is_some());
    assert_eq!(home.texts(), [TELEGRAM, &iterations(1)], "each text once, the newest first");
}

#[test]
fn n7_the_last_ten_are_kept() {
    let home = Harness::new();
    for number in 1..=14 {
        home.keep(i64::from(number), &iterations(number)).unwrap();
    }
    let expected: Vec<String> = (5..=14).rev().map(iterations).collect();
    assert_eq!(home.texts(), expected);
    assert_eq!(files_in(&home.dir.path().join("config.toml.good")).len(), KEPT);
}

#[test]
fn n7_whoever_ends_while_keeping_leaves_a_whole_history() {
    let home = Harness::new();
    home.keep(1, &iterations(1)).unwrap();
    let mut seen = Vec::new();
    let mut witness = |step: CommitStep| {
        let shelf = home.history().shelf();
        let first = shelf.good.first().map(|kept| kept.good.text.expose().to_owned());
        seen.push((step, shelf.broken.len(), first.unwrap()));
    };
    home.history().keep(&home.good(2, &iterations(2)), &mut witness).unwrap();
    assert_eq!(seen.len(), 8, "two files, four steps each");
    for (index, (step, broken, first)) in seen.iter().enumerate() {
        assert_eq!((*broken, first), (0, &iterations(if index >= 6 { 2 } else { 1 })), "{step:?}");
    }
    // What is left in the making is swept away by the next, even of one that never came to be; it may hold keys.
    let left = [".config.toml.lastgood.abc.new", "config.toml.good/.20261121T190000Z-0a1b2c3d.toml.abc.new"]
        .map(|name| home.dir.path().join(name));
    left.iter().for_each(|left| fs::write(left, "half").unwrap());
    home.keep(3, &iterations(3)).unwrap();
    assert!(left.iter().all(|left| !left.exists()));
}

#[test]
fn n7_a_folder_that_is_not_hobs_has_its_history_in_the_data_directory() {
    let home = Harness::new();
    // Even root cannot make anything there.
    let history = GoodConfigHistory::of(Path::new("/sys/config.toml"), Some(&home.dir.path().join("data")));
    let good = GoodConfig::new(history.file(), &Secret::new(TELEGRAM.to_owned()), &Config::default(), at(1));
    let kept = history.keep(&good, &mut |_| {}).unwrap();
    assert_eq!(kept, Some(home.dir.path().join("data/config/config.toml.lastgood")));
    assert_eq!(history.shelf().good.len(), 1);
    // Another file's is not taken for this one's.
    assert!(home.history().shelf().good.is_empty());
}

#[test]
fn n7_what_is_kept_where_the_file_puts_the_data_is_found_whatever_becomes_of_the_file() {
    let home = Harness::new();
    let (file, state) = (home.dir.path().join("etc/config.toml"), home.dir.path().join("state"));
    let env = Environment::of(home.dir.path(), [("HOME", home.dir.path()), ("HOB_CONFIG", file.as_path())]);
    let text = format!("[state]\ndir = '{}'\n{TELEGRAM}", state.display());
    let kept = |file: &Path| GoodConfigHistory::found(file, &env).shelf().good.len();
    // As if its folder were the administrator's.
    let history = GoodConfigHistory { file: file.clone(), folders: vec![PathBuf::from("/sys"), state.join(SPARE)] };
    history.keep(&GoodConfig::new(&file, &Secret::new(text.clone()), &Config::default(), at(1)), &mut |_| {}).unwrap();
    fs::create_dir(home.dir.path().join("etc")).unwrap();
    fs::write(&file, format!("{text}[agnet]\n")).unwrap();
    assert_eq!(kept(&file), 1, "a bad file says it nevertheless");
    let bad: [(&str, Option<&[u8]>); 5] = [
        ("not TOML", Some(b"[state\ndir = '/nowhere'")),
        ("not UTF-8", Some(b"[state]\ndir = '\xfc'")),
        ("mistyped", Some(b"[stat]\ndir = '/nowhere'\n")),
        ("elsewhere", Some(b"[state]\ndir = '/nowhere'\n[agnet]\n")),
        ("gone", None),
    ];
    let write = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => fs::write(&file, bytes).unwrap(),
        None => fs::remove_file(&file).unwrap(),
    };
    for (what, bytes) in bad {
        write(bytes);
        assert_eq!(kept(&file), 0, "{what}: nothing says where");
        history.note(&env).unwrap();
        assert_eq!(kept(&file), 1, "{what}");
        assert_eq!(kept(&home.dir.path().join("other/config.toml")), 0, "{what}: another file's is not taken");
        let (loaded, fallback) = load_or_good(None, &env, |_| Vec::new()).unwrap();
        assert_eq!((loaded.config.state.dir, fallback.is_some()), (Some(state.clone()), true), "{what}");
        assert_eq!(crate::data_dir::data_dir_if_known(None, &env).unwrap().exists(), what != "elsewhere", "{what}");
        fs::remove_file(home.dir.path().join(".local/share/hob/config/places.toml")).unwrap();
    }
}

#[test]
fn k5_hob_starts_from_the_last_good_config_whatever_is_wrong_with_the_file() {
    let bad: [(&str, &[u8]); 6] = [
        ("syntax", b"[telegram\nbot_token = 'x'"),
        ("unknown key", b"[agent]\niterations = 3\n"),
        ("bad value", b"[agent]\niterations_max = 'many'\n"),
        ("half-written", b"[telegram]\nbot_token = '1:hunt"),
        ("not UTF-8", b"[agent]\nsystem_prompt = '\xfc'\n"),
        ("too big", &[b'#'; 2 << 20]),
    ];
    for (what, bytes) in bad {
        let home = Harness::new();
        home.keep(1, &iterations(7)).unwrap();
        fs::write(home.file(), bytes).unwrap();
        let (loaded, fallback) = home.degraded();
        assert_eq!(loaded.config.agent.iterations_max, 7, "{what}");
        assert_eq!((loaded.path, loaded.config.telegram.is_some()), (Some(home.file()), true), "{what}");
        assert_eq!(loaded.source.expose(), iterations(7), "{what}");
        assert_eq!(fs::read(home.file()).unwrap(), bytes, "{what}: the file is left as it is");
        assert!(fallback.same && fallback.skipped.is_empty() && fallback.closed.is_empty(), "{what}: {fallback:?}");
        let told = fallback.trouble(at(5)).to_string();
        assert!(told.contains("config.toml") && told.contains("2026-11-21 20:01:00 UTC"), "{told}");
        assert!(!told.contains("hunt"), "{told}");
    }
}

#[test]
fn k5_a_file_that_is_gone_or_a_folder_is_no_end_either() {
    let home = Harness::new();
    assert!(home.start().unwrap().1.is_none(), "nothing was ever there");
    home.keep(1, &iterations(7)).unwrap();
    let (loaded, fallback) = home.degraded();
    assert_eq!(loaded.config.agent.iterations_max, 7);
    assert!(fallback.rejected.to_string().contains("is missing, but Hob has a copy of it"), "{}", fallback.rejected);
    fs::create_dir(home.file()).unwrap();
    assert!(matches!(home.degraded().1.rejected, LoadError::IsDirectory { .. }));
    // A named file, in the same way.
    let named = home.dir.path().join("named.toml");
    let load = || load_or_good(Some(&named), &home.env(), |_| Vec::new());
    assert!(matches!(load(), Err(LoadError::NotFound { .. })));
    let good = GoodConfig::new(&named, &Secret::new(iterations(3)), &Config::default(), at(1));
    GoodConfigHistory::found(&named, &home.env()).keep(&good, &mut |_| {}).unwrap();
    assert_eq!(load().unwrap().0.config.agent.iterations_max, 3);
}

#[test]
fn k5_a_broken_last_good_config_gives_way_to_the_one_before() {
    let home = Harness::new();
    for number in 1..=3 {
        home.keep(i64::from(number), &iterations(number)).unwrap();
    }
    fs::write(home.file(), "[").unwrap();
    let last = home.dir.path().join("config.toml.lastgood");
    let break_in = |path: &Path, text: &str| {
        let whole = fs::read_to_string(path).unwrap();
        fs::write(path, whole.replace("iterations_max", text)).unwrap();
    };
    // The third stands in the folder, too.
    break_in(&last, "iterations_mx");
    let (loaded, fallback) = home.degraded();
    assert_eq!((loaded.config.agent.iterations_max, fallback.skipped.len()), (3, 1), "{fallback:?}");
    break_in(&fallback.from, "iterations_mx");
    let (loaded, fallback) = home.degraded();
    assert_eq!((loaded.config.agent.iterations_max, fallback.skipped.len()), (2, 2), "{fallback:?}");
    for path in files_in(&home.dir.path().join("config.toml.good")) {
        fs::write(path, "").unwrap();
    }
    let error = home.start().unwrap_err();
    assert!(matches!(error, LoadError::Invalid(_)), "as without any: {error}");
}

#[test]
fn k5_what_other_rooms_find_is_wrong_as_well() {
    let home = Harness::new();
    home.keep(1, &iterations(7)).unwrap();
    fs::write(home.file(), iterations(9)).unwrap();
    let extra_check = |config: &Config| match config.agent.iterations_max {
        9 => vec![Finding::new("agent.iterations_max", "is nine", "take another")],
        _ => Vec::new(),
    };
    let (loaded, fallback) = load_or_good(None, &home.env(), extra_check).unwrap();
    assert_eq!(loaded.config.agent.iterations_max, 7);
    assert!(fallback.unwrap().trouble(at(1)).what.contains("config.toml:6: agent.iterations_max: is nine"));
}

#[test]
fn n7_a_broken_list_of_who_may_speak_closes_its_channel_and_no_other() {
    let home = Harness::new();
    let two = format!("{TELEGRAM}[slack]\nbot_token = 'xoxb-1'\napp_token = 'xapp-1'\nowner_user_ids = ['U1']\n");
    home.keep(1, &two).unwrap();
    fs::write(home.file(), two.replace("owner_user_ids = [1]", "owner_user_ids = ['1']")).unwrap();
    let (loaded, fallback) = home.degraded();
    assert_eq!((loaded.config.telegram.is_none(), loaded.config.slack.is_some()), (true, true));
    let told = fallback.trouble(at(1)).what;
    assert!(told.contains("closed until then, as it says who may do what there: [telegram]"), "{told}");
    assert_eq!(loaded.source.expose(), two, "what runs is not what is good as a whole, but what it was made from");
}
