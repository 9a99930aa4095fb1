//! The sandbox of the owner's own programs: declared tools, hooks, MCP servers, coding agents.

use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;
use crate::sandbox::confinement::Confinement;
use crate::sandbox::spec::{Limits, SandboxAccess};
use crate::sandbox::trial::SandboxTrial;

/// The folder of their folders in the data directory.
const FOLDERS: &str = "own";

/// What such a program may reach, as the owner said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramAccess {
    /// What its folder is called.
    pub folder: String,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may read besides what its command names.
    pub read: Vec<PathBuf>,
    /// What it may write besides its folder.
    pub write: Vec<PathBuf>,
}

/// From what their sandboxes are made.
#[derive(Debug, Clone)]
pub struct ProgramSandbox {
    /// What can be had here.
    pub sandbox: SandboxTrial,
    /// What each process may use.
    pub limits: Limits,
    /// Hob's data, where their folders are.
    pub data_dir: PathBuf,
}

impl ProgramAccess {
    /// Its folder.
    pub fn home(&self, data_dir: &Path) -> PathBuf {
        data_dir.join(FOLDERS).join(&self.folder)
    }
}

impl ProgramSandbox {
    /// Without a sandbox.
    pub fn none(data_dir: &Path) -> Self {
        let sandbox = Sandbox::none("it was not asked for").into();
        Self { sandbox, limits: Limits::default(), data_dir: data_dir.to_owned() }
    }

    /// The sandbox of a program that is started by this command.
    pub fn confine(&self, own: &ProgramAccess, command: &[String]) -> Confinement {
        let home = own.home(&self.data_dir);
        let data = self.data_dir.canonicalize().unwrap_or_else(|_| self.data_dir.clone());
        // Who names a file or a folder in the command wants it to be read there; nobody so names all that Hob knows.
        let named = command.iter().map(PathBuf::from).filter(|path| path.is_absolute());
        let named = named.filter(|path| path.canonicalize().is_ok_and(|path| !data.starts_with(path)));
        let reach = SandboxAccess {
            read: own.read.iter().cloned().chain(named).collect(),
            write: std::iter::once(home.clone()).chain(own.write.iter().cloned()).collect(),
            network: own.network,
            limits: self.limits,
        };
        Confinement::new(self.sandbox.clone(), reach, &self.data_dir).with_home(home)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_names_is_read_and_hobs_data_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir_all(at("data")).unwrap();
        std::fs::write(at("script.py"), "x").unwrap();
        let own =
            ProgramAccess { folder: "mcp/notes".to_owned(), read: vec!["/srv".into()], ..ProgramAccess::default() };
        let command = ["python3", &at("script.py"), &at("missing"), &at(""), &at("data"), "/"].map(str::to_owned);
        let confinement = ProgramSandbox::none(&dir.path().join("data")).confine(&own, &command);
        assert_eq!(confinement.reach.read, [PathBuf::from("/srv"), at("script.py").into()]);
        assert_eq!(confinement.reach.write, [PathBuf::from(at("data/own/mcp/notes"))]);
        assert_eq!(confinement.home(), Some(Path::new(&at("data/own/mcp/notes"))));
    }
}
