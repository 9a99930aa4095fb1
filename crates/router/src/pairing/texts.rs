//! The words about who is let in.

use hob_core::domain::inbound::DEFAULT_ACCOUNT;
use hob_core::domain::principal::Role;
use hob_core::domain::text::chosen_name;
use hob_core::policy::access::AccessList;
use hob_core::policy::pairing::Code;
use hob_store::members::Member;
use hob_store::pairings::PendingPairing;

/// To somebody who was let in.
pub(crate) const PAIRED: &str = "You are let in: we can talk now. /help shows what can be said besides.";
/// To somebody who said the daemon's code.
pub(crate) const OWNER: &str = "You are my owner now. /people shows who may talk with me, /pair CODE lets others in. If schedules, \
     webhooks or the heartbeat are configured, they begin within a minute.";
/// A code that nobody has.
pub(crate) const WRONG: &str =
    "Nobody has that code. Codes hold an hour and work once; whoever writes to me anew gets another.";
/// Too many codes that nobody has.
pub(crate) const TOO_MANY: &str = "Too many wrong codes. Wait an hour, or use `hob pair CODE` on my machine.";
/// `/pair` and its like, by somebody else.
pub(crate) const OWNERS_ONLY: &str = "Only an owner can do that.";
/// `/pair` where others read along.
pub(crate) const NOT_HERE: &str = "Not here, where others read along: send me that in private.";
/// `/pair` without a code.
pub(crate) const PAIR_WHAT: &str = "Whoever writes to me without being let in gets a code. /pair CODE lets them in, /pair CODE guest \
     or /pair CODE admin with less or more.";
/// `/unpair` without a name.
pub(crate) const UNPAIR_WHOM: &str =
    "Whom? /people shows everybody; /unpair NAME or /unpair p3 lets that one in no longer.";

/// To a stranger.
pub(super) fn offered(code: &Code, is_first: bool) -> String {
    let code = code.shown();
    let first = if is_first {
        "\nAre you setting me up? I printed another code when I started: send me `/pair` and that one."
    } else {
        ""
    };
    format!(
        "I do not know you yet. Your pairing code is {code}. It holds for an hour: ask my owner to send me `/pair {code}`, or \
         to run `hob pair {code}` on my machine.{first}"
    )
}

/// To an owner who let somebody in.
pub(super) fn confirmed(pairing: &PendingPairing, role: Role) -> String {
    let (name, at) = (chosen_name(&pairing.name), at(&pairing.channel, &pairing.account));
    format!("{name} ({at}) may talk with me now, as {}. I have told them. /people shows everybody.", role.as_str())
}

/// `/people`.
pub(super) fn people(members: &[Member], waiting: &[PendingPairing], access: &AccessList) -> String {
    let mut lines = Vec::new();
    for ((channel, account), door) in &access.doors {
        let count = |role| door.roles.values().filter(|known| **known == role).count();
        let roles = [Role::Owner, Role::Admin, Role::User, Role::Guest].map(|role| (count(role), role.as_str()));
        let mut named: Vec<String> =
            roles.iter().filter(|(count, _)| *count > 0).map(|(count, role)| format!("{count} as {role}")).collect();
        named.extend(door.guests.then(|| "everybody else as guest".to_owned()));
        let named = if named.is_empty() { "nobody".to_owned() } else { named.join(", ") };
        lines.push(format!("{}, by config.toml: {named}", at(channel.as_str(), account)));
    }
    let member = |member: &Member| {
        let at = at(&member.channel, &member.account);
        format!("p{} {} – {}, {at}", member.id, chosen_name(&member.name), member.role.as_str())
    };
    lines.extend(members.iter().map(member));
    lines.extend(
        waiting
            .iter()
            .map(|one| format!("waits to be let in: {}, {}", chosen_name(&one.name), at(&one.channel, &one.account))),
    );
    if lines.is_empty() { "Nobody but whoever sits at my machine.".to_owned() } else { lines.join("\n") }
}

/// A name that nobody has, or several.
pub(super) fn unpair_whom(who: &str, named: &[&Member]) -> String {
    if named.is_empty() {
        return format!("Nobody who was paired is called {}. /people shows everybody.", chosen_name(who));
    }
    let which: Vec<String> = named.iter().map(|member| format!("p{}", member.id)).collect();
    format!("Several are called {}: {}. /people shows them.", chosen_name(who), which.join(", "))
}

/// Somebody is paired no longer; `still`: what the config lets them do.
pub(super) fn unpaired(member: &Member, still: Option<Role>) -> String {
    let name = chosen_name(&member.name);
    match still {
        None => format!("{name} is not let in any more."),
        Some(role) => format!("{name} is not paired any more, but config.toml lets them in as {}.", role.as_str()),
    }
}

fn at(channel: &str, account: &str) -> String {
    if account == DEFAULT_ACCOUNT { channel.to_owned() } else { format!("{channel} ({account})") }
}
