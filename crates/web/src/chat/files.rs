//! What was sent on the page, to be fetched: files of its conversations, and no others.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use hob_core::policy::invisible::is_invisible;
use hob_store::web_chat;

/// What a browser is told of anything that is neither a picture nor a voice: to make nothing of it.
const OPAQUE: &str = "application/octet-stream";
/// What may be shown and played within the page: pictures of points and voices, which do nothing; each with what browsers call it.
const SHOWN: [(&str, &str); 5] = [
    ("image/png", "image/png"),
    ("image/jpeg", "image/jpeg"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
    ("audio/opus", "audio/ogg"),
];

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(file))
}

/// A file that somebody sent in a conversation of the page, or that Hob sent there. It is to be saved, not to be opened.
#[utoipa::path(get, path = "/api/files/{id}", tag = "chat", params(("id" = i64, Path,)),
    responses((status = 200, content_type = "*/*", description = "What is in it; of a picture or a voice, as that"),
        (status = 401, body = Problem), (status = 404, body = Problem)))]
async fn file(State(app): State<Arc<AppState>>, _visitor: Visitor, Path(id): Path<i64>) -> Result<Response, ApiError> {
    let gone = ApiError::NotFound("file (any more)");
    let Some(kept) = app.router.store.read(async |tx| web_chat::file(tx, id).await).await? else {
        return Err(gone);
    };
    let bytes = u64::try_from(kept.bytes).unwrap_or(0);
    let content = match app.router.delivery.content(&kept.hash, bytes).await {
        Ok(content) => content,
        Err(error) => {
            tracing::warn!(file = id, %error, "a file cannot be read for the page");
            return Err(gone);
        }
    };
    let mime = SHOWN.iter().find(|(kind, _)| *kind == kept.mime).map_or(OPAQUE, |(_, mime)| mime);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(mime)),
        (header::CONTENT_DISPOSITION, attached(&kept.name)),
        // Nothing else ever has this address.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=86400, immutable")),
    ];
    Ok((headers, content).into_response())
}

/// `Content-Disposition` of a file of this name (RFC 6266): whole for those who read UTF-8, and nearly so for the others.
fn attached(name: &str) -> HeaderValue {
    let name: String = name.chars().map(|sign| if hides(sign) { '_' } else { sign }).collect();
    let name = if name.trim_matches(['.', ' ', '_']).is_empty() { "file" } else { name.as_str() };
    let plain: String = name.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        let written = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => write!(whole, "{}", char::from(byte)),
            other => write!(whole, "%{other:02X}"),
        };
        // A string takes whatever is written to it.
        debug_assert!(written.is_ok());
    }
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}");
    HeaderValue::from_str(&value).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// Whether a sign leads to another folder, ends a line, or turns round what follows it.
fn hides(sign: char) -> bool {
    sign.is_control() || matches!(sign, '/' | '\\') || is_invisible(sign)
}

/// Whether a sign stands for itself between quotes.
fn is_plain(sign: char) -> bool {
    sign == ' ' || (sign.is_ascii_graphic() && !matches!(sign, '"' | '%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n8_a_files_name_stays_a_name() {
        let table = [
            ("list.txt", r#"attachment; filename="list.txt"; filename*=UTF-8''list.txt"#),
            ("Käse \u{20ac}.pdf", r#"attachment; filename="K_se _.pdf"; filename*=UTF-8''K%C3%A4se%20%E2%82%AC.pdf"#),
            ("a\"; x=\"b", r#"attachment; filename="a_; x=_b"; filename*=UTF-8''a%22%3B%20x%3D%22b"#),
            ("../../etc/passwd", r#"attachment; filename=".._.._etc_passwd"; filename*=UTF-8''.._.._etc_passwd"#),
            ("a\r\nSet-Cookie: b", r#"attachment; filename="a__Set-Cookie: b"; filename*=UTF-8''a__Set-Cookie%3A%20b"#),
            ("gpj.\u{202e}exe", r#"attachment; filename="gpj._exe"; filename*=UTF-8''gpj._exe"#),
            ("..", r#"attachment; filename="file"; filename*=UTF-8''file"#),
            ("100%", r#"attachment; filename="100_"; filename*=UTF-8''100%25"#),
        ];
        for (name, expected) in table {
            assert_eq!(attached(name), expected, "{name:?}");
        }
    }
}
