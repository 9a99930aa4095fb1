//! Whether a call was signed by whom it says: HMAC-SHA256, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use hob_core::domain::secret::Secret;

/// What is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureScheme {
    /// The body: `sha256=HEX`.
    Body,
    /// `t=SECONDS,v1=HEX` over the time, a dot and the body; the time may differ from ours by so many seconds.
    Timestamped { tolerance_secs: u64 },
}

/// The code by which `header` proves that whoever has `secret` signed `body`, at `now` in Unix seconds; none: it does not. That
/// takes as long whatever the header says.
pub fn judged(signed: SignatureScheme, secret: &Secret, header: &str, body: &[u8], now: i64) -> Option<Vec<u8>> {
    let (time, hex, fresh) = match signed {
        SignatureScheme::Body => (None, header.strip_prefix("sha256="), true),
        SignatureScheme::Timestamped { tolerance_secs } => {
            let field = |name: &str| header.split(',').find_map(|field| field.trim().strip_prefix(name));
            let time = field("t=").unwrap_or_default();
            let fresh = time.parse::<i64>().is_ok_and(|at| now.abs_diff(at) <= tolerance_secs);
            (Some(time), field("v1="), fresh)
        }
    };
    // A key of any length is one.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).ok()?;
    if let Some(time) = time {
        mac.update(time.as_bytes());
        mac.update(b".");
    }
    mac.update(body);
    let code = mac.clone().finalize().into_bytes().to_vec();
    let said = hex.and_then(bytes).unwrap_or_default();
    (mac.verify_slice(&said).is_ok() && fresh).then_some(code)
}

/// Is `said` the secret itself? Neither its length nor its beginning can be found out by the time that takes.
pub fn is_same(secret: &Secret, said: &[u8]) -> bool {
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return false };
    let expected = mac.clone().chain_update(secret.expose()).finalize().into_bytes();
    mac.chain_update(said).verify(&expected).is_ok()
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
    fn a_signature_over_the_body() {
        let secret = Secret::new("It's a Secret to Everybody".to_owned());
        let good = |header: &str, body: &[u8]| judged(SignatureScheme::Body, &secret, header, body, 0).is_some();
        assert!(good(GITHUB, BODY));
        assert!(good(&GITHUB.replace('b', "B"), BODY), "hex has no case");
        for header in
            ["", "sha256=", "sha256=zz", "sha256=7", &GITHUB[7..], &GITHUB[..69], &GITHUB.replace("757", "857")]
        {
            assert!(!good(header, BODY), "{header}");
        }
        assert!(!good(GITHUB, b"Hello, World?"));
        let other = Secret::new("another".to_owned());
        assert_eq!(judged(SignatureScheme::Body, &other, GITHUB, BODY, 0), None);
        let code = |header: &str| judged(SignatureScheme::Body, &secret, header, BODY, 0).unwrap();
        assert_eq!(code(GITHUB), code(&GITHUB.replace('b', "B")), "the same call");
    }

    #[test]
    fn a_secret_is_the_same_or_not() {
        let secret = Secret::new("0123456789abcdef".to_owned());
        assert!(is_same(&secret, b"0123456789abcdef"));
        for said in ["", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF"] {
            assert!(!is_same(&secret, said.as_bytes()), "{said}");
        }
    }

    #[test]
    fn a_signature_over_time_and_body() {
        let secret = Secret::new("0123456789abcdef".to_owned());
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).unwrap();
        mac.update(b"1000.{}");
        let hex = hob_core::domain::text::hex(&mac.finalize().into_bytes());
        let header = format!("t=1000,v1={hex}");
        let good = |header: &str, body: &[u8], now| {
            judged(SignatureScheme::Timestamped { tolerance_secs: 300 }, &secret, header, body, now).is_some()
        };
        for (now, fresh) in [(1000, true), (1300, true), (700, true), (1301, false), (699, false), (i64::MAX, false)] {
            assert_eq!(good(&header, b"{}", now), fresh, "{now}");
        }
        let code = |header: &str| {
            judged(SignatureScheme::Timestamped { tolerance_secs: 300 }, &secret, header, b"{}", 1000).unwrap()
        };
        for junk in [
            format!("{header},junk"),
            format!(" v1={hex} , t=1000,v0=00"),
            header.to_uppercase().replace("T=", "t=").replace("V1=", "v1="),
        ] {
            assert_eq!(code(&junk), code(&header), "{junk}");
        }
        assert!(!good(&format!("t=1001,v1={hex}"), b"{}", 1000), "the time is signed");
        assert!(!good(&header, b"[]", 1000));
        assert!(!good(&format!("v1={hex}"), b"{}", 1000));
        assert!(!good(&format!("t=-,v1={hex}"), b"{}", 1000));
    }
}
