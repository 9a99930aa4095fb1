use super::*;

fn usd(amount: f64) -> PeriodCaps {
    PeriodCaps { usd: Some(Money::from_usd(amount)), tokens: None }
}

fn both(amount: f64, tokens: u64) -> PeriodCaps {
    PeriodCaps { tokens: Some(tokens), ..usd(amount) }
}

fn full() -> Budget {
    let none = PeriodCaps::default();
    Budget {
        run: Some(Money::from_usd(1.0)),
        house: CapsByPeriod { hour: both(2.0, 20), day: usd(3.0), month: both(4.0, 40) },
        person: CapsByPeriod { hour: both(0.5, 700), day: none, month: usd(5.0) },
        guest_month: Some(5_000),
        user_month: Some(9_000),
        personas: BTreeMap::from([(
            "cook".to_owned(),
            CapsByPeriod { hour: both(0.1, 10), day: none, month: usd(0.4) },
        )]),
    }
}

fn shown(budget: &Budget, role: Role, persona: Option<&str>, now: &str) -> String {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let windows = budget.windows(Payer { role, persona }, now.parse().unwrap(), &zone);
    let line = |CapWindow { cap, since, resets }: &CapWindow| {
        let resets = resets.as_ref().map_or("-".to_owned(), |at| at.strftime("%F %H:%M").to_string());
        format!("{} ({}; {}): {} since {since} until {resets}", cap.key, cap.scope.name(), cap.words, cap.most)
    };
    windows.iter().map(line).collect::<Vec<_>>().join("\n")
}

const AUTUMN: &str = "2026-10-25T10:00:00Z";

