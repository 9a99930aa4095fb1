//! Keys under old names, by a table of the test's own.

use std::path::Path;

use crate::environment::Environment;
use crate::load::{LoadedConfig, parse_config};
use crate::renamed_keys::RenamedKey;

const RENAMED: [RenamedKey; 3] = [
    RenamedKey { from: &["agent", "turns_max"], to: &["agent", "iterations_max"], since: "0.2" },
    RenamedKey { from: &["bots", "*", "key"], to: &["telegram_accounts", "*", "bot_token"], since: "0.3" },
    RenamedKey { from: &["service"], to: &["daemon"], since: "0.4" },
];

fn load(text: &str) -> Result<LoadedConfig, String> {
    let loaded = parse_config(Path::new("/w/config.toml"), text, &Environment::of("/w", [("A", "1:a")]), &RENAMED);
    loaded.map(|(loaded, _)| loaded).map_err(|problems| problems.to_string())
}

#[test]
fn n7_an_old_name_is_read_as_the_new_one_and_told() {
    let loaded = load(
        "[service]\ndrain_secs = 7\n[agent]\nturns_max = 9\n[bots.work]\nkey = '${A}'\n[bots.home]\nkey = '2:b'\n",
    );
    let loaded = loaded.unwrap();
    assert_eq!((loaded.config.agent.iterations_max, loaded.config.daemon.drain_secs), (9, 7));
    assert_eq!(loaded.config.telegram_accounts["work"].bot_token.expose(), "1:a");
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(notes.join("\n"), @r"
    line 4: agent.turns_max is called agent.iterations_max since Hob 0.2, and is read as that; rename it to agent.iterations_max
    line 8: bots.home.key is called telegram_accounts.home.bot_token since Hob 0.3, and is read as that; rename it to telegram_accounts.home.bot_token
    line 6: bots.work.key is called telegram_accounts.work.bot_token since Hob 0.3, and is read as that; rename it to telegram_accounts.work.bot_token
    line 1: service is called daemon since Hob 0.4, and is read as that; rename it to daemon
    ");
}

#[test]
fn n7_both_names_are_a_problem_and_the_line_of_a_wrong_value_is_its_own() {
    insta::assert_snapshot!(load("[agent]\nturns_max = 9\niterations_max = 8\n").unwrap_err(), @r"
    /w/config.toml:2: agent.turns_max: is the old name of agent.iterations_max, which is there as well; remove it
    ");
    insta::assert_snapshot!(load("[agent]\nturns_max = 0\n").unwrap_err(), @r"
    /w/config.toml:2: agent.iterations_max: is 0, expected a whole number from 1 to 1000; for example `iterations_max = 10`
    ");
}
