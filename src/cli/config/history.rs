//! `hob config history|diff|rollback`: the configs with which a model answered, and the way back to one.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context as _;
use similar::{ChangeTag, TextDiff};

use crate::cli::config::ConfigFiles;
use crate::cli::next_step::{refusal, refuse};
use hob_config::edit;
use hob_config::good_configs::KeptConfig;
use hob_config::writer::snapshot::FileSnapshot;
use hob_core::domain::clock::{Clock as _, SystemClock};

/// So many changed keys are named.
const KEYS_SHOWN: usize = 3;
/// So many lines stand around a change.
const AROUND: usize = 3;

pub(super) fn list(files: &ConfigFiles) -> String {
    let shelf = files.history.shelf();
    let mut lines = Vec::new();
    for (index, kept) in shelf.good.iter().enumerate() {
        let changed = match shelf.good.get(index + 1) {
            Some(older) => changed_keys(older.good.text.expose(), kept.good.text.expose()),
            None => "the oldest that is kept".to_owned(),
        };
        let (when, version) = (kept.good.when.strftime("%Y-%m-%d %H:%M:%S UTC"), &kept.good.version);
        lines.push(format!("{:>2}  {when}  {version}  {changed}\n", index + 1));
    }
    if lines.is_empty() {
        lines.push(format!("no good config of {} is kept yet: a model has to answer first\n", files.file().display()));
    }
    lines.extend(shelf.broken.iter().map(|(path, why)| format!(" -  {} {why}\n", path.display())));
    lines.concat()
}

/// What the file has that a good one has not, and the other way round.
pub(super) fn diff(files: &ConfigFiles, number: Option<usize>) -> anyhow::Result<String> {
    let kept = kept_config(files, number.or(Some(1)), None)?;
    let now = files.writer.look()?;
    let good = kept.good.text.expose();
    let shown = difference(&redacted(good, good), &redacted_file(&now, good), files.colours);
    Ok(if shown.is_empty() { "no difference\n".to_owned() } else { shown })
}

