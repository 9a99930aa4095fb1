//! Codes by which an owner lets somebody in (row C1). Pure.
//!
//! Never: a code as it is stored; what is kept is its hash.

use jiff::SignedDuration;
use sha2::{Digest, Sha256};

use crate::domain::inbound::{ChannelKind, Conversation, SenderProof};
use crate::domain::text::hex;

/// What a code is made of: no letter or digit that is taken for another one.
const ALPHABET: &[u8; 28] = b"23456789ACDEFGHJKMNPQRTVWXYZ";
/// So long is a code.
const CODE_CHARS: usize = 8;
/// So long a code holds, and so long whoever got it is not answered again.
pub const CODE_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// So many strangers of one account have codes at a time.
pub const OPEN_MAX: i64 = 20;
/// So many wrong codes an owner may say within [`GUESSES_WITHIN`].
pub const GUESSES_MAX: i64 = 5;
/// How far back wrong codes count.
pub const GUESSES_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// After so many wrong codes the first owner's is void until the next start.
pub const FIRST_GUESSES_MAX: i64 = 10;

/// A code as people read and write it.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

impl Code {
    /// A new one, of random bits.
    pub fn new(mut bits: impl FnMut() -> u64) -> Self {
        let mut code = String::with_capacity(CODE_CHARS);
        while code.len() < CODE_CHARS {
            // What is above the last whole round of the alphabet would make some letters likelier.
            let byte = usize::from(bits().to_le_bytes()[0]);
            let letter = ALPHABET.get(byte % ALPHABET.len()).filter(|_| byte < 256 / ALPHABET.len() * ALPHABET.len());
            code.extend(letter.map(|letter| char::from(*letter)));
        }
        Self(code)
    }

    /// What somebody wrote, if it can be a code: in any case, with or without a hyphen.
    pub fn parse(text: &str) -> Option<Self> {
        let code: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_uppercase()).collect();
        let is_code = code.len() == CODE_CHARS && code.bytes().all(|byte| ALPHABET.contains(&byte));
        is_code.then_some(Self(code))
    }

    /// What is kept of it.
    pub fn hash(&self) -> String {
        hex(&Sha256::digest(format!("hob pairing 1\n{}", self.0)))
    }

    /// As it is shown: `ABCD-EFGH`.
    pub fn shown(&self) -> String {
        let (head, tail) = self.0.split_at(CODE_CHARS / 2);
        format!("{head}-{tail}")
    }
}

/// Nobody learns a code from the log.
impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(…)")
    }
}

/// What is known when a stranger writes to Hob alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrangerContact {
    /// Somebody may be let in by this account at all.
    pub has_door: bool,
    /// They have a code that still holds.
    pub has_code: bool,
    /// So many codes of this account hold.
    pub open: i64,
}

/// Whether a stranger is given a code. By e-mail only where the sender is proven: what answers forged senders answers
/// somebody who has not written, and what answers machines may go on for ever.
pub fn gives_code(place: &Conversation, proof: &SenderProof, knock: StrangerContact) -> bool {
    let is_alone = match place.channel {
        ChannelKind::Telegram | ChannelKind::Slack | ChannelKind::Discord | ChannelKind::Matrix => place.is_private(),
        ChannelKind::Email => true,
        ChannelKind::Terminal | ChannelKind::Web | ChannelKind::Event => false,
    };
    let StrangerContact { has_door, has_code, open } = knock;
    is_alone && *proof == SenderProof::Platform && has_door && !has_code && open < OPEN_MAX
}

/// Whether this person may become the first owner here by the code that the daemon printed. No letter does: whoever reads
/// the mailbox's server could write it.
pub fn may_become_owner(place: &Conversation, proof: &SenderProof) -> bool {
    place.channel != ChannelKind::Email && place.is_private() && *proof == SenderProof::Platform
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::inbound::DEFAULT_ACCOUNT;

    fn at(channel: ChannelKind, chat: &str) -> Conversation {
        let account = DEFAULT_ACCOUNT.to_owned();
        Conversation { channel, account, chat: chat.to_owned(), thread: None }
    }

    #[test]
    fn c1_a_code_is_read_as_people_write_it() {
        let mut next = 0_u64;
        let code = Code::new(|| {
            next += 1;
            next
        });
        assert_eq!(code.shown(), "3456-789A");
        for text in ["3456789A", "3456-789A", "3456-789a", "34-56-78-9a"] {
            assert_eq!(Code::parse(text).as_ref(), Some(&code), "{text}");
        }
        for text in ["", "3456789", "3456789AA", "0456789A", "3456 789A", "ÄÄÄÄ", "I456789A"] {
            assert_eq!(Code::parse(text), None, "{text}");
        }
        assert_eq!(code.hash().len(), 64);
        assert_ne!(code.hash(), Code::parse("3456789C").unwrap().hash());
        assert_eq!(format!("{code:?}"), "Code(…)");
    }

    #[test]
    fn c1_every_letter_is_as_likely() {
        let mut byte = 0_u64;
        let mut seen = std::collections::BTreeMap::new();
        // 252 of 256 values are taken, nine for each letter: this is two rounds.
        for _ in 0..63 {
            let code = Code::new(|| {
                byte = (byte + 1) % 256;
                byte
            });
            code.0.chars().for_each(|letter| *seen.entry(letter).or_insert(0) += 1);
        }
        assert!(seen.len() == ALPHABET.len() && seen.values().all(|times| *times == 18), "{seen:?}");
        assert!(ALPHABET.iter().all(|letter| !b"01ILOUSB".contains(letter)));
    }

    #[test]
    fn c1_only_a_stranger_alone_with_hob_gets_a_code() {
        let fits = StrangerContact { has_door: true, has_code: false, open: 0 };
        let nobody = SenderProof::Nobody { why: "DMARC failed".to_owned() };
        let (private, group) = (at(ChannelKind::Telegram, "9"), at(ChannelKind::Telegram, "-9"));
        let letter = at(ChannelKind::Email, "a@b.example");
        let table = [
            (&private, SenderProof::Platform, fits, true),
            (&group, SenderProof::Platform, fits, false),
            (&private, SenderProof::Platform, StrangerContact { has_door: false, ..fits }, false),
            (&private, SenderProof::Platform, StrangerContact { has_code: true, ..fits }, false),
            (&private, SenderProof::Platform, StrangerContact { open: OPEN_MAX - 1, ..fits }, true),
            (&private, SenderProof::Platform, StrangerContact { open: OPEN_MAX, ..fits }, false),
            (&private, nobody.clone(), fits, false),
            (&letter, SenderProof::Platform, fits, true),
            (&letter, nobody.clone(), fits, false),
            (&at(ChannelKind::Terminal, "x"), SenderProof::Platform, fits, false),
            (&at(ChannelKind::Event, "x"), SenderProof::Platform, fits, false),
        ];
        for (place, proof, knock, expected) in table {
            assert_eq!(gives_code(place, &proof, knock), expected, "{place:?} {proof:?} {knock:?}");
        }
        assert!(may_become_owner(&private, &SenderProof::Platform));
        assert!(!may_become_owner(&private, &nobody));
        assert!(!may_become_owner(&group, &SenderProof::Platform));
        assert!(!may_become_owner(&letter, &SenderProof::Platform));
    }
}
