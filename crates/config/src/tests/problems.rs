//! Every problem text that a user can see.

use super::{parse, told};
use crate::provider::ProviderKind;
use hob_core::domain::choices::IntakeMode;

#[test]
fn an_empty_file_is_all_defaults() {
    assert_eq!(parse("").unwrap(), crate::Config::default());
    assert_eq!(parse("\u{feff}# only a comment\r\n").unwrap(), crate::Config::default());
}

#[test]
fn a_full_file_is_read() {
    let config = parse(
        r#"
[provider]
kind = "openai_compatible"
api_key = "${SECRET}"
base_url = "http://127.0.0.1:8080/v1"
models.primary = "m"
[[provider.fallbacks]]
kind = "offline"
model = "offline"
[telegram]
bot_token = "${TOKEN}"
allowed_user_ids = [1, 0x2]
[agent]
queue_mode = "steer"
time_zone = "Europe/Berlin"
system_prompt = """
Costs $${1}."""
[tools.switch_light]
description = "Switches."
command = ["/bin/light", "{room}", "{}", "--x={y}"]
parameters = { room = "which" }
"#,
    )
    .unwrap();
    let provider = config.provider.unwrap();
    assert_eq!(provider.kind, ProviderKind::OpenaiCompatible);
    assert_eq!(provider.api_key.unwrap().expose(), "hunter2");
    assert_eq!(provider.models.primary.as_deref(), Some("m"));
    assert_eq!((provider.idle_timeout_secs, provider.fallbacks.len()), (60, 1));
    let telegram = config.telegram.unwrap();
    assert_eq!((telegram.bot_token.expose(), telegram.allowed_user_ids), ("123:token", vec![1, 2]));
    assert_eq!((telegram.api_url.as_str(), telegram.poll_timeout_secs), ("https://api.telegram.org", 50));
    assert_eq!(config.agent.queue_mode, IntakeMode::Steer);
    assert_eq!(config.agent.system_prompt.as_deref(), Some("Costs ${1}."));
    assert_eq!(config.tools["switch_light"].timeout_secs, None);
}

#[test]
fn an_account_of_calendars_names_people_that_there_are() {
    let wrong = "[people.ada]\n[dav.ada]\nurl = 'cloud'\nuser = 'a:b'\npassword = 'x'\nfor = ['ada', 'eve']\nbusy_for = ['ben']\n";
    let told = told(wrong);
    for (line, at, why) in [
        (3, "dav.ada.url", "expected"),
        (4, "dav.ada.user", "has a colon"),
        (6, "dav.ada.for[2]", "names eve, expected somebody under [people]; add [people.eve], or correct the name"),
        (7, "dav.ada.busy_for[1]", "names ben"),
    ] {
        let said = told.lines().find(|said| said.contains(&format!("config.toml:{line}: {at}: ")));
        assert!(said.is_some_and(|said| said.contains(why)), "{at}: {told}");
    }
    let right =
        parse("[people.ada]\n[dav.ada]\nurl = 'https://cloud.example'\nuser = 'ada'\npassword = 'x'\nfor = ['ada']")
            .unwrap();
    assert_eq!((right.dav["ada"].people.len(), right.dav["ada"].busy_for.len()), (1, 0));
}

