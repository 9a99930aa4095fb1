use proptest::prelude::*;

use super::*;

fn told(text: &str) -> String {
    match parse(text.as_bytes(), Some("tea")) {
        Ok(skill) => format!("good: {}", skill.description),
        Err(FormatError { line, why }) => format!("{line}: {why}"),
    }
}

/// A skill with these lines in its front matter.
fn with(front: &str) -> String {
    format!("---\n{front}\n---\nBoil water.\n")
}

#[test]
fn k4_good_skills_are_read_as_they_are_meant() {
    let full = "\u{feff}---\r\nname: tea\r\ndescription: >\r\n  Makes tea.\r\n  Use it at five.\r\ntriggers: [make tea, \"cup of\"]\r\nallowed-tools: Read Bash(git:*), kettle\r\nlicense: MIT\r\nmetadata:\r\n  author: ada\r\n  version: \"1\"\r\ncompatibility: any\r\n---\r\n\r\n# Tea\r\n\r\n---\r\nBoil water.\r\n";
    let skill = parse(full.as_bytes(), Some("tea")).unwrap();
    assert_eq!(skill.description, "Makes tea. Use it at five.");
    assert_eq!(skill.triggers, ["make tea", "cup of"]);
    assert_eq!(skill.allowed_tools, ["Read", "Bash(git:*)", "kettle"]);
    assert_eq!(skill.license.as_deref(), Some("MIT"));
    assert_eq!(skill.body, "# Tea\n\n---\nBoil water.");
    for (front, triggers) in [
        ("name: tea\ndescription: d", vec![]),
        ("name: \"tea\"\ndescription: 'a: b'\ntriggers: tea, green  tea ,", vec!["tea", "green tea"]),
        ("name: tea\ndescription: d\ntriggers:\n- a\n- b", vec!["a", "b"]),
        ("name: tea\ndescription: d\ntriggers:", vec![]),
        ("# a comment\nname: tea\ndescription: d\nallowed-tools: []", vec![]),
    ] {
        assert_eq!(parse(with(front).as_bytes(), Some("tea")).unwrap().triggers, triggers, "{front}");
    }
    assert!(parse(with("name: coffee\ndescription: d").as_bytes(), None).is_ok(), "without a folder any name is right");
}

#[test]
fn k4_what_is_wrong_is_told_with_its_line_and_what_to_do() {
    let long = "x".repeat(65);
    let described = "d".repeat(1_025);
    let deep = format!("name: tea\ndescription: d\nmetadata: {}1{}", "{a: ".repeat(40), "}".repeat(40));
    let many = format!("name: tea\ndescription: d\ntriggers: {}", "a,".repeat(51).replace("a,", "word,"));
    let bomb = "name: tea\ndescription: d\nmetadata:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: [*b, *b]";
    let table: Vec<(String, &str)> = vec![
        (String::new(), "1: it is empty"),
        ("# Tea\n".into(), "1: it must begin with a line of ---"),
        ("\n---\nname: tea\n---\nx".into(), "1: it must begin with"),
        ("---\nname: tea\ndescription: d\n".into(), "3: no second line of ---"),
        ("---\nname: tea\ndescription: d\n---\n".into(), "4: there are no instructions"),
        (with("description: d"), "2: the front matter has no `name:`"),
        (with("name: tea"), "2: the front matter has no `description:`"),
        (with("name: tea\ndescription: ' '"), "3: the description is empty"),
        (with(&format!("name: tea\ndescription: {described}")), "3: the description has more than 1024"),
        (with("name: Tea\ndescription: d"), "2: the name \"Tea\" may have small letters"),
        (with("name: tea pot\ndescription: d"), "2: the name \"tea pot\" may have"),
        (with("name: té\ndescription: d"), "2: the name \"té\" may have"),
        (with("name: ../tea\ndescription: d"), "2: the name \"../tea\" may have"),
        (with("name: -tea\ndescription: d"), "2: the name \"-tea\" may neither begin"),
        (with("name: te--a\ndescription: d"), "2: the name \"te--a\" may neither"),
        (with("name: ''\ndescription: d"), "2: the name is empty"),
        (with(&format!("name: {long}\ndescription: d")), "2: the name has more than 64"),
        (with("name: drafts\ndescription: d"), "2: the name \"drafts\" is taken"),
        (with("description: d\nname: coffee"), "3: the name \"coffee\" is not that of its folder, \"tea\""),
        (with("name: [tea]\ndescription: d"), "2: the front matter cannot be read"),
        (with("name: tea\nname: tea\ndescription: d"), "3: the front matter cannot be read"),
        (with("name: tea\ndescription: d\ntriggers: {a: b}"), "4: the front matter cannot be read"),
        (with("name: tea\ndescription: \"open"), "the front matter cannot be read"),
        (with("name: tea\n\tdescription: d"), "the front matter cannot be read"),
        (with("- name: tea"), "2: the front matter cannot be read"),
        (with("just words"), "2: the front matter cannot be read"),
        (with(bomb), "the front matter cannot be read"),
        (with(&deep), "the front matter cannot be read"),
        (with(&many), "4: there may be 50 triggers"),
        (
            with(&format!("name: tea\ndescription: d\nx: {}", "y".repeat(20_000))),
            "the front matter has more than 16 KiB",
        ),
        (format!("{}\0", with("name: tea\ndescription: d")), "6: there is a zero byte"),
        (
            format!("{}{}", with("name: tea\ndescription: d"), "x".repeat(BYTES_MAX)),
            "1: SKILL.md has more than 256 KiB",
        ),
    ];
    for (text, begins) in &table {
        let told = told(text);
        assert!(told.contains(begins) && !told.starts_with("good"), "{begins:?}, not {told:?} of\n{:.200}", text);
    }
    assert!(table.len() >= 25);
    let latin = parse(b"---\nname: tea\ndescription: \xe9\n---\nx", Some("tea")).unwrap_err();
    assert_eq!((latin.line, latin.why.as_str()), (3, "this is not UTF-8: save the file as UTF-8"));
}

proptest! {
    #[test]
    fn k4_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let read = parse(&bytes, None);
        prop_assert!(read.is_err() || bytes.starts_with(b"---"));
    }

    #[test]
    fn k4_whatever_stands_in_the_front_matter_a_name_is_a_name(front in "(name: [a-zA-Z./-]{0,12}\n)?(description: .{0,20}\n)?([a-z-]{1,8}: .{0,20}\n){0,3}") {
        if let Ok(skill) = parse(with(&front).as_bytes(), None) {
            prop_assert!(check_name(&skill.name).is_ok());
            prop_assert!(!skill.name.contains(['/', '.']) && !skill.description.is_empty());
        }
    }
}
