//! `hob import`, run as people run it, on folders as openclaw, nanobot and hermes wrote them (`tests/fixtures/import`).

use std::fs;
use std::path::Path;
use std::process::Stdio;

use hob_testkit::process::{hob_command, within};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import");

async fn ran(home: &TempDir, arguments: &[&str]) -> Result<String, String> {
    let output = within("end of the command", hob_command(home.path(), arguments).output()).await.unwrap();
    let text =
        |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&home.path().display().to_string(), "HOME");
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[tokio::test]
async fn f6_an_import_says_how_far_it_is() {
    let home = home("openclaw").await;
    let import = hob_command(home.path(), &["import", "openclaw", "--apply", "--house"]).output();
    let told = String::from_utf8(within("end of the command", import).await.unwrap().stderr).unwrap();
    insta::assert_snapshot!(told, @r"
    Importing: 2 of 5
    Importing: 3 of 5
    Importing: 4 of 5
    Importing: 5 of 5
    ");
}

async fn import(home: &TempDir, arguments: &[&str]) -> String {
    ran(home, &[&["import"], arguments].concat()).await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let target = to.join(if name == "dotenv" { ".env" } else { name.as_str() });
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A home with the folder of that program where it usually is.
async fn home(program: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join(format!(".{program}"));
    copy(&Path::new(FIXTURES).join(program), &dir);
    if program == "openclaw" {
        database(&dir).await;
    }
    home
}

/// openclaw's database with the table and the rows that it made itself.
async fn database(dir: &Path) {
    fs::create_dir_all(dir.join("state")).unwrap();
    let file = dir.join("state/openclaw.sqlite");
    let mut database = SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await.unwrap();
    let table = fs::read_to_string(dir.join("cron_jobs.sql")).unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(table)).execute(&mut database).await.unwrap();
    for (order, row) in (0_i64..).zip(fs::read_to_string(dir.join("cron_jobs.jsonl")).unwrap().lines()) {
        let insert =
            "INSERT INTO cron_jobs (store_key, job_id, name, enabled, payload_kind, job_json, sort_order, updated_at)
                      VALUES ('jobs', $1, 'x', 1, 'agentTurn', $2, $1, 0)";
        sqlx::query(insert).bind(order).bind(row).execute(&mut database).await.unwrap();
    }
    database.close().await.unwrap();
}

fn everything(home: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![home.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                all.push((path.display().to_string(), fs::read(&path).unwrap()))
            }
        }
    }
    all.sort();
    all
}

fn config(home: &TempDir) -> String {
    let text = fs::read_to_string(home.path().join(".config/hob/config.toml")).unwrap();
    text.replace(&home.path().display().to_string(), "HOME")
}

/// Applied, and applied again: the second changes nothing.
async fn twice_is_once(home: &TempDir, arguments: &[&str]) -> String {
    let apply = [arguments, &["--apply", "--house"]].concat();
    let first = import(home, &apply).await;
    let (before, remembered) = (config(home), ran(home, &["memory", "export"]).await.unwrap());
    let second = import(home, &apply).await;
    assert!(second.ends_with("\nNothing was changed: all of it is there already.\n"), "{second}");
    assert_eq!(config(home), before);
    assert_eq!(ran(home, &["memory", "export"]).await.unwrap(), remembered);
    // All that the config lacks is what `--secrets`, or the environment, would bring.
    if let Err(lacks) = ran(home, &["config", "check"]).await {
        let lines = lacks.lines().filter(|line| !line.starts_with("set what is missing; "));
        assert!(lines.clone().count() > 0 && lines.clone().all(|line| line.ends_with(" is off")), "{lacks}");
    }
    first
}

