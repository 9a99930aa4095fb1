//! By what a letter is known to the model: `ACCOUNT/FOLDER/UIDVALIDITY/UID`. It stays valid for as long as the letter stays
//! where it is, and never means another one.

use std::fmt;
use std::str::FromStr;

/// Where a letter lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LetterId {
    /// The account's name.
    pub account: String,
    /// The folder's, as people read it.
    pub folder: String,
    /// Which numbers the folder had.
    pub validity: u32,
    /// Its number.
    pub uid: u32,
}

/// It is the id of no letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is no letter's id: take one from mail_search, as it stands there")]
pub(crate) struct NoLetterId;

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.account, self.folder, self.validity, self.uid)
    }
}

impl FromStr for LetterId {
    type Err = NoLetterId;

    fn from_str(text: &str) -> Result<Self, NoLetterId> {
        let of = || {
            let (account, rest) = text.trim().split_once('/')?;
            let mut parts = rest.rsplitn(3, '/');
            let (uid, validity) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let folder = parts.next().filter(|folder| !folder.is_empty())?.to_owned();
            Some(Self { account: account.to_owned(), folder, validity, uid })
        };
        of().ok_or(NoLetterId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_again_whatever_its_folder_is_called() {
        for folder in ["INBOX", "Work/2026", "Entwürfe", "1/2"] {
            let id = LetterId { account: "ada".to_owned(), folder: folder.to_owned(), validity: 7, uid: 42 };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for bad in ["", "ada", "ada/INBOX", "ada/INBOX/7", "ada/INBOX/x/42", "ada//7/42", "7/42"] {
            assert_eq!(bad.parse::<LetterId>(), Err(NoLetterId), "{bad}");
        }
    }
}
