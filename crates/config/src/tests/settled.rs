//! Random documents, set right where the schema cannot say what fits together: the rules of each section's `validate`.

use toml::Value as Toml;

/// A public key of age.
const RECIPIENT: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

/// An agent has one place for its task, and names variables.
fn cli_agent(agent: &mut toml::Table) {
    agent.insert("command".to_owned(), vec!["coder", "{task}"].into());
    agent.insert("env".to_owned(), vec!["KEY"].into());
    program_folders(agent);
}

fn budget(section: &mut toml::Table) {
    // Each of them at most as much as the next wider one.
    for key in ["month_usd", "person_month_usd"] {
        section.insert(key.to_owned(), 1_000_000.into());
    }
    section.insert("month_tokens".to_owned(), 1_000_000_000_000_i64.into());
    for key in ["run_usd", "hour_usd", "day_usd"] {
        section.remove(key);
    }
}

fn agent(section: &mut toml::Table) {
    section.remove("persona");
    replace_items(section, "default_guest_modules", "memory");
    section.insert("iterations_cap".to_owned(), 1000.into());
    section.insert("hard_limit_secs".to_owned(), 86_400.into());
    cap(section, "soft_limit_secs", 86_399);
    replace(section, "time_zone", "America/New_York");
}

/// Sets right what the schema cannot say: the rules of each section's `validate`.
pub(super) fn settle(mut document: toml::Table) -> toml::Table {
    for (name, section) in &mut document {
        if let Toml::Array(items) = section {
            listed(name, items);
            continue;
        }
        let Toml::Table(section) = section else { continue };
        if channel(name, section) {
            continue;
        }
        match name.as_str() {
            "provider" => provider(section),
            "models" => {
                *section =
                    std::mem::take(section).into_iter().map(|(name, model)| (format!("p/{name}"), model)).collect();
                section.iter_mut().filter_map(|(_, model)| model.as_table_mut()).for_each(price);
            }
            "cli_agents" => section.iter_mut().filter_map(|(_, agent)| agent.as_table_mut()).for_each(cli_agent),
            "aliases" => {
                *section = std::mem::take(section)
                    .into_iter()
                    .map(|(name, _)| (format!("x{name}"), "openai/${x}".into()))
                    .collect();
            }
            "transcription" => transcription(section),
            "speech" => speech(section),
            "budget" => budget(section),
            "quotas" => {
                section.insert("user_month_tokens".to_owned(), 1_000_000_000_000_i64.into());
            }
            // Which names there are, other sections say.
            "people" => people(section),
            "personas" => section.iter_mut().filter_map(|(_, persona)| persona.as_table_mut()).for_each(persona),
            "agent" => agent(section),
            "context" => {
                section.insert("keep_messages".to_owned(), 1000.into());
            }
            "memory" => section.get_mut("embedding").and_then(Toml::as_table_mut).into_iter().for_each(embedding),
            "heartbeat" => {
                section.remove("to");
                replace(section, "file", "/h");
            }
            "server" => listening(section),
            "webhooks" => {
                let hooks = section.iter_mut().filter_map(|(name, hook)| Some((name, hook.as_table_mut()?)));
                hooks.for_each(|(name, hook)| signed(name, hook));
            }
            "guards" => {
                section.insert("window_calls".to_owned(), 100.into());
            }
            "tools" => section.iter_mut().filter_map(|(_, tool)| tool.as_table_mut()).for_each(tool),
            "mcp" => servers(section),
            "mail" => section.iter_mut().filter_map(|(_, account)| account.as_table_mut()).for_each(mailbox),
            // Their limits say it all.
            "approvals" | "delivery" => {}
            "groups" => {
                section.remove("chats");
            }
            "destinations" => {
                section.iter_mut().filter_map(|(_, place)| place.as_table_mut()).for_each(destination);
            }
            "workspace" => workspace(section),
            "web" => web(section),
            "http" => section.iter_mut().filter_map(|(_, profile)| profile.as_table_mut()).for_each(profile),
            "dav" => section.iter_mut().filter_map(|(_, account)| account.as_table_mut()).for_each(dav),
            "home_assistant" => home_assistant(section),
            "terminal" => replace(section, "shell", "/bin/sh"),
            "skills" => folders(section, "dirs"),
            "state" => state(section),
            "backup" => backup(section),
            "upkeep" => {
                for key in ["outbox_days", "claims_days", "calls_days"] {
                    section.insert(key.to_owned(), 36_500.into());
                }
            }
            "daemon" => replace(section, "log", "info,hob_a=debug"),
            "telemetry" => telemetry(section),
            other => panic!("{other}: say here what its `validate` asks for"),
        }
    }
    voiced(&mut document);
    document
}