#[test]
fn a_short_secret_of_a_webhook_is_refused() {
    let telegram = "[telegram]\nbot_token = '1:a'\nallowed_user_ids = [7]\nowner_user_ids = [7]\n";
    let hook = "[server]\nlisten = '127.0.0.1:8787'\n[webhooks.door]\nsecret = 'hunter2'\nprompt = 'x'";
    insta::assert_snapshot!(told(&format!("{telegram}{hook}")), @r#"
    config.toml:8: webhooks.door.secret: has 7 characters, expected text of 16 to 1000 characters; for example `secret = "a-long-random-secret"`
    "#);
}

#[test]
fn unknown_keys() {
    insta::assert_snapshot!(told("[agent]\niteration_max = 30\nqueue-mode = 'steer'\nzzz = 1\nbot_token = 'hunter2'"), @r#"
    config.toml:2: agent.iteration_max: is not a known key; did you mean `iterations_max`?
    config.toml:3: agent.queue-mode: is not a known key; did you mean `queue_mode`?
    config.toml:4: agent.zzz: is not a known key; known here: system_prompt, persona, default_guest_modules, iterations_max, iterations_step, iterations_cap, soft_limit_secs, hard_limit_secs, history_messages_max, message_chars_max, tool_output_chars_max, tool_retries_ms, queue_mode, time_zone
    config.toml:5: agent.bot_token: is not a known key; did you mean `telegram.bot_token`?
    "#);
    insta::assert_snapshot!(told("[agnet]\n[telegram]\ntoken = 'hunter2'\n\n[\"a b\\n\"]"), @r#"
    config.toml:1: agnet: is not a known key; did you mean `agent`?
    config.toml:3: telegram.token: is not a known key; did you mean `bot_token`?
    config.toml:5: "a b\n": is not a known key; known here: provider, models, aliases, transcription, speech, budget, quotas, telegram, telegram_accounts, slack, slack_accounts, discord, discord_accounts, matrix, matrix_accounts, email, email_accounts, people, groups, destinations, personas, agent, context, memory, guards, heartbeat, schedule, server, webhooks, workspace, terminal, web, http, dav, mail, home_assistant, skills, tools, mcp, cli_agents, approvals, hooks, state, backup, upkeep, delivery, daemon, telemetry
    "#);
    insta::assert_snapshot!(told("[provider]\nkind = 'offline'\nmodels.primay = 'x'\n[[provider.fallback]]\nkind = 'offline'"), @r#"
    config.toml:3: provider.models.primay: is not a known key; did you mean `primary`?
    config.toml:4: provider.fallback: is not a known key; did you mean `fallbacks`?
    "#);
}

#[test]
fn n7_the_nearest_key_is_offered_at_every_depth_and_from_the_wrong_section() {
    for (text, expected) in [
        ("[telegramm]\n", "telegramm: is not a known key; did you mean `telegram`?"),
        (
            "[email]\npassword = 'x'\n",
            "email.password: is not a known key; did you mean `imap_password` or `smtp_password`?",
        ),
        ("[memory.embeding]\n", "memory.embeding: is not a known key; did you mean `embedding`?"),
        (
            "[memory.embedding]\nbase_ulr = 'x'\n",
            "memory.embedding.base_ulr: is not a known key; did you mean `base_url`?",
        ),
        ("[mcp.notes]\ncomand = ['x']\n", "mcp.notes.comand: is not a known key; did you mean `command`?"),
        ("[[schedule]]\nwhenn = 'x'\n", "schedule[1].whenn: is not a known key; did you mean `when`?"),
        (
            "[personas.cook.loop]\nmax_cycle = 1\n",
            "personas.cook.loop.max_cycle: is not a known key; did you mean `max_cycles`?",
        ),
        ("[embedding]\n", "embedding: is not a known key; did you mean `memory.embedding`?"),
        (
            "[agent]\nowner_user_ids = [1]\n",
            "agent.owner_user_ids: is not a known key; did you mean `telegram.owner_user_ids`?",
        ),
        ("[agent]\nbearer = 'hunter2'\n", "agent.bearer: is not a known key; did you mean `mcp.notes.bearer`?"),
        ("[agent]\ncatch_up = 'all'\n", "agent.catch_up: is not a known key; did you mean `schedule.catch_up`?"),
    ] {
        let told = told(text);
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(told(
        "agent = 3\n[daemon]\ndrain_secs = '25'\nlog = 1\nlog_format = true\nruns_parallel_max = 1.5\nreconcile_secs = []\n[delivery]\nbackoff_base_ms = 2020-01-01"
    ), @r#"
    config.toml:1: agent: is a whole number, expected a section; write it as `[agent]`
    config.toml:3: daemon.drain_secs: is text, expected a whole number from 1 to 3600; for example `drain_secs = 25`
    config.toml:4: daemon.log: is a whole number, expected text of 1 to 1000 characters; for example `log = "info"`
    config.toml:5: daemon.log_format: is true or false, expected one of: text, json; for example `log_format = "text"`
    config.toml:6: daemon.runs_parallel_max: is a number with a point, expected a whole number from 1 to 100000; for example `runs_parallel_max = 1024`
    config.toml:7: daemon.reconcile_secs: is a list, expected a whole number from 1 to 86400; for example `reconcile_secs = 300`
    config.toml:9: delivery.backoff_base_ms: is a date or time, expected a whole number from 1 to 300000; for example `backoff_base_ms = 1000`
    "#);
    insta::assert_snapshot!(told(
        "[[state]]\n[telegram]\nbot_token = 12345\nallowed_user_ids = 5\nowner_user_ids = ['me', 1]\n"
    ), @r#"
    config.toml:1: state: is a list of sections, expected a section; write it as `[state]`
    config.toml:3: telegram.bot_token: is a whole number, expected text of 1 to 200 characters; for example `bot_token = "123456789:example-token"`
    config.toml:4: telegram.allowed_user_ids: is a whole number, expected a list of at most 10000 whole numbers; for example `allowed_user_ids = []`
    config.toml:5: telegram.owner_user_ids[1]: is text, expected a whole number from 1 to 4503599627370495; correct it or remove it
    "#);
    insta::assert_snapshot!(told(
        "[provider]\nkind = 'offline'\nmodels = 'gpt'\n[provider.fallbacks]\nkind = 'offline'\n[tools]\na = 1\n[tools.b]\ndescription = 'b'\ncommand = ['b', 1, '{x}']\nparameters = ['x']\nidempotent = 'yes'"
    ), @r#"
    config.toml:3: provider.models: is text, expected a section; write it as `[provider.models]`
    config.toml:4: provider.fallbacks: is a section, expected a list of at most 16 sections; write each as `[[provider.fallbacks]]`
    config.toml:7: tools.a: is a whole number, expected a section; write it as `[tools.a]`
    config.toml:10: tools.b.command[2]: is a whole number, expected text of at most 4000 characters; put it in quotes
    config.toml:11: tools.b.parameters: is a list, expected a table of texts; for example `parameters = { room = "The room, such as kitchen.", state = "on or off" }`
    config.toml:12: tools.b.idempotent: is text, expected true or false; for example `idempotent = false`
    "#);
    insta::assert_snapshot!(told("tools = []\nprovider = 'openai'"), @r#"
    config.toml:1: tools: is a list, expected sections, each with a name; write each as `[tools.switch_light]`
    config.toml:2: provider: is text, expected a section; write it as `[provider]`
    "#);
}

#[test]
fn impossible_values() {
    insta::assert_snapshot!(told(
        "[agent]\niterations_max = 30\nsoft_limit_secs = 1200\ntime_zone = 'Mars/Olympus'\nhistory_messages_max = 0\nmessage_chars_max = 99999999999999999999\niterations_step = -1\nqueue_mode = 'stear'\nsystem_prompt = ''"
    ), @r#"
    config.toml:2: agent.iterations_max: is 30, expected at most iterations_cap, which is 25; lower it or raise iterations_cap
    config.toml:3: agent.soft_limit_secs: is 1200, expected less than hard_limit_secs, which is 1200; lower it or raise hard_limit_secs
    config.toml:4: agent.time_zone: is not a time zone this machine knows, expected an IANA name; for example `time_zone = "Europe/Berlin"`
    config.toml:5: agent.history_messages_max: is 0, expected a whole number from 1 to 10000; for example `history_messages_max = 40`
    config.toml:6: agent.message_chars_max: is too big, expected a whole number from 1 to 1000000; for example `message_chars_max = 128000`
    config.toml:7: agent.iterations_step: is -1, expected a whole number from 1 to 1000; for example `iterations_step = 10`
    config.toml:8: agent.queue_mode: is not a known word, expected one of: queue, steer, interrupt; did you mean `steer`?
    config.toml:9: agent.system_prompt: is empty, expected text of 1 to 100000 characters; for example `system_prompt = "You are the helper of our household."`
    "#);
    insta::assert_snapshot!(told(
        "[provider]\nkind = 'groq'\ntemperature = 2.5\neffort = 'hihg'\n[[provider.fallbacks]]\nkind = 'offline'\nmodel = 'm'\ntemperature = -1\n[[provider.fallbacks]]\nkind = 'offline'\nmodel = 'm'\ntemperature = nan"
    ), @"
    config.toml:3: provider.temperature: is 2.5, expected a number from 0 to 2; for example `temperature = 0.7`
    config.toml:4: provider.effort: is not a known word, expected one of: low, medium, high; did you mean `high`?
    config.toml:8: provider.fallbacks[1].temperature: is -1, expected a number from 0 to 2; for example `temperature = 0.7`
    config.toml:11: provider.fallbacks[2].model: is there already with this kind, expected another model: two of one name cannot be told apart; name another model, or leave this fallback out
    config.toml:12: provider.fallbacks[2].temperature: is NaN, expected a number from 0 to 2; for example `temperature = 0.7`
    ");
    insta::assert_snapshot!(told("[agent]\nqueue_mode = 'hunter2'\niterations_cap = 5\nhard_limit_secs = 60"), @r#"
    config.toml:2: agent.queue_mode: is not a known word, expected one of: queue, steer, interrupt; for example `queue_mode = "queue"`
    config.toml:3: agent.iterations_max: is 10, expected at most iterations_cap, which is 5; lower it or raise iterations_cap
    config.toml:4: agent.soft_limit_secs: is 900, expected less than hard_limit_secs, which is 60; lower it or raise hard_limit_secs
    "#);
    insta::assert_snapshot!(told(
        "[telegram]\nbot_token = 'a b'\nallowed_user_ids = [1, -100123]\napi_url = 'telegram'\npoll_timeout_secs = 0"
    ), @r#"
    config.toml:2: telegram.bot_token: has a character that no token has, expected digits, a colon, then letters, digits, `_` or `-`; copy it again from @BotFather
    config.toml:3: telegram.allowed_user_ids[2]: is -100123, expected a whole number from 1 to 4503599627370495; correct it or remove it
    config.toml:4: telegram.api_url: is not a URL, expected one that begins with http:// or https://; for example `http://127.0.0.1:8080`
    config.toml:5: telegram.poll_timeout_secs: is 0, expected a whole number from 1 to 50; for example `poll_timeout_secs = 50`
    "#);
    insta::assert_snapshot!(told(
        "[delivery]\nbackoff_base_ms = 300001\n[daemon]\nlog = 'inof'\nruns_parallel_max = 0\n[state]\ndir = 'data'"
    ), @r#"
    config.toml:2: delivery.backoff_base_ms: is 300001, expected a whole number from 1 to 300000; for example `backoff_base_ms = 1000`
    config.toml:4: daemon.log: is not a log filter, expected one of: off, error, warn, info, debug, trace; or `part=level`; for example `log = "info,hob_router=debug"`
    config.toml:5: daemon.runs_parallel_max: is 0, expected a whole number from 1 to 100000; for example `runs_parallel_max = 1024`
    config.toml:7: state.dir: is not an absolute path, expected one that begins with `/`; `${HOME}/…` works as well
    "#);
    insta::assert_snapshot!(told(
        "[provider]\nkind = 'openai_compatible'\napi_key = '${LINE}'\n[[provider.fallbacks]]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'https://me:hunter2@host'\n[[provider.fallbacks]]\nkind = 'openai_compatible'\nmodel = ''"
    ), @r#"
    config.toml:2: provider.base_url: is missing, expected the server's URL, because kind is openai_compatible; for example `base_url = "http://127.0.0.1:8080/v1"`
    config.toml:3: provider.api_key: has a space, a line break or another character that no key has, expected visible ASCII characters; copy it again; if it comes from a file, mind the line break at its end
    config.toml:7: provider.fallbacks[1].base_url: has a user name or password in it, expected a URL without; remove what stands before the `@`
    config.toml:9: provider.fallbacks[2].base_url: is missing, expected the server's URL, because kind is openai_compatible; for example `base_url = "http://127.0.0.1:8080/v1"`
    config.toml:10: provider.fallbacks[2].model: is empty, expected text of 1 to 200 characters; for example `model = "qwen3"`
    "#);
    let big = format!("[agent]\nsystem_prompt = '{}'", "x".repeat(100_001));
    insta::assert_snapshot!(told(&big), @r#"config.toml:2: agent.system_prompt: has 100001 characters, expected text of 1 to 100000 characters; for example `system_prompt = "You are the helper of our household."`"#);
}

#[test]
fn tools_that_cannot_be() {
    insta::assert_snapshot!(told(
        "[tools.'9 lives']\ndescription = 'd'\ncommand = ['x']\n[tools.a]\ndescription = 'd'\ncommand = []\n[tools.b]\ndescription = 'd'\ncommand = ['{who}', '{what}', \"\\u0000\"]\nparameters = { who = 'w', unused = 'u', 'a b' = '' }\nworking_dir = 'here'\n[tools.c]\ndescription = 'd'\ncommand = ['']"
    ), @r#"
    config.toml:1: tools."9 lives": cannot name a tool, expected a letter, then up to 63 letters, digits, `_` or `-`; rename it
    config.toml:6: tools.a.command: has 0 items, expected a list of 1 to 256 texts; for example `command = ["/usr/local/bin/light", "--room", "{room}", "{state}"]`
    config.toml:9: tools.b.command[1]: lets the model choose the program, expected its path; write the program here
    config.toml:9: tools.b.command[2]: is a placeholder without a parameter, expected one that is declared in parameters; add `what = "what it is"` to parameters
    config.toml:9: tools.b.command[3]: has a NUL character, expected text; remove it
    config.toml:10: tools.b.parameters."a b": cannot name a parameter, expected a letter, then up to 63 letters, digits, `_` or `-`; rename it
    config.toml:10: tools.b.parameters.unused: is not used, expected an element of command that is exactly its name in braces; add `"{unused}"` to command
    config.toml:11: tools.b.working_dir: is not an absolute path, expected one that begins with `/`; `${HOME}/…` works as well
    config.toml:14: tools.c.command[1]: is empty, expected a program; write its path
    "#);
}

#[test]
fn missing_keys() {
    insta::assert_snapshot!(told("[telegram]\n\n[provider]\n[[provider.fallbacks]]\n[tools.x]\n"), @r#"
    config.toml:1: telegram.bot_token: is missing, expected text of 1 to 200 characters; for example `bot_token = "123456789:example-token"`
    config.toml:3: provider.kind: is missing, expected one of: openai, anthropic, gemini, openrouter, deepseek, groq, xai, moonshot, mistral, ollama, vllm, llama_cpp, lm_studio, openai_compatible, offline; for example `kind = "openai"`
    config.toml:4: provider.fallbacks[1].kind: is missing, expected one of: openai, anthropic, gemini, openrouter, deepseek, groq, xai, moonshot, mistral, ollama, vllm, llama_cpp, lm_studio, openai_compatible, offline; for example `kind = "ollama"`
    config.toml:4: provider.fallbacks[1].model: is missing, expected text of 1 to 200 characters; for example `model = "qwen3"`
    config.toml:5: tools.x.command: is missing, expected a list of 1 to 256 texts; for example `command = ["/usr/local/bin/light", "--room", "{room}", "{state}"]`
    config.toml:5: tools.x.description: is missing, expected text of 1 to 4000 characters; for example `description = "Switches the light of a room on or off."`
    "#);
}

#[test]
fn variables() {
    insta::assert_snapshot!(told(
        "[telegram]\nbot_token = '${NO_SUCH}'\n[provider]\nkind = 'openai'\napi_key = '${EMPTY}'\nbase_url = 'http://${'\n[tools.x]\ndescription = 'd'\ncommand = ['x', '${ALSO_NOT}', '{y}']"
    ), @r#"
    config.toml:6: provider.base_url: has a `${` without the name of a variable and a `}`, expected `${NAME}`; write `$${` for a plain `${`
    "#);
}

#[test]
fn a_mistake_is_told_once() {
    insta::assert_snapshot!(told("[agent]\niterations_max = 'ten'\niterations_cap = 5"), @"config.toml:2: agent.iterations_max: is text, expected a whole number from 1 to 1000; for example `iterations_max = 10`");
    insta::assert_snapshot!(told("[telegram]\nbot_tokn = 'hunter2'"), @"config.toml:2: telegram.bot_tokn: is not a known key; did you mean `bot_token`?");
    insta::assert_snapshot!(told("[tools.x]\ndescription = 'd'\ncomand = ['x', '{y}']\nparameters = { y = 'y', z = 'z' }"), @"config.toml:3: tools.x.comand: is not a known key; did you mean `command`?");
}

#[test]
fn a_bad_item_does_not_hide_the_others() {
    insta::assert_snapshot!(
        told("[provider]\nkind = 'ollama'\nfallbacks = [\n1,\n{ kind = 'x', model = 'm' },\n'y' ]\n[agent]\ntime_zone = 'x'"),
        @r#"
        config.toml:4: provider.fallbacks[1]: is a whole number, expected a section; write each as `[[provider.fallbacks]]`
        config.toml:5: provider.fallbacks[2].kind: is not a known word, expected one of: openai, anthropic, gemini, openrouter, deepseek, groq, xai, moonshot, mistral, ollama, vllm, llama_cpp, lm_studio, openai_compatible, offline; for example `kind = "ollama"`
        config.toml:6: provider.fallbacks[3]: is text, expected a section; write each as `[[provider.fallbacks]]`
        config.toml:8: agent.time_zone: is not a time zone this machine knows, expected an IANA name; for example `time_zone = "Europe/Berlin"`
        "#
    );
}

#[test]
fn no_problem_repeats_a_value() {
    for key in ["bot_token", "allowed_user_ids", "api_url", "poll_timeout_secs"] {
        for value in ["'hunter2'", "['hunter2']", "{ a = 'hunter2' }", "'${SECRET}'", "'http://a:hunter2@b'", "hunter2"]
        {
            let told =
                told(&format!("[telegram]\n{key} = {value}\n[provider]\nkind = {value}\nmodels.fast = [{value}]"));
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}

#[test]
fn models_and_aliases() {
    let text = "[models.'openai/gpt-5']\ncontext_tokens = 400_000\ninput_usd = 2\ncached_usd = 0.0025\noutput_usd = 10.5\nsees_images = true\n[aliases]\nquick = 'openai/gpt-5'";
    let config = parse(text).unwrap();
    let model = &config.models["openai/gpt-5"];
    assert_eq!((model.input_usd.unwrap().micro_usd(), model.cached_usd.unwrap().micro_usd()), (2_000_000, 2500));
    assert_eq!((model.context_tokens, model.sees_images), (Some(400_000), Some(true)));
    assert_eq!(config.aliases["quick"], "openai/gpt-5");
    insta::assert_snapshot!(told(
        "\n[models.gpt-5]\ncontext_tokens = 5000\n[models.'a/b']\ninput_usd = -1\noutput_usd = nan\n[models.'a/c']\ninput_usd = 'cheap'\noutput = 2\n[models.'a/d']\ncached_usd = 1\n[models.'a/e']\nmax_output_tokens = 4000\ncontext_tokens = 2000"
    ), @r#"
    config.toml:2: models.gpt-5: does not name a model, expected provider/model; for example `[models."openai/gpt-5-mini"]`; `hob models` lists yours
    config.toml:5: models."a/b".input_usd: is -1, expected a number from 0 to 100000; for example `input_usd = 0.25`
    config.toml:6: models."a/b".output_usd: is NaN, expected a number from 0 to 100000; for example `output_usd = 2.0`
    config.toml:8: models."a/c".input_usd: is text, expected a number from 0 to 100000; for example `input_usd = 0.25`
    config.toml:9: models."a/c".output: is not a known key; known here: context_tokens, max_output_tokens, input_usd, cached_usd, cache_write_usd, output_usd, sees_images
    config.toml:11: models."a/d".input_usd: is missing, expected a number, because another price of this model is set; for example `input_usd = 0.25`
    config.toml:11: models."a/d".output_usd: is missing, expected a number, because another price of this model is set; for example `output_usd = 2.0`
    config.toml:13: models."a/e".max_output_tokens: is 4000, expected at most context_tokens, which is 2000; lower it or raise context_tokens
    "#);
    insta::assert_snapshot!(told("[aliases]\nfast = 'a/b'\n'2x' = 'a/b'\nok = 'gpt-5'\nnum = 1\nx = ''"), @r#"
    config.toml:2: aliases.fast: is a word of Hob's own, expected another than primary, fast, smart, fallback, auto; call it something else
    config.toml:3: aliases.2x: is not an alias, expected a letter, then up to 63 letters, digits, `_` or `-`; for example `quick = "openai/gpt-5-mini"`
    config.toml:4: aliases.ok: does not name a model, expected provider/model; for example `quick = "openai/gpt-5-mini"`; `hob models` lists yours
    config.toml:5: aliases.num: is a whole number, expected text of at most 4000 characters; put it in quotes
    config.toml:6: aliases.x: does not name a model, expected provider/model; for example `quick = "openai/gpt-5-mini"`; `hob models` lists yours
    "#);
    insta::assert_snapshot!(told("aliases = 3\nmodels = 'x'"), @r#"
    config.toml:1: aliases: is a whole number, expected a table of texts; for example `aliases = { quick = "openai/gpt-5-mini" }`
    config.toml:2: models: is text, expected sections, each with a name; write each as `[models."openai/gpt-5-mini"]`
    "#);
}

#[test]
fn c3_personas() {
    insta::assert_snapshot!(told("[personas.cook]\nprompt = 'Cook.'\nmodules = ['time', 'memori', 'lights', 'music']\niterations_max = 3\niterations_cap = 2\n[personas.default]\n[personas.'a b']\n[tools.lamp]\ndescription = 'x'\ncommand = ['x']\nmodule = 'lights'\n[agent]\npersona = 'cok'\n[telegram]\nbot_token = '1:a'\npersona = 'butler'\npersonas = { home = 'cook', '-12' = 'waiter' }"), @r#"
    config.toml:3: personas.cook.modules[2]: is not the module of any tool; did you mean `memory`?
    config.toml:3: personas.cook.modules[4]: is not the module of any tool; there are: agents, calendar, commands, files, home, journal, lights, mail, mcp, memory, messages, schedules, skills, system, terminal, time, web
    config.toml:4: personas.cook.iterations_max: is 3, expected at most iterations_cap, which is 2; lower it or raise iterations_cap
    config.toml:6: personas.default: is the word by which `/persona` goes back, expected another; rename it
    config.toml:7: personas."a b": cannot name a persona, expected a letter, then up to 63 letters, digits, `_` or `-`; rename it
    config.toml:13: agent.persona: is not a persona; did you mean `cook`?
    config.toml:16: telegram.persona: is not a persona; there are: a b, cook, default
    config.toml:17: telegram.personas.-12: is not a persona; there are: a b, cook, default
    config.toml:17: telegram.personas.home: is not the id of a chat, expected a whole number; for example "-1001234567890"
    "#);
    insta::assert_snapshot!(told("[agent]\ndefault_guest_modules = ['time', 'memori']"), @"config.toml:2: agent.default_guest_modules[2]: is not the module of any tool; did you mean `memory`?");
    insta::assert_snapshot!(told("[personas.cook]\n[discord]\nbot_token = 'a'\nserver_personas = { home = 'cook', '1' = 'cok', '2' = 'cook' }\n[slack]\nbot_token = 'xoxb-a'\napp_token = 'xapp-a'\nworkspace_personas = { C1 = 'cook', T1 = 'waiter' }"), @r#"
    config.toml:4: discord.server_personas.1: is not a persona; did you mean `cook`?
    config.toml:4: discord.server_personas.home: is not the id of a server, expected a whole number; for example "81384788765712300"
    config.toml:8: slack.workspace_personas.C1: is not the id of a workspace; for example "T012AB3CD"
    config.toml:8: slack.workspace_personas.T1: is not a persona; there are: cook
    "#);
    insta::assert_snapshot!(told("[agent]\npersona = 'cook'\n[personas.clerk.loop]\nmax_cycles = 3"), @r#"
    config.toml:2: agent.persona: is not a persona; there are: clerk
    config.toml:3: personas.clerk.loop.terminate: has nothing that could end the loop before its cycles or its money are used up, expected a `text-includes` or a `tool-result`; for example `terminate = [{ when = "text-includes", text = "DONE" }]`
    "#);
}

#[test]
fn e7_d1_names_of_tools_that_are_not_there() {
    insta::assert_snapshot!(told("[[hooks]]\nwhen = 'before_tool'\ntools = ['lamp', 'lmap', 'recall', 'mail_*', '*']\ncommand = ['x']\n[tools.lamp]\ndescription = 'x'\ncommand = ['x']\n[tools.recall]\ndescription = 'x'\ncommand = ['x']\n[personas.tester.loop]\nmax_cycles = 3\nterminate = [{ when = 'tool-result', tool = 'lamps', exit_code = 0 }, { when = 'tool-result', tool = 'ask_human', exit_code = 0 }, { when = 'tool-result', tool = 'lamp', exit_code = 0 }]"), @r"
    config.toml:3: hooks[1].tools[2]: is not the name of a tool: the hook would never be run; did you mean `lamp`?
    config.toml:8: tools.recall: is the name of a built-in tool, expected another; rename it
    config.toml:13: personas.tester.loop.terminate[1].tool: is not the name of a tool; did you mean `lamp`?
    config.toml:13: personas.tester.loop.terminate[2].exit_code: is expected of ask_human, which has none: only commands under `[tools]` do; remove it, or use `contains`
    ");
}

#[test]
fn c1_people() {
    insta::assert_snapshot!(told("[people.ada]\ntelegram_user_ids = [1, 2]\nterminal = true\n[people.bob]\ntelegram_user_ids = [2, 2]\nterminal = true\nrole = 'owner'\n[people.'b c']\nrole = 'boss'"), @r#"
    config.toml:3: people.ada.terminal: makes them an owner, because whoever sits at this machine can do everything; set `role = "owner"`
    config.toml:5: people.bob.telegram_user_ids[1]: is also ada's, expected one person; remove it from one
    config.toml:6: people.bob.terminal: is also ada's, expected one person; remove it from one
    config.toml:9: people."b c".role: is not a known word, expected one of: guest, user, admin, owner; for example `role = "user"`
    "#);
}

#[test]
fn k2_telegrams_accounts_and_webhooks() {
    insta::assert_snapshot!(told("[telegram]\nbot_token = '1:a'\nwebhook_url = 'https://hob.example.org/telegram/default'\n[telegram_accounts.work]\nbot_token = '1:a'\npersona = 'cook'\nwebhook_url = 'ftp://x'\nwebhook_secret = 'not only letters'\n[telegram_accounts.default]\nbot_token = '2:a'\nwebhook_secret = 'letters-of-some-length'\n[telegram_accounts.x]\n[server]\nlisten = 'off'\n"), @r#"
    config.toml:3: telegram.webhook_url: is of no use alone, expected webhook_url and webhook_secret; set both, or neither
    config.toml:3: telegram.webhook_url: needs `[server]`, which is where Telegram's calls come in; set `listen` there, or remove this
    config.toml:5: telegram_accounts.work.bot_token: is the bot of `[telegram]` too, expected one of its own; make another with @BotFather
    config.toml:6: telegram_accounts.work.persona: is not a persona; declare it under `[personas]`
    config.toml:7: telegram_accounts.work.webhook_url: is not the URL of a server, expected http:// or https:// and a host; for example `http://127.0.0.1:8080`
    config.toml:7: telegram_accounts.work.webhook_url: needs `[server]`, which is where Telegram's calls come in; set `listen` there, or remove this
    config.toml:8: telegram_accounts.work.webhook_secret: has a character that Telegram does not take, expected letters, digits, `_` or `-`; for example what `openssl rand -hex 24` prints
    config.toml:9: telegram_accounts.default: cannot name an account, expected a letter, then up to 63 letters, digits, `_` or `-`, and not `default`; rename it
    config.toml:11: telegram_accounts.default.webhook_secret: is of no use alone, expected webhook_url and webhook_secret; set both, or neither
    config.toml:12: telegram_accounts.x.bot_token: is missing, expected text of 1 to 200 characters; for example `bot_token = "123456789:example-token"`
    "#);
}

#[test]
fn e15_quotas_and_c5_roles() {
    insta::assert_snapshot!(told("[quotas]\nuser_month_tokens = 4999\ntool_calls_per_minute = 0\nday_tokens = 1\n[tools.lamp]\ndescription = 'x'\ncommand = ['x']\nmodule = '9'\nrole = 'users'"), @r#"
    config.toml:2: quotas.user_month_tokens: is 4999, expected at least guest_month_tokens, which is 5000; raise it or lower guest_month_tokens
    config.toml:3: quotas.tool_calls_per_minute: is 0, expected a whole number from 1 to 10000; for example `tool_calls_per_minute = 60`
    config.toml:4: quotas.day_tokens: is not a known key; known here: guest_month_tokens, user_month_tokens, hour_tokens, tool_calls_per_minute
    config.toml:8: tools.lamp.module: cannot name a module, expected a letter, then up to 63 letters, digits, `_` or `-`; rename it
    config.toml:9: tools.lamp.role: is not a known word, expected one of: guest, user, admin, owner; did you mean `user`?
    "#);
    assert_eq!(told("[quotas]\nuser_month_tokens = 5000"), "no problems");
}

#[test]
fn e5_an_embedding_that_cannot_be() {
    insta::assert_snapshot!(told("[memory.embedding]\nkind = 'openai_compatible'\napi_key = 'a b'"), @r#"
    config.toml:2: memory.embedding.base_url: is missing, expected the server's URL, because kind is openai_compatible; for example `base_url = "http://127.0.0.1:11434/v1"`
    config.toml:2: memory.embedding.model: is missing, expected the server's model, because kind is openai_compatible; for example `model = "nomic-embed-text"`
    config.toml:3: memory.embedding.api_key: has a space, a line break or another character that no key has, expected visible ASCII characters; copy it again; if it comes from a file, mind the line break at its end
    "#);
    insta::assert_snapshot!(told(
        "[memory]\nmax_facts = 1001\nfragments_max = 26\n[memory.embedding]\npath = 'models'\nfetch_url = 'hub'\nkind = 'locl'"
    ), @r"
    config.toml:2: memory.max_facts: is 1001, expected a whole number from 0 to 1000; for example `max_facts = 100`
    config.toml:3: memory.fragments_max: is 26, expected a whole number from 0 to 25; for example `fragments_max = 5`
    config.toml:5: memory.embedding.path: is not an absolute path, expected one that begins with `/`; `${HOME}/…` works as well
    config.toml:6: memory.embedding.fetch_url: is not a URL, expected one that begins with http:// or https://; for example `http://127.0.0.1:8080`
    config.toml:7: memory.embedding.kind: is not a known word, expected one of: local, openai_compatible, none; did you mean `local`?
    ");
}

#[test]
fn f3_a_mailbox_is_somebodys_and_its_password_stays_secret() {
    let found = told(
        "[mail.ada]\naddress = \"ada\"\npassword = \"x\"\nimap_host = \"imap.example.org\"\nimap_tls = \"none\"\n\
         smtp_host = \"localhost\"\nsmtp_tls = \"none\"\nfor = [\"ben\", \"cy\"]\n[people.ben]\n",
    );
    insta::assert_snapshot!(found, @r#"
    config.toml:2: mail.ada.address: is not an e-mail address, expected one without a name; for example `ada@example.org`
    config.toml:5: mail.ada.imap_tls: would send the password and all letters readable over the network; set it to "tls" or "starttls", or name a server on this machine
    config.toml:8: mail.ada.for[2]: names cy, expected somebody under [people]; add [people.cy], or correct the name
    "#);
}

#[test]
fn f3_a_mailbox_has_a_password_or_a_login_and_that_says_who_issues_it() {
    let mailbox =
        "[mail.ada]\naddress = 'ada@example.org'\nimap_host = 'imap.example.org'\nsmtp_host = 'smtp.example.org'\n";
    let with = |more: &str| format!("{mailbox}{more}");
    assert!(parse(&with("oauth = { provider = 'microsoft', client_id = 'x' }")).is_ok());
    for (more, place, why) in [
        ("", "mail.ada.password", "is one of two ways in"),
        (
            "password = 'x'\noauth = { provider = 'google', client_id = 'x' }",
            "mail.ada.password",
            "is one of two ways in",
        ),
        (
            "oauth = { provider = 'google', client_id = 'x', scope = 'mail' }",
            "mail.ada.oauth.provider",
            "is known by its name",
        ),
        ("oauth = { client_id = 'x', scope = 'mail' }", "mail.ada.oauth.provider", "is missing, expected it or all of"),
        (
            "oauth = { client_id = 'x', scope = 'm', device_url = 'http://a.example/d', token_url = 'https://a.example/t' }",
            "mail.ada.oauth.device_url",
            "would send tokens readable",
        ),
        ("password = 'x'\nuser = \"a\\u0001b\"", "mail.ada.user", "has a line break"),
    ] {
        let told = told(&with(more));
        assert!(told.lines().count() == 1 && told.contains(&format!(": {place}: {why}")), "{told}");
    }
}
