//! A rule in words, such that reading them gives the same rule.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use crate::policy::schedule::{Rule, Unit, moment};

pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ORDINALS: [&str; 4] = ["first", "second", "third", "fourth"];
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Rule {
    /// It, for people.
    pub fn in_words(&self, zone: &TimeZone) -> String {
        match self {
            Self::Cron { expression } => of_cron(expression).unwrap_or_else(|| format!("cron {expression}")),
            Self::Every { count, unit, from } => {
                let unit = match unit {
                    Unit::Minutes => "minutes",
                    Unit::Hours => "hours",
                    Unit::Days => "days",
                    Unit::Weeks => "weeks",
                };
                let time = from.strftime(if from.second() == 0 { "%H:%M" } else { "%H:%M:%S" });
                format!("every {count} {unit} from {} at {time}", from.strftime("%-d %B %Y"))
            }
            Self::Once { at } => {
                let local = at.to_zoned(zone.clone());
                let mut words = format!("on {} at {}", local.strftime("%-d %B %Y"), local.strftime("%H:%M"));
                if local.second() != 0 {
                    write_to(&mut words, format_args!(":{:02}", local.second()));
                }
                if moment(zone, local.datetime()) != Some(*at) {
                    write_to(&mut words, format_args!(" {}", local.strftime("%:z")));
                }
                words
            }
        }
    }
}

/// Writing to a text cannot fail.
fn write_to(text: &mut String, words: std::fmt::Arguments<'_>) {
    if text.write_fmt(words).is_err() {
        text.clear();
    }
}

/// What of cron has words; the rest stays as it is written.
fn of_cron(expression: &str) -> Option<String> {
    let fields: Vec<&str> = expression.split(' ').collect();
    let [minute, hour, day, month, weekday] = fields[..] else { return None };
    if let Some(period) = period(minute, hour) {
        let days = match (day, month, weekday) {
            ("*", "*", "*") => String::new(),
            ("*", "*", days) if !days.contains('#') => format!(" {}", on_days(days)?),
            _ => return None,
        };
        return Some(format!("{period}{days}"));
    }
    let days = match (day, month, weekday) {
        ("*", "*", "*") => "every day".to_owned(),
        ("*", "*", days) => on_days(days)?,
        ("L", "*", "*") => "on the last day of the month".to_owned(),
        (day, "*", "*") => format!("on the {} of the month", ordinal(number(day, 1, 31)?)),
        (day, month, "*") => {
            let month = MONTHS.get(number(month, 1, 12)? as usize - 1)?;
            format!("every year on {} {month}", number(day, 1, 31)?)
        }
        _ => return None,
    };
    Some(format!("{days} at {}", times(minute, hour)?))
}

/// Every so many minutes or hours.
fn period(minute: &str, hour: &str) -> Option<String> {
    if let Some(count) = minute.strip_prefix("*/") {
        let count = number(count, 1, 59).filter(|count| 60 % count == 0)?;
        return Some(match hour {
            "*" => format!("every {count} minutes"),
            range => {
                let (from, to) = range.split_once('-')?;
                let (from, to) = (number(from, 0, 23)?, number(to, 0, 22)?);
                (from <= to).then(|| format!("every {count} minutes between {from:02}:00 and {:02}:00", to + 1))?
            }
        });
    }
    match (minute, hour) {
        ("0", "*") => Some("every hour".to_owned()),
        ("0", hours) if hours.starts_with("*/") => {
            let count = number(&hours[2..], 2, 12).filter(|count| 24 % count == 0)?;
            Some(format!("every {count} hours"))
        }
        ("0", range) => {
            let (from, to) = range.split_once('-')?;
            let (from, to) = (number(from, 0, 23)?, number(to, 0, 23)?);
            (from < to).then(|| format!("every hour between {from:02}:00 and {to:02}:00"))
        }
        _ => None,
    }
}

/// `1-5`, `0,6`, `1,4`, `1#2`, `5#L`.
fn on_days(days: &str) -> Option<String> {
    match days {
        "1-5" => return Some("on weekdays".to_owned()),
        "0,6" => return Some("on weekends".to_owned()),
        _ => {}
    }
    if let Some((day, nth)) = days.split_once('#') {
        let nth = match nth {
            "L" => "last",
            nth => ORDINALS.get(number(nth, 1, 4)? as usize - 1)?,
        };
        return Some(format!("on the {nth} {} of the month", WEEKDAYS[number(day, 0, 6)? as usize]));
    }
    let numbers = days.split(',').map(|day| number(day, 0, 6)).collect::<Option<Vec<_>>>()?;
    // These have words of their own, which are read as what is shorter.
    if matches!(numbers[..], [1, 2, 3, 4, 5] | [0, 1, 2, 3, 4, 5, 6]) {
        return None;
    }
    let names = numbers.iter().map(|day| WEEKDAYS[*day as usize]).collect::<Vec<_>>();
    numbers.is_sorted_by(|one, other| one < other).then(|| format!("every {}", names.join(" and ")))
}

/// One minute, at one hour or several.
fn times(minute: &str, hours: &str) -> Option<String> {
    let minute = number(minute, 0, 59)?;
    let hours = hours.split(',').map(|hour| number(hour, 0, 23)).collect::<Option<Vec<_>>>()?;
    let sorted = hours.is_sorted_by(|one, other| one < other);
    let times = hours.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect::<Vec<_>>();
    sorted.then(|| times.join(" and "))
}

/// A number as it is usually written: no sign, no zeros before it.
fn number(text: &str, min: u32, max: u32) -> Option<u32> {
    let number = text.parse::<u32>().ok()?;
    ((min..=max).contains(&number) && number.to_string() == text).then_some(number)
}

fn ordinal(day: u32) -> String {
    let ending = match (day % 10, day) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}
