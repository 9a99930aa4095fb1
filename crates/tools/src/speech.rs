//! Words as a program on this machine says them: it reads them on its standard input, and writes Opus in Ogg.
//!
//! Never: a shell in between, or another format, which it can convert itself.
//! Start at [`SpeechCommand::speak`].

use std::path::PathBuf;
use std::time::Duration;

use crate::process::{self, ByteOutput, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::sandbox::confinement::Confinement;

/// The most that a program may write of each answer, in bytes.
const SOUND_BYTES_MAX: usize = 8 << 20;
/// The most that is told of why a program failed, in characters: the end of what it said.
const WHY_CHARS_MAX: usize = 200;

/// The program.
pub struct SpeechCommand {
    /// It, and its arguments.
    pub command: Vec<String>,
    /// Where it works.
    pub dir: PathBuf,
    /// How long one answer may take.
    pub timeout: Duration,
    /// Its sandbox.
    pub confinement: Confinement,
    /// Whose mark it carries.
    pub leftovers: ProcessReaper,
}

impl SpeechCommand {
    /// What it says of these words; dropping the future ends it.
    ///
    /// # Errors
    /// With the reason, in words without a full stop.
    pub async fn speak(&self, text: &str) -> Result<Vec<u8>, String> {
        if let Err(error) = tokio::fs::create_dir_all(&self.dir).await {
            return Err(format!("the folder of the command under [speech] cannot be made: {error}"));
        }
        let spec = ProcessSpec {
            vector: self.command.clone(),
            dir: self.dir.clone(),
            environment: Vec::new(),
            input: Some(format!("{text}\n").into_bytes()),
            bytes_max: 2 * SOUND_BYTES_MAX,
            leftovers: self.leftovers.clone(),
            confinement: Some(self.confinement.clone()),
        };
        match tokio::time::timeout(self.timeout, Box::pin(process::run_for_bytes(spec))).await {
            Err(_elapsed) => Err(format!("it took more than {} s", self.timeout.as_secs())),
            Ok(Err(error)) => Err(format!("the command under [speech] could not be run: {error}")),
            Ok(Ok(ByteOutput { status, out, .. })) if status.success() => out
                .filter(|sound| sound.len() <= SOUND_BYTES_MAX)
                .ok_or_else(|| "the command under [speech] wrote too much".to_owned()),
            Ok(Ok(ByteOutput { status, err, .. })) => {
                let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
                let excess = err.chars().count().saturating_sub(WHY_CHARS_MAX);
                let end: String = err.chars().skip(excess).collect();
                Err(format!("the command under [speech] failed ({status}): {end}").trim_end_matches(": ").to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Sandbox;
    use crate::sandbox::spec::{Limits, SandboxAccess};

    fn speaker(dir: &std::path::Path, script: &str) -> SpeechCommand {
        let reach = SandboxAccess { read: Vec::new(), write: Vec::new(), network: false, limits: Limits::default() };
        SpeechCommand {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            dir: dir.join("own"),
            timeout: Duration::from_secs(60),
            confinement: Confinement::new(Sandbox::none("this is a test"), reach, dir),
            leftovers: ProcessReaper::of(dir),
        }
    }

    #[tokio::test]
    async fn f10_a_program_gives_its_voice_out_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let spoken = speaker(dir.path(), r"printf 'OggS\000\377\200'; cat; echo noise >&2").speak("Hello").await;
        assert_eq!(spoken.unwrap(), b"OggS\0\xff\x80Hello\n");
    }

    #[tokio::test]
    async fn f10_a_program_without_a_voice_says_why_nothing_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let failed = |script: &'static str| {
            let speaker = speaker(dir.path(), script);
            async move { speaker.speak("Hello").await.unwrap_err() }
        };
        let why = failed("echo 'no voice' >&2; exit 3").await;
        assert_eq!(why, "the command under [speech] failed (exit status: 3): no voice");
        assert_eq!(failed("exit 1").await, "the command under [speech] failed (exit status: 1)");
        assert_eq!(failed("head -c 9000000 /dev/zero").await, "the command under [speech] wrote too much");
        let mut slow = speaker(dir.path(), "sleep 600");
        slow.timeout = Duration::from_millis(50);
        assert_eq!(slow.speak("Hello").await.unwrap_err(), "it took more than 0 s");
        let missing = SpeechCommand { command: vec!["/no/such/program".to_owned()], ..speaker(dir.path(), "") };
        assert!(missing.speak("Hello").await.unwrap_err().starts_with("the command under [speech] could not be run: "));
    }
}
