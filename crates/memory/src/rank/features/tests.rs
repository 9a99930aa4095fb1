use jiff::civil::date;

use super::{OF_MEANING, RankQuestion, RankSession, RankTurn, describe, embedded, is_informative, search_stems};
use crate::rank::dates;
use crate::rank::gist::{TextDigest, hash};
use crate::rank::late::TokenBinaryCodes;
use crate::rank::lexical::Term;

fn question(text: &str) -> RankQuestion {
    let terms =
        search_stems(text, &["Anna", "Ben"]).into_iter().map(|stem| Term { stem: hash(&stem), worth: 1.0 }).collect();
    RankQuestion {
        text: text.to_owned(),
        terms,
        days: dates::mentioned_dates(text, date(2024, 5, 15)),
        tokens: TokenBinaryCodes::default(),
    }
}

/// A session of the 8 May 2024; each turn is a candidate.
fn session(turns: &[(&str, &str)]) -> RankSession {
    let turn = |(id, (speaker, text)): (i64, &(&str, &str))| RankTurn {
        id,
        speaker: (*speaker).to_owned(),
        gist: TextDigest::of(text),
        is_candidate: true,
        ..RankTurn::default()
    };
    RankSession { day: date(2024, 5, 8), turns: (0..).zip(turns).map(turn).collect() }
}

/// One feature of each candidate.
fn feature(at: usize, question: &RankQuestion, sessions: &[RankSession]) -> Vec<f64> {
    describe(question, sessions).iter().map(|one| one.features[at]).collect()
}

#[test]
fn e5_names_and_stop_words_are_not_looked_for() {
    let table: [(&str, &[&str]); 5] = [
        ("When did Anna go to the mountains with Ben?", &["go", "mountain"]),
        ("Wann war ich in den Bergen?", &["bergen"]),
        ("dogs and a dog", &["dog"]),
        ("Who is Anna?", &["anna"]),
        ("who is it", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(search_stems(text, &["Anna", "Ben Miller"]), expected, "{text}");
    }
}

#[test]
fn e5_a_turn_is_embedded_with_the_one_before() {
    assert_eq!(embedded(None, ("Anna", "hi")), ("Anna: hi".to_owned(), 0));
    let (text, own) = embedded(Some(("Ben", "how are you?")), ("Anna", "fine"));
    assert_eq!((text.as_str(), &text[own..]), ("Ben: how are you?\nAnna: fine", "Anna: fine"));
    for (token, expected) in [("dog", true), ("the", false), (":", false), ("##s", false), ("3", true)] {
        assert_eq!(is_informative(token), expected, "{token}");
    }
}

#[test]
fn e5_words_count_in_the_neighbourhood_and_in_the_session() {
    let far = session(&[("Anna", "a dog"), ("Ben", "x"), ("Anna", "x"), ("Ben", "x"), ("Anna", "x")]);
    let other = session(&[("Anna", "x x x"), ("Ben", "x x")]);
    let asked = question("the dog");
    let nearby = feature(0, &asked, &[far.clone(), other.clone()]);
    assert!(
        nearby[..3].iter().all(|&score| score > 0.0) && nearby[3..].iter().all(|&score| score == 0.0),
        "{nearby:?}"
    );
    let own = feature(12, &asked, &[far.clone(), other.clone()]);
    assert!(own[0] > 0.0 && own[1..].iter().all(|&score| score == 0.0), "{own:?}");
    let whole = feature(1, &asked, &[far, other]);
    assert!(whole[..5].iter().all(|&score| score == whole[0] && score > 0.0) && whole[5..] == [0.0, 0.0], "{whole:?}");
}

#[test]
fn e5_only_candidates_are_described() {
    let mut one = session(&[("Anna", "x"), ("Ben", "y")]);
    one.turns[0].is_candidate = false;
    one.turns[1].cosine = Some(0.25);
    let described = describe(&question("x"), &[one]);
    assert_eq!(described.len(), 1);
    assert_eq!((described[0].id, described[0].features[2]), (1, 0.25));
    assert!(described[0].features[0] > 0.0, "what stands before it counts");
    assert!(describe(&question("x"), &[]).is_empty());
}

#[test]
fn e5_what_hob_asked_for_is_an_answer() {
    let mut one = session(&[("Anna", "in the garden"), ("Anna", "yes")]);
    one.turns[0].is_asked_for = true;
    assert_eq!(feature(8, &question("x"), &[one]), [1.0, 0.0]);
}

#[test]
fn e5_tokens_are_looked_for_in_a_turn_before_it_and_around_it() {
    let signs = |value: f32| TokenBinaryCodes::new([[value; 64].as_slice()]);
    let mut one = session(&[("A", "x"), ("B", "x"), ("A", "x"), ("B", "x"), ("A", "x"), ("B", "x")]);
    for turn in &mut one.turns {
        (turn.tokens, turn.cosine) = (signs(-1.0), Some(0.0));
    }
    one.turns[2].tokens = signs(1.0);
    let asked = RankQuestion { tokens: signs(1.0), ..question("x") };
    let all = [one.clone()];
    let found = |at| feature(at, &asked, &all).iter().map(|score| *score > 0.5).collect::<Vec<_>>();
    assert_eq!(found(3), [false, false, true, false, false, false]);
    assert_eq!(found(4), [false, false, true, true, false, false]);
    assert_eq!(found(5), [true, true, true, true, true, false]);
    // What waits for its vector is not known to be alike, nor to be unlike.
    one.turns[1].cosine = None;
    let described = describe(&asked, &[one]);
    assert!(!described[1].has_meaning && described[1].features[OF_MEANING] == [0.0; 4] && described[2].has_meaning);
}

#[test]
fn e5_what_is_said_about_a_turn_is_a_table() {
    let turns = [
        ("Anna", "How many dogs do you have?"),
        ("Ben Miller", "Two dogs, since last week."),
        ("Anna", "nice"),
        ("Anna", "I have 3 of them"),
    ];
    let one = [session(&turns)];
    let table: [(&str, usize, [f64; 4]); 10] = [
        ("where?", 6, [0.0; 4]),
        ("on 8 May", 6, [1.0; 4]),
        ("what did Miller say", 7, [0.0, 1.0, 0.0, 0.0]),
        ("what did she say", 7, [0.0; 4]),
        ("x", 8, [0.0, 1.0, 0.0, 0.0]),
        ("x", 9, [1.0, 0.0, 0.0, 0.0]),
        ("when was it", 10, [0.0, 1.0, 0.0, 0.0]),
        ("where was it", 10, [0.0; 4]),
        ("wie viele hat sie", 11, [1.0, 1.0, 0.0, 1.0]),
        ("how is she", 11, [0.0; 4]),
    ];
    for (text, at, expected) in table {
        assert_eq!(feature(at, &question(text), &one), expected, "{text} {at}");
    }
}
