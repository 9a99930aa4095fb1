//! A secret that is missing switches its section off, and nothing else (row N6).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::Config;
use crate::environment::Environment;
use crate::key_path::PathStep;
use crate::load::{LoadedConfig, load, load_text};
use crate::shape::{self, KeyShape, ValueShape};
use crate::switched_off::section_that_can_be_off;

/// A folder with a config and other files in it, each with its mode.
struct Harness {
    dir: tempfile::TempDir,
    env: Environment,
}

impl Harness {
    fn of(config: &str, files: &[(&str, &[u8], u32)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8], mode: u32| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        write("config.toml", config.as_bytes(), 0o600);
        files.iter().for_each(|(name, bytes, mode)| write(name, bytes, *mode));
        let env = Environment::of(
            dir.path(),
            [
                ("TOKEN", "123:token".into()),
                ("EMPTY", "".into()),
                ("KEYS", dir.path().join("keys").into_os_string()),
                ("LOOKS", "file:keys/open".into()),
                ("CREDENTIALS_DIRECTORY", dir.path().join("credentials").into_os_string()),
            ],
        );
        Self { dir, env }
    }

    fn load(&self) -> Result<LoadedConfig, String> {
        load(None, &self.env).map_err(|error| self.plain(&error.to_string()))
    }

    fn plain(&self, text: &str) -> String {
        text.replace(&self.dir.path().display().to_string(), "")
    }

