//! Birthdays: a day of the year, and the year where it is known.

use std::fmt;

use jiff::civil::Date;

use hob_core::domain::lexicon;

/// A year in which 29 February is.
const LEAP_YEAR: i16 = 2_000;
/// Nobody was born before it who is spoken of in a household.
const FIRST_YEAR: i16 = 1_800;

/// A month's beginning will do, but shorter ones could be those of several.
const MONTH_CHARS_MIN: usize = 3;

/// Words around a date that say nothing of it.
const FILLERS: [&str; 10] = ["the", "of", "on", "in", "born", "der", "den", "dem", "am", "geboren"];

/// What stands behind a day's number.
const ORDINALS: [&str; 4] = ["st", "nd", "rd", "th"];

/// A birthday, stored as `1990-05-03`, or `--05-03` where the year is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Birthday {
    /// In the year of birth, or in [`LEAP_YEAR`].
    date: Date,
    year_known: bool,
}

/// Why words are no birthday; each says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BirthdayError {
    /// They are no date.
    #[error(
        "{0:?} is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), \"3 May 1990\" or \"3 May\"."
    )]
    Unreadable(String),
    /// There is no such day.
    #[error("{0:?} is a day that does not exist.")]
    NoSuchDay(String),
    /// Day and month could be either way round.
    #[error("{0:?} can be read in two ways: write the month as a word (\"3 May\"), or the date as 1990-05-03.")]
    Ambiguous(String),
    /// A year that cannot be one of birth.
    #[error("{0} is not a possible year of birth.")]
    NoYear(i64),
    /// It has yet to come.
    #[error("{0} has yet to come: a birthday is the day of birth.")]
    Future(Date),
}

impl Birthday {
    /// The birthday in a person's words, in English, German or numbers.
    ///
    /// # Errors
    /// When they are none, could be two, or have yet to come.
    pub fn parse(text: &str, today: Date) -> Result<Self, BirthdayError> {
        let text = text.trim();
        let parts = match numbers(text) {
            Some(parts) => parts?,
            None => parse_written_date(text)?,
        };
        let year = parts.year.map(|year| year_of(year, today)).transpose()?;
        let day = i8::try_from(parts.day).ok().zip(i8::try_from(parts.month).ok());
        let date = day.and_then(|(day, month)| Date::new(year.unwrap_or(LEAP_YEAR), month, day).ok());
        let date = date.ok_or_else(|| BirthdayError::NoSuchDay(text.to_owned()))?;
        if year.is_some() && date > today {
            return Err(BirthdayError::Future(date));
        }
        Ok(Self { date, year_known: year.is_some() })
    }

    /// What [`fmt::Display`] wrote.
    pub fn from_stored(text: &str) -> Option<Self> {
        let (date, year_known) = match text.strip_prefix("--") {
            Some(day) => (format!("{LEAP_YEAR}-{day}"), false),
            None => (text.to_owned(), true),
        };
        Some(Self { date: date.parse().ok()?, year_known })
    }

    /// The next one, today's included. Where there is no 29 February it is on the 28th.
    pub fn next(self, today: Date) -> Date {
        let this = self.in_year(today.year());
        if this < today { self.in_year(today.year().saturating_add(1)) } else { this }
    }

    /// How old somebody is on a birthday of theirs.
    pub fn age_on(self, day: Date) -> Option<i16> {
        self.year_known.then(|| day.year() - self.date.year())
    }

    /// One that both may be, with the year if one has it.
    #[must_use]
    pub fn joined(self, other: Self) -> Option<Self> {
        let day = |birthday: Self| (birthday.date.month(), birthday.date.day());
        let same_day = day(self) == day(other);
        match (self.year_known, other.year_known) {
            (true, true) => (self == other).then_some(self),
            (true, false) => same_day.then_some(self),
            (false, _) => same_day.then_some(other),
        }
    }

    /// For people: `3 May 1990`.
    pub fn in_words(self) -> String {
        self.date.strftime(if self.year_known { "%-d %B %Y" } else { "%-d %B" }).to_string()
    }

    fn in_year(self, year: i16) -> Date {
        let last = |day| Date::new(year, self.date.month(), day).ok();
        last(self.date.day()).or_else(|| last(28)).unwrap_or(self.date)
    }
}