fn state(section: &mut toml::Table) {
    replace(section, "dir", "/d $${");
    replace(section, "url", "postgres://hob@db.example/hob");
}

fn dav(account: &mut toml::Table) {
    replace(account, "url", "https://cloud.example.org/x");
    for list in ["for", "busy_for"] {
        account.remove(list);
    }
    account.insert("addresses".to_owned(), vec!["ada@example.org"].into());
    replace(account, "user", "ada");
}

fn home_assistant(section: &mut toml::Table) {
    replace(section, "url", "https://home.example.org/x");
    replace(section, "access_token", "x");
    for list in ["entities", "critical"] {
        section.insert(list.to_owned(), vec!["light.kitchen"].into());
    }
}

fn listening(section: &mut toml::Table) {
    replace(section, "listen", "127.0.0.1:8787");
    replace(section, "public_url", "https://hob.example.org");
}

fn backup(section: &mut toml::Table) {
    replace(section, "dir", "/d $${");
    replace(section, "recipients_file", "/d $${");
    replace(section, "recipient", RECIPIENT);
}

fn telemetry(section: &mut toml::Table) {
    replace(section, "otlp", "https://example.org/otlp");
    section.insert("headers".to_owned(), Toml::Table([("X-A".to_owned(), "v".into())].into_iter().collect()));
}

/// The platforms' sections; whether it is one.
fn channel(name: &str, section: &mut toml::Table) -> bool {
    match name {
        "telegram" => telegram(section, 0),
        "telegram_accounts" => {
            *section = std::mem::take(section).into_iter().map(|(name, bot)| (format!("x{name}"), bot)).collect();
            let bots = section.iter_mut().filter_map(|(_, bot)| bot.as_table_mut());
            bots.zip(1..).for_each(|(bot, number)| telegram(bot, number));
        }
        "slack" => slack(section),
        "slack_accounts" => {
            let accounts = std::mem::take(section).into_iter().enumerate();
            *section = accounts.map(|(index, (_, account))| (format!("s{index}"), account)).collect();
            section.iter_mut().filter_map(|(_, account)| account.as_table_mut()).for_each(slack);
        }
        "discord" => discord(section),
        "discord_accounts" => section.iter_mut().filter_map(|(_, bot)| bot.as_table_mut()).for_each(discord),
        "matrix" => matrix(section),
        "matrix_accounts" => {
            let accounts = std::mem::take(section).into_iter().enumerate();
            *section = accounts.map(|(index, (_, account))| (format!("x{index}"), account)).collect();
            section.iter_mut().filter_map(|(_, account)| account.as_table_mut()).for_each(matrix);
        }
        "email" => email(section),
        "email_accounts" => {
            let accounts = std::mem::take(section).into_iter().enumerate();
            *section = accounts.map(|(index, (_, account))| (format!("m{index}"), account)).collect();
            section.iter_mut().filter_map(|(_, account)| account.as_table_mut()).for_each(email);
        }
        _ => return false,
    }
    true
}

fn matrix(section: &mut toml::Table) {
    for key in ["persona", "personas"] {
        section.remove(key);
    }
    replace(section, "homeserver", "http://localhost:80");
    replace(section, "user", "@hob:localhost");
    for key in ["allowed_user_ids", "owner_user_ids", "admin_user_ids", "guest_user_ids"] {
        replace_items(section, key, "@ada:localhost");
    }
}