    /// What is said of the sections that are off.
    fn off(&self) -> String {
        let off = self.load().unwrap().off;
        self.plain(&off.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }
}

#[test]
fn a_secret_is_plain_or_comes_from_the_environment_a_file_or_systemd() {
    let files: [(&str, &[u8], u32); 4] = [
        ("keys/token", b"1:file\n", 0o600),
        ("keys/crlf", b"1:crlf\r\n", 0o400),
        ("keys/two", b"1:two\n\n", 0o600),
        // systemd says who may read its own.
        ("credentials/hob.token", b"1:systemd", 0o440),
    ];
    for (written, expected) in [
        ("1:plain", "1:plain"),
        ("${TOKEN}", "123:token"),
        ("file:keys/token", "1:file"),
        ("file:${KEYS}/token", "1:file"),
        ("file:keys/crlf", "1:crlf"),
        ("cred:hob.token", "1:systemd"),
    ] {
        let room = Harness::of(&format!("[telegram]\nbot_token = '{written}'\n"), &files);
        let loaded = room.load().unwrap();
        assert_eq!((loaded.off.len(), loaded.notes.len()), (0, 0), "{written}");
        assert_eq!(loaded.config.telegram.as_ref().unwrap().bot_token.expose(), expected);
        assert!(loaded.secrets(&Environment::default()).iter().any(|secret| secret.expose() == expected), "{written}");
    }
    let two = Harness::of("[telegram]\nbot_token = 'file:keys/two'\n", &files);
    assert!(two.load().unwrap_err().contains("has a character that no token has"), "one line break is taken off");
}

#[test]
fn only_secrets_refer_to_elsewhere_and_no_value_of_a_variable_does() {
    let config =
        "[agent]\nsystem_prompt = 'file:keys/token'\n[http.x]\nhosts = ['api.example.org']\nsecret = '${LOOKS}'\n";
    let loaded = Harness::of(config, &[]).load().unwrap();
    assert_eq!(loaded.config.agent.system_prompt.as_deref(), Some("file:keys/token"));
    assert_eq!((loaded.config.http["x"].secret.expose(), loaded.off.len()), ("file:keys/open", 0));
}

#[test]
fn n6_what_cannot_be_had_is_told_with_what_to_do() {
    let files: [(&str, &[u8], u32); 6] = [
        ("keys/open", b"1:a", 0o644),
        ("keys/empty", b"\n", 0o600),
        ("keys/bytes", &[0xff], 0o600),
        ("keys/big", &[b'1'; 64 * 1024 + 1], 0o600),
        ("keys/folder/x", b"", 0o600),
        ("credentials/a", b"1:a", 0o400),
    ];
    let told = |written: &str| Harness::of(&format!("[telegram]\nbot_token = '{written}'\n"), &files).off();
    insta::assert_snapshot!(told("${NONE}"), @"[telegram] is off: telegram.bot_token names the environment variable `NONE`, which is not set; set it where Hob is started, or write `$${` for a plain `${`");
    insta::assert_snapshot!(told("${EMPTY}"), @"[telegram] is off: telegram.bot_token names the environment variable `EMPTY`, which is empty; set it where Hob is started");
    insta::assert_snapshot!(told("file:keys/none"), @"[telegram] is off: telegram.bot_token refers to /keys/none, which is not there; make the file, or correct the path; a relative one begins at the config's folder");
    insta::assert_snapshot!(told("file:keys/open"), @"[telegram] is off: telegram.bot_token refers to /keys/open, which others than its owner may read or change (0644); `chmod 600 /keys/open`");
    insta::assert_snapshot!(told("file:keys/empty"), @"[telegram] is off: telegram.bot_token refers to /keys/empty, which is empty; write the secret into it");
    insta::assert_snapshot!(told("file:keys/bytes"), @"[telegram] is off: telegram.bot_token refers to /keys/bytes, which is not UTF-8 text; name a file that holds the secret and nothing else");
    insta::assert_snapshot!(told("file:keys/big"), @"[telegram] is off: telegram.bot_token refers to /keys/big, which has more than 65536 bytes; name a file that holds the secret and nothing else");
    insta::assert_snapshot!(told("file:keys/folder"), @"[telegram] is off: telegram.bot_token refers to /keys/folder, which is not a file; name a file");
    insta::assert_snapshot!(told("file:"), @"[telegram] is off: telegram.bot_token refers to a file, which names none; write `file:/path`, `cred:NAME` or `keychain:NAME`");
    insta::assert_snapshot!(told("cred:b"), @"[telegram] is off: telegram.bot_token refers to the credential b, which the unit does not load; put `LoadCredential=b:/path/of/the/secret` into the unit, then `systemctl daemon-reload`");
    insta::assert_snapshot!(told("cred:../keys/open"), @"[telegram] is off: telegram.bot_token refers to a credential, which names none; write `file:/path`, `cred:NAME` or `keychain:NAME`");
    let bare = load_text(Path::new("/c.toml"), "[telegram]\nbot_token = 'cred:a'", &Environment::default()).unwrap();
    insta::assert_snapshot!(bare.off[0].to_string(), @"[telegram] is off: telegram.bot_token refers to the credential a, but Hob was not started by systemd with credentials; put `LoadCredential=a:/path/of/the/secret` into the unit and start Hob by it");
}

#[cfg(not(feature = "keyring"))]
#[test]
fn n6_a_build_without_the_keychain_says_so_for_the_section_alone() {
    let room = Harness::of("[telegram]\nbot_token = 'keychain:bot'\n[agent]\niterations_max = 7\n", &[]);
    insta::assert_snapshot!(room.off(), @"[telegram] is off: telegram.bot_token refers to the keychain entry bot: this Hob was built without the keychain; use `file:/path` or `cred:NAME`, or build with `cargo build --release --features keyring`");
    assert_eq!(room.load().unwrap().config.agent.iterations_max, 7);
}

const MUCH: &str = "
[provider]
kind = 'openai'
api_key = '${NONE}'
models.primary = 'gpt-5'
[[provider.fallbacks]]
kind = 'anthropic'
model = 'a'
api_key = 'file:none'
[[provider.fallbacks]]
kind = 'offline'
model = 'offline'
[transcription]
api_key = '${NONE}'
[telegram]
bot_token = '1:a'
[telegram_accounts.work]
bot_token = '${NONE}'
[slack]
bot_token = 'xoxb-1'
app_token = '${NONE}'
[discord]
bot_token = '${NONE}'
[email]
address = 'hob@example.org'
imap_password = '${NONE}'
imap_host = 'imap.example.org'
smtp_host = 'smtp.example.org'
[heartbeat]
[memory.embedding]
kind = 'openai_compatible'
base_url = 'http://h/v1'
model = 'm'
api_key = '${NONE}'
[web.search]
kind = 'brave'
api_key = '${NONE}'
[http.weather]
hosts = ['api.example.org']
secret = '${NONE}'
[http.other]
hosts = ['api.example.org']
secret = 'k'
[mcp.notes]
command = ['/bin/notes']
env = { KEY = '${NONE}' }
[tools.light]
description = 'x'
command = ['/bin/light', '--key=${NONE}']
[server]
listen = '127.0.0.1:0'
[webhooks.door]
secret = '${NONE}'
prompt = 'x'
";

#[test]
fn n6_each_section_is_off_for_itself_and_nothing_else_is() {
    let loaded = Harness::of(MUCH, &[]).load().unwrap();
    let off: Vec<(&str, usize)> = loaded.off.iter().map(|off| (off.section.as_str(), off.line.unwrap())).collect();
    assert_eq!(
        off,
        [
            ("discord", 23),
            ("email", 26),
            ("http.weather", 40),
            ("mcp.notes", 46),
            ("memory.embedding", 34),
            ("provider", 4),
            ("provider.fallbacks[1]", 9),
            ("slack", 21),
            ("telegram_accounts.work", 18),
            ("tools.light", 49),
            ("transcription", 14),
            ("web.search", 37),
            ("webhooks.door", 53),
        ]
    );
    let Config { provider, telegram, telegram_accounts, slack, discord, email, http, mcp, tools, .. } = loaded.config;
    assert!(telegram.is_some() && telegram_accounts.is_empty() && slack.is_none() && discord.is_none());
    assert!(email.is_none() && mcp.is_empty() && tools.is_empty() && loaded.config.webhooks.is_empty());
    assert_eq!(http.keys().collect::<Vec<_>>(), ["other"]);
    let provider = provider.unwrap();
    insta::assert_snapshot!(provider.off.unwrap(), @"provider.api_key names the environment variable `NONE`, which is not set");
    assert!(provider.fallbacks[0].off.is_some() && provider.fallbacks[1].off.is_none());
    assert_eq!(provider.models.primary.as_deref(), Some("gpt-5"));
    // Nobody else is asked instead.
    assert_eq!(format!("{:?} {:?}", loaded.config.web.search.kind, loaded.config.memory.embedding.kind), "None None");
}

#[test]
fn what_is_off_is_still_checked_and_what_no_section_can_do_without_is_a_problem() {
    for (config, expected) in [
        (
            "[telegram]\nbot_token = '${NONE}'\npoll_timeout_secs = 0\n",
            "/config.toml:3: telegram.poll_timeout_secs: is 0",
        ),
        ("[telegram]\nbot_token = '${NONE'\n", "/config.toml:2: telegram.bot_token: has a `${` without"),
        ("[agent]\nsystem_prompt = '${NONE}'\n", "/config.toml:2: agent.system_prompt: names the environment variable"),
        ("[workspace]\ndir = '${NONE}/x'\n", "/config.toml:2: workspace.dir: names the environment variable"),
        ("[people.ada]\nemail_addresses = ['${NONE}']\n", "/config.toml:2: people.ada.email_addresses[1]: names"),
        ("[[hooks]]\nwhen = 'before_tool'\ncommand = ['${NONE}']\n", "/config.toml:3: hooks[1].command[1]: names"),
        ("[state]\nurl = 'file:none'\n", "/config.toml:2: state.url: refers to /none, which is not there"),
        ("[web]\nallow = ['${NONE}']\n", "/config.toml:2: web.allow[1]: names"),
    ] {
        let told = Harness::of(config, &[]).load().unwrap_err();
        assert!(told.contains(expected), "{config}\n{told}");
    }
}

#[test]
fn a_broken_list_of_who_may_speak_closes_its_channel() {
    let config = "[email]\naddress = 'hob@example.org'\nimap_password = 'x'\nimap_host = 'i.example.org'\n\
                  smtp_host = 's.example.org'\nallowed_addresses = ['a@example.org', '${NONE}']\n";
    let room = Harness::of(config, &[]);
    assert!(room.off().starts_with("[email] is off: email.allowed_addresses[2] names"), "{}", room.off());
    assert!(room.load().unwrap().config.email.is_none() && room.load().unwrap().lacks_a_channel());
}

#[test]
fn every_secret_lies_in_a_section_that_can_be_off() {
    fn walk(at: &mut Vec<PathStep>, fields: &[KeyShape], seen: &mut usize) {
        for field in fields {
            at.push(PathStep::Key(field.name.clone()));
            if field.secret {
                *seen += 1;
                // Without its database's URL Hob would begin afresh, with nothing of what it knows.
                let needed = *at == ["state", "url"].map(|key| PathStep::Key(key.to_owned()));
                assert_eq!(section_that_can_be_off(at).is_none(), needed, "{at:?}");
            }
            let (step, inner) = match &field.shape {
                ValueShape::List { item, .. } => (Some(PathStep::Item(0)), &**item),
                ValueShape::Map { item, .. } => (Some(PathStep::Key("name".to_owned())), &**item),
                other => (None, other),
            };
            let depth = at.len();
            at.extend(step);
            if let ValueShape::Section(inner) = inner {
                walk(at, inner, seen);
            }
            at.truncate(depth);
            at.pop();
        }
    }
    let mut seen = 0;
    walk(&mut Vec::new(), &shape::of::<Config>(), &mut seen);
    assert!(seen >= 20, "{seen}");
}

#[test]
fn a_file_with_secrets_that_others_can_read_is_told_not_refused() {
    let note = |config: &str, mode: u32| {
        let room = Harness::of(config, &[("keys/token", b"1:a", 0o600)]);
        fs::set_permissions(room.dir.path().join("config.toml"), Permissions::from_mode(mode)).unwrap();
        let notes = room.load().unwrap().notes;
        room.plain(&notes.iter().map(ToString::to_string).collect::<String>())
    };
    let plain = "[telegram]\nbot_token = '1:a'\n";
    insta::assert_snapshot!(note(plain, 0o644), @"the file has secrets in it, and others than its owner may read or change it (0644); `chmod 600 /config.toml`, or move the secrets out: `file:/path`");
    assert_eq!(note(plain, 0o600), "");
    assert_eq!(note("[telegram]\nbot_token = 'file:keys/token'\n", 0o644), "");
    assert_eq!(note("[telegram]\nbot_token = '${TOKEN}'\n", 0o644), "");
    assert_eq!(note("[agent]\niterations_max = 7\n", 0o644), "");
}
