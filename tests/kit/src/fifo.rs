//! A named pipe between a tool's command and a test: what happens in the command is heard at once.

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};

use super::process::within;

/// The pipe. As long as it is there, opening it never blocks a command; dropped, who reads from it sees the end.
pub struct Fifo {
    path: PathBuf,
    reader: BufReader<Receiver>,
    writer: Sender,
}

impl Fifo {
    pub fn make(path: &Path) -> Self {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let open = || OpenOptions::new().read_write(true).clone();
        let reader = BufReader::new(open().open_receiver(path).unwrap());
        Self { path: path.to_owned(), reader, writer: open().open_sender(path).unwrap() }
    }

    /// The next line that a command writes.
    pub async fn line(&mut self) -> String {
        let mut line = String::new();
        within("line from a command", self.reader.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Writes a line for a command.
    pub async fn tell(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Waits until every process that holds the pipe open for writing is gone; at least one must hold it now.
    pub async fn abandoned(self) {
        let mut ear = OpenOptions::new().open_receiver(&self.path).unwrap();
        drop((self.reader, self.writer));
        let mut rest = Vec::new();
        within("end of the processes that hold the pipe", ear.read_to_end(&mut rest)).await.unwrap();
    }
}