/// Shows what would change, asks, and puts a good one in the place of the file, which is kept.
pub(super) fn roll_back(
    files: &ConfigFiles,
    number: Option<usize>,
    yes: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    loop {
        let now = files.writer.look()?;
        let kept = kept_config(files, number, now.text())?;
        let good = kept.good.text.expose();
        if now.text() == Some(good) {
            refuse!("{} is this config already; nothing was changed", files.file().display(); "`hob config history` shows the others");
        }
        let shown = difference(&redacted_file(&now, good), &redacted(good, good), files.colours);
        let when = kept.good.when.strftime("%Y-%m-%d %H:%M:%S UTC");
        writeln!(
            out,
            "{shown}The config of {when}, with which a model answered, takes the place of {},",
            files.file().display()
        )?;
        writeln!(out, "which is kept beside it as …rejected-TIME.")?;
        if !yes && !confirm(out)? {
            refuse!("nothing was changed"; "write \"yes\" there, or say --yes");
        }
        match files.writer.replace(&now, good, SystemClock.now()) {
            Ok(aside) => {
                match aside {
                    Some(aside) => writeln!(out, "done; what stood there is now {}", aside.display())?,
                    None => writeln!(out, "done")?,
                }
                return Ok(());
            }
            Err(error) if error.is_change() && yes => {
                refuse!("{} was changed in this very moment; nothing was changed", files.file().display(); "try again")
            }
            Err(error) if error.is_change() => {
                writeln!(out, "\n{} was changed meanwhile. What would change now:\n", files.file().display())?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn confirm(out: &mut dyn Write) -> anyhow::Result<bool> {
    write!(out, "Write \"yes\" to do it: ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

/// The one with this number; without one, the newest that is something else than what stands there.
fn kept_config(files: &ConfigFiles, number: Option<usize>, now: Option<&str>) -> anyhow::Result<KeptConfig> {
    let good = files.history.shelf().good;
    let count = good.len();
    if count == 0 {
        refuse!("no good config of {} is kept yet", files.file().display(); "a model has to answer first");
    }
    match number {
        Some(number) => good.into_iter().nth(number.wrapping_sub(1)).with_context(
            || refusal!("there is no number {number}"; "{count} are kept, `hob config history` shows them"),
        ),
        None => good.into_iter().find(|kept| now != Some(kept.good.text.expose())).with_context(|| {
            let file = files.file().display();
            refusal!("{file} is the only config that is kept; nothing was changed"; "change it with `hob config set`")
        }),
    }
}

/// What stands in the file's place, without secrets.
fn redacted_file(now: &FileSnapshot, good: &str) -> String {
    match (now, now.text()) {
        (FileSnapshot::Nothing, _) => String::new(),
        (_, Some(text)) => redacted(text, good),
        _ => format!("(what stands there {})\n", now.told()),
    }
}

/// A text without its secrets. Where it is not TOML nobody can say what is one: then only what also stands in the good one,
/// and numbers and flags, are shown.
fn redacted(text: &str, good: &str) -> String {
    if let Ok(shown) = edit::shown(text) {
        return shown;
    }
    let shown = edit::shown(good).unwrap_or_default();
    let known: BTreeMap<&str, &str> = if good.lines().count() == shown.lines().count() {
        good.lines().zip(shown.lines()).collect()
    } else {
        BTreeMap::new()
    };
    let line = |line: &str| match (known.get(line), line.split_once('=')) {
        (Some(known), _) => (*known).to_owned(),
        (None, Some((_, value))) if value.trim().chars().all(is_harmless) => line.to_owned(),
        (None, Some((key, _))) => format!("{key}= (not shown)"),
        // Of a header, what it names; behind it may stand anything.
        (None, None) if line.trim_start().starts_with('[') => line.split('#').next().unwrap_or_default().to_owned(),
        (None, None) if line.trim().is_empty() => line.to_owned(),
        (None, None) => "(not shown)".to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// A sign of a number, or a list of them. Ids are no secrets.
fn is_harmless(sign: char) -> bool {
    sign.is_ascii_digit() || "[], _-+.".contains(sign)
}

/// The difference, for people.
fn difference(old: &str, new: &str, colours: bool) -> String {
    let (removed, added, end) = if colours { ("\u{1b}[31m", "\u{1b}[32m", "\u{1b}[0m") } else { ("", "", "") };
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(AROUND) {
        if !lines.is_empty() {
            lines.push("…\n".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            lines.push(match change.tag() {
                ChangeTag::Delete => format!("{removed}- {line}{end}\n"),
                ChangeTag::Insert => format!("{added}+ {line}{end}\n"),
                ChangeTag::Equal => format!("  {line}\n"),
            });
        }
    }
    lines.concat()
}

/// The first keys in which two texts differ.
fn changed_keys(older: &str, newer: &str) -> String {
    let (older, newer) = (flat_keys(older), flat_keys(newer));
    let keys = older.keys().chain(newer.keys().filter(|key| !older.contains_key(*key)));
    let changed: Vec<&String> = keys.filter(|key| older.get(*key) != newer.get(*key)).collect();
    let told: Vec<&str> = changed.iter().take(KEYS_SHOWN).map(|key| key.as_str()).collect();
    match changed.len().saturating_sub(KEYS_SHOWN) {
        _ if told.is_empty() => "comments or order".to_owned(),
        0 => told.join(", "),
        more => format!("{}, and {more} more", told.join(", ")),
    }
}

/// Every key with its value.
fn flat_keys(text: &str) -> BTreeMap<String, toml::Value> {
    let (mut found, mut open) = (BTreeMap::new(), Vec::new());
    open.extend(text.parse::<toml::Table>().unwrap_or_default());
    while let Some((key, value)) = open.pop() {
        match value {
            toml::Value::Table(table) => {
                open.extend(table.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => {
                found.insert(key, value);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n7_secrets_are_in_no_difference_whatever_the_text_is() {
        let good = "[telegram]\nbot_token = '1:hunter2'\nowner_user_ids = [1]\n";
        let bad = "[telegram\nbot_token = '1:hunter2'\nbot_tokn = '2:hunter3'\nowner_user_ids = [1, 2]\nhunter4\n";
        let shown = difference(&redacted(bad, good), &redacted(good, good), false);
        insta::assert_snapshot!(shown, @r#"
        - [telegram
        + [telegram]
          bot_token = "[redacted]"
        - bot_tokn = (not shown)
        - owner_user_ids = [1, 2]
        - (not shown)
        + owner_user_ids = [1]
        "#);
    }

    #[test]
    fn the_keys_that_changed_are_named() {
        let old = "[agent]\niterations_max = 7\n[memory]\nextract = true\n";
        for (new, expected) in [
            ("# x\n[memory]\nextract = true\n[agent]\niterations_max = 7\n", "comments or order"),
            ("[agent]\niterations_max = 8\n", "agent.iterations_max, memory.extract"),
            ("a = 1\nb = 2\nc = 3", "agent.iterations_max, memory.extract, a, and 2 more"),
        ] {
            assert_eq!(changed_keys(old, new), expected);
        }
    }
}
