//! Files that are not TOML.

use super::told;

#[test]
fn line_and_column_are_named() {
    insta::assert_snapshot!(told("[agent]\niterations_max 30\n"), @"config.toml:2: column 16: is not TOML: key with no value, expected `=`; text needs quotes, a section is `[name]`, a setting `key = value`");
    insta::assert_snapshot!(told("[agent]\ntime_zone = Europe/Berlin\n[telegram\nbot_token = 'hunter2'\n"), @r#"
    config.toml:2: column 13: is not TOML: string values must be quoted, expected literal string; text needs quotes, a section is `[name]`, a setting `key = value`
    config.toml:3: column 10: is not TOML: unclosed table, expected `]`; text needs quotes, a section is `[name]`, a setting `key = value`
    "#);
    insta::assert_snapshot!(told("[agent]\niterations_max = 1\niterations_max = 2\n[agent]\n"), @r#"
    config.toml:3: column 1: is not TOML: duplicate key; text needs quotes, a section is `[name]`, a setting `key = value`
    config.toml:4: column 2: is not TOML: duplicate key; text needs quotes, a section is `[name]`, a setting `key = value`
    "#);
    insta::assert_snapshot!(told("[telegram]\nbot_token = 'hunter2\n"), @"config.toml:2: column 21: is not TOML: invalid literal string, expected `'`; text needs quotes, a section is `[name]`, a setting `key = value`");
    insta::assert_snapshot!(told("[agent]\nsystem_prompt = 'ä' ö\n"), @"config.toml:2: column 21: is not TOML: unexpected key or value, expected newline, `#`; text needs quotes, a section is `[name]`, a setting `key = value`");
    insta::assert_snapshot!(told("key"), @"config.toml:1: column 4: is not TOML: key with no value, expected `=`; text needs quotes, a section is `[name]`, a setting `key = value`");
    insta::assert_snapshot!(told(&format!("a = {}", "[".repeat(10_000))), @"config.toml:1: column 85: is not TOML: cannot recurse further; max recursion depth met; text needs quotes, a section is `[name]`, a setting `key = value`");
}

#[test]
fn an_unquoted_secret_is_not_repeated() {
    for line in [
        "bot_token = hunter2",
        "bot_token = \"hunter2",
        "bot_token = 12:hunter2",
        "hunter2 hunter2",
        "bot_token == hunter2",
    ] {
        let told = told(&format!("[telegram]\n{line}\n"));
        assert!(!told.contains("hunter2") && told.contains("config.toml:2:"), "{told}");
    }
}
