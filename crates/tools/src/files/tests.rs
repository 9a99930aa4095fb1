//! Files through the tools: what is reached, what is not, and what a call costs at most.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::access::FileAccess;
use crate::files::read_file::ReadFile;
use crate::files::record::FileRecords;
use crate::files::text::{LineRange, view};
use crate::files::write_file::write;
use crate::files::{StopFlag, from_file};
use crate::files::{delete_file, edit_file, list_files, move_file, search_files, write_file};
use crate::workspace::Workspace;
use crate::{Invocation, Outcome, OutputFile, Tool};
use hob_core::domain::tools::{DangerGrade, Risk};
use hob_store::Tx;
use hob_store::error::StoreError;

const SECRET: &str = "THE SECRET OUTSIDE";

/// A home with a workspace in Hob's data directory, more folders, and links that lead everywhere.
struct Harness {
    dir: TempDir,
    room: Arc<FileAccess>,
}

impl Harness {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(dir.path()).unwrap();
        for folder in ["data/workspace/a/b", "outside", "music", "notes"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (file, text) in [
            ("data/hob.db", SECRET),
            ("data/workspace/a/b/in.txt", "inside\n"),
            ("outside/secret", SECRET),
            ("music/song", "la la\n"),
            ("notes/list", "milk\n"),
        ] {
            fs::write(home.join(file), text).unwrap();
        }
        let work = home.join("data/workspace");
        for (link, to) in [
            ("out", home.join("outside")),
            ("secret", home.join("outside/secret")),
            ("up", PathBuf::from("../..")),
            ("a/far", PathBuf::from("../../../outside")),
            ("db", PathBuf::from("../hob.db")),
            ("loop", PathBuf::from("loop")),
            ("proc", PathBuf::from("/proc/self/root")),
            ("fine", PathBuf::from("a/b/in.txt")),
            ("new", home.join("outside/new")),
        ] {
            symlink(to, work.join(link)).unwrap();
        }
        let workspace = Workspace { root: work, read: vec![home.join("music")], write: vec![home.join("notes")] };
        let room = Arc::new(FileAccess::new(&workspace, vec![home.join("data")], false));
        Self { dir, room }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    /// What one path gives to read.
    fn read(&self, path: &str) -> Result<String, String> {
        let spot = self.room.resolve(path, false).map_err(|error| error.to_string())?;
        let mut file = self.room.open(&spot).map_err(|error| error.to_string())?;
        view(&mut file, LineRange::default(), &StopFlag::default()).map_err(|error| error.to_string())?
    }

    /// All that lies beside the workspace, by path: folders, links and what stands in files.
    fn beside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let work = self.path("data/workspace");
        let mut found = BTreeMap::new();
        let mut open = vec![self.path("")];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path == work || path == self.path("notes") {
                    continue;
                }
                if path.is_dir() && !path.is_symlink() {
                    open.push(path.clone());
                    found.insert(path, Vec::new());
                } else {
                    let content = fs::read(&path).unwrap();
                    found.insert(path, content);
                }
            }
        }
        found
    }
}

/// Steps of paths, most of which lead out one way or another.
fn step() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "..",
        "..",
        "..",
        ".",
        "",
        "a",
        "b",
        "out",
        "secret",
        "up",
        "far",
        "db",
        "loop",
        "proc",
        "fine",
        "new",
        "outside",
        "data",
        "workspace",
        "hob.db",
        "in.txt",
        "music",
        "song",
        "notes",
        "list",
        "etc",
        "passwd",
        "~",
        "\0",
        "…",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn n6_no_path_of_any_shape_leads_out(
        steps in prop::collection::vec(step(), 0..8),
        begin in 0..5_usize,
        end in prop::sample::select(vec!["", "/", "/.", "//"]),
    ) {
        let home = Harness::new();
        let begin = ["", "/", "//", "W/", "M/"][begin];
        let begin = begin.replace('W', &home.path("data/workspace").display().to_string());
        let begin = begin.replace('M', &home.path("music").display().to_string());
        let path = format!("{begin}{}{end}", steps.join("/"));
        let before = home.beside();
        match home.read(&path) {
            Ok(read) => {
                let known = ["inside", "la la", "milk"];
                prop_assert!(!read.contains(SECRET) && known.iter().any(|text| read.contains(text)), "{path}: {read}");
            }
            Err(why) => prop_assert!(!why.contains(SECRET), "{path}: {why}"),
        }
        let _outcome = write(&home.room, &path, b"OVERWRITTEN");
        prop_assert_eq!(home.beside(), before, "{} was written", path);
        prop_assert!(fs::read(home.path("music/song")).unwrap() == b"la la\n", "{path}: what may only be read");
    }
}

