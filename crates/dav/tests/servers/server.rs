//! A real calendar server: Radicale or Xandikos, with somebody's calendar and address book, and another program that looks.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::Method;
use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Radicale,
    Xandikos,
}

/// One that runs.
pub(crate) struct Server {
    make: ServerKind,
    home: TempDir,
    port: u16,
    child: Child,
    http: reqwest::Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        assert!(ended.is_ok(), "{ended:?}");
    }
}

fn program(name: &str) -> PathBuf {
    let all =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|at| at.join("target/calendar-servers/bin").join(name));
    all.into_iter()
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{name} is missing: scripts/calendar-servers installs it"))
}

impl Server {
    /// One with a calendar and an address book of Ada's, and of Ben's where it knows several people.
    pub(crate) async fn start(make: ServerKind) -> Self {
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let data = home.path().join("data");
        let mut command = match make {
            ServerKind::Radicale => {
                let users = home.path().join("users");
                std::fs::write(&users, "ada:secret\nben:secret\n").unwrap();
                let mut command = Command::new(program("radicale"));
                command.args([
                    "--config",
                    "",
                    "--server-hosts",
                    &format!("127.0.0.1:{port}"),
                    "--auth-type",
                    "htpasswd",
                ]);
                command.args(["--auth-htpasswd-encryption", "plain", "--auth-htpasswd-filename"]).arg(users);
                command.arg("--storage-filesystem-folder").arg(&data);
                command
            }
            ServerKind::Xandikos => {
                let mut command = Command::new(program("xandikos"));
                command.args([
                    "serve",
                    "--autocreate",
                    "--defaults",
                    "--current-user-principal",
                    "/ada/",
                    "-l",
                    "127.0.0.1",
                ]);
                command.args(["-p", &port.to_string(), "-d"]).arg(&data);
                command
            }
        };
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
        let http = hob_http::direct_client(Duration::from_secs(5)).unwrap();
        let mut server = Self { make, home, port, child, http };
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(server.child.try_wait().unwrap().is_none(), "{make:?} does not start");
            tokio::task::yield_now().await;
        }
        if make == ServerKind::Radicale {
            for user in ["ada", "ben"] {
                server.make_collection(user, "calendar", "C:calendar", "caldav").await;
                server.make_collection(user, "book", "C:addressbook", "carddav").await;
            }
        }
        server
    }

    async fn make_collection(&self, user: &str, name: &str, kind: &str, space: &str) {
        let body = format!(
            "<mkcol xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:{space}\"><set><prop><resourcetype><collection/><{kind}/></resourcetype>\
             <displayname>{user}'s {name}</displayname></prop></set></mkcol>"
        );
        let status = self.send("MKCOL", user, &format!("/{user}/{name}/"), body).await;
        assert_eq!(status, 201);
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Where Ada's calendar is, and Ben's.
    pub(crate) fn calendar(&self, user: &str) -> String {
        match self.make {
            ServerKind::Radicale => format!("/{user}/calendar/"),
            ServerKind::Xandikos => format!("/{user}/calendars/calendar/"),
        }
    }

    /// Where the calendar is that [`Self::add_family`] adds.
    fn family(&self) -> String {
        self.calendar("ada").replace("/calendar/", "/family/")
    }

    /// Ada gets a second calendar.
    pub(crate) async fn add_family(&self) {
        let body = "<C:mkcalendar xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><set><prop><displayname>Family</displayname></prop></set></C:mkcalendar>";
        assert_eq!(self.send("MKCALENDAR", "ada", &self.family(), body.to_owned()).await, 201);
    }

    fn book(&self, user: &str) -> String {
        match self.make {
            ServerKind::Radicale => format!("/{user}/book/"),
            ServerKind::Xandikos => format!("/{user}/contacts/addressbook/"),
        }
    }

    /// What another program of somebody's asks of it.
    async fn send(&self, method: &str, user: &str, path: &str, body: String) -> u16 {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let kind = if path.ends_with(".vcf") {
            "text/vcard"
        } else if path.ends_with(".ics") {
            "text/calendar"
        } else {
            "application/xml"
        };
        let request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url).body(body);
        let request = request.header("Content-Type", kind).basic_auth(user, Some("secret"));
        request.send().await.unwrap().status().as_u16()
    }

    /// Another program puts an event there.
    pub(crate) async fn put(&self, user: &str, name: &str, event: &str) {
        self.put_at(user, &format!("{}{name}.ics", self.calendar(user)), event).await;
    }

    /// The same in the second calendar.
    pub(crate) async fn put_in_family(&self, name: &str, event: &str) {
        self.put_at("ada", &format!("{}{name}.ics", self.family()), event).await;
    }

    async fn put_at(&self, user: &str, path: &str, event: &str) {
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//other//EN\r\n{}\r\nEND:VCALENDAR\r\n",
            event.trim().replace('\n', "\r\n")
        );
        let status = self.send("PUT", user, path, text).await;
        assert!((200..300).contains(&status), "{status}");
    }

    pub(crate) async fn put_card(&self, user: &str, name: &str, card: &str) {
        let text = format!(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{name}\r\n{}\r\nEND:VCARD\r\n",
            card.trim().replace('\n', "\r\n")
        );
        let status = self.send("PUT", user, &format!("{}{name}.vcf", self.book(user)), text).await;
        assert!((200..300).contains(&status), "{status}");
    }

    /// What it has under that name.
    pub(crate) async fn get(&self, user: &str, name: &str) -> Option<String> {
        self.get_at(user, &format!("{}{name}.ics", self.calendar(user))).await
    }

    /// The same of the second calendar.
    pub(crate) async fn get_in_family(&self, name: &str) -> Option<String> {
        self.get_at("ada", &format!("{}{name}.ics", self.family())).await
    }

    async fn get_at(&self, user: &str, path: &str) -> Option<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let answer = self.http.get(url).basic_auth(user, Some("secret")).send().await.unwrap();
        (answer.status() == 200).then_some(answer)?.text().await.ok()
    }

    /// What khal says that Ada has in these days, having fetched it by vdirsyncer.
    pub(crate) fn khal(&self, from: &str, to: &str) -> String {
        let at = |name: &str| self.home.path().join(name);
        let (local, status) = (at("local"), at("status"));
        let sync = format!(
            "[general]\nstatus_path = \"{}\"\n[pair c]\na = \"here\"\nb = \"there\"\ncollections = [\"calendar\"]\nconflict_resolution = \"b wins\"\n\
             [storage here]\ntype = \"filesystem\"\npath = \"{}\"\nfileext = \".ics\"\n\
             [storage there]\ntype = \"caldav\"\nurl = \"{}\"\nusername = \"ada\"\npassword = \"secret\"\n",
            status.display(),
            local.display(),
            self.url()
        );
        std::fs::write(at("vdirsyncer"), sync).unwrap();
        std::fs::create_dir_all(local.join("calendar")).unwrap();
        for step in [["discover", "c"], ["sync", "c"]] {
            let mut command = Command::new(program("vdirsyncer"));
            let done = command.arg("-c").arg(at("vdirsyncer")).args(step).stdin(Stdio::null()).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let config = format!(
            "[calendars]\n[[ada]]\npath = {}\n[sqlite]\npath = {}\n[locale]\nlocal_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\n\
             timeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\n",
            local.join("calendar").display(),
            at("khal.db").display()
        );
        std::fs::write(at("khal"), config).unwrap();
        let mut khal = Command::new(program("khal"));
        khal.env("HOME", self.home.path()).arg("-c").arg(at("khal"));
        let listed = khal
            .args(["list", "--format", "{start-date} {start-time}-{end-time} {title}", "--day-format", "", from, to])
            .output()
            .unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        String::from_utf8(listed.stdout).unwrap().trim().to_owned()
    }
}
