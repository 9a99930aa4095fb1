//! `hob config show`: what holds, from where, and no secret.

use std::os::unix::fs::PermissionsExt;

use crate::environment::Environment;
use crate::show::show;

#[test]
fn each_value_is_shown_with_where_it_comes_from_and_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let config = "[provider]\nkind = 'anthropic'\napi_key = 'hunter2-plain'\n[[provider.fallbacks]]\nkind = 'openai'\n\
                  model = 'm'\napi_key = '${FIRST}'\n[telegram]\nbot_token = 'file:token'\nowner_user_ids = [7]\n[agent]\n\
                  system_prompt = 'The key is hunter2-plain, at ${PLACE}.'\n[slack]\nbot_token = '${NONE}'\napp_token = 'xapp-hunter2'\n\
                  [mcp.notes]\ncommand = ['/bin/notes', '${FIRST}']\nenv = { KEY = '${FIRST}', MODE = 'hunter2-mode' }\n";
    for (name, text) in [("config.toml", config), ("token", "1:hunter2-file\n")] {
        std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::set_permissions(dir.path().join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let env = Environment::of(dir.path(), [("FIRST", "hunter2-env"), ("PLACE", "home")]);
    let shown = |all: bool| show(None, &env, all).unwrap().replace(&dir.path().display().to_string(), "");
    insta::assert_snapshot!(shown(false), @r#"
    # /config.toml
    # [slack] is off: slack.bot_token names the environment variable `NONE`, which is not set; set it where Hob is started, or write `$${` for a plain `${`

    [provider]
    kind = "anthropic"  # line 2
    api_key = "[redacted]"  # line 3

    [[provider.fallbacks]]
    kind = "openai"  # line 5
    model = "m"  # line 6
    api_key = "[redacted]"  # line 7, environment FIRST

    [telegram]
    bot_token = "[redacted]"  # line 9, file token
    owner_user_ids = [7]  # line 10

    [slack]
    bot_token = "[missing]"  # line 14, environment NONE
    app_token = "[redacted]"  # line 15

    [agent]
    system_prompt = "The key is [redacted], at ${PLACE}."  # line 12, environment PLACE

    [mcp.notes]
    command = ["/bin/notes", "${FIRST}"]  # line 17, environment FIRST
    env = { KEY = "[redacted]", MODE = "[redacted]" }  # line 18, environment FIRST
    "#);
    let all = shown(true);
    assert!(!all.contains("hunter2"), "{all}");
    assert!(all.contains("\n[daemon]\ndrain_secs = 25  # default\n"), "{all}");
    assert!(all.contains("\npoll_timeout_secs = 50  # default\n") && !all.contains("[discord]"), "{all}");
    let parsed: toml::Table = all.parse().unwrap();
    assert_eq!(parsed["agent"]["iterations_max"].as_integer(), Some(10));
    let none = show(None, &Environment::of("/nowhere", [("A", "b")]), false).unwrap();
    insta::assert_snapshot!(none, @"# no config file: every setting has its default");
}
