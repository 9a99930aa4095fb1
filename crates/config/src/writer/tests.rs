//! Writers that end in the middle, beside each other, and beside an editor.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::writer::commit::CommitStep;

const OLD: &str = "# Ours.\n[agent]\niterations_max = 7 # enough\n";
const NEW: &str = "# Ours.\n[agent]\niterations_max = 9 # enough\n";
const MINE: &str = "# Mine.\n[agent]\niterations_max = 8\n";

struct Harness {
    dir: TempDir,
}

impl Harness {
    fn new(text: &str) -> Self {
        let harness = Self { dir: tempfile::tempdir().unwrap() };
        fs::write(harness.file(), text).unwrap();
        harness
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("config.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn writer(&self) -> Writer {
        Writer::new(self.file(), Environment::of(self.dir.path(), [("HOME", "/nowhere")]), |_| Vec::new())
    }

    /// The names in the folder, but for the lock.
    fn names(&self) -> Vec<String> {
        let names =
            fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != ".config.toml.lock").collect();
        names.sort();
        names
    }

    /// The folder as a process would leave it that ended now.
    fn as_it_is(&self) -> Self {
        let copy = Self { dir: tempfile::tempdir().unwrap() };
        for name in self.names() {
            fs::copy(self.dir.path().join(&name), copy.dir.path().join(&name)).unwrap();
        }
        copy
    }
}

fn now() -> Timestamp {
    "2026-11-21T20:41:50Z".parse().unwrap()
}

fn write(
    writer: &Writer,
    plan: &PlannedChange,
    keep: Option<Timestamp>,
    witness: StepObserver<'_>,
) -> Result<Option<PathBuf>, WriteError> {
    let (target, _lock) = writer.locked(&plan.seen, now())?;
    writer.exchange(&CommitRequest { target: &target, seen: &plan.seen, text: plan.text(), keep }, witness)
}

fn nine() -> [Edit; 1] {
    [Edit::set("agent.iterations_max", "9")]
}

#[test]
fn n7_a_writer_that_ends_at_any_step_leaves_the_whole_old_or_the_whole_new_file() {
    for keep in [None, Some(now())] {
        let harness = Harness::new(OLD);
        let plan = harness.writer().plan(&nine(), Secrets::Refused).unwrap();
        let mut left = Vec::new();
        let mut witness = |step: CommitStep| left.push((step, harness.as_it_is()));
        write(&harness.writer(), &plan, keep, &mut witness).unwrap();
        let steps: Vec<CommitStep> = left.iter().map(|(step, _)| *step).collect();
        let expected = [
            CommitStep::Written,
            CommitStep::Synced,
            CommitStep::Compared,
            CommitStep::Exchanged,
            CommitStep::Confirmed,
            CommitStep::Kept,
            CommitStep::Settled,
        ];
        assert_eq!(steps, expected);
        for (step, left) in left {
            let is_new = expected.iter().position(|known| *known == step).unwrap() >= 3;
            assert_eq!(left.text(), if is_new { NEW } else { OLD }, "{step:?}");
            // Whoever writes next goes on from there, and takes away what was left.
            left.writer().change(&nine(), Secrets::Refused, now()).unwrap();
            assert_eq!(left.text(), NEW, "{step:?}");
            assert!(left.names().iter().all(|name| !name.ends_with(".new")), "{step:?}: {:?}", left.names());
            let kept = left.dir.path().join("config.toml.rejected-20261121T204150Z");
            if is_new && (keep.is_some() || step == CommitStep::Exchanged || step == CommitStep::Confirmed) {
                assert_eq!(fs::read_to_string(kept).unwrap(), OLD, "{step:?}");
            }
        }
    }
}

#[test]
fn n7_an_edit_in_the_middle_of_a_change_is_never_lost() {
    let in_place = |file: &Path| fs::write(file, MINE).unwrap();
    let by_name = |file: &Path| {
        fs::write(file.with_extension("swp"), MINE).unwrap();
        fs::rename(file.with_extension("swp"), file).unwrap();
    };
    let editors: [&dyn Fn(&Path); 2] = [&in_place, &by_name];
    for editor in editors {
        for at in [
            CommitStep::Written,
            CommitStep::Synced,
            CommitStep::Compared,
            CommitStep::Exchanged,
            CommitStep::Kept,
            CommitStep::Settled,
        ] {
            let harness = Harness::new(OLD);
            let plan = harness.writer().plan(&nine(), Secrets::Refused).unwrap();
            let mut witness = |step: CommitStep| {
                if step == at {
                    editor(&harness.file())
                }
            };
            let done = write(&harness.writer(), &plan, None, &mut witness);
            assert_eq!(harness.text(), MINE, "{at:?}");
            let is_before = matches!(at, CommitStep::Written | CommitStep::Synced | CommitStep::Compared);
            assert_eq!(done.err().map(|error| error.is_change()), is_before.then_some(true), "{at:?}");
            assert_eq!(harness.names(), ["config.toml"], "{at:?}");
        }
    }
}