fn slack(section: &mut toml::Table) {
    for key in ["persona", "personas", "workspace_personas"] {
        section.remove(key);
    }
    replace(section, "bot_token", "xoxb-1-a");
    replace(section, "app_token", "xapp-1-a");
    replace(section, "api_url", "http://localhost:80/api");
    for key in ["allowed_user_ids", "owner_user_ids", "admin_user_ids", "guest_user_ids"] {
        replace_items(section, key, "U012AB3CD");
    }
}

fn mailbox(section: &mut toml::Table) {
    for key in ["for", "imap_tls", "smtp_tls"] {
        section.remove(key);
    }
    section.remove("oauth");
    section.insert("password".to_owned(), "x".into());
    section.insert("address".to_owned(), "a@example.org".into());
    replace(section, "user", "ada");
    replace(section, "ca_file", "/c");
    for key in ["drafts", "sent", "archive", "trash"] {
        replace(section, key, "Entwürfe");
    }
}

/// What begins by itself has somebody to speak to, and what calls in a place to call.
fn voiced(document: &mut toml::Table) {
    if !document.contains_key("telegram") {
        ["heartbeat", "schedule", "webhooks"].iter().for_each(|section| drop(document.remove(*section)));
    }
    let server = document.get("server").and_then(|server| server.get("listen"));
    if server.is_none() {
        document.remove("webhooks");
    }
}

/// Sections of which there are several.
fn listed(name: &str, items: &mut [Toml]) {
    match name {
        "hooks" => items.iter_mut().filter_map(Toml::as_table_mut).for_each(hook),
        "schedule" => named(items),
        other => panic!("{other}: say here what its `validate` asks for"),
    }
}

fn named(schedules: &mut [Toml]) {
    for (index, schedule) in schedules.iter_mut().filter_map(Toml::as_table_mut).enumerate() {
        schedule.insert("name".to_owned(), format!("s{index}").into());
        ["to", "watch"].iter().for_each(|key| drop(schedule.remove(*key)));
        schedule.insert("check".to_owned(), vec!["look"].into());
        replace(schedule, "zone", "Asia/Tokyo");
    }
}

/// One place, and what belongs to it.
fn destination(place: &mut toml::Table) {
    ["slack_channel", "discord_channel", "matrix_room"].iter().for_each(|key| drop(place.remove(*key)));
    place.entry("telegram_chat").or_insert_with(|| 7.into());
}

fn discord(bot: &mut toml::Table) {
    for key in ["persona", "personas", "server_personas"] {
        bot.remove(key);
    }
    replace(bot, "bot_token", "a.b-c_d");
    replace(bot, "api_url", "http://localhost:80/a");
}

fn signed(name: &String, webhook: &mut toml::Table) {
    webhook.remove("to");
    replace(webhook, "header", "X-Signature");
    replace(webhook, "secret", &format!("sixteen-or-more-{name}"));
}

fn workspace(section: &mut toml::Table) {
    replace(section, "dir", "/w");
    program_folders(section);
}

/// What a program of the house may reach.
fn program_folders(section: &mut toml::Table) {
    for key in ["read_dirs", "write_dirs"] {
        folders(section, key);
    }
}

fn folders(section: &mut toml::Table, key: &str) {
    if let Some(Toml::Array(dirs)) = section.get_mut(key) {
        dirs.iter_mut().for_each(|dir| *dir = "/w".into());
    }
}

fn servers(section: &mut toml::Table) {
    let servers = std::mem::take(section).into_iter().enumerate();
    *section = servers.map(|(index, (_, server))| (format!("s{index}"), server)).collect();
    section.iter_mut().filter_map(|(_, server)| server.as_table_mut()).for_each(server);
}

