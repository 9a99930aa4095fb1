//! Where a config is looked for, and files that are none.

use std::path::Path;

use crate::command;
use crate::environment::Environment;
use crate::load::{FILE_BYTES_MAX, LoadedConfig, load};

/// A directory with `files` in it, and an environment with its `home` as home.
fn house(files: &[&str]) -> (tempfile::TempDir, Environment) {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("[agent]\nsystem_prompt = '{file}'")).unwrap();
    }
    let env = Environment::of(dir.path(), [("HOME", dir.path().join("home"))]);
    (dir, env)
}

/// What `hob config check` says, with the directory left out.
fn say(named: Option<&str>, dir: &tempfile::TempDir, env: &Environment) -> String {
    let told = |loaded: LoadedConfig| command::report_text(&loaded, &loaded.off, env);
    let text = load(named.map(Path::new), env).map_or_else(|error| error.to_string(), told);
    text.replace(&dir.path().display().to_string(), "")
}

#[test]
fn the_first_that_is_there_is_taken() {
    let (argument, variable) = ("argument.toml", "variable.toml");
    let (here, home) = ("config.toml", "home/.config/hob/config.toml");
    for (files, named, set, expected) in [
        (&[argument, variable, here, home][..], true, true, Some(argument)),
        (&[argument, variable, here, home], false, true, Some(variable)),
        (&[argument, variable, here, home], false, false, Some(here)),
        (&[argument, variable, home], false, false, Some(home)),
        (&[argument, variable], false, false, None),
    ] {
        let (dir, env) = house(files);
        let set = if set { variable } else { "" };
        let home_dir = env.get("HOME").unwrap().to_owned();
        let env = Environment::of(dir.path(), [("HOME", home_dir), ("HOB_CONFIG", set.into())]);
        let loaded = load(named.then_some(Path::new(argument)), &env).unwrap();
        assert_eq!(loaded.config.agent.system_prompt.as_deref(), expected);
        assert_eq!(loaded.path, expected.map(|file| dir.path().join(file)));
        assert_eq!(loaded.source.expose().is_empty(), expected.is_none());
    }
}

#[test]
fn what_is_read_is_hidden() {
    let (_dir, env) = house(&["config.toml"]);
    let loaded = load(None, &env).unwrap();
    assert!(format!("{loaded:?}").contains("source: [secret]"));
}

#[test]
fn a_named_file_must_be_there() {
    let (dir, env) = house(&["config.toml"]);
    insta::assert_snapshot!(say(Some("none.toml"), &dir, &env), @"/none.toml: there is no such file, but --config names it");
    let env = Environment::of(dir.path(), [("HOB_CONFIG", "config.toml/none.toml")]);
    insta::assert_snapshot!(say(None, &dir, &env), @"/config.toml/none.toml: there is no such file, but $HOB_CONFIG names it");
}

#[test]
fn a_file_must_be_a_text_file() {
    let (dir, env) = house(&["directory.toml/file"]);
    insta::assert_snapshot!(say(Some("directory.toml"), &dir, &env), @"/directory.toml: is a directory, expected a file such as /directory.toml/config.toml");
    std::fs::write(dir.path().join("latin1.toml"), b"[agent]\nsystem_prompt = '\xfcber'\n").unwrap();
    insta::assert_snapshot!(say(Some("latin1.toml"), &dir, &env), @"/latin1.toml:2: is not UTF-8 text; save it as UTF-8");
    std::fs::write(dir.path().join("big.toml"), vec![b'#'; FILE_BYTES_MAX as usize + 1]).unwrap();
    insta::assert_snapshot!(say(Some("big.toml"), &dir, &env), @"/big.toml: is bigger than 1048576 bytes, expected a config file");
    std::os::unix::fs::symlink("loop.toml", dir.path().join("loop.toml")).unwrap();
    insta::assert_snapshot!(say(Some("loop.toml"), &dir, &env), @"/loop.toml: cannot be read: Too many levels of symbolic links (os error 40)");
}

#[test]
fn check_says_what_is_fine() {
    let (dir, env) = house(&["config.toml"]);
    insta::assert_snapshot!(say(None, &dir, &env), @"/config.toml: no problems");
    let (dir, env) = house(&[]);
    insta::assert_snapshot!(say(None, &dir, &env), @"no config file (/config.toml, /home/.config/hob/config.toml): every setting has its default");
}

#[test]
fn check_says_everything_that_is_wrong() {
    let (dir, env) = house(&[]);
    std::fs::write(dir.path().join("config.toml"), "[agent]\niterations_max = 0\nqueue_mod = 'steer'\n").unwrap();
    insta::assert_snapshot!(say(None, &dir, &env), @r#"
    /config.toml:2: agent.iterations_max: is 0, expected a whole number from 1 to 1000; for example `iterations_max = 10`
    /config.toml:3: agent.queue_mod: is not a known key; did you mean `queue_mode`?
    "#);
}
