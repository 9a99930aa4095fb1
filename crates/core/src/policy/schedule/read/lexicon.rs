//! Words, and what they stand for.

use jiff::civil::{Date, Time};

use crate::domain::lexicon;
use crate::policy::schedule::Unit;
use crate::policy::schedule::words::ORDINALS;

/// German, word by word; the days and months are in the lexicon.
const GERMAN: &[(&str, &str)] = &[
    ("jeden", "every"),
    ("jede", "every"),
    ("jedes", "every"),
    ("alle", "every"),
    ("werktag", "weekdays"),
    ("werktags", "weekdays"),
    ("werktage", "weekdays"),
    ("wochenende", "weekends"),
    ("täglich", "daily"),
    ("stündlich", "hourly"),
    ("morgen", "tomorrow"),
    ("heute", "today"),
    ("um", "at"),
    ("uhr", "o'clock"),
    ("ab", "from"),
    ("zwischen", "between"),
    ("von", "from"),
    ("bis", "to"),
    ("und", "and"),
    ("der", "the"),
    ("den", "the"),
    ("dem", "the"),
    ("des", "of"),
    ("im", "of"),
    ("einer", "a"),
    ("einem", "a"),
    ("ein", "a"),
    ("eine", "a"),
    ("halben", "half"),
    ("übermorgen", "overmorrow"),
    ("vormittag", "morning"),
    ("nachmittag", "afternoon"),
    ("abend", "evening"),
    ("früh", "morning"),
    ("stunde", "hour"),
    ("stunden", "hours"),
    ("minuten", "minutes"),
    ("sekunde", "second"),
    ("sekunden", "seconds"),
    ("tag", "day"),
    ("tage", "days"),
    ("tagen", "days"),
    ("woche", "week"),
    ("wochen", "weeks"),
    ("monat", "month"),
    ("monats", "month"),
    ("jahr", "year"),
    ("jahres", "year"),
    ("zweiten", "second"),
    ("ersten", "first"),
    ("erster", "first"),
    ("dritten", "third"),
    ("vierten", "fourth"),
    ("letzten", "last"),
    ("nächsten", "next"),
    ("kommenden", "next"),
    ("mittags", "noon"),
    ("mittag", "noon"),
    ("mitternacht", "midnight"),
];

/// The words of a text: small, without what only separates them, in English, with numbers as digits.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace([',', ';'], " ");
    let plain = lower.split_whitespace().map(|word| word.trim_end_matches(['.', '!']));
    let mut words: Vec<String> = Vec::new();
    for word in plain.filter(|word| !word.is_empty()) {
        // "am Freitag" is on Friday; "9 am" is before noon.
        let after_number = words.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let word = match word {
            "am" if !after_number => "on",
            "a.m" => "am",
            "p.m" => "pm",
            other => GERMAN.iter().find(|(german, _)| *german == other).map_or(other, |(_, english)| english),
        };
        if word == "fortnight" {
            words.pop_if(|last| last == "a");
            words.extend(["2", "weeks"].map(str::to_owned));
        } else if let Some(number) = lexicon::number(word) {
            words.push(number.to_string());
        } else if let Some(instant) = iso_instant(word) {
            words.extend(instant);
        } else {
            words.push(word.to_owned());
        }
    }
    words
}

/// `2026-12-24t18:00:00.000z` as the date, the time and the offset in it, as programs and models write them.
fn iso_instant(word: &str) -> Option<Vec<String>> {
    let (day, rest) = word.split_once('t').filter(|(day, _)| day.parse::<Date>().is_ok())?;
    let (rest, offset) = match (rest.strip_suffix('z'), rest.find(['+', '-'])) {
        (Some(rest), _) => (rest, Some("+00:00")),
        (None, Some(at)) => (&rest[..at], Some(&rest[at..])),
        (None, None) => (rest, None),
    };
    let time = rest.split_once('.').map_or(rest, |(whole, _)| whole);
    Some([Some(day), Some(time), offset].into_iter().flatten().map(str::to_owned).collect())
}