#[test]
fn n6_what_is_hobs_own_stays_its_own_whatever_folder_is_allowed() {
    let home = Harness::new();
    let all = Workspace { root: home.path("data/workspace"), read: vec![home.path("")], write: vec![home.path("")] };
    let room = FileAccess::new(&all, vec![home.path("data")], false);
    let home = Harness { room: Arc::new(room), dir: home.dir };
    let of = |name: &str| home.path(name).display().to_string();
    assert_eq!(home.read(&of("outside/secret")).unwrap(), format!("1\t{SECRET}"), "that is allowed now");
    for own in ["data/hob.db", "outside/../data/hob.db", "data/workspace/../hob.db"] {
        let refused = home.read(&of(own)).unwrap_err();
        assert!(refused.contains("my own data") || refused.contains("outside"), "{own}: {refused}");
        assert!(write(&home.room, &of(own), b"x").is_err(), "{own}");
    }
    assert!(write(&home.room, &of("data/planted"), b"x").is_err());
    assert!(write(&home.room, &of("data/files/planted"), b"x").is_err());
    assert!(write(&home.room, &of("outside/../data/files/x/planted"), b"x").is_err());
    assert!(!home.path("data/files").exists(), "nor is a folder made there");
    assert_eq!(home.read("a/b/in.txt").unwrap(), "1\tinside");
    assert_eq!(home.read("fine").unwrap(), "1\tinside", "a link that stays inside is followed");
}

