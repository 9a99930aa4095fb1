use super::*;
use crate::loaded_skills::{LoadedSkills, SkillFolders};

/// The skills that ship, and some of a household.
fn cards() -> Vec<SkillIndexEntry> {
    let home = tempfile::tempdir().unwrap();
    for (name, about, triggers) in [
        ("water-plants", "Which plants in the flat need water, when and how much.", "water the plants, giessen"),
        ("tax-return", "Collects receipts and forms for the yearly tax return.", "tax return, Steuererklärung"),
        ("guest-room", "Prepares the guest room before visitors arrive: sheets, towels, heating.", ""),
        ("bike-repair", "Repairs a bicycle: flat tyre, brakes, chain, gears.", ""),
        ("birthday-gifts", "Finds gift ideas for birthdays of family and friends within a budget.", ""),
    ] {
        let folder = home.path().join("own").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: \"{about}\"\ntriggers: {triggers}\n---\nDo it.\n");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    let shelf = LoadedSkills::load(&SkillFolders::of(home.path(), vec![home.path().join("own")]));
    assert!(shelf.quarantined.is_empty(), "{:?}", shelf.quarantined);
    shelf.skills.values().map(|shelved| SkillIndexEntry::of(&shelved.found.skill)).collect()
}

/// What was said, and the skill that is to come first; none: nothing fits.
const SAID: [(&str, Option<&str>); 46] = [
    ("Please research which heat pump fits a small house", Some("research")),
    ("Can you find out how much a train ticket to Vienna is?", Some("research")),
    ("Compare the three cheapest electricity providers", Some("research")),
    ("Recherchiere bitte, wann das Museum öffnet", Some("research")),
    ("What do the sources say about vitamin D?", Some("research")),
    ("Look up online whether the shop is open", Some("research")),
    ("Make a meal plan for next week", Some("plan-meals")),
    ("what shall we eat on Friday?", Some("plan-meals")),
    ("I have no idea what to cook tonight", Some("plan-meals")),
    ("Please write the shopping list for the weekend", Some("plan-meals")),
    ("Mach mir einen Essensplan", Some("plan-meals")),
    ("Plan the dinners of the week for the household", Some("plan-meals")),
    ("Some dinner ideas please", Some("plan-meals")),
    ("Draft a letter to my landlord", Some("draft-letter")),
    ("I want to cancel my contract with the gym", Some("draft-letter")),
    ("Help me with a complaint about the washing machine", Some("draft-letter")),
    ("Schreib eine Kündigung für mein Abo", Some("draft-letter")),
    ("write a cover letter for this job", Some("draft-letter")),
    ("I need a formal email to the school", Some("draft-letter")),
    ("an invitation letter for grandma's party", Some("draft-letter")),
    ("nginx does not start any more", Some("debug-command")),
    ("I get this error message: permission denied", Some("debug-command")),
    ("why does this fail? exit code 127", Some("debug-command")),
    ("Here is a stack trace of my script", Some("debug-command")),
    ("Der Dienst startet nicht", Some("debug-command")),
    ("my backup script fails with an error on this machine", Some("debug-command")),
    ("Summarize this article for me", Some("summarise")),
    ("Can you sum up the document?", Some("summarise")),
    ("tl;dr please", Some("summarise")),
    ("Here are my meeting notes, clean them up", Some("summarise")),
    ("Fasse zusammen, was im Protokoll steht", Some("summarise")),
    ("What are the key points of the contract?", Some("summarise")),
    ("Which plants need water today?", Some("water-plants")),
    ("my tax return is due, help", Some("tax-return")),
    ("get the guest room ready, visitors arrive on Friday", Some("guest-room")),
    ("my bicycle has a flat tyre", Some("bike-repair")),
    ("hi", None),
    ("good morning", None),
    ("thanks, that was great", None),
    ("remember that Anna's birthday is on 3 May", None),
    ("what time is it in Tokyo?", None),
    ("turn the light off", None),
    ("how are you today?", None),
    ("who is my sister?", None),
    ("remind me at five to call mum", None),
    ("what did I tell you about the car?", None),
];

#[test]
fn k4_skills_are_found_for_what_people_say() {
    let cards = cards();
    let mut wrong = Vec::new();
    for (said, wanted) in SAID {
        let found = fitting(&SkillQuery::of(said), &cards, &|_| None);
        if found.first().copied() != wanted {
            wrong.push(format!("{said:?}: {found:?}, not {wanted:?}"));
        }
        assert!(found.len() <= 3, "{said}: {found:?}");
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), SAID.len(), wrong.join("\n"));
}

#[test]
fn k4_meaning_finds_what_words_do_not() {
    let cards = cards();
    let question = SkillQuery::of("we are hungry");
    let near = |cosine: f32| move |name: &str| (name == "plan-meals").then_some(cosine);
    assert!(fitting(&question, &cards, &near(0.2)).is_empty());
    assert_eq!(fitting(&question, &cards, &near(0.6)), ["plan-meals"]);
    let shares_a_word = SkillQuery::of("friends come over");
    let gifts = |cosine: f32| move |name: &str| (name == "birthday-gifts").then_some(cosine);
    assert!(fitting(&shares_a_word, &cards, &gifts(0.2)).is_empty());
    assert_eq!(fitting(&shares_a_word, &cards, &gifts(0.35)), ["birthday-gifts"]);
}

#[test]
fn k4_at_most_five_are_shown() {
    let same = Skill {
        name: "x".to_owned(),
        description: "Paints walls.".to_owned(),
        triggers: vec!["paint".to_owned()],
        allowed_tools: Vec::new(),
        license: None,
        body: String::new(),
    };
    let cards: Vec<SkillIndexEntry> =
        (0..30).map(|n| SkillIndexEntry::of(&Skill { name: format!("paint-{n:02}"), ..same.clone() })).collect();
    let found = fitting(&SkillQuery::of("paint the walls"), &cards, &|_| None);
    assert_eq!(found, ["paint-00", "paint-01", "paint-02", "paint-03", "paint-04"]);
}
