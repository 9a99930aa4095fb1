//! Whether a call was signed by whom it says: HMAC-SHA256, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::domain::secret::Secret;

/// What is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// The body: `sha256=HEX`.
    Body,
    /// `t=SECONDS,v1=HEX` over the time, a dot and the body; the time may differ from ours by so many seconds.
    Timestamped {
        /// So many.
        tolerance_secs: u64,
    },
}

/// Is `header` the signature of `body` under `secret`, at `now` in Unix seconds?
#[must_use]
pub fn is_good(signed: Signed, secret: &Secret, (header, body): (&str, &[u8]), now: i64) -> bool {
    match signed {
        Signed::Body => header.strip_prefix("sha256=").is_some_and(|hex| fits(secret, &[body], hex)),
        Signed::Timestamped { tolerance_secs } => {
            let field = |name: &str| header.split(',').find_map(|field| field.trim().strip_prefix(name));
            let (Some(time), Some(hex)) = (field("t="), field("v1=")) else { return false };
            let Ok(at) = time.parse::<i64>() else { return false };
            let fresh = now.abs_diff(at) <= tolerance_secs;
            fits(secret, &[time.as_bytes(), b".", body], hex) && fresh
        }
    }
}

/// Is `said` the secret itself? Neither its length nor its beginning can be found out by the time that takes.
#[must_use]
pub fn is_same(secret: &Secret, said: &[u8]) -> bool {
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return false };
    let expected = mac.clone().chain_update(secret.expose()).finalize().into_bytes();
    mac.chain_update(said).verify(&expected).is_ok()
}

fn fits(secret: &Secret, parts: &[&[u8]], hex: &str) -> bool {
    let Some(expected) = bytes(hex) else { return false };
    // A key of any length is one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return false };
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(&expected).is_ok()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"Hello, World!";

    /// GitHub's own example of its documentation.
    const GITHUB: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    #[test]
    fn a12_a_signature_over_the_body() {
        let secret = Secret::new("It's a Secret to Everybody".to_owned());
        let good = |header: &str, body: &[u8]| is_good(Signed::Body, &secret, (header, body), 0);
        assert!(good(GITHUB, BODY));
        assert!(good(&GITHUB.replace('b', "B"), BODY), "hex has no case");
        for header in
            ["", "sha256=", "sha256=zz", "sha256=7", &GITHUB[7..], &GITHUB[..69], &GITHUB.replace("757", "857")]
        {
            assert!(!good(header, BODY), "{header}");
        }
        assert!(!good(GITHUB, b"Hello, World?"));
        let other = Secret::new("another".to_owned());
        assert!(!is_good(Signed::Body, &other, (GITHUB, BODY), 0));
    }

    #[test]
    fn n11_a_secret_is_the_same_or_not() {
        let secret = Secret::new("0123456789abcdef".to_owned());
        assert!(is_same(&secret, b"0123456789abcdef"));
        for said in ["", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF"] {
            assert!(!is_same(&secret, said.as_bytes()), "{said}");
        }
    }

    #[test]
    fn a12_a_signature_over_time_and_body() {
        let secret = Secret::new("0123456789abcdef".to_owned());
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).unwrap();
        mac.update(b"1000.{}");
        let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let header = format!("t=1000,v1={hex}");
        let good = |header: &str, body: &[u8], now| {
            is_good(Signed::Timestamped { tolerance_secs: 300 }, &secret, (header, body), now)
        };
        for (now, fresh) in [(1000, true), (1300, true), (700, true), (1301, false), (699, false), (i64::MAX, false)] {
            assert_eq!(good(&header, b"{}", now), fresh, "{now}");
        }
        assert!(!good(&format!("t=1001,v1={hex}"), b"{}", 1000), "the time is signed");
        assert!(!good(&header, b"[]", 1000));
        assert!(!good(&format!("v1={hex}"), b"{}", 1000));
        assert!(!good(&format!("t=-,v1={hex}"), b"{}", 1000));
    }
}