#[test]
fn where_a_link_leads_is_told() {
    let home = Harness::new();
    let workspace = home.path("data/workspace");
    fs::create_dir_all(workspace.join("contracts/old")).unwrap();
    symlink("contracts", workspace.join("c")).unwrap();
    symlink("../contracts", workspace.join("a/up")).unwrap();
    let absolute = workspace.join("c/rent").display().to_string();
    for (path, expected) in [
        ("c", Some("contracts")),
        ("c/rent.txt", Some("contracts/rent.txt")),
        ("./c//new/rent.txt", Some("contracts/new/rent.txt")),
        ("a/up/old", Some("contracts/old")),
        ("c/old/../rent", Some("contracts/rent")),
        (absolute.as_str(), Some("contracts/rent")),
        ("contracts/rent.txt", None),
        ("./contracts/./new", None),
        ("new", None),
        (".", None),
        ("c/../../../../etc", None),
    ] {
        assert_eq!(home.room.behind_links(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn n6_pipes_devices_and_folders_are_not_waited_for() {
    let home = Harness::new();
    let pipe = home.path("data/workspace/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // A pipe that nobody writes to is never over: who waited for it would not come back.
    insta::assert_snapshot!(home.read("pipe").unwrap_err(), @r#""pipe" is not an ordinary file, so it is left alone."#);
    assert!(write(&home.room, "pipe", b"x").is_err());
    insta::assert_snapshot!(home.read("a").unwrap_err(), @r#""a" is a folder."#);
    insta::assert_snapshot!(home.read("none").unwrap_err(), @r#"There is no "none"; list_files shows what is there."#);
}

#[test]
fn d5_a_file_is_written_whole_with_its_folders_and_keeps_its_permissions() {
    let home = Harness::new();
    write(&home.room, "x/y/z.txt", b"one").unwrap();
    let path = home.path("data/workspace/x/y/z.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&home.room, "x/y/z.txt", b"two").unwrap();
    assert_eq!(
        (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().permissions().mode() & 0o777),
        (b"two".to_vec(), 0o640)
    );
    write(&home.room, "fine", b"through the link").unwrap();
    assert_eq!(fs::read(home.path("data/workspace/a/b/in.txt")).unwrap(), b"through the link");
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["z.txt"], "nothing half written is left");
    assert!(write(&home.room, &home.path("music/new").display().to_string(), b"x").is_err(), "it may only be read");
    write(&home.room, &home.path("notes/list").display().to_string(), b"eggs").unwrap();
}

/// A call of a tool: its words, whatever came of it, and whether they taint.
async fn call(tool: &dyn Tool, arguments: Value) -> (String, bool) {
    match Outcome::of(tool.call(Invocation::for_trial(arguments)).await) {
        Outcome::From(_, inner) => match *inner {
            Outcome::Text(text) | Outcome::Error(text) => (text, true),
            other => panic!("{other:?}"),
        },
        Outcome::Text(text) | Outcome::Error(text) => (text, false),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn c9_a_folder_of_any_size_is_listed_within_bounds() {
    let home = Harness::new();
    let many = home.path("data/workspace/many");
    fs::create_dir(&many).unwrap();
    for number in 0..12_000 {
        fs::write(many.join(format!("{number}.txt")), "").unwrap();
    }
    let tool = list_files::tool(Arc::clone(&home.room));
    let (listed, tainted) = call(&tool, json!({ "path": "many" })).await;
    assert!(tainted && listed.lines().count() == 10_001 && listed.ends_with("10000 entries are the most."));
    let (listed, _) = call(&tool, json!({ "path": "a", "depth": 3 })).await;
    insta::assert_snapshot!(listed, @r"
    b/
    far (link)
    b/in.txt (7 bytes)
    ");
    let (refused, _) = call(&tool, json!({ "path": "out" })).await;
    assert!(refused.contains("lies outside"), "{refused}");
}

#[tokio::test]
async fn a_search_is_bounded_and_a_pattern_that_explodes_is_refused() {
    let home = Harness::new();
    let tool = search_files::tool(Arc::clone(&home.room));
    fs::write(home.path("data/workspace/a/long.md"), format!("{}!\nInside again\n", "a".repeat(1 << 20))).unwrap();
    fs::write(home.path("data/workspace/bytes.bin"), b"inside\0inside\n").unwrap();
    let (found, tainted) = call(&tool, json!({ "pattern": "inside" })).await;
    insta::assert_snapshot!(found, @r"
    a/long.md:2: Inside again
    a/b/in.txt:1: inside
    ");
    assert!(tainted && !found.contains(SECRET));
    let (found, _) = call(&tool, json!({ "pattern": "inside", "glob": "*.md" })).await;
    insta::assert_snapshot!(found, @"a/long.md:2: Inside again");
    let (found, _) = call(&tool, json!({ "pattern": SECRET })).await;
    assert_eq!(found, "Nothing matches.");
    let (refused, _) = call(&tool, json!({ "pattern": "(\\w{1000}){1000}" })).await;
    assert!(refused.starts_with("That pattern cannot be used"), "{refused}");
    // Who tried every way to match that would not come back.
    let (found, _) = call(&tool, json!({ "pattern": "(a+)+$" })).await;
    assert!(!found.starts_with("That pattern cannot be used"), "{found}");
    let (wrong, _) = call(&tool, json!({ "pattern": "(" })).await;
    assert!(wrong.starts_with("That pattern cannot be used"), "{wrong}");
}

#[tokio::test]
async fn c9_a_huge_file_costs_no_more_than_its_ends() {
    let home = Harness::new();
    let path = home.path("data/workspace/huge.log");
    fs::write(&path, "first line\n".repeat(1_000)).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(200 << 30).unwrap();
    let shown = home.read("huge.log").unwrap();
    assert!(shown.starts_with("1\tfirst line\n") && shown.len() < 4 << 20, "{}", shown.len());
}

#[tokio::test]
async fn an_edit_shows_what_changed_and_reads_what_nobody_vouches_for() {
    let home = Harness::new();
    let tool = edit_file::tool(Arc::clone(&home.room));
    let (shown, tainted) = call(&tool, json!({ "path": "a/b/in.txt", "old": "inside", "new": "within" })).await;
    insta::assert_snapshot!(shown, @r#"
    Changed "a/b/in.txt":
    @@ -1 +1 @@
    -inside
    +within
    "#);
    assert!(tainted);
    let (wrong, _) = call(&tool, json!({ "path": "a/b/in.txt", "old": "with in", "new": "x" })).await;
    assert!(wrong.contains("Nearest") && wrong.contains("1\twithin"), "{wrong}");
    let (refused, _) = call(&tool, json!({ "path": "secret", "old": "THE", "new": "x" })).await;
    assert!(refused.contains("lies outside"), "{refused}");
}

#[tokio::test]
async fn n6_what_a_call_would_do_is_known_before_it_is_made() {
    let home = Harness::new();
    let tool = write_file::tool(Arc::clone(&home.room));
    let assess = async |path: &str| {
        let asked = Invocation::for_trial(json!({ "path": path, "content": "x" }));
        tool.assess(&asked, &|_| false).await
    };
    assert_eq!((assess("brand/new").await.grade, assess("brand/new").await.reasons.len()), (DangerGrade::Safe, 0));
    let over = assess("a/b/in.txt").await;
    assert_eq!((over.risk, over.grade), (Risk::Write, DangerGrade::Safe));
    insta::assert_snapshot!(over.reasons.join("; "), @r#"It changes "a/b/in.txt", which is there already (7 bytes)"#);
    for out in ["../hob.db", "/etc/passwd", "out/x", "secret", "up/hob.db", "proc/etc/passwd"] {
        let assessed = assess(out).await;
        assert_eq!((assessed.grade, assessed.reasons.len()), (DangerGrade::Refused, 1), "{out}: {assessed:?}");
    }
    assert_eq!(assess(&home.path("music/song").display().to_string()).await.grade, DangerGrade::Refused);
}

#[test]
fn n6_a_file_taints_unless_its_owner_vouches_for_all() {
    let workspace = Workspace { root: PathBuf::from("/w"), read: Vec::new(), write: Vec::new() };
    let of =
        |trusted| from_file(&FileAccess::new(&workspace, Vec::new(), trusted), "a.txt", Outcome::Text("x".to_owned()));
    assert!(matches!(of(false), Outcome::From(..)));
    assert_eq!(of(true), Outcome::Text("x".to_owned()));
}

#[tokio::test]
async fn n8_a_record_is_for_the_people_of_its_conversation() {
    use crate::files::document::DocumentReader;
    use crate::sandbox::Sandbox;
    use hob_core::domain::ids::SessionId;
    use hob_core::domain::origin::{Origin, OriginSource};
    use hob_store::contents::Contents;
    use hob_store::{SchedulingMode, Store};
    let home = Harness::new();
    let store = Store::open(&home.path("data/test.db"), SchedulingMode::Threaded).await.unwrap();
    store.write(people).await.unwrap();
    let records = FileRecords { store, contents: Contents::of(Path::new(&home.path("data"))) };
    let mine = Invocation::for_trial(json!({}));
    let origin = OriginSource::new(Origin::File, "x");
    let file = |bytes: &[u8]| OutputFile { name: "a.txt".to_owned(), bytes: bytes.to_vec() };
    let id = records.snapshot(&mine, file(b"hello"), origin.clone()).await.unwrap();
    let again = records.snapshot(&mine, file(b"changed"), origin).await.unwrap();
    assert_eq!(again, id, "one call has one record");
    let reader = DocumentReader::new(Sandbox::none("this is a test"), Path::new("/d"));
    let tool = ReadFile::new(Arc::clone(&home.room), records, reader);
    let read = async |session: i64| {
        let mut asked = Invocation::for_trial(json!({ "id": id.0 }));
        asked.place.session = SessionId(session);
        Outcome::of(tool.call(asked).await)
    };
    assert!(matches!(read(7).await, Outcome::From(_, inner) if *inner == Outcome::Text("1\tchanged".to_owned())));
    assert_eq!(read(8).await, Outcome::Error(format!("There is no file {id} in this conversation.")));
}

/// The person and the conversation of a trial.
async fn people(tx: &mut Tx) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0)")
        .execute(&mut *tx)
        .await?;
    sqlx::query("INSERT INTO sessions (id, key, channel, created_at) VALUES (7, '7', 'telegram', 0)")
        .execute(&mut *tx)
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_is_moved_or_deleted_lies_inside_and_nothing_is_moved_over() {
    let home = Harness::new();
    let before = home.beside();
    let (moves, deletes) = (move_file::tool(Arc::clone(&home.room)), delete_file::tool(Arc::clone(&home.room)));
    let moved = async |path: &str, to: &str| {
        Outcome::of(moves.call(Invocation::for_trial(json!({ "path": path, "to": to }))).await)
    };
    let deleted = async |path: &str| Outcome::of(deletes.call(Invocation::for_trial(json!({ "path": path }))).await);
    let music = home.path("music/song").display().to_string();
    for (path, to) in [
        ("out/secret", "mine"),
        ("../hob.db", "mine"),
        ("a/b/in.txt", "../taken"),
        ("a/b/in.txt", "out/taken"),
        (&music, "mine"),
        ("a/b/in.txt", "fine"),
        ("none", "mine"),
        ("a", "a/b/c"),
    ] {
        assert!(matches!(moved(path, to).await, Outcome::Error(_)), "{path} to {to}");
    }
    for path in ["out/secret", "../hob.db", "up/hob.db", &music, "a", ".", "", "none"] {
        assert!(matches!(deleted(path).await, Outcome::Error(_)), "{path}");
    }
    assert_eq!(home.beside(), before);
    assert_eq!(moved("a/b/in.txt", "c/d").await, Outcome::Text("Moved \"a/b/in.txt\" to \"c/d\".".to_owned()));
    assert_eq!(home.read("c/d").unwrap(), "1\tinside");
    for path in ["c/d", "secret", "a/b"] {
        assert_eq!(deleted(path).await, Outcome::Text(format!("Deleted {path:?}.")));
    }
    assert_eq!(home.beside(), before, "of a link, the link");
}