#[test]
fn n7_two_edits_within_one_change_are_both_kept() {
    let harness = Harness::new(OLD);
    let plan = harness.writer().plan(&nine(), Secrets::Refused).unwrap();
    // One just before the exchange, and one in the moment before it is taken back.
    let mut witness = |step: CommitStep| match step {
        CommitStep::Compared => fs::write(harness.file(), MINE).unwrap(),
        CommitStep::Exchanged => fs::write(harness.file(), "# Newer.\n").unwrap(),
        _ => {}
    };
    let done = write(&harness.writer(), &plan, None, &mut witness);
    assert!(done.unwrap_err().is_change());
    let mut texts: Vec<String> =
        harness.names().iter().map(|name| fs::read_to_string(harness.dir.path().join(name)).unwrap()).collect();
    texts.sort();
    assert_eq!(texts, [MINE, "# Newer.\n"], "{:?}", harness.names());
}

#[test]
fn n7_what_was_planned_from_another_text_is_refused() {
    let harness = Harness::new(OLD);
    let plan = harness.writer().plan(&nine(), Secrets::Refused).unwrap();
    assert_eq!(plan.told(), "agent.iterations_max: 7 # enough → 9");
    fs::write(harness.file(), MINE).unwrap();
    let error = harness.writer().commit(&plan, now()).unwrap_err();
    assert!(
        error.is_change()
            && error.to_string().ends_with("cannot be written: it was changed meanwhile; nothing was changed"),
        "{error}"
    );
    assert_eq!(harness.text(), MINE);
    fs::remove_file(harness.file()).unwrap();
    assert!(harness.writer().commit(&plan, now()).unwrap_err().is_change());
    assert_eq!(harness.names(), Vec::<String>::new());
    let fresh = harness.writer().plan(&nine(), Secrets::Refused).unwrap();
    fs::write(harness.file(), MINE).unwrap();
    assert!(harness.writer().commit(&fresh, now()).unwrap_err().is_change(), "there was no file");
    assert_eq!(harness.text(), MINE);
}

#[test]
fn n7_writers_beside_each_other_lose_nothing() {
    let harness = Harness::new(OLD);
    let write = |writer: usize, number: usize| {
        let edit = [Edit::set(&format!("aliases.w{writer}n{number}"), "\"openai/gpt-5-mini\"")];
        // Whoever came too late too often asks again.
        while let Err(error) = harness.writer().change(&edit, Secrets::Refused, now()) {
            assert!(error.is_change() || matches!(error, WriteError::Busy { .. }), "{error}");
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let write = &write;
            scope.spawn(move || (0..10).for_each(|number| write(writer, number)));
        }
    });
    let text = harness.text();
    assert_eq!(text.matches("= \"openai/gpt-5-mini\"").count(), 40, "{text}");
    assert!(text.starts_with(OLD) && harness.names() == ["config.toml"], "{text}");
}