fn server(server: &mut toml::Table) {
    let by_url = server.remove("url").is_some();
    let of_the_other: &[&str] = match by_url {
        // With a token nobody logs in.
        true => &["command", "env", "working_dir", "read_dirs", "write_dirs", "client_id", "client_secret"],
        false => &["bearer", "headers", "url", "client_id", "client_secret"],
    };
    for key in of_the_other {
        server.remove(*key);
    }
    if by_url {
        server.insert("url".to_owned(), "https://example.org/mcp".into());
        replace(server, "bearer", "k${A}");
        server.insert("headers".to_owned(), Toml::Table([("X-A".to_owned(), "v".into())].into_iter().collect()));
    } else {
        server.insert("command".to_owned(), Toml::Array(vec!["/bin/${A}".into()]));
        server.insert("env".to_owned(), Toml::Table([("A_B".to_owned(), "v ä".into())].into_iter().collect()));
        replace(server, "working_dir", "/w");
        program_folders(server);
    }
    let arguments = server.get_mut("arguments").and_then(Toml::as_table_mut);
    for said in arguments.into_iter().flatten().filter_map(|(_, said)| said.as_table_mut()) {
        *said = [("text".to_owned(), "steering".into())].into_iter().collect();
    }
    let undo = server.get_mut("undo").and_then(Toml::as_table_mut);
    for undo in undo.into_iter().flatten().filter_map(|(_, undo)| undo.as_table_mut()) {
        undo.insert("tool".to_owned(), "delete_event".into());
        undo.insert("with".to_owned(), Toml::Table([("id".to_owned(), "$.id".into())].into_iter().collect()));
    }
}

fn web(section: &mut toml::Table) {
    replace_items(section, "allow", "10.0.0.0/8:80");
    if let Some(Toml::Table(search)) = section.get_mut("search") {
        search.insert("base_url".to_owned(), "https://example.org/v1".into());
        search.insert("api_key".to_owned(), "k${A}\"'\\".into());
    }
}

fn profile(profile: &mut toml::Table) {
    replace_items(profile, "hosts", "api.example.org");
    profile.insert("secret".to_owned(), "k${A}:\"'\\".into());
    replace(profile, "header", "X-Key");
}

fn provider(section: &mut toml::Table) {
    if let Some(Toml::Array(fallbacks)) = section.get_mut("fallbacks") {
        for (index, fallback) in fallbacks.iter_mut().filter_map(Toml::as_table_mut).enumerate() {
            endpoint(fallback);
            // Two of one name cannot be told apart.
            fallback.insert("model".to_owned(), format!("fallback {index}").into());
        }
    }
    endpoint(section);
}

/// Bots have tokens of their own; which personas there are, and where calls come in, other sections say.
fn telegram(section: &mut toml::Table, number: usize) {
    for key in ["persona", "personas", "webhook_url", "webhook_secret"] {
        section.remove(key);
    }
    replace(section, "bot_token", &format!("{number}:a"));
    replace(section, "api_url", "http://localhost:80/a");
}

fn email(section: &mut toml::Table) {
    section.remove("persona");
    section.remove("personas");
    replace(section, "address", "hob@example.org");
    replace(section, "ca_file", "/c");
    for key in ["folder", "sent_folder"] {
        replace(section, key, "Folder");
    }
    for key in ["imap_tls", "smtp_tls"] {
        replace(section, key, "starttls");
    }
    for key in [
        "aliases",
        "allowed_addresses",
        "owner_addresses",
        "admin_addresses",
        "guest_addresses",
        "answer_automatic_from",
    ] {
        replace_items(section, key, "ada@example.org");
    }
}

fn people(section: &mut toml::Table) {
    for (index, (_, person)) in section.iter_mut().enumerate() {
        let Toml::Table(person) = person else { continue };
        person.insert("telegram_user_ids".to_owned(), Toml::Array(vec![Toml::Integer(index as i64 + 1)]));
        person.insert("slack_user_ids".to_owned(), Toml::Array(vec![format!("U{index}").into()]));
        person.insert("discord_user_ids".to_owned(), Toml::Array(vec![Toml::Integer(index as i64 + 1)]));
        person.insert("matrix_user_ids".to_owned(), Toml::Array(vec![format!("@p{index}:example.org").into()]));
        person.insert("email_addresses".to_owned(), Toml::Array(vec![format!("p{index}@example.org").into()]));
        person.insert("terminal".to_owned(), (index == 0).into());
        person.insert("role".to_owned(), if index == 0 { "owner" } else { "guest" }.into());
    }
}

