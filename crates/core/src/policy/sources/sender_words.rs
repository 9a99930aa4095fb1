//! What of a message counts for its sender's own words.

/// What begins a line that others' words stand in: a quotation, a note of Hob's about files and the like.
const SET_OFF: [&str; 4] = [">", "＞", "|", "["];
/// What stands before and behind what is set off as a whole: a fence, on a line of its own or within one.
const FENCE: &str = "```";
/// The same at the beginning of a line alone.
const OTHER_FENCE: &str = "~~~";
/// With this begins a quotation that goes to the end, as on Discord.
const ALL_QUOTED: &str = ">>>";
/// With these words begins what somebody sends on, in the languages of common programs.
const SENT_ON: [&str; 24] = [
    "forwarded message",
    "begin forwarded message",
    "original message",
    "weitergeleitete nachricht",
    "ursprüngliche nachricht",
    "anfang der weitergeleiteten nachricht",
    "message transféré",
    "message d'origine",
    "mensaje reenviado",
    "mensaje original",
    "mensagem encaminhada",
    "mensagem original",
    "messaggio inoltrato",
    "messaggio originale",
    "doorgestuurd bericht",
    "oorspronkelijk bericht",
    "пересланное сообщение",
    "пересылаемое сообщение",
    "исходное сообщение",
    "przekazana wiadomość",
    "iletilen ileti",
    "转发的邮件",
    "原始邮件",
    "転送されたメッセージ",
];
/// The heads of a letter: who sent it.
const HEADS: [&str; 12] =
    ["from:", "von:", "de:", "da:", "van:", "от:", "od:", "kimden:", "发件人:", "差出人:", "보낸사람:", "من:"];

/// The words that somebody has said themselves: without what they quote, without files' names, and up to where they begin to
/// hand on a letter.
pub fn own_words(text: &str) -> String {
    // One that is never closed goes to the end.
    let mut open: Option<&str> = None;
    let own = lines(text).filter(|line| {
        let turns = |fence: &&str| match *fence {
            OTHER_FENCE => line.starts_with(OTHER_FENCE),
            fence => line.matches(fence).count() % 2 == 1,
        };
        let was_open = open.is_some();
        open = match open {
            Some(fence) => Some(fence).filter(|fence| !turns(fence)),
            None => [FENCE, OTHER_FENCE].into_iter().find(turns),
        };
        let is_set_off = was_open || open.is_some() || line.contains(FENCE);
        !is_set_off && !SET_OFF.iter().any(|sign| line.starts_with(sign))
    });
    own.collect::<Vec<_>>().join("\n")
}

/// Is there something, and none of it the sender's own: is it all a quotation, or a letter that they hand on?
pub fn is_all_quoted(text: &str) -> bool {
    !text.trim().is_empty() && lines(text).filter(|line| !line.is_empty()).all(|line| line.starts_with('>'))
}

/// The lines up to where nothing is the sender's any more.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(is_line_end).map(str::trim);
    all.take_while(|line| !begins_letter(line) && !line.starts_with(ALL_QUOTED))
}

fn begins_letter(line: &str) -> bool {
    let line = line.to_lowercase().replace('：', ":");
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric() && c != ':');
    SENT_ON.iter().any(|words| bare.starts_with(words)) || HEADS.iter().any(|head| line.starts_with(head))
}

/// What a reader takes for the end of a line.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