#[tokio::test]
async fn f6_openclaw_is_shown_first_and_nothing_is_changed() {
    let home = home("openclaw").await;
    let before = everything(home.path());
    let shown = import(&home, &["openclaw"]).await;
    assert_eq!(everything(home.path()), before);
    insta::assert_snapshot!(shown, @r"
    From openclaw (HOME/.openclaw):

      memory      4 entries, 3 of them dated, the first 2026-03-03
      skill       tea, off until you enable it
      persona     openclaw: 1562 characters from SOUL.md; `/persona openclaw` takes it
      model       anthropic, claude-opus-5
      people      discord: 80351110224678912
      people      telegram: 123456789, 55
      MCP server  notes: npx -y @modelcontextprotocol/server-memory
      MCP server  web: https://mcp.example.org/mcp
      schedule    morning: 30 8 * * 1-5 (Europe/Berlin)
      schedule    water: every 120 minutes
      schedule    dentist: 2031-01-01 08:00

    Not taken:
      keys of model providers: are in openclaw's own keeping; give Hob a key by `hob init`, or in the environment
      conversations: are the other program's own; what it kept of them as memory is taken
      discord.bot_token, telegram.bot_token, MEMORY_FILE_PATH of the MCP server notes, the token of the MCP server web: may be secret; --secrets takes such things as well

    Nothing was changed. hob import openclaw HOME/.openclaw --apply --house (or --person NAME) does it.
    ");
}

#[tokio::test]
async fn f6_openclaw_moves_in_and_twice_is_once() {
    let home = home("openclaw").await;
    let dir = home.path().join(".openclaw");
    let first = twice_is_once(&home, &["openclaw", &dir.display().to_string()]).await;
    assert!(first.contains("\nDone: 4 memories, 1 skills, "), "{first}");
    let config = config(&home);
    assert!(!config.contains("123:TEST") && config.contains("bot_token = \"${TELEGRAM_BOT_TOKEN}\""), "{config}");
    let remembered = ran(&home, &["memory", "export"]).await.unwrap();
    assert!(remembered.contains("2026-03-03T12:00:00Z") && remembered.contains("Miso"), "{remembered}");
    assert!(ran(&home, &["skill", "list"]).await.unwrap().contains("tea (inert"), "a skill that came along is off");
}

#[tokio::test]
async fn f6_secrets_are_taken_when_that_is_asked_for_also_later() {
    let home = home("openclaw").await;
    import(&home, &["openclaw", "--apply", "--house"]).await;
    twice_is_once(&home, &["openclaw", "--secrets"]).await;
    let config = config(&home);
    assert!(!config.contains("123:TEST") && !config.contains("${TELEGRAM"), "{config}");
    let file = home.path().join(".config/hob/secrets/telegram-bot-token");
    assert_eq!(fs::read_to_string(file).unwrap(), "123:TEST\n");
    assert!(config.contains("[mcp.notes.env]") || config.contains("MEMORY_FILE_PATH"), "{config}");
}

#[tokio::test]
async fn f6_nanobot_moves_in_and_twice_is_once() {
    let home = home("nanobot").await;
    insta::assert_snapshot!(import(&home, &["nanobot"]).await, @r"
    From nanobot (HOME/.nanobot):

      memory      3 entries, 2 of them dated, the first 2026-11-25
      skill       bins, off until you enable it
      persona     nanobot: 405 characters from SOUL.md; `/persona nanobot` takes it
      model       openrouter, anthropic/claude-opus-4-5
      people      telegram: 123456789
      MCP server  notes: npx -y @modelcontextprotocol/server-memory
      schedule    morning: 30 8 * * 1-5 (Europe/Berlin)
      schedule    dentist: 2031-01-01 00:00
      schedule    stretch: every 60 minutes

    Not taken:
      `*` on telegram: lets everybody in; Hob is closed by default, and `/pair` lets people in one by one
      the channel whatsapp: Hob does not speak there
      the MCP server old: speaks SSE, which MCP has given up; ask it for streamable HTTP
      conversations: are the other program's own; what it kept of them as memory is taken
      telegram.bot_token, the model's key, MEMORY_FILE_PATH of the MCP server notes: may be secret; --secrets takes such things as well

    Nothing was changed. hob import nanobot HOME/.nanobot --apply --house (or --person NAME) does it.
    ");
    twice_is_once(&home, &["nanobot"]).await;
    let remembered = ran(&home, &["memory", "export"]).await.unwrap();
    assert!(remembered.contains("Ada lives in Bremen.") && remembered.contains("2026-11-25T06:17:00Z"), "{remembered}");
}

#[tokio::test]
async fn f6_hermes_moves_in_and_twice_is_once() {
    let home = home("hermes").await;
    insta::assert_snapshot!(import(&home, &["hermes"]).await, @r"
    From hermes (HOME/.hermes):

      memory      3 entries
      skill       bins, off until you enable it
      persona     hermes: 514 characters from SOUL.md; `/persona hermes` takes it
      model       anthropic, claude-sonnet-4.5
      people      telegram: 123456789, 55
      MCP server  notes: npx -y @modelcontextprotocol/server-memory
      schedule    morning: 30 8 * * 1-5
      schedule    look-at-the-mail: every 120 minutes

    Not taken:
      conversations: are the other program's own; what it kept of them as memory is taken
      telegram.bot_token, the model's key, MEMORY_FILE_PATH of the MCP server notes: may be secret; --secrets takes such things as well

    Nothing was changed. hob import hermes HOME/.hermes --apply --house (or --person NAME) does it.
    ");
    twice_is_once(&home, &["hermes"]).await;
}

#[tokio::test]
async fn f6_nothing_outside_the_folder_is_read_and_nothing_in_it_is_waited_for() {
    let home = home("hermes").await;
    let dir = home.path().join(".hermes");
    let private = home.path().join("private.md");
    fs::write(&private, "The safe opens with 1234.").unwrap();
    for path in ["SOUL.md", "memories/MEMORY.md"] {
        fs::remove_file(dir.join(path)).unwrap();
        std::os::unix::fs::symlink(&private, dir.join(path)).unwrap();
    }
    std::os::unix::fs::symlink(home.path(), dir.join("skills/linked")).unwrap();
    fs::write(home.path().join("SKILL.md"), "---\nname: linked\ndescription: x\n---\nx").unwrap();
    // Nobody writes into it, and it has no end.
    let pipe = dir.join("skills/.bundled_manifest");
    std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    let shown = import(&home, &["hermes"]).await;
    for path in ["SOUL.md", "memories/MEMORY.md", "skills/linked"] {
        let told = format!("  {path}: is a link that leads out of the folder; put there what it leads to");
        assert!(shown.contains(&told), "{shown}");
    }
    assert!(!shown.contains("persona") && shown.contains("skill       bins"), "{shown}");
    let refused = ran(&home, &["skill", "add", &pipe.display().to_string()]).await.unwrap_err();
    assert!(refused.contains("is neither a file nor a folder"), "{refused}");
    // A few lines that would be a million times as much.
    let bomb = (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let below = level - 1;
        format!("{text}a{level}: &a{level} [{}]\n", format!("*a{below}, ").repeat(9))
    });
    fs::write(dir.join("config.yaml"), bomb).unwrap();
    let refused = ran(&home, &["import", "hermes"]).await.unwrap_err();
    assert!(refused.contains("config.yaml cannot be read"), "{refused}");
}

#[tokio::test]
async fn f6_whose_the_memory_becomes_is_not_guessed_and_other_folders_are_refused() {
    let home = home("nanobot").await;
    let error = ran(&home, &["import", "nanobot", "--apply"]).await.unwrap_err();
    assert!(error.contains("nothing was changed: say whose the memory becomes"), "{error}");
    let error = ran(&home, &["import", "hermes", ".nanobot"]).await.unwrap_err();
    assert!(error.contains("there is no config.yaml in it"), "{error}");
    let error = ran(&home, &["import", "openclaw"]).await.unwrap_err();
    assert!(error.contains("openclaw has no folder at its usual place: `hob import openclaw FOLDER`"), "{error}");
}

#[tokio::test]
async fn f6_what_the_house_says_already_stays() {
    let home = home("nanobot").await;
    fs::create_dir_all(home.path().join(".config/hob")).unwrap();
    let ours = "# Ours.\n[provider]\nkind = \"offline\"\n\n[personas.nanobot]\nprompt = \"Mine.\" # kept\n";
    fs::write(home.path().join(".config/hob/config.toml"), ours).unwrap();
    twice_is_once(&home, &["nanobot"]).await;
    let config = config(&home);
    assert!(config.starts_with(ours), "{config}");
    assert!(config.contains("[[schedule]]\nname = \"morning\""), "{config}");
}

/// What there is of the house afterwards: the config, what is remembered, and the skills with where they came from.
async fn outcome(home: &TempDir) -> (String, String, String) {
    let remembered = ran(home, &["memory", "export"]).await.unwrap();
    // The times at which it was imported differ.
    let texts: Vec<serde_json::Value> = remembered.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts = texts.iter().map(|line| line["text"].to_string()).collect::<Vec<_>>().join("\n");
    let file = home.path().join("data/hob.db");
    let mut database = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let skills: Vec<(String, String, String)> =
        sqlx::query_as("SELECT name, source, state FROM skills ORDER BY name").fetch_all(&mut database).await.unwrap();
    database.close().await.unwrap();
    let skills = format!("{skills:?}").replace(&home.path().display().to_string(), "HOME");
    (config(home), texts, skills)
}

/// A home in which Hob has answered already.
async fn lived(program: &str) -> TempDir {
    let home = home(program).await;
    ran(&home, &["ask", "Hello"]).await.unwrap();
    home
}

/// SIGKILL at the n-th write to the database, the n-th file that takes its name, and so on, as far as there are any.
#[tokio::test]
async fn f6_an_import_that_is_killed_anywhere_is_finished_by_the_next() {
    let whole = lived("openclaw").await;
    import(&whole, &["openclaw", "--apply", "--house"]).await;
    let expected = outcome(&whole).await;
    let mut kills = 0;
    for what in ["pwrite64", "rename", "renameat2", "linkat", "mkdir"] {
        for at in [1, 2, 3, 5, 9, 30, 80] {
            let home = lived("openclaw").await;
            let plain = hob_command(home.path(), &["import", "openclaw", "--apply", "--house"]);
            let mut command = tokio::process::Command::new("strace");
            let kill = format!("inject={what}:signal=KILL:when={at}");
            command.args(["-f", "-o", "/dev/null", "-e", &format!("trace={what}"), "-e", &kill]);
            command.arg(plain.as_std().get_program()).args(plain.as_std().get_args()).env_clear();
            command.envs(plain.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
            let ended = within("its death", command.spawn().unwrap().wait()).await.unwrap();
            if ended.success() {
                // There are no more of these.
                break;
            }
            kills += 1;
            import(&home, &["openclaw", "--apply", "--house"]).await;
            assert_eq!(outcome(&home).await, expected, "killed at {what} {at}");
        }
    }
    assert!(kills > 10, "{kills} kills");
}
