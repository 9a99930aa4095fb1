//! A link as a QR code, in characters of a terminal.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// The code, two dots a character, light on dark or dark on light: cameras read both. None: the text is too long for one.
pub(super) fn code(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    Some(code.render::<Dense1x2>().quiet_zone(true).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_fits_a_narrow_terminal() {
        let link = format!("http://192.168.178.20:8787/login#{}", "k".repeat(43));
        let code = code(&link).unwrap();
        assert!(code.lines().count() <= 24, "{code}");
        assert!(code.lines().all(|line| line.chars().count() <= 48), "{code}");
    }

    #[test]
    fn what_is_no_link_any_more_is_no_code() {
        assert_eq!(code(&"x".repeat(4_000)), None);
    }
}