#[test]
fn mode_and_links_stay_and_a_new_file_is_for_its_user() {
    let harness = Harness::new(OLD);
    fs::set_permissions(harness.file(), fs::Permissions::from_mode(0o640)).unwrap();
    let (link, dangling) = (harness.dir.path().join("link.toml"), harness.dir.path().join("dangling.toml"));
    symlink("config.toml", &link).unwrap();
    symlink("deep/new.toml", &dangling).unwrap();
    let writer = |file: &Path| Writer { file: file.to_owned(), ..harness.writer() };
    writer(&link).change(&nine(), Secrets::Refused, now()).unwrap();
    assert_eq!(harness.text(), NEW);
    assert_eq!(harness.file().metadata().unwrap().mode() & 0o777, 0o640);
    assert!(link.is_symlink());
    writer(&dangling).change(&nine(), Secrets::Refused, now()).unwrap();
    let new = harness.dir.path().join("deep/new.toml");
    assert_eq!(fs::read_to_string(&new).unwrap(), "[agent]\niterations_max = 9\n");
    assert_eq!((new.metadata().unwrap().mode() & 0o777, dangling.is_symlink()), (0o600, true));
    assert_eq!(new.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
}

#[test]
fn the_owner_stays() {
    let harness = Harness::new(OLD);
    if std::os::unix::fs::chown(harness.file(), Some(4321), Some(4321)).is_err() {
        // Only root gives files away; for others there is nothing to keep.
        return;
    }
    harness.writer().change(&nine(), Secrets::Refused, now()).unwrap();
    let about = harness.file().metadata().unwrap();
    assert_eq!((about.uid(), about.gid(), harness.text().as_str()), (4321, 4321, NEW));
}

#[test]
fn n7_whatever_stands_in_the_place_is_kept_when_a_text_replaces_it() {
    for what in ["latin1", "folder", "nothing", "huge"] {
        let harness = Harness::new(OLD);
        let file = harness.file();
        fs::remove_file(&file).unwrap();
        match what {
            "latin1" => fs::write(&file, b"name = '\xfcber'").unwrap(),
            "huge" => fs::write(&file, vec![b'#'; 3 << 20]).unwrap(),
            "folder" => {
                fs::create_dir(&file).unwrap();
                fs::write(file.join("inner"), "x").unwrap();
            }
            _ => {}
        }
        let seen = harness.writer().look().unwrap();
        assert!(what == "nothing" || harness.writer().plan(&nine(), Secrets::Refused).is_err(), "{what}");
        let kept = harness.writer().replace(&seen, NEW, now()).unwrap();
        assert_eq!((harness.text().as_str(), kept.is_some()), (NEW, what != "nothing"), "{what}");
        let Some(kept) = kept else { continue };
        assert_eq!(kept.is_dir(), what == "folder");
        assert!(kept.ends_with("config.toml.rejected-20261121T204150Z"));
    }
}

#[test]
fn what_the_check_refuses_is_not_written() {
    let harness = Harness::new(OLD);
    let refused = |key: &str, value: &str| {
        let edits = [Edit::set(key, value)];
        let error = harness.writer().change(&edits, Secrets::Refused, now()).unwrap_err();
        error.to_string().replace(&harness.dir.path().display().to_string(), "")
    };
    insta::assert_snapshot!(refused("agent.iterations_max", "many"), @"
    the config would be invalid, so nothing was changed:
    /config.toml:3: agent.iterations_max: is text, expected a whole number from 1 to 1000; for example `iterations_max = 10`
    ");
    assert!(refused("agent.nothing", "1").contains("agent.nothing"));
    assert!(refused("telegram.bot_token", "13:BB").contains("is a secret"));
    assert!(refused("provider.fallbacks", "[]").contains("is a secret"), "one may stand in it");
    let extra_check = Writer { extra_check: |_| vec![Finding::new("agent", "is no good", "wait")], ..harness.writer() };
    assert!(extra_check.change(&nine(), Secrets::Refused, now()).unwrap_err().to_string().contains("is no good; wait"));
    assert_eq!((harness.text().as_str(), harness.names()), (OLD, vec!["config.toml".to_owned()]));
}

#[test]
fn what_is_said_in_a_chat_sends_no_key_elsewhere() {
    let harness = Harness::new(
        "[provider]\nkind = \"openai_compatible\"\nbase_url = \"https://api.example/v1\"\napi_key = \"k1\"\n",
    );
    let before = harness.text();
    let evil = Edit::set_value("provider.base_url", "https://evil.example/v1");
    for refused in [
        harness.writer().plan(std::slice::from_ref(&evil), Secrets::Refused),
        harness.writer().change(std::slice::from_ref(&evil), Secrets::Refused, now()),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with("provider.api_key would go along to another server"), "{error}");
    }
    assert_eq!(harness.text(), before);
    // Entered again with the place, it is meant for it.
    let both = [evil, Edit::set_value("provider.api_key", "${KEY}")];
    let env = Environment::of(harness.dir.path(), [("KEY", "k2")]);
    Writer::new(harness.file(), env, |_| Vec::new()).change(&both, Secrets::Refused, now()).unwrap();
    assert!(harness.text().contains("evil.example"));
}
