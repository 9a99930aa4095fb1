//! What a script sees.

use std::io::{self, BufReader, Write};
use std::sync::Arc;

use hob_console::ConsoleError;
use hob_console::pipe::{ScriptInput, pipe};
use hob_console::screen::Console;
use hob_core::domain::channel::{Channel, Progress};
use hob_core::domain::ids::{FileId, RunId};
use hob_core::domain::outgoing::{Outgoing, OutgoingFile};
use jiff::Timestamp;

use crate::{Echo, Paper, destination, reply};

async fn run(input: &[u8]) -> (Arc<Echo<Paper>>, String, String, Result<(), ConsoleError>) {
    let (out, errors) = (Paper::default(), Paper::default());
    let console = Arc::new(Console::pipe(out.clone()));
    let echo = Echo::new(&console);
    let input = ScriptInput { lines: Box::new(io::Cursor::new(input.to_vec())), errors: Box::new(errors.clone()) };
    let ended = pipe(input, &console, echo.as_ref(), &echo.ports()).await;
    (echo, out.text(), errors.text(), ended)
}

#[tokio::test]
async fn each_line_is_answered_before_the_next_is_handed_in() {
    let (echo, out, errors, ended) = run(b"hello\r\n\n   \nand bye").await;
    ended.unwrap();
    insta::assert_snapshot!(out, @"
    You said: hello
    You said: and bye
    ");
    assert_eq!(errors, "");
    let taken = echo.taken.lock().unwrap();
    assert_ne!(taken[0].external_id, taken[1].external_id);
    assert_eq!(taken[0].conversation.session_key().0, "terminal:local");
    assert_eq!((taken[0].sender.external_id.as_str(), taken[0].sender.name.as_str()), ("local", "Ada"));
    assert_eq!(taken[0].sent_at, Timestamp::UNIX_EPOCH);
}

#[tokio::test]
async fn c6_a_file_goes_with_its_line_and_one_that_comes_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b.txt");
    std::fs::write(&path, "hello").unwrap();
    let line = format!("/attach '{}' what is this?\n/attach\n", path.display());
    let (echo, ..) = run(line.as_bytes()).await;
    assert_eq!(echo.texts(), ["what is this?", "/attach"], "without a path it is a line like any other");
    let attachment = echo.taken.lock().unwrap()[0].attachments[0].clone();
    assert_eq!(attachment.name, "a b.txt");
    let (paper, mib) = (Paper::default(), 1 << 20);
    let console = Console::pipe(paper.clone());
    assert_eq!(console.fetch(&attachment, mib).await.unwrap(), b"hello");
    assert!(console.fetch(&attachment, 3).await.unwrap_err().to_string().contains("larger"));
    let (name, mime, hash) = ("plan.md".to_owned(), "text/plain".to_owned(), String::new());
    let file = Some(OutgoingFile { id: FileId(1), name, mime, bytes: 5, hash, path: "/d/files/1f".into() });
    console.deliver(&Outgoing { file: file.clone(), ..reply(Some(RunId(1)), "The plan") }).await.unwrap();
    console.deliver(&Outgoing { file, may_repeat: true, ..reply(Some(RunId(1)), "") }).await.unwrap();
    insta::assert_snapshot!(paper.text(), @r"
    [plan.md (5 bytes): /d/files/1f]
    The plan
    (this may be a repetition)
    [plan.md (5 bytes): /d/files/1f]
    ");
}

#[tokio::test]
async fn invalid_utf_8_is_replaced_and_told() {
    let (echo, _, errors, ended) = run(b"fine\ncaf\xe9\n").await;
    ended.unwrap();
    assert_eq!(echo.texts(), ["fine", "caf\u{fffd}"]);
    insta::assert_snapshot!(errors, @"hob: line 2 of the input is not UTF-8: what could not be read became �");
}

#[tokio::test]
async fn a_very_long_line_is_handed_in_whole() {
    let long = "x".repeat(300_000);
    let (echo, _, errors, ended) = run(long.as_bytes()).await;
    ended.unwrap();
    assert_eq!(echo.texts(), [long]);
    assert_eq!(errors, "");
}

#[tokio::test]
async fn progress_is_not_printed() {
    let paper = Paper::default();
    let console = Console::pipe(paper.clone());
    console.progress(&destination(), RunId(1), &Progress::Delta("It is".to_owned()));
    console.progress(&destination(), RunId(1), &Progress::Restart);
    console.deliver(&reply(Some(RunId(1)), "It is five.")).await.unwrap();
    assert_eq!(paper.text(), "It is five.\n");
}

#[tokio::test]
async fn a_line_that_cannot_be_stored_ends_it() {
    let paper = Paper::default();
    let console = Arc::new(Console::pipe(paper.clone()));
    let echo = Echo::new(&console);
    *echo.refusals.lock().unwrap() = 1;
    let input = ScriptInput { lines: Box::new(io::Cursor::new("one\ntwo\n")), errors: Box::new(Paper::default()) };
    let error = pipe(input, &console, echo.as_ref(), &echo.ports()).await.unwrap_err();
    insta::assert_snapshot!(error, @"line 1 could not be handed in: the message could not be stored: the disk is full");
    assert_eq!(echo.texts(), Vec::<String>::new());
}

struct FailingOutput;

impl Write for FailingOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn it_ends_when_nobody_reads() {
    let console = Arc::new(Console::pipe(FailingOutput));
    let echo = Echo::new(&console);
    // The input stays open: a reader that hangs must not keep it from ending.
    let (reading, writing) = io::pipe().unwrap();
    (&writing).write_all(b"one\n").unwrap();
    let input = ScriptInput { lines: Box::new(BufReader::new(reading)), errors: Box::new(Paper::default()) };
    pipe(input, &console, echo.as_ref(), &echo.ports()).await.unwrap();
    assert_eq!(echo.texts(), ["one"]);
    assert_eq!(console.health().to_string(), "closed: nobody reads the output");
    drop(writing);
}
