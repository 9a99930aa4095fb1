//! Real mail servers of a test's own, in a folder that goes with it.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

/// As whom a server works where the tests run as root, which dovecot does not do.
const NOBODY: &str = "nobody";

/// Who has a mailbox there; the password is `secret`.
const USERS: [&str; 3] = ["hob", "ada", "ben"];

/// A mail server: dovecot over Maildirs, and aiosmtpd that delivers into them.
pub struct Servers {
    pub imap_port: u16,
    pub smtp_port: u16,
    home: TempDir,
    /// Whoever is asked whether a token holds; none: no token is taken.
    issuer: Option<String>,
    dovecot: Option<Child>,
    smtp: Option<Child>,
    serial: AtomicU64,
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop_imap();
        self.stop_smtp();
    }
}

/// The folder of the tests' certificate and key: for `localhost`, and believed by nobody else.
pub fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/email/servers")
}

/// The folders of people's mailboxes: what they are for, their names do not say to everybody.
pub const ROLES: &str = "namespace inbox {
  inbox = yes
  separator = /
  mailbox Entwürfe {
    auto = create
    special_use = \\Drafts
  }
  mailbox Gesendet {
    auto = create
    special_use = \\Sent
  }
  mailbox Ablage {
    auto = create
    special_use = \\Archive
  }
}
";

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Servers {
    /// Both, with the usual abilities.
    pub fn start() -> Self {
        Self::with("")
    }

    /// Both; of IMAP's abilities only these, unless that is empty.
    pub fn with(capabilities: &str) -> Self {
        Self::configured(capabilities, "")
    }

    /// Both, with more in dovecot's config, such as [`ROLES`].
    pub fn configured(capabilities: &str, more: &str) -> Self {
        Self::made(capabilities, more, None)
    }

    /// Both, which take tokens (XOAUTH2) that this issuer says hold; with more in dovecot's config.
    pub fn asking(issuer: &str, more: &str) -> Self {
        Self::made("", more, Some(issuer.to_owned()))
    }

    fn made(capabilities: &str, more: &str, issuer: Option<String>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut servers = Self {
            imap_port: free_port(),
            smtp_port: 0,
            home,
            issuer,
            dovecot: None,
            smtp: None,
            serial: AtomicU64::new(0),
        };
        for folder in ["base", "state"] {
            std::fs::create_dir_all(servers.path(folder)).unwrap();
        }
        for folder in
            USERS.iter().flat_map(|user| ["cur", "new", "tmp"].map(|own| format!("mail/{user}/Maildir/{own}")))
        {
            std::fs::create_dir_all(servers.path(&folder)).unwrap();
        }
        for file in ["localhost.crt", "localhost.key"] {
            std::fs::copy(files().join(file), servers.path(file)).unwrap();
        }
        let passwords: String = USERS.iter().map(|user| format!("{user}:{{PLAIN}}secret\n")).collect();
        std::fs::write(servers.path("passwd"), passwords).unwrap();
        std::fs::write(servers.path("dovecot.conf"), servers.config(capabilities) + more + &servers.tokens()).unwrap();
        if is_root() {
            run(Command::new("chmod").arg("755").arg(servers.home.path()));
        }
        servers.own();
        servers.start_imap();
        servers.start_smtp();
        servers
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn config(&self, capabilities: &str) -> String {
        let id = |what: &str| {
            let output = Command::new("id").arg(what).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let (user, group) = if is_root() { (NOBODY.to_owned(), "nogroup".to_owned()) } else { (id("-un"), id("-gn")) };
        let capabilities =
            if capabilities.is_empty() { String::new() } else { format!("imap_capability = {capabilities}\n") };
        let (home, port) = (self.home.path().display(), self.imap_port);
        format!(
            "protocols = imap\nlisten = 127.0.0.1\nbase_dir = {home}/base\nstate_dir = {home}/state\n\
             log_path = {home}/dovecot.log\ndefault_login_user = {user}\ndefault_internal_user = {user}\n\
             default_internal_group = {group}\nmail_location = maildir:~/Maildir\nfirst_valid_uid = 0\nfirst_valid_gid = 0\n\
             ssl = required\nssl_cert = <{home}/localhost.crt\nssl_key = <{home}/localhost.key\n{capabilities}\
             passdb {{\n  driver = passwd-file\n  args = {home}/passwd\n}}\n\
             userdb {{\n  driver = static\n  args = uid={user} gid={group} home={home}/mail/%n\n}}\n\
             service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = 0\n  }}\n  \
             inet_listener imaps {{\n    port = {port}\n    ssl = yes\n  }}\n}}\n\
             service anvil {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}\n"
        )
    }

    /// How dovecot takes tokens: it asks the issuer about each (RFC 7662).
    fn tokens(&self) -> String {
        let Some(issuer) = &self.issuer else { return String::new() };
        let asked = format!(
            "introspection_url = {issuer}/introspect\nintrospection_mode = post\nusername_attribute = username\n\
             active_attribute = active\nactive_value = true\n"
        );
        std::fs::write(self.path("oauth2.conf"), asked).unwrap();
        format!(
            "auth_mechanisms = plain login xoauth2\npassdb {{\n  driver = oauth2\n  mechanisms = xoauth2\n  args = {}\n}}\n",
            self.path("oauth2.conf").display()
        )
    }

    /// What stands in Hob's config for the mailbox there, but for people.
    pub fn settings(&self) -> String {
        let (imap, smtp, ca) = (self.imap_port, self.smtp_port, files().join("localhost.crt"));
        format!(
            "[email]
            address = 'hob@home.example'
            imap_host = 'localhost'
            imap_port = {imap}
            imap_user = 'hob'
            imap_password = 'secret'
            smtp_host = 'localhost'
            smtp_port = {smtp}
            ca_file = '{}'
            authserv_ids = ['mx.home.example']\n",
            ca.display()
        )
    }

    /// What was put into the Maildirs is the servers'.
    fn own(&self) {
        if is_root() {
            run(Command::new("chown").args(["-R", "nobody:nogroup"]).arg(self.path("mail")));
        }
    }

    pub fn start_imap(&mut self) {
        let config = self.path("dovecot.conf");
        let mut dovecot = Command::new("dovecot");
        // Master and workers are a group, so that all of them can be ended together.
        let dovecot = dovecot.arg("-F").arg("-c").arg(config).stderr(Stdio::null()).process_group(0).spawn();
        self.dovecot = Some(dovecot.expect("dovecot is missing: scripts/test installs it"));
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.imap_port)).is_err() {
            let ended = self.dovecot.as_mut().and_then(|dovecot| dovecot.try_wait().expect("it can be asked"));
            assert!(ended.is_none(), "dovecot does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server and all its connections.
    pub fn stop_imap(&mut self) {
        if let Some(mut dovecot) = self.dovecot.take() {
            let master = rustix::process::Pid::from_raw(i32::try_from(dovecot.id()).unwrap()).unwrap();
            rustix::process::kill_process(master, rustix::process::Signal::TERM).unwrap();
            dovecot.wait().unwrap();
            // A worker with a client may outlive the master for a minute, and serves on.
            if let Err(error) = rustix::process::kill_process_group(master, rustix::process::Signal::KILL) {
                assert_eq!(error, rustix::io::Errno::SRCH, "they are gone already");
            }
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("dovecot.log")).unwrap_or_default()
    }

    pub fn start_smtp(&mut self) {
        let mut command = Command::new("/usr/bin/python3");
        command.arg(files().join("smtp.py")).arg(self.path("mail"));
        command.arg(files().join("localhost.crt")).arg(files().join("localhost.key")).arg(self.smtp_port.to_string());
        command.args(&self.issuer);
        let mut smtp = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(smtp.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.smtp_port = line.trim().parse().expect("aiosmtpd is missing: scripts/test installs it");
        self.smtp = Some(smtp);
    }

    pub fn stop_smtp(&mut self) {
        if let Some(mut smtp) = self.smtp.take() {
            smtp.kill().unwrap();
            smtp.wait().unwrap();
        }
    }

    /// Puts a letter into Hob's mailbox, as a mail server does.
    pub fn put(&self, raw: &[u8]) {
        self.put_for("hob", raw);
    }

    /// The same into somebody's.
    pub fn put_for(&self, user: &str, raw: &[u8]) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:010}.M{serial:06}.test", 1_800_000_000 + serial);
        let there = self.path("mail").join(user).join("Maildir");
        std::fs::write(there.join("tmp").join(&name), raw).unwrap();
        if is_root() {
            run(Command::new("chown").arg("nobody:nogroup").arg(there.join("tmp").join(&name)));
        }
        std::fs::rename(there.join("tmp").join(&name), there.join("new").join(&name)).unwrap();
    }

    /// One of `tests/fixtures/email/letters`.
    pub fn put_file(&self, name: &str) {
        let path = files().with_file_name("letters").join(format!("{name}.eml"));
        self.put(&std::fs::read(path).unwrap());
    }

    /// The folder gets a new UIDVALIDITY: all its numbers are void.
    pub fn renumber(&mut self) {
        self.renumber_for("hob");
    }

    /// The same of somebody's.
    pub fn renumber_for(&mut self, user: &str) {
        self.stop_imap();
        let there = self.path("mail").join(user).join("Maildir");
        for entry in std::fs::read_dir(&there).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("dovecot") {
                std::fs::remove_file(path).unwrap();
            }
        }
        std::fs::write(there.join("dovecot-uidlist"), "3 V77 N1 G0123456789abcdef0123456789abcdef\n").unwrap();
        self.own();
        self.start_imap();
    }

    /// What another program sees in a folder of somebody's: a line of JSON a letter, by `look.py`.
    pub fn seen_in(&self, user: &str, folder: &str) -> Vec<String> {
        let mut look = Command::new("/usr/bin/python3");
        look.arg(files().join("look.py")).args([&self.imap_port.to_string(), user, folder]);
        let output = look.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Marks the letter with this subject as deleted, as another program does which has not emptied the folder yet.
    pub fn mark_deleted(&self, user: &str, folder: &str, subject: &str) {
        let mut look = Command::new("/usr/bin/python3");
        run(look.arg(files().join("look.py")).args([&self.imap_port.to_string(), user, folder, subject]));
    }

    /// The letters that somebody has got, oldest first.
    pub fn got(&self, local: &str) -> Vec<String> {
        let mut all = Vec::new();
        for folder in ["new", "cur"] {
            let Ok(entries) = std::fs::read_dir(self.path("mail").join(local).join(folder)) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                let time = std::fs::metadata(&path).unwrap().modified().unwrap();
                all.push((time, std::fs::read_to_string(path).unwrap()));
            }
        }
        all.sort();
        all.into_iter().map(|(_, letter)| letter).collect()
    }

    /// Waits until somebody has got so many.
    pub async fn until_got(&self, local: &str, count: usize) -> Vec<String> {
        loop {
            let got = self.got(local);
            if got.len() >= count {
                return got;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