fn persona(persona: &mut toml::Table) {
    replace_items(persona, "protected_paths", "contracts");
    persona.insert("run_usd".to_owned(), 0.5.into());
    persona.insert("month_usd".to_owned(), 1_000_000.into());
    persona.insert("month_tokens".to_owned(), 1_000_000_000_000_i64.into());
    persona.insert("modules".to_owned(), Toml::Array(vec!["memory".into()]));
    persona.insert("iterations_cap".to_owned(), 1000.into());
    if let Some(Toml::Table(declared)) = persona.get_mut("loop") {
        let done = [("when", "text-includes"), ("text", "DONE")].map(|(key, value)| (key.to_owned(), value.into()));
        declared.insert("terminate".to_owned(), Toml::Array(vec![Toml::Table(done.into_iter().collect())]));
        declared.remove("strategy");
    }
}

fn price(model: &mut toml::Table) {
    model.insert("input_usd".to_owned(), 1.5.into());
    model.insert("output_usd".to_owned(), 2.into());
    cap(model, "max_output_tokens", 1000);
}

fn endpoint(section: &mut toml::Table) {
    section.insert("base_url".to_owned(), "https://example.org/v1".into());
    replace(section, "api_key", "k${A}\"'\\");
}

fn embedding(embedding: &mut toml::Table) {
    endpoint(embedding);
    embedding.insert("model".to_owned(), "m".into());
    replace(embedding, "path", "/m ä");
    replace(embedding, "fetch_url", "https://example.org/m");
}

fn tool(tool: &mut toml::Table) {
    let parameters = tool.get("parameters").and_then(Toml::as_table);
    let names: Vec<String> = parameters.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    if let Some(Toml::Array(command)) = tool.get_mut("command") {
        command.retain(|element| element.as_str() != Some("{room}"));
        command.insert(0, "/bin/${x}".into());
        command.extend(names.iter().map(|name| format!("{{{name}}}").into()));
    }
    replace(tool, "working_dir", "/w ä");
    replace(tool, "module", "lights");
    program_folders(tool);
}

fn hook(hook: &mut toml::Table) {
    replace_items(hook, "tools", "mail_*");
    replace_items(hook, "command", "/bin/${x}");
    program_folders(hook);
}

fn replace_items(section: &mut toml::Table, key: &str, with: &str) {
    if let Some(Toml::Array(items)) = section.get_mut(key) {
        items.iter_mut().for_each(|item| *item = with.into());
    }
}

/// An address, a key, and words of one line.
fn transcription(section: &mut toml::Table) {
    for (key, with) in [("base_url", "http://h/a"), ("api_key", "k"), ("model", "m"), ("language", "de")] {
        replace(section, key, with);
    }
}

/// A server or a command, and words of one line.
fn speech(section: &mut toml::Table) {
    for (key, with) in [("api_key", "k"), ("model", "m"), ("voice", "v")] {
        replace(section, key, with);
    }
    replace_items(section, "command", "/bin/${x}");
    match section.get("command").and_then(Toml::as_array) {
        Some(command) if !command.is_empty() => drop(section.remove("base_url")),
        _ => drop(section.insert("base_url".to_owned(), "http://h/a".into())),
    }
    folders(section, "read_dirs");
}

/// Gives the key another value, if it has one.
fn replace(section: &mut toml::Table, key: &str, with: &str) {
    if let Some(value) = section.get_mut(key) {
        *value = with.into();
    }
}

fn cap(section: &mut toml::Table, key: &str, max: i64) {
    if let Some(Toml::Integer(number)) = section.get_mut(key) {
        *number = max.min(*number);
    }
}
