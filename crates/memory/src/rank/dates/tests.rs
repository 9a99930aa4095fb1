use jiff::civil::{Date, date};

use super::{DateRange, closeness, mentioned_dates};

/// A Wednesday.
const TODAY: Date = date(2024, 5, 15);

fn days(from: Date, to: Date) -> DateRange {
    DateRange { from, to }
}

#[test]
fn e5_days_are_read_out_of_questions() {
    let on = |year, month, day| vec![days(date(year, month, day), date(year, month, day))];
    let table = [
        ("What did I do on 8 May, 2023?", on(2023, 5, 8)),
        ("1:56 pm on 8 May, 2023", on(2023, 5, 8)),
        ("on May 8th 2023", on(2023, 5, 8)),
        ("the 8th of May", on(2024, 5, 8)),
        ("am 8. Mai 2023", on(2023, 5, 8)),
        ("on 20 May", on(2023, 5, 20)),
        ("on 15 May", on(2024, 5, 15)),
        ("since 2024-02-29", on(2024, 2, 29)),
        ("am 8.5.2024", on(2024, 5, 8)),
        ("on 31 June", vec![]),
        ("in June 2023", vec![days(date(2023, 6, 1), date(2023, 6, 30))]),
        ("im März", vec![days(date(2024, 3, 1), date(2024, 3, 31))]),
        ("last December", vec![days(date(2023, 12, 1), date(2023, 12, 31))]),
        ("in May", vec![days(date(2024, 5, 1), date(2024, 5, 31))]),
        ("may I ask who will march", vec![]),
        ("in 2022", vec![days(date(2022, 1, 1), date(2022, 12, 31))]),
        ("the year 1899 or 2101", vec![]),
        ("today", on(2024, 5, 15)),
        ("was habe ich gestern gesagt", on(2024, 5, 14)),
        ("vorgestern", on(2024, 5, 13)),
        ("last Tuesday", on(2024, 5, 14)),
        ("last Wednesday", on(2024, 5, 8)),
        ("letzten Freitag", on(2024, 5, 10)),
        ("last week", vec![days(date(2024, 5, 6), date(2024, 5, 12))]),
        ("this week", vec![days(date(2024, 5, 13), date(2024, 5, 19))]),
        ("letzten Monat", vec![days(date(2024, 4, 1), date(2024, 4, 30))]),
        ("last year", vec![days(date(2023, 1, 1), date(2023, 12, 31))]),
        ("three days ago", on(2024, 5, 12)),
        ("vor zwei Wochen", vec![days(date(2024, 4, 28), date(2024, 5, 4))]),
        ("2 months ago", vec![days(date(2024, 2, 29), date(2024, 3, 30))]),
        ("a year ago", vec![days(date(2022, 11, 13), date(2023, 11, 14))]),
        ("between 3 May and 5 May", [on(2024, 5, 3), on(2024, 5, 5)].concat()),
        ("am 3.5. und am 20.5.", [on(2024, 5, 3), on(2023, 5, 20)].concat()),
        ("on 5/28/2023", on(2023, 5, 28)),
        ("on the 3rd", on(2024, 5, 3)),
        ("on the 31st", on(2024, 3, 31)),
        ("am 16. um 8 Uhr", on(2024, 4, 16)),
        ("am 3 Uhr", vec![]),
        ("what did I do on Tuesday?", on(2024, 5, 14)),
        ("am Mittwoch", on(2024, 5, 15)),
        ("the third, and Tuesday's dog", vec![]),
        ("the day before yesterday", on(2024, 5, 13)),
        ("what is tomorrow", on(2024, 5, 16)),
        ("was ist morgen? und übermorgen?", [on(2024, 5, 16), on(2024, 5, 17)].concat()),
        ("guten Morgen", vec![]),
        ("last night", on(2024, 5, 14)),
        ("letzte Nacht", on(2024, 5, 14)),
        ("last weekend", vec![days(date(2024, 5, 11), date(2024, 5, 12))]),
        ("am letzten Wochenende", vec![days(date(2024, 5, 11), date(2024, 5, 12))]),
        ("this Tuesday", on(2024, 5, 14)),
        ("next week", vec![]),
        ("letzten Winter", vec![days(date(2023, 12, 1), date(2024, 2, 29))]),
        ("vorletzte Woche", vec![days(date(2024, 4, 29), date(2024, 5, 5))]),
        ("the week before last", vec![days(date(2024, 4, 29), date(2024, 5, 5))]),
        ("in the last three days", vec![days(date(2024, 5, 12), TODAY)]),
        ("in den letzten zwei Wochen", vec![days(date(2024, 4, 28), TODAY)]),
        ("a few days ago", on(2024, 5, 12)),
        ("vor ein paar Tagen", on(2024, 5, 12)),
        ("a couple of weeks ago", vec![days(date(2024, 4, 28), date(2024, 5, 4))]),
        ("Was war im Mai 2023?", vec![days(date(2023, 5, 1), date(2023, 5, 31))]),
        ("during May", vec![days(date(2024, 5, 1), date(2024, 5, 31))]),
        ("last summer", vec![days(date(2023, 6, 1), date(2023, 8, 31))]),
        ("diesen Frühling", vec![days(date(2024, 3, 1), date(2024, 5, 31))]),
        ("last fall", vec![days(date(2023, 9, 1), date(2023, 11, 30))]),
        ("what do we do in winter, or at Easter?", vec![]),
        ("summer 2022", vec![days(date(2022, 6, 1), date(2022, 8, 31))]),
        ("spring to it and fall down", vec![]),
        ("last Christmas", vec![days(date(2023, 12, 24), date(2023, 12, 26))]),
        ("Weihnachten 2022", vec![days(date(2022, 12, 24), date(2022, 12, 26))]),
        ("last New Year's Eve", on(2023, 12, 31)),
        ("letzte Ostern", vec![days(date(2024, 3, 29), date(2024, 4, 1))]),
        ("how many dogs, 12 or 13", vec![]),
        ("the last dog, this cat, vor allem, long ago", vec![]),
        ("", vec![]),
    ];
    for (text, expected) in table {
        assert_eq!(mentioned_dates(text, TODAY), expected, "{text}");
    }
}

#[test]
fn e5_a_day_is_close_to_what_is_spoken_of() {
    let may = days(date(2024, 5, 10), date(2024, 5, 20));
    let table = [
        (date(2024, 5, 10), 1.0),
        (date(2024, 5, 20), 1.0),
        (date(2024, 5, 21), 0.9 * (-0.1_f64).exp()),
        (date(2024, 5, 30), 0.9 * (-1.0_f64).exp()),
        (date(2024, 5, 9), 0.6 * (-1.0_f64 / 7.0).exp()),
        (date(2024, 5, 3), 0.6 * (-1.0_f64).exp()),
    ];
    for (day, expected) in table {
        assert!((closeness(day, &[may]) - expected).abs() < 1e-9, "{day}: {}", closeness(day, &[may]));
    }
    let june = days(date(2024, 6, 1), date(2024, 6, 1));
    assert_eq!(closeness(date(2024, 6, 1), &[may, june]), 1.0);
    assert_eq!(closeness(date(2024, 6, 1), &[]), 0.0);
}