/// A part of the day, in which the clock's twelve hours are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayHalf {
    Morning,
    /// Afternoon or evening.
    Later,
}

pub(super) fn day_half(word: &str) -> Option<DayHalf> {
    match word {
        "morning" => Some(DayHalf::Morning),
        "afternoon" | "evening" => Some(DayHalf::Later),
        _ => None,
    }
}

impl DayHalf {
    /// The time that `time` is in it; none: it is not in it, or can mean two things.
    pub(super) fn time(self, time: Time) -> Option<Time> {
        match (self, time.hour()) {
            (Self::Morning, 0..=11) | (Self::Later, 13..) => Some(time),
            (Self::Later, hour @ 1..=11) => Time::new(hour + 12, time.minute(), time.second(), 0).ok(),
            _ => None,
        }
    }
}

/// The day of the week, from Sunday, and whether it is spoken of as many.
pub(super) fn weekday(word: &str) -> Option<(u8, bool)> {
    let named = |word: &str| lexicon::WEEKDAYS.iter().position(|names| names.contains(&word));
    // A schedule speaks of days: there, the short forms are no other words.
    let is_short = word.len() == 3 || matches!(word, "tues" | "wednes" | "thur" | "thurs");
    let short = || lexicon::WEEKDAYS.iter().position(|names| is_short && names[0].starts_with(word));
    let one = named(word).or_else(short).map(|day| (day, false));
    let (day, many) = one.or_else(|| Some((named(word.strip_suffix('s')?)?, true)))?;
    Some((u8::try_from(day).ok()?, many))
}

/// First to fourth; 5: the last.
pub(super) fn ordinal(word: &str) -> Option<u8> {
    if word == "last" {
        return Some(5);
    }
    let index = ORDINALS.iter().position(|ordinal| *ordinal == word)?;
    u8::try_from(index + 1).ok()
}

/// 24, 24th.
pub(super) fn day_of_month(word: &str) -> Option<i8> {
    let digits = word.strip_suffix("st").or_else(|| word.strip_suffix("nd")).or_else(|| word.strip_suffix("rd"));
    let digits = digits.or_else(|| word.strip_suffix("th")).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// The unit of a period.
pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minutes,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hours,
        "d" | "day" | "days" => Unit::Days,
        "w" | "week" | "weeks" => Unit::Weeks,
        _ => return None,
    })
}

/// What the time until something is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AheadUnit {
    /// Nothing is due again after so few.
    Seconds,
    Of(Unit),
}

pub(super) fn ahead_unit(word: &str) -> Option<AheadUnit> {
    match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(AheadUnit::Seconds),
        _ => unit(word).map(AheadUnit::Of),
    }
}

/// A count with its unit in one word, like `2h`.
pub(super) fn counted<T>(word: &str, unit: impl Fn(&str) -> Option<T>) -> Option<(u32, T)> {
    let at = word.find(|c: char| !c.is_ascii_digit())?;
    let (count, rest) = word.split_at(at);
    Some((count.parse().ok()?, unit(rest)?))
}

/// 8:30, 8:30:10, 8.30, 3pm, 3:30pm, noon; a number alone only where `hour_alone`.
pub(super) fn time(word: &str, hour_alone: bool) -> Option<Time> {
    match word {
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Time::new(0, 0, 0, 0).ok(),
        _ => {}
    }
    let (clock, shift) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(clock), _) => (clock, Some(0)),
        (_, Some(clock)) => (clock, Some(12)),
        (None, None) => (word, None),
    };
    let fields: Vec<&str> = clock.split(':').collect();
    if fields.iter().any(|field| field.is_empty() || field.len() > 2 || !field.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let numbers = fields.iter().map(|field| field.parse::<i8>()).collect::<Result<Vec<_>, _>>().ok()?;
    let (hour, minute, second) = match numbers[..] {
        [hour] if hour_alone || shift.is_some() => (hour, 0, 0),
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = match shift {
        Some(shift) if (1..=12).contains(&hour) => hour % 12 + shift,
        Some(_) => return None,
        None => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}
