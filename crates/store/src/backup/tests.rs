use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use age::secrecy::ExposeSecret as _;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::backup::BackupError;
use crate::backup::archive::ArchiveWriter;
use crate::backup::archives;
use crate::backup::make::{self, BackupRequest, CreatedBackup};
use crate::backup::restore::{Archive, finish, restore, verify};
use crate::backup::seal::{Identities, Recipients, is_sealed};
use crate::error::StoreError;
use crate::lock::DataLock;
use crate::place::StatePlace;
use crate::{SchedulingMode, Store, Tx};

/// Leaves a word in the database.
async fn leave(tx: &mut Tx, word: &'static str) -> Result<(), StoreError> {
    let write = "INSERT INTO users (name, role, created_at) VALUES ($1, 'user', 0)";
    sqlx::query(write).bind(word).execute(tx).await?;
    Ok(())
}

async fn stored(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar("SELECT name FROM users ORDER BY id").fetch_all(tx).await?)
}

/// A household's data, and a place for its backups.
struct Harness {
    dir: TempDir,
}

impl Harness {
    async fn with(word: &'static str) -> Self {
        let home = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(home.data().join("skills/bins")).unwrap();
        fs::create_dir_all(home.data().join("workspace")).unwrap();
        fs::write(home.data().join("skills/bins/SKILL.md"), "When the bins go out").unwrap();
        fs::write(home.data().join("workspace/list.txt"), word).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.data().join("workspace/link")).unwrap();
        home.write(word).await;
        home
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn backups(&self) -> PathBuf {
        self.dir.path().join("backups")
    }

    async fn open(&self) -> Store {
        fs::create_dir_all(self.data()).unwrap();
        Store::open(&self.data().join("hob.db"), SchedulingMode::Threaded).await.unwrap()
    }

    async fn write(&self, word: &'static str) {
        let store = self.open().await;
        store.write(async move |tx| leave(tx, word).await).await.unwrap();
        store.close().await;
    }

    async fn words(&self) -> Vec<String> {
        let store = self.open().await;
        let words = store.read(stored).await.unwrap();
        store.close().await;
        words
    }

    async fn back_up(&self, second: i64) -> CreatedBackup {
        self.seal(second, Recipients::default()).await
    }

    async fn seal(&self, second: i64, recipients: Recipients) -> CreatedBackup {
        make::make(self.order(second, recipients), &CancellationToken::new()).await.unwrap()
    }

    fn order(&self, second: i64, recipients: Recipients) -> BackupRequest {
        let config = Some("[agent]\niterations_max = 7\n".to_owned());
        let (data_dir, to, random) = (self.data(), self.backups(), ID.to_owned());
        let state = StatePlace::of(None, &data_dir);
        BackupRequest { data_dir, state, config, to, recipients, now: at(second), random, packed: Arc::default() }
    }

    fn list(&self) -> String {
        fs::read_to_string(self.data().join("workspace/list.txt")).unwrap()
    }
}

/// Whose the archives are.
const ID: &str = "0a1b2c3d";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// All files below a folder, with what is in them.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(everything(&entry.path()));
        } else if entry.file_type().unwrap().is_file() {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[tokio::test]
async fn n12_what_was_backed_up_comes_back() {
    let home = Harness::with("then").await;
    let made = home.back_up(1_000_000_000).await;
    assert_eq!((made.path.clone(), made.gone), (home.backups().join("hob-2001-09-09T014640Z-0a1b2c3d.tar.gz"), 0));
    home.write("since").await;
    fs::write(home.data().join("workspace/list.txt"), "since").unwrap();
    fs::write(home.data().join("workspace/new.txt"), "new").unwrap();
    let manifest = verify(&Archive::plain(&made.path), &home.backups()).await.unwrap();
    let paths: Vec<&str> = manifest.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["hob.db", "skills/bins/SKILL.md", "workspace/list.txt", "config.toml"], "and no link");
    let restored = restore(&Archive::plain(&made.path), &home.data(), at(1_000_000_060)).await.unwrap();
    assert_eq!((home.words().await, home.list()), (vec!["then".to_owned()], "then".to_owned()));
    assert!(!home.data().join("workspace/new.txt").exists());
    assert_eq!(fs::read_to_string(restored.before.join("workspace/new.txt")).unwrap(), "new");
    assert_eq!(fs::read_to_string(restored.config.unwrap()).unwrap(), "[agent]\niterations_max = 7\n");
    // The way back from there is open as well.
    fs::rename(home.data().join("hob.db"), home.data().join("then.db")).unwrap();
    fs::rename(restored.before.join("hob.db"), home.data().join("hob.db")).unwrap();
    assert_eq!(home.words().await, ["then", "since"]);
}

