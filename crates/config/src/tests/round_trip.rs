//! Any config survives the way through a file, and no input makes the way panic.

use std::path::Path;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Deserialize;
use toml::Value as Toml;

use crate::environment::Environment;
use crate::problem::Problems;
use crate::shape::{self, KeyShape, ValueShape};
use crate::tests::settled::settle;
use crate::{Config, load};

/// Any value of this shape; what depends on other values is set right by `settle`.
fn of_shape(shape: &ValueShape) -> BoxedStrategy<Toml> {
    match shape {
        ValueShape::Bool => any::<bool>().prop_map(Toml::Boolean).boxed(),
        ValueShape::Integer { min, max } => (*min..=*max).prop_map(Toml::Integer).boxed(),
        ValueShape::Number { max, .. } => {
            // Thousandths: what is kept of a price.
            let max = *max;
            (0_u32..1_000_000).prop_map(move |n| Toml::Float((f64::from(n) / 1000.0).min(max))).boxed()
        }
        ValueShape::Choice(words) => {
            let words: Vec<String> = words.iter().map(|(word, _)| word.clone()).collect();
            proptest::sample::select(words).prop_map(Toml::String).boxed()
        }
        ValueShape::Text { min, max } => {
            let (min, max) = (*min, (*max).min(20));
            let any_text = vec(any::<char>().prop_filter("no NUL", |c| *c != '\0'), min..=max);
            let words = ["${", "$${A}", "'\"", "\"\"\"\n'''", "\\u0041", "{room}"];
            let awkward: Vec<&str> = words.into_iter().filter(|word| word.chars().count() >= min).collect();
            let any_text = any_text.prop_map(|chars| chars.into_iter().collect::<String>()).boxed();
            if awkward.is_empty() {
                return any_text.prop_map(Toml::String).boxed();
            }
            prop_oneof![any_text, proptest::sample::select(awkward).prop_map(str::to_owned)]
                .prop_map(Toml::String)
                .boxed()
        }
        ValueShape::List { item, min, max } => vec(of_shape(item), *min..=(*max).min(3)).prop_map(Toml::Array).boxed(),
        ValueShape::Map { item, .. } => btree_map("[a-zA-Z][a-zA-Z0-9_-]{0,8}", of_shape(item), 0..3)
            .prop_map(|table| Toml::Table(table.into_iter().collect()))
            .boxed(),
        ValueShape::Section(fields) => of_fields(fields).prop_map(Toml::Table).boxed(),
    }
}

/// Any table with these keys, of which those that may be absent sometimes are.
fn of_fields(fields: &[KeyShape]) -> BoxedStrategy<toml::Table> {
    let mut table = Just(toml::Table::new()).boxed();
    for field in fields {
        let name = field.name.clone();
        let value = match field.required {
            true => of_shape(&field.shape).prop_map(Some).boxed(),
            false => proptest::option::weighted(0.7, of_shape(&field.shape)).boxed(),
        };
        table = (table, value)
            .prop_map(move |(mut table, value)| {
                table.extend(value.map(|value| (name.clone(), value)));
                table
            })
            .boxed();
    }
    table
}

fn load(text: &str) -> Result<Config, Problems> {
    let env = Environment::of("/w", [("A", "1"), ("EMPTY", "")]);
    load::parse(Path::new("config.toml"), text, &env)
}

/// Text that is nearly a config: its own words in any order.
fn nearly() -> impl Strategy<Value = String> {
    let signs = [
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "\"",
        "'",
        "'''",
        "${",
        "${A}",
        "\"file:",
        "'cred:",
        "'keychain:",
        ".",
        ",",
        "\n",
        "\0",
        "1e999",
        "-",
    ];
    let example = crate::example::example();
    let words = example.split_inclusive(['\n', ' ', '=']).chain(signs).map(str::to_owned).collect::<Vec<_>>();
    vec(proptest::sample::select(words), 0..60).prop_map(|words| words.concat())
}

/// A value that few keys take.
fn wrong() -> impl Strategy<Value = Toml> {
    proptest::sample::select(vec![
        Toml::Integer(-1),
        Toml::Integer(i64::MAX),
        Toml::Float(f64::NAN),
        Toml::Boolean(true),
        Toml::String(String::new()),
        Toml::String("${NONE}".to_owned()),
        Toml::Array(Vec::new()),
        Toml::Array(vec![Toml::Table(toml::Table::new())]),
        Toml::Table(toml::Table::new()),
    ])
}

/// Puts `wrong` in place of some value of the document.
fn put(table: &mut toml::Table, at: u64, wrong: &Toml) {
    let len = table.len().max(1) as u64;
    let (index, at) = (usize::try_from(at % len).unwrap(), at / len);
    if let Some((_, value)) = table.iter_mut().nth(index) {
        match value {
            Toml::Table(inner) if !at.is_multiple_of(3) => put(inner, at / 3, wrong),
            value => *value = wrong.clone(),
        }
    }
}

proptest! {
    #[test]
    fn any_config_comes_back(document in of_fields(&shape::of::<Config>()).prop_map(settle)) {
        let mut written = Toml::Table(document.clone());
        escape(&mut written);
        let text = toml::to_string(&written).unwrap();
        let expected = Config::deserialize(Toml::Table(document)).unwrap();
        let loaded = load(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        prop_assert_eq!(loaded, expected);
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        drop(load(&text));
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..200)) {
        drop(load(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn any_mixture_of_its_words_is_answered(text in nearly()) {
        if let Err(problems) = load(&text) {
            let lines = text.lines().count().max(1) + 1;
            prop_assert!(problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{}", problems);
        }
    }

    /// One value of any type in any place: a problem with a key, never a panic or a contradiction.
    #[test]
    fn any_types_are_answered(
        mut document in of_fields(&shape::of::<Config>()).prop_map(settle),
        wrong in wrong(),
        at in any::<u64>(),
    ) {
        put(&mut document, at, &wrong);
        let text = toml::to_string(&document).unwrap();
        if let Err(problems) = load(&text) {
            prop_assert!(problems.iter().all(|problem| !problem.key.is_empty()), "{problems}\n{text}");
        }
    }
}

/// Writes each `${` so that it stays one.
fn escape(value: &mut Toml) {
    match value {
        Toml::String(text) => *text = text.replace("${", "$${"),
        Toml::Array(items) => items.iter_mut().for_each(escape),
        Toml::Table(table) => table.iter_mut().for_each(|(_, value)| escape(value)),
        _ => {}
    }
}