#[test]
fn c2_caps_follow_the_households_calendar_and_clock_changes() {
    insta::assert_snapshot!(shown(&full(), Role::Owner, Some("cook"), AUTUMN), @r"
    run_usd (run; one task): $1.00 since 2026-10-25T10:00:00Z until -
    hour_usd (hour; an hour): $2.00 since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    hour_tokens (hour; an hour): 20 tokens since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    day_usd (day; a day): $3.00 since 2026-10-24T22:00:00Z until 2026-10-26 00:00
    month_usd (month; a month): $4.00 since 2026-09-30T22:00:00Z until 2026-11-01 00:00
    month_tokens (month; a month): 40 tokens since 2026-09-30T22:00:00Z until 2026-11-01 00:00
    person_hour_usd (person_hour; one person's hour): $0.50 since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    hour_tokens (person_hour; an hour): 700 tokens since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    person_month_usd (person_month; one person's month): $5.00 since 2026-09-30T22:00:00Z until 2026-11-01 00:00
    hour_usd (persona_hour; an hour as cook): $0.10 since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    hour_tokens (persona_hour; an hour as cook): 10 tokens since 2026-10-25T09:00:00Z until 2026-10-25 12:00
    month_usd (persona_month; a month as cook): $0.40 since 2026-09-30T22:00:00Z until 2026-11-01 00:00
    ");
    assert_eq!(shown(&Budget::default(), Role::Guest, Some("cook"), AUTUMN), "");
    let day = Budget { house: CapsByPeriod { day: usd(3.0), ..CapsByPeriod::default() }, ..Budget::default() };
    assert_eq!(shown(&day, Role::Guest, None, AUTUMN).lines().count(), 1);
    // A persona without caps of its own, and nobody in particular.
    assert_eq!(shown(&full(), Role::Owner, Some("clerk"), AUTUMN), shown(&full(), Role::Owner, None, AUTUMN));
}

#[test]
fn c2_tokens_of_a_month_go_by_the_role_and_end_by_themselves() {
    let tokens = Budget { guest_month: Some(5_000), user_month: Some(9_000), ..Budget::default() };
    insta::assert_snapshot!(shown(&tokens, Role::Guest, None, AUTUMN), @"guest_month_tokens (person_month; a guest's month): 5000 tokens since 2026-09-30T22:00:00Z until 2026-11-01 00:00");
    insta::assert_snapshot!(shown(&tokens, Role::User, None, AUTUMN), @"user_month_tokens (person_month; a month): 9000 tokens since 2026-09-30T22:00:00Z until 2026-11-01 00:00");
    for role in [Role::Admin, Role::Owner] {
        assert_eq!(shown(&tokens, role, None, AUTUMN), "", "{role:?} have no limit by the month");
    }
    // The last moment of a month in the house's zone, and the first of the next, which is still the last in UTC.
    let since = |now| shown(&tokens, Role::Guest, None, now).split(" since ").nth(1).unwrap().to_owned();
    assert_eq!(since("2026-10-31T22:59:59.999Z"), "2026-09-30T22:00:00Z until 2026-11-01 00:00");
    assert_eq!(since("2026-10-31T23:00:00Z"), "2026-10-31T23:00:00Z until 2026-12-01 00:00");
}

#[test]
fn n10_journals_name_scopes_as_they_always_did() {
    let old = ["run", "hour", "day", "month", "person_month"];
    let read = old.map(|name| serde_json::from_value::<CapScope>(name.into()).unwrap());
    let (house, person) = (CapScope::House, CapScope::Person);
    assert_eq!(
        read,
        [
            CapScope::Run,
            house(CapPeriod::Hour),
            house(CapPeriod::Day),
            house(CapPeriod::Month),
            person(CapPeriod::Month)
        ]
    );
    for (scope, name) in NAMED {
        let written = serde_json::to_value(scope).unwrap();
        assert_eq!(written, name);
        assert_eq!(serde_json::from_value::<CapScope>(written).unwrap(), scope);
    }
    assert!(serde_json::from_value::<CapScope>("year".into()).is_err());
}

fn window(most: CapAmount, scope: CapScope) -> CapWindow {
    let cap = Cap { scope, most, key: "", words: String::new() };
    CapWindow { cap, since: Timestamp::UNIX_EPOCH, resets: None }
}

#[test]
fn n10_what_money_fits_and_what_is_told() {
    let window = window(CapAmount::Usd(Money::from_usd(1.0)), CapScope::Run);
    let table = [
        (0.0, 0.0, true, false),
        (0.0, 1.0, true, false),
        (0.0, 1.1, false, false),
        (0.8, 0.2, true, true),
        (0.8, 0.21, false, true),
        (1.0, 0.0, true, true),
        (1.2, 0.1, false, true),
    ];
    for (used, wanted, fits, told) in table {
        // Tokens make no difference.
        let sum = |usd| MoneyAndTokens { usd: Money::from_usd(usd), tokens: u64::MAX };
        let (used, wanted) = (sum(used), sum(wanted));
        assert_eq!((window.fits(used, wanted), window.is_nearly_used(used)), (fits, told), "{used:?} {wanted:?}");
    }
}

#[test]
fn c2_what_tokens_fit_and_what_is_told() {
    let (most, house) = (CapAmount::Tokens(5_000), CapScope::House(CapPeriod::Month));
    let table = [
        (0, 5_000, true, false),
        (0, 5_001, false, false),
        (3_999, 1, true, false),
        (4_000, 1, true, true),
        (4_999, 1, true, true),
        (4_999, 2, false, true),
        (5_000, 0, true, true),
        (5_001, 0, false, true),
        (u64::MAX, 1, false, true),
    ];
    for (used, wanted, fits, told) in table {
        // A price that nobody knows is no way around it.
        let sum = |tokens| MoneyAndTokens { usd: Money::ZERO, tokens };
        let (used, wanted) = (sum(used), sum(wanted));
        let window = window(most, house);
        assert_eq!((window.fits(used, wanted), window.is_nearly_used(used)), (fits, told), "{used:?} {wanted:?}");
    }
    let own = window(most, CapScope::Person(CapPeriod::Month));
    assert!(!own.is_told_ahead() && window(most, house).is_told_ahead(), "a person's own are in /status");
}

#[test]
fn n10_what_is_over_leaves_what_it_did_not_use() {
    let sum = |nanos, tokens| MoneyAndTokens { usd: Money::from_nanos(nanos), tokens };
    assert_eq!(sum(50, 900).minus(sum(40, 800)).plus(sum(7, 18)), sum(17, 118));
    assert_eq!(sum(1, 1).minus(sum(2, 2)), sum(-1, 0));
}