#[tokio::test]
async fn n12_a_backup_is_of_one_moment_while_messages_come_in() {
    let home = Harness::with("first").await;
    let store = home.open().await;
    let writes = async {
        for _ in 0..200 {
            store.write(async |tx| leave(tx, "one of a pair").await).await.unwrap();
        }
    };
    let (made, ()) = tokio::join!(home.back_up(1), writes);
    store.close().await;
    assert_eq!(home.words().await.len(), 201, "nothing is lost by it");
    restore(&Archive::plain(&made.path), &home.data(), at(2)).await.unwrap();
    assert!(home.words().await.len() <= 201);
}

#[tokio::test]
async fn n12_a_damaged_archive_is_refused_and_changes_nothing() {
    let home = Harness::with("then").await;
    let made = home.back_up(1).await;
    let whole = fs::read(&made.path).unwrap();
    let before = everything(&home.data());
    // Not each bit matters: a run of zeros may be written in two ways.
    let unpacked = |bytes: &[u8]| {
        let mut all = Vec::new();
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut all).ok().map(|_| all)
    };
    let flip = |at: usize| {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        flipped
    };
    let flipped = (whole.len() / 2..).map(flip).find(|flipped| unpacked(flipped) != unpacked(&whole)).unwrap();
    for broken in [&whole[..whole.len() / 2], &whole[..whole.len() - 9], &flipped, b"no archive", b""] {
        fs::write(&made.path, broken).unwrap();
        let error = restore(&Archive::plain(&made.path), &home.data(), at(2)).await.unwrap_err().to_string();
        assert!(error.contains("cannot be used") || error.starts_with("the database"), "{error}");
        assert!(verify(&Archive::plain(&made.path), &home.backups()).await.is_err());
        // Nor is anything left that takes the disk's room.
        let mut after = everything(&home.data());
        after.retain(|path, _| !path.ends_with("hob.lock"));
        assert_eq!(after, before);
    }
}

#[tokio::test]
async fn n12_an_archive_writes_nowhere_else() {
    let home = Harness::with("then").await;
    fs::create_dir_all(home.backups()).unwrap();
    for name in ["../escaped", "/tmp/escaped", "a/../../escaped"] {
        let path = home.backups().join("bad.tar.gz");
        let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
            fs::File::create(&path).unwrap(),
            flate2::Compression::fast(),
        ));
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, b"x".as_slice()).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        let error = verify(&Archive::plain(&path), &home.backups()).await.unwrap_err().to_string();
        assert!(error.contains("is no part of a Hob's data"), "{name}: {error}");
    }
    assert!(!home.dir.path().join("escaped").exists());
}

