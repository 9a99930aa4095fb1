//! What it costs to look at, keep and take back a change of 10,000 files, each of which replaces another.
//!
//! `cargo bench --bench changes`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::fs;
use std::path::Path;

use hob_core::domain::ids::{RunId, SessionKey, UserId};
use hob_tools::changes::draft_dir::DraftDir;
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::workspace::Workspace;
use jiff::Timestamp;
use tokio::time::Instant;

const FILES: usize = 10_000;
const FOLDERS: usize = 100;

fn write(root: &Path, text: &str) {
    for folder in 0..FOLDERS {
        let folder_path = root.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder_path).unwrap();
        for file in 0..FILES / FOLDERS {
            fs::write(folder_path.join(format!("file-{file}.txt")), format!("{text} {file}\n").repeat(50)).unwrap();
        }
    }
}

fn draft(drafts: &Drafts, run: i64) -> DraftDir {
    let of =
        DraftOwner { run: RunId(run), session: SessionKey("7".into()), user: UserId(1), now: Timestamp::UNIX_EPOCH };
    let draft = drafts.open(&of, &DraftId::Shared(0)).unwrap();
    write(&draft.overlays()[0].upper, &format!("of run {run}"));
    draft
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::of(dir.path());
    write(&workspace.root, "as it was");
    let drafts = Drafts::new(dir.path(), &workspace);
    println!("{FILES} changed files of about 1 kB in {FOLDERS} folders:");
    for run in 1..=3 {
        let draft = draft(&drafts, run);
        let begun = Instant::now();
        let digest = draft.change_set().unwrap().digest();
        let looked = begun.elapsed();
        let begun = Instant::now();
        let kept = draft.keep(&digest, Timestamp::UNIX_EPOCH).unwrap();
        let merged = begun.elapsed();
        assert_eq!((kept.changes as usize, kept.left_out.len()), (FILES, 0));
        let begun = Instant::now();
        drafts.undo_last(None, Timestamp::UNIX_EPOCH).unwrap();
        println!("look {looked:?}, keep (with its own look) {merged:?}, undo {:?}", begun.elapsed());
    }
}