impl fmt::Display for Birthday {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.year_known { self.date.fmt(f) } else { write!(f, "-{}", self.date.strftime("-%m-%d")) }
    }
}

/// A date's numbers, whether or not there is such a date.
struct DateParts {
    day: i64,
    month: i64,
    year: Option<i64>,
}

/// A date of numbers alone; none: it has words.
fn numbers(text: &str) -> Option<Result<DateParts, BirthdayError>> {
    let fields = |text: &str, sign: char| -> Option<Vec<i64>> {
        text.split(sign).map(|field| field.trim().parse().ok().filter(|number| *number >= 0)).collect()
    };
    if let Some([month, day]) = text.strip_prefix("--").and_then(|day| fields(day, '-')).as_deref() {
        return Some(Ok(DateParts { day: *day, month: *month, year: None }));
    }
    if let Some([year, month, day]) = fields(text, '-').as_deref() {
        return Some(Ok(DateParts { day: *day, month: *month, year: Some(*year) }));
    }
    // 3.5.1990 and 3.5. are German: the day is first.
    match fields(text.strip_suffix('.').unwrap_or(text), '.').as_deref() {
        Some([day, month, year]) => return Some(Ok(DateParts { day: *day, month: *month, year: Some(*year) })),
        Some([day, month]) => return Some(Ok(DateParts { day: *day, month: *month, year: None })),
        _ => {}
    }
    let slashed = fields(text, '/')?;
    let (first, second, year) = match slashed.as_slice() {
        [first, second] => (*first, *second, None),
        [first, second, year] => (*first, *second, Some(*year)),
        _ => return None,
    };
    Some(match (first > 12, second > 12) {
        (false, false) if first != second => Err(BirthdayError::Ambiguous(text.to_owned())),
        (false, true) => Ok(DateParts { day: second, month: first, year }),
        _ => Ok(DateParts { day: first, month: second, year }),
    })
}

/// A date with its month as a word: `3 May 1990`, `May 3rd, 1990`, `3. Mai`.
fn parse_written_date(text: &str) -> Result<DateParts, BirthdayError> {
    let unreadable = || BirthdayError::Unreadable(text.to_owned());
    let lower = text.to_lowercase();
    let (mut day, mut month, mut year) = (None, None, None);
    for word in lower.split([' ', ',', '.', '-', '\u{a0}']).filter(|word| !word.is_empty() && !FILLERS.contains(word)) {
        let bare = ORDINALS.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
        let slot = match (bare.parse::<i64>(), month_of(word)) {
            (Ok(number), _) if bare.len() <= 2 => day.replace(number),
            (Ok(number), _) => year.replace(number),
            (Err(_), Some(number)) => month.replace(number),
            (Err(_), None) => return Err(unreadable()),
        };
        if slot.is_some() {
            return Err(unreadable());
        }
    }
    let (Some(day), Some(month)) = (day, month) else { return Err(unreadable()) };
    Ok(DateParts { day, month, year })
}

/// Which month a word is, or begins like.
fn month_of(word: &str) -> Option<i64> {
    let begins = |names: &[&str]| names.iter().any(|name| name.starts_with(word));
    let found = (1..).zip(lexicon::MONTHS).find(|(_, names)| begins(names)).map(|(number, _)| number);
    found.filter(|_| word.chars().count() >= MONTH_CHARS_MIN)
}