#[tokio::test]
async fn n12_an_archive_brings_nothing_that_no_backup_takes() {
    let home = Harness::with("then").await;
    let made = home.back_up(1).await;
    let manifest = verify(&Archive::plain(&made.path), &home.backups()).await.unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(&made.path).unwrap()))
        .unpack(unpacked.path())
        .unwrap();
    let before = everything(&home.data());
    // A login, a config to fall back on, a log for the database, and what would end each start until somebody cleared it away.
    for name in ["logins/mail-ada.json", "config/config.toml.lastgood", "hob.db-wal", "restoring/file", "workspace"] {
        let path = home.backups().join("more.tar.gz");
        let mut writing =
            ArchiveWriter::begin(&path, &Recipients::default(), CancellationToken::new(), Arc::default()).unwrap();
        writing.add("hob.db", &unpacked.path().join("hob.db")).unwrap();
        writing.add_text(name, "x").unwrap();
        writing.finish(manifest.clone()).unwrap();
        let error = restore(&Archive::plain(&path), &home.data(), at(2)).await.unwrap_err().to_string();
        assert!(error.contains(&format!("{name} is no part of a Hob's data")), "{error}");
        finish(&home.data()).unwrap();
        let mut after = everything(&home.data());
        after.retain(|path, _| !path.ends_with("hob.lock"));
        assert_eq!(after, before, "{name}");
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn n12_a_hob_at_work_is_not_restored_over() {
    let home = Harness::with("then").await;
    let made = home.back_up(1).await;
    let mut child = std::process::Command::new("python3");
    let lock = home.data().join("hob.lock");
    // A record lock of one's own process is no hindrance to itself.
    let hold = "import fcntl,sys\nf=open(sys.argv[1],'a+')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()";
    let mut child = child
        .args(["-c", hold, lock.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    let error = restore(&Archive::plain(&made.path), &home.data(), at(2)).await.unwrap_err().to_string();
    assert!(error.contains("another Hob"), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
    drop(DataLock::take(&home.data()).unwrap());
}

#[tokio::test]
async fn n12_the_data_of_before_is_kept_beside_that_of_an_earlier_restore() {
    let home = Harness::with("then").await;
    let made = home.back_up(1).await;
    let archive = Archive::plain(&made.path);
    home.write("since").await;
    let first = restore(&archive, &home.data(), at(2)).await.unwrap().before;
    home.write("later").await;
    // At the same second: a clock that was set back.
    let second = restore(&archive, &home.data(), at(2)).await.unwrap().before;
    assert_eq!(second, home.data().join("before-restore-1970-01-01T000002Z-2"));
    for (before, words) in [(first, ["then", "since"]), (second, ["then", "later"])] {
        let store = Store::open(&before.join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        assert_eq!(store.read(stored).await.unwrap(), words);
        store.close().await;
    }
}

#[tokio::test]
async fn n12_an_exchange_clears_nothing_away_whose_name_is_taken() {
    let mut taken = 0;
    for cut in 0..16 {
        let home = Harness::with("then").await;
        let made = home.back_up(1).await;
        home.write("since").await;
        crate::backup::restore::cut_after(cut);
        let cut_off = restore(&Archive::plain(&made.path), &home.data(), at(2)).await;
        crate::backup::restore::cut_after(usize::MAX);
        let before = home.data().join("before-restore-1970-01-01T000002Z");
        if cut_off.is_ok() || !home.data().join("restoring/ready").exists() {
            continue;
        }
        // Somebody else takes the name meanwhile.
        fs::create_dir(&before).unwrap();
        fs::write(before.join("mine"), "mine").unwrap();
        finish(&home.data()).unwrap();
        assert_eq!(everything(&before).len(), 1, "cut {cut}");
        let kept = home.data().join("before-restore-1970-01-01T000002Z-2");
        assert_eq!(fs::read_to_string(kept.join("workspace/list.txt")).unwrap(), "then", "cut {cut}");
        assert!(kept.join("hob.db").exists(), "cut {cut}");
        taken += 1;
    }
    assert!(taken > 3, "{taken}");
}

/// Cuts the exchange off before each of its steps in turn, as a crash would, by what cannot be moved there.
#[tokio::test]
async fn n12_an_exchange_that_is_cut_off_anywhere_is_finished() {
    for cut in 0..16 {
        let home = Harness::with("then").await;
        let made = home.back_up(1).await;
        home.write("since").await;
        fs::write(home.data().join("workspace/list.txt"), "since").unwrap();
        crate::backup::restore::cut_after(cut);
        let first = restore(&Archive::plain(&made.path), &home.data(), at(2)).await;
        crate::backup::restore::cut_after(usize::MAX);
        finish(&home.data()).unwrap();
        let is_new = home.list() == "then";
        // Before it was complete the old stands, afterwards the new: never half of each.
        let expected: &[&str] = if is_new { &["then"] } else { &["then", "since"] };
        assert_eq!(home.words().await, expected, "cut {cut}");
        assert!(is_new || first.is_err(), "cut {cut}");
        assert!(!home.data().join("restoring").exists());
        if is_new {
            assert!(home.data().join("before-restore-1970-01-01T000002Z/hob.db").exists(), "cut {cut}");
        }
    }
}

/// The names of the files in the backups' folder, sorted.
fn names(home: &Harness) -> Vec<String> {
    let entries = fs::read_dir(home.backups()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn n12_old_archives_go_and_what_is_not_surely_ones_own_stays() {
    let home = Harness::with("then").await;
    let mut last = home.back_up(1).await;
    for second in [2, 3] {
        last = home.back_up(second).await;
    }
    let others = ["hob-1970-01-01T000000Z.tar.gz", "hob-1970-01-01T000000Z-bbbbbbbb.tar.gz", "hob-notes.txt"];
    for other in others {
        fs::write(home.backups().join(other), "not mine").unwrap();
    }
    assert_eq!(archives::thin_out(&home.data(), &last, 2, at(4)).unwrap(), 1);
    let mine = ["hob-1970-01-01T000002Z-0a1b2c3d.tar.gz", "hob-1970-01-01T000003Z-0a1b2c3d.tar.gz"];
    let mut left: Vec<&str> = others.into_iter().chain(mine).collect();
    left.sort_unstable();
    assert_eq!(names(&home), left);
    // Without another Hob, what says nothing is from before there were ids.
    fs::remove_file(home.backups().join(others[1])).unwrap();
    assert_eq!(archives::thin_out(&home.data(), &last, 2, at(4)).unwrap(), 1);
    assert_eq!(names(&home), [mine[0], mine[1], "hob-notes.txt"]);
}

#[tokio::test]
async fn n12_an_archive_never_takes_the_place_of_another() {
    let home = Harness::with("then").await;
    let first = home.back_up(1).await;
    let bytes = fs::read(&first.path).unwrap();
    home.write("since").await;
    let second = home.back_up(1).await;
    assert_eq!(second.path, home.backups().join("hob-1970-01-01T000002Z-0a1b2c3d.tar.gz"));
    assert_eq!(fs::read(&first.path).unwrap(), bytes);
    assert_eq!(names(&home).len(), 2, "and nothing half made is left");
}

#[tokio::test]
async fn n12_a_backup_that_is_stopped_leaves_nothing() {
    let home = Harness::with("then").await;
    let [(ada, _), _] = keys(&home);
    let stop = CancellationToken::new();
    stop.cancel();
    for recipients in [Recipients::default(), Recipients::read(&[ada], None).unwrap()] {
        let stopped = make::make(home.order(1, recipients), &stop).await;
        assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
        assert!(names(&home).is_empty(), "{:?}", names(&home));
        let left = fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".hob-")));
    }
    // The packing looks for itself.
    let part = home.dir.path().join("part");
    let mut writing = ArchiveWriter::begin(&part, &Recipients::default(), stop, Arc::default()).unwrap();
    let error = writing.add("hob.db", &home.data().join("hob.db")).unwrap_err().to_string();
    assert!(error.ends_with("it was stopped"), "{error}");
}

#[tokio::test]
async fn n12_what_may_be_run_and_empty_folders_come_back_and_the_rest_is_told() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let home = Harness::with("then").await;
    let run = home.data().join("skills/bins/run.sh");
    fs::write(&run, "#!/bin/sh").unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(home.data().join("workspace/plans/later")).unwrap();
    fs::create_dir_all(home.data().join("results")).unwrap();
    let odd = Path::new("workspace").join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"));
    fs::write(home.data().join(&odd), "odd").unwrap();
    let modes = || {
        ["run.sh", "SKILL.md"].map(|name| {
            let file = fs::metadata(home.data().join("skills/bins").join(name)).unwrap();
            file.permissions().mode() & 0o100 != 0
        })
    };
    assert_eq!(modes(), [true, false]);
    let made = home.back_up(1).await;
    let mut skipped = made.skipped.clone();
    skipped.sort();
    assert_eq!(skipped, [odd, PathBuf::from("workspace/link")]);
    let manifest = verify(&Archive::plain(&made.path), &home.backups()).await.unwrap();
    assert_eq!(manifest.folders, ["workspace/plans/later", "results"]);
    restore(&Archive::plain(&made.path), &home.data(), at(2)).await.unwrap();
    assert_eq!(modes(), [true, false]);
    assert!(home.data().join("workspace/plans/later").is_dir() && home.data().join("results").is_dir());
}

/// Two keys, and the file with the secret half of each.
fn keys(home: &Harness) -> [(String, PathBuf); 2] {
    ["ada", "ben"].map(|name| {
        let identity = age::x25519::Identity::generate();
        let file = home.dir.path().join(name);
        let secret = identity.to_string().expose_secret().to_owned();
        fs::write(&file, format!("# created: today\n# public key: {}\n{secret}\n", identity.to_public())).unwrap();
        (identity.to_public().to_string(), file)
    })
}

#[tokio::test]
async fn n12_an_encrypted_backup_is_opened_by_its_key_alone() {
    let home = Harness::with("a word that is not to be found").await;
    let [(ada, ada_file), (ben, ben_file)] = keys(&home);
    let made = home.seal(1_000_000_000, Recipients::read(std::slice::from_ref(&ada), None).unwrap()).await;
    assert_eq!(made.path, home.backups().join("hob-2001-09-09T014640Z-0a1b2c3d.tar.gz.age"));
    assert_eq!(
        (archives::read(&made.path).map(|one| one.made_at), is_sealed(&made.path)),
        (Some(at(1_000_000_000)), true)
    );
    let left: Vec<PathBuf> = everything(&home.backups()).into_keys().collect();
    assert_eq!(left, std::slice::from_ref(&made.path), "nothing lies there in the clear");
    let with = |file: &Path| Archive {
        path: made.path.clone(),
        identities: Identities::read(file).unwrap(),
        read: Arc::default(),
    };
    assert_eq!(verify(&with(&ada_file), &home.data()).await.unwrap().entries.len(), 4);
    for (archive, said) in [(Archive::plain(&made.path), "by --identity"), (with(&ben_file), "opens it not")] {
        let error = verify(&archive, &home.data()).await.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    home.write("since").await;
    restore(&with(&ada_file), &home.data(), at(1_000_000_060)).await.unwrap();
    assert_eq!(home.words().await, ["a word that is not to be found"]);
    // To two people, one of them named in a file.
    let file = home.dir.path().join("recipients");
    fs::write(&file, format!("# the household\n\n{ben}\n")).unwrap();
    let both = home.seal(1_000_000_001, Recipients::read(&[ada], Some(&file)).unwrap()).await;
    for key in [ada_file, ben_file] {
        let archive =
            Archive { path: both.path.clone(), identities: Identities::read(&key).unwrap(), read: Arc::default() };
        verify(&archive, &home.data()).await.unwrap();
    }
}

#[tokio::test]
async fn n12_a_damaged_encrypted_backup_is_refused() {
    let home = Harness::with("then").await;
    let [(ada, file), _] = keys(&home);
    let made = home.seal(1, Recipients::read(&[ada], None).unwrap()).await;
    let whole = fs::read(&made.path).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    for broken in [&whole[..whole.len() / 2], &whole[..whole.len() - 9], &flipped, &whole[..60]] {
        fs::write(&made.path, broken).unwrap();
        let archive =
            Archive { path: made.path.clone(), identities: Identities::read(&file).unwrap(), read: Arc::default() };
        assert!(restore(&archive, &home.data(), at(2)).await.is_err());
        finish(&home.data()).unwrap();
        assert_eq!(home.words().await, ["then"]);
    }
}

#[test]
fn n12_keys_that_are_none_are_refused_and_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys");
    let said = |error: BackupError| error.to_string().replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(said(Recipients::read(&["age1x".to_owned()], None).unwrap_err()), @r#""age1x" is not a public key of age (age1…)"#);
    fs::write(&file, "# nothing\n").unwrap();
    insta::assert_snapshot!(said(Recipients::read(&[], Some(&file)).unwrap_err()), @"DIR/keys holds no public key of age");
    insta::assert_snapshot!(said(Identities::read(&file).err().unwrap()), @"DIR/keys holds no secret key of age");
    fs::write(&file, "\nAGE-SECRET-KEY-1NONE\n").unwrap();
    insta::assert_snapshot!(said(Recipients::read(&[], Some(&file)).unwrap_err()), @"DIR/keys:2: is not a public key of age (age1…)");
    insta::assert_snapshot!(said(Identities::read(&file).err().unwrap()), @"DIR/keys:2: is not a secret key of age");
}
