//! Cards of address books (RFC 6350), and birthdays. Pure.

use jiff::civil::Date;

use crate::lines::{Component, Line};

/// The most characters of one thing that a card says, and the most things of a kind: nobody has more.
const CHARS_MAX: usize = 300;
const VALUES_MAX: usize = 20;

/// Somebody, as a card has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contact {
    pub name: String,
    /// Where they work.
    pub organization: Option<String>,
    /// Their addresses of mail.
    pub emails: Vec<String>,
    /// Their telephones.
    pub(crate) phones: Vec<String>,
    /// Where they live or work.
    pub places: Vec<String>,
    pub birthday: Option<Birthday>,
    /// Whether it is a list of others.
    pub group: bool,
}

/// A birthday, perhaps without its year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Birthday {
    /// The year of birth.
    pub year: Option<i16>,
    pub month: i8,
    pub day: i8,
}

impl Birthday {
    /// The text of a card: `19801203`, `1980-12-03`, `--1203`, `--12-03`, each perhaps with a time.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().split(['T', ' ']).next()?;
        let (year, rest) = match text.strip_prefix("--") {
            Some(rest) => (None, rest.to_owned()),
            None => (Some(text.get(..4)?.parse().ok()?), text.get(4..)?.to_owned()),
        };
        let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
        if digits.len() != 4 {
            return None;
        }
        let (month, day) = (digits.get(..2)?.parse().ok()?, digits.get(2..)?.parse().ok()?);
        // 2000 has every day that there is.
        Date::new(2000, month, day).ok()?;
        // Apple's clients write this year for none.
        Some(Self { year: year.filter(|year| *year != 1604), month, day })
    }

    /// The next day on which it is, from this one on; on 28 February where that year has no 29th.
    pub fn next(&self, from: Date) -> Option<Date> {
        let in_year = |year| {
            Date::new(year, self.month, self.day).or_else(|_no_such_day| Date::new(year, self.month, self.day - 1)).ok()
        };
        in_year(from.year()).filter(|day| *day >= from).or_else(|| in_year(from.year().checked_add(1)?))
    }
}

impl Contact {
    /// The somebody of a card; none: it is no card, or nameless.
    pub fn parse(text: &str) -> Option<Self> {
        let card = Component::parse(text, "VCARD")?;
        let short = |words: &str| words.trim().chars().take(CHARS_MAX).collect::<String>();
        let value = |line: &Line| Some(short(&line.words())).filter(|words| !words.is_empty());
        let list = |name: &str| card.all(name).filter_map(value).take(VALUES_MAX).collect::<Vec<_>>();
        let bare = |list: Vec<String>, scheme: &str| -> Vec<String> {
            list.into_iter().map(|one| one.strip_prefix(scheme).map_or_else(|| one.clone(), str::to_owned)).collect()
        };
        let parts = |line: &Line| {
            let parts = line.value.split(';').map(crate::lines::unescaped);
            let parts = parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty());
            short(&parts.take(VALUES_MAX).collect::<Vec<_>>().join(", "))
        };
        let named = card.line("FN").and_then(value).or_else(|| card.line("N").map(parts));
        let group = card.line("KIND").or(card.line("X-ADDRESSBOOKSERVER-KIND"));
        Some(Self {
            name: named.filter(|name| !name.is_empty())?,
            organization: card.line("ORG").map(parts).filter(|org| !org.is_empty()),
            emails: bare(list("EMAIL"), "mailto:"),
            phones: bare(list("TEL"), "tel:"),
            places: card.all("ADR").map(parts).filter(|place| !place.is_empty()).take(VALUES_MAX).collect(),
            birthday: card.line("BDAY").and_then(|line| Birthday::parse(&line.value)),
            group: group.is_some_and(|line| line.value.eq_ignore_ascii_case("group")),
        })
    }

    /// Does each of the words stand in it?
    pub fn has(&self, words: &str) -> bool {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let own = [&self.name].into_iter().chain(&self.organization).chain(&self.emails).chain(&self.places);
        let own = own.map(|text| text.to_lowercase()).collect::<Vec<_>>().join("\n");
        words.to_lowercase().split_whitespace().all(|word| {
            let number = digits(word);
            own.contains(word) || (number.len() >= 4 && self.phones.iter().any(|phone| digits(phone).contains(&number)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_a_card_says_who_somebody_is() {
        let card = "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ben Hill\r\nORG:Acme\\, Ltd;Sales\r\nitem1.EMAIL;TYPE=home:ben@x.example\r\nTEL;VALUE=uri:tel:+49-30-1234567\r\n\
                    ADR:;;Main St 5;Town;;12345;\r\nBDAY:--0229\r\nPHOTO:data:xx\r\nEND:VCARD\r\n";
        let ben = Contact::parse(card).unwrap();
        assert_eq!((ben.name.as_str(), ben.organization.as_deref()), ("Ben Hill", Some("Acme, Ltd, Sales")));
        assert_eq!(
            (ben.emails.as_slice(), ben.phones.as_slice()),
            (["ben@x.example".to_owned()].as_slice(), ["+49-30-1234567".to_owned()].as_slice())
        );
        assert_eq!(ben.places, ["Main St 5, Town, 12345"]);
        assert!(ben.has("hill BEN") && ben.has("1234567") && ben.has("acme") && !ben.has("ben cleo") && !ben.has("99"));
        assert_eq!(Contact::parse("BEGIN:VCARD\r\nEND:VCARD\r\n"), None);
        let long = format!("BEGIN:VCARD\r\nFN:{}\r\n{}END:VCARD\r\n", "n".repeat(9_999), "TEL:1\r\n".repeat(9_999));
        let long = Contact::parse(&long).unwrap();
        assert_eq!((long.name.len(), long.phones.len()), (300, 20));
    }

    #[test]
    fn f3_a_birthday_comes_each_year_whatever_is_known_of_it() {
        let of = |text: &str| Birthday::parse(text);
        let known = Some(Birthday { year: Some(1980), month: 12, day: 3 });
        assert_eq!([of("19801203"), of("1980-12-03"), of("1980-12-03T00:00:00Z")], [known; 3]);
        assert_eq!((of("--1203").unwrap().year, of("1604-12-03").unwrap().year), (None, None));
        assert!(["", "1980", "19801303", "soon", "--"].iter().all(|text| of(text).is_none()));
        let next = |text: &str, from: &str| of(text).unwrap().next(from.parse().unwrap()).unwrap().to_string();
        assert_eq!(next("19801203", "2026-12-03"), "2026-12-03");
        assert_eq!(next("19801203", "2026-12-04"), "2027-12-03");
        assert_eq!(next("20000229", "2026-12-04"), "2027-02-28");
        assert_eq!(next("20000229", "2027-12-04"), "2028-02-29");
    }
}