fn year_of(year: i64, today: Date) -> Result<i16, BirthdayError> {
    let known = i16::try_from(year).ok().filter(|year| (FIRST_YEAR..=today.year()).contains(year));
    known.ok_or(BirthdayError::NoYear(year))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    const TODAY: Date = date(2027, 5, 4);

    #[test]
    fn k4_birthdays_are_read_as_people_write_them() {
        let table = [
            ("1990-05-03", "1990-05-03"),
            ("--05-03", "--05-03"),
            ("3 May 1990", "1990-05-03"),
            ("May 3", "--05-03"),
            ("May 3rd, 1990", "1990-05-03"),
            ("the 3rd of may", "--05-03"),
            ("3. Mai", "--05-03"),
            ("der 3. Mai 1990", "1990-05-03"),
            ("am 24. Dez.", "--12-24"),
            ("1. März 1977", "1977-03-01"),
            ("3.5.1990", "1990-05-03"),
            ("03.05.", "--05-03"),
            ("25/12", "--12-25"),
            ("12/25/1980", "1980-12-25"),
            ("4/4", "--04-04"),
            ("29 February", "--02-29"),
            ("29 Feb 1996", "1996-02-29"),
            ("4 May 2027", "2027-05-04"),
        ];
        for (text, expected) in table {
            let read = Birthday::parse(text, TODAY).map(|birthday| birthday.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn k4_what_is_no_birthday_is_refused_with_a_word_of_help() {
        let wrong = [
            "",
            "soon",
            "May",
            "1990",
            "3",
            "3 May 4",
            "3 May June",
            "31 April",
            "29 Feb 1997",
            "3/5/1990",
            "5 May 2027",
            "3 May 90",
            "3 May 1590",
            "1990-13-03",
            "2028-01-01",
            "--2-30",
            "3 Maybe not",
        ];
        let told = wrong.map(|text| Birthday::parse(text, TODAY).unwrap_err().to_string()).join("\n");
        insta::assert_snapshot!(told, @r#"
        "" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "soon" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "May" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "1990" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "3" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "3 May 4" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "3 May June" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "31 April" is a day that does not exist.
        "29 Feb 1997" is a day that does not exist.
        "3/5/1990" can be read in two ways: write the month as a word ("3 May"), or the date as 1990-05-03.
        2027-05-05 has yet to come: a birthday is the day of birth.
        "3 May 90" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        1590 is not a possible year of birth.
        "1990-13-03" is a day that does not exist.
        2028 is not a possible year of birth.
        "--2-30" is a day that does not exist.
        "3 Maybe not" is not a day that I can read. Write it as 1990-05-03, --05-03 (without the year), "3 May 1990" or "3 May".
        "#);
    }

    #[test]
    fn k4_the_next_birthday_and_the_age_then() {
        let table = [
            ("1990-05-03", "2028-05-03", Some(38)),
            ("1990-05-04", "2027-05-04", Some(37)),
            ("1990-05-05", "2027-05-05", Some(37)),
            ("--12-31", "2027-12-31", None),
            // Those born on 29 February have one each year.
            ("1996-02-29", "2028-02-29", Some(32)),
        ];
        for (stored, next, age) in table {
            let birthday = Birthday::from_stored(stored).unwrap();
            assert_eq!((birthday.next(TODAY).to_string().as_str(), birthday.age_on(birthday.next(TODAY))), (next, age));
        }
        let leap = Birthday::from_stored("--02-29").unwrap();
        assert_eq!(leap.next(date(2028, 3, 1)), date(2029, 2, 28));
        assert_eq!(leap.in_words(), "29 February");
        assert_eq!(Birthday::from_stored("soon"), None);
    }

    proptest! {
        #[test]
        fn k4_what_is_stored_is_read_again(year in 1_800_i16..=2_026, day in 0_i32..365, known: bool, today in 0_i32..4_000) {
            let date = date(year, 1, 1).saturating_add(jiff::Span::new().days(day));
            let text = if known { date.to_string() } else { format!("--{}", date.strftime("%m-%d")) };
            let birthday = Birthday::parse(&text, TODAY).unwrap();
            prop_assert_eq!(birthday.to_string(), text.clone());
            prop_assert_eq!(Birthday::from_stored(&text), Some(birthday));
            prop_assert_eq!(Birthday::parse(&birthday.in_words(), TODAY), Ok(birthday));
            let today = TODAY.saturating_add(jiff::Span::new().days(today));
            let next = birthday.next(today);
            prop_assert!(next >= today && next <= today.saturating_add(jiff::Span::new().days(366)));
        }

        #[test]
        fn k4_no_words_make_it_fail(text in ".{0,30}") {
            if let Ok(birthday) = Birthday::parse(&text, TODAY) {
                prop_assert_eq!(Birthday::from_stored(&birthday.to_string()), Some(birthday));
            }
        }
    }
}
