use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tar::{Builder, EntryType, Header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const SKILL: &str = "---\nname: tea\ndescription: d\n---\nBoil.\n";

fn tarred(files: &[(&str, &str)]) -> Vec<u8> {
    let mut all = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = Header::new_gnu();
        // The crate's own setters would refuse what is to be refused here.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(if path.ends_with(".sh") { 0o755 } else { 0o644 });
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        all.append(&header, text.as_bytes()).unwrap();
    }
    all.into_inner().unwrap().finish().unwrap()
}

fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut all = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        all.start_file(*path, SimpleFileOptions::default()).unwrap();
        all.write_all(text.as_bytes()).unwrap();
    }
    all.finish().unwrap().into_inner()
}

fn names(bytes: &[u8], below: Option<&str>) -> Result<Vec<String>, String> {
    let bundle = Bundle::of_bytes(bytes, below).map_err(|error| error.to_string())?;
    Ok(bundle.0.into_keys().collect())
}

#[test]
fn k4_archives_and_single_files_are_skills() {
    assert_eq!(names(SKILL.as_bytes(), None).unwrap(), ["SKILL.md"]);
    let files =
        [("repo-1/README.md", "x"), ("repo-1/skills/tea/SKILL.md", SKILL), ("repo-1/skills/tea/a/run.sh", "echo")];
    for bytes in [tarred(&files), zipped(&files)] {
        assert_eq!(names(&bytes, None).unwrap(), ["SKILL.md", "a/run.sh"]);
        assert_eq!(names(&bytes, Some("skills/tea")).unwrap(), ["SKILL.md", "a/run.sh"]);
        assert!(names(&bytes, Some("skills/coffee")).unwrap_err().starts_with("there is no SKILL.md"));
    }
    let bundle = Bundle::of_bytes(&tarred(&files), None).unwrap();
    assert!(bundle.0["a/run.sh"].executable && !bundle.0["SKILL.md"].executable);
    let two = [("r/a/SKILL.md", SKILL), ("r/b/SKILL.md", SKILL)];
    assert_eq!(
        names(&tarred(&two), None).unwrap_err(),
        "there are several skills in it: r/a, r/b; name the folder of one of them"
    );
    assert_eq!(names(&tarred(&two), Some("b")).unwrap(), ["SKILL.md"]);
    assert_eq!(names(&zipped(&[("SKILL.md", SKILL)]), None).unwrap(), ["SKILL.md"]);
}

#[test]
fn k4_an_archive_that_leads_out_is_refused_whole() {
    for path in ["../evil", "tea/../../evil", "/etc/evil"] {
        let files = [("tea/SKILL.md", SKILL), (path, "x")];
        let told = names(&tarred(&files), None).unwrap_err();
        assert!(told.contains("leads out of the skill's folder"), "{path}: {told}");
        let told = names(&zipped(&files), None).unwrap_err();
        assert!(told.contains("leads out of the skill's folder"), "{path}: {told}");
    }
    let mut all = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo] {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        all.append_link(&mut header, "tea/SKILL.md", "/etc/passwd").unwrap();
    }
    let bytes = all.into_inner().unwrap().finish().unwrap();
    assert!(names(&bytes, None).unwrap_err().starts_with("\"tea/SKILL.md\" in it is a link"));
    let mut all = ZipWriter::new(Cursor::new(Vec::new()));
    all.add_symlink("SKILL.md", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    let bytes = all.finish().unwrap().into_inner();
    assert!(names(&bytes, None).unwrap_err().starts_with("\"SKILL.md\" in it is a link"));
    let twice = [("SKILL.md", SKILL), ("./SKILL.md", "other")];
    assert!(names(&tarred(&twice), None).unwrap_err().contains("in it twice"));
}

#[test]
fn k4_a_bomb_is_bounded_and_garbage_is_told() {
    let zeros = "\0".repeat(9 * 1024 * 1024);
    let files = [("SKILL.md", SKILL), ("zeros", zeros.as_str())];
    for bytes in [tarred(&files), zipped(&files)] {
        assert!(bytes.len() < 200_000, "it is small while it is packed");
        assert!(names(&bytes, None).unwrap_err().starts_with("it is larger than a skill may be"));
    }
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let mut header = Header::new_gnu();
    header.set_path("SKILL.md").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    bomb.write_all(header.as_bytes()).unwrap();
    for _ in 0..130 {
        bomb.write_all(&[0; 1 << 20]).unwrap();
    }
    let told = names(&bomb.finish().unwrap(), None).unwrap_err();
    assert!(told.contains("larger than") || told.contains("cannot be unpacked"), "{told}");
    let mut cut = tarred(&[("SKILL.md", SKILL)]);
    cut.truncate(cut.len() / 2);
    assert!(names(&cut, None).unwrap_err().starts_with("it cannot be unpacked"));
    assert!(names(b"PK\x03\x04rubbish", None).unwrap_err().starts_with("it cannot be unpacked"));
}

proptest! {
    #[test]
    fn k4_no_archive_makes_it_panic(at in 0_usize..300, byte in any::<u8>(), zip in any::<bool>()) {
        let files = [("tea/SKILL.md", SKILL), ("tea/a", "x")];
        let mut bytes = if zip { zipped(&files) } else { tarred(&files) };
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(bundle) = Bundle::of_bytes(&bytes, None) {
            prop_assert!(bundle.0.keys().all(|path| within(path).as_ref() == Some(path)));
        }
    }
}
