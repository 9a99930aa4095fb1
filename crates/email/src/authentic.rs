//! Whether a letter is from whom it says, as a mail server found that one believes (RFC 8601).
//!
//! Anybody can write such a header into a letter. So only the topmost one counts that bears a configured server's name:
//! that server takes away those that come in under its name, and puts its own above all others.

use crate::header::Headers;
use crate::one_line;
use hob_core::domain::inbound::SenderProof;

/// The most of a server's name that is told.
const SERVER_CHARS_MAX: usize = 100;

/// One result of a server: `dkim=pass header.d=example.org`.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    method: String,
    result: String,
    properties: Vec<(String, String)>,
}

impl Finding {
    /// What is said twice says nothing.
    fn property(&self, name: &str) -> Option<&str> {
        let mut said = self.properties.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        said.next().filter(|_| said.next().is_none())
    }

    /// The domain that a property names, be it an address.
    fn domain(&self, name: &str) -> Option<&str> {
        self.property(name).map(|value| value.rsplit_once('@').map_or(value, |(_, domain)| domain))
    }
}

/// What a believed server says of the sender of a letter from `domain`.
pub(super) fn proof(headers: &Headers, authserv_ids: &[String], domain: &str) -> SenderProof {
    let nobody = |why: &str| SenderProof::Nobody { why: why.to_owned() };
    let named: Vec<(String, Option<Vec<Finding>>)> = headers.values("Authentication-Results").map(parse).collect();
    let is_believed = |server: &str| authserv_ids.iter().any(|known| known.eq_ignore_ascii_case(server));
    let Some((_, findings)) = named.iter().find(|(server, _)| is_believed(server)) else {
        return nobody(&no_trusted_server_hint(named.first().map(|(server, _)| server.as_str()), authserv_ids));
    };
    let Some(findings) = findings else { return nobody("its server's Authentication-Results cannot be read") };
    let of = |method: &'static str| findings.iter().filter(move |finding| finding.method == method);
    let dmarc: Vec<&Finding> = of("dmarc").collect();
    match dmarc[..] {
        [] => {}
        [one] => match (one.result.as_str(), one.domain("header.from")) {
            ("fail", _) => return nobody("DMARC failed"),
            // The server may have read another sender in it.
            (_, Some(from)) if !from.eq_ignore_ascii_case(domain) => return nobody("its DMARC is another sender's"),
            ("pass", Some(_)) => return SenderProof::Platform,
            _ => {}
        },
        // A server has one: a sender's own words stand among them.
        [..] => return nobody("it has several results of DMARC"),
    }
    let signed = of("dkim").filter(|finding| finding.result == "pass").any(|finding| {
        let signer = finding.domain("header.d").or_else(|| finding.domain("header.i"));
        signer.is_some_and(|signer| is_aligned(signer, domain))
    });
    let sent = of("spf")
        .filter(|finding| finding.result == "pass")
        .any(|finding| finding.domain("smtp.mailfrom").is_some_and(|sender| is_aligned(sender, domain)));
    if signed || sent { SenderProof::Platform } else { nobody("neither a signature nor the way it came shows it") }
}

/// Why no server is believed, so that an operator finds out what to configure.
fn no_trusted_server_hint(topmost: Option<&str>, authserv_ids: &[String]) -> String {
    let believed = match authserv_ids {
        [] => "`authserv_ids` is empty".to_owned(),
        names => format!("`authserv_ids` names {}", names.join(", ")),
    };
    match topmost {
        // Anybody can write one where the provider does not.
        Some(server) => format!(
            "its topmost Authentication-Results is of \"{}\", and {believed} (add that name only if it is your provider's)",
            one_line(server, SERVER_CHARS_MAX)
        ),
        None => format!("it has no Authentication-Results, and {believed}"),
    }
}

/// Does `signer` speak for `domain`? Its own domain does, and one above it; never one below, which may be anybody's.
pub(super) fn is_aligned(signer: &str, domain: &str) -> bool {
    let (signer, domain) = (signer.trim_end_matches('.').to_lowercase(), domain.to_lowercase());
    let above = signer.contains('.') && domain.strip_suffix(&signer).is_some_and(|below| below.ends_with('.'));
    !signer.is_empty() && (signer == domain || above)
}

/// A header's server and findings, in which what is no finding is passed over; none of a header that says nothing that is sure.
fn parse(value: &str) -> (String, Option<Vec<Finding>>) {
    let (bare, is_sure) = without_comments(value);
    let mut parts = bare.split(';');
    // `server.example 1`: a version may stand behind the name.
    let server = parts.next().and_then(|part| part.split_whitespace().next()).unwrap_or_default().to_lowercase();
    (server, is_sure.then(|| parts.filter_map(finding).collect()))
}

fn finding(part: &str) -> Option<Finding> {
    // `dkim = pass`: spaces may stand around the sign.
    let joined = part.split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let mut words = joined.split_whitespace();
    let (method, result) = words.next()?.split_once('=')?;
    let method = method.split('/').next().unwrap_or(method).to_lowercase();
    let unquoted = |value: &str| value.trim_matches('"').to_lowercase();
    let properties =
        words.filter_map(|word| word.split_once('=')).map(|(name, value)| (name.to_lowercase(), unquoted(value)));
    Some(Finding { method, result: result.to_lowercase(), properties: properties.collect() })
}

/// Without what stands in brackets, which says nothing and may hold anything; and without `;` in quotes. False: what a sender chose, such as
/// the domain of a signature, may have begun or ended one of them.
fn without_comments(value: &str) -> (String, bool) {
    let (mut depth, mut quoted, mut escaped, mut is_sure) = (0_usize, false, false, true);
    let mut bare = String::with_capacity(value.len());
    for c in value.chars() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' if quoted || depth > 0 => escaped = true,
            '"' if depth == 0 => quoted = !quoted,
            // A sender's own words in a comment, which may end it.
            '"' => is_sure = false,
            '(' if !quoted => {
                is_sure &= depth > 0 || !is_in_property(&bare);
                depth += 1;
            }
            ')' if !quoted && depth > 0 => depth -= 1,
            ';' | '=' if quoted => {}
            _ if depth > 0 => {}
            c if quoted && c.is_whitespace() => {}
            c => bare.push(c),
        }
    }
    (bare, is_sure && depth == 0 && !quoted && !escaped)
}

/// Whether what stands so far ends within `header.d=…`.
fn is_in_property(bare: &str) -> bool {
    let word = bare.rsplit(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default();
    word.split_once('=').is_some_and(|(name, _)| name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(headers: &str) -> Result<(), String> {
        let raw = format!("{headers}\r\n\r\n");
        match proof(&Headers::of(raw.as_bytes()), &["mx.home.example".to_owned()], "example.org") {
            SenderProof::Platform => Ok(()),
            SenderProof::Nobody { why } => Err(why),
        }
    }

    #[test]
    fn n14_a_believed_server_vouches() {
        for headers in [
            "Authentication-Results: mx.home.example; dmarc=pass header.from=example.org",
            "authentication-results: MX.home.example 1; spf=fail smtp.mailfrom=x.example;\r\n dmarc=pass (p=reject dis=none) header.from=Example.ORG",
            "Authentication-Results: mx.home.example; dkim=pass header.d=example.org",
            "Authentication-Results: mx.home.example; dkim=pass (2048-bit key; dmarc=fail) header.i=@example.org header.s=a",
            "Authentication-Results: mx.home.example; dkim/1 = pass header.d=\"example.org\"",
            "Authentication-Results: mx.home.example; dkim=pass(2048-bit key) header.d=example.org (it is)",
            "Authentication-Results: mx.home.example; spf=pass smtp.mailfrom=ada@example.org",
            "Authentication-Results: mx.home.example; dkim=fail header.d=example.org; spf=pass smtp.mailfrom=example.org",
        ] {
            assert_eq!(judge(headers), Ok(()), "{headers}");
        }
    }

    #[test]
    fn n14_nobody_else_does() {
        for headers in [
            "Subject: x",
            "Authentication-Results: mx.evil.example; dmarc=pass header.from=example.org",
            "Authentication-Results: mx.home.example; none",
            "Authentication-Results: mx.home.example; dmarc=pass",
            "Authentication-Results: mx.home.example; dmarc=fail header.from=example.org; dkim=pass header.d=example.org",
            "Authentication-Results: mx.home.example; dmarc=pass header.from=evil.example",
            "Authentication-Results: mx.home.example; dkim=pass header.d=evil.example; spf=pass smtp.mailfrom=x@evil.example",
            "Authentication-Results: mx.home.example; dkim=pass header.d=sub.example.org",
            "Authentication-Results: mx.home.example; dkim=pass header.d=org",
            "Authentication-Results: mx.home.example; dkim=pass header.d=notexample.org",
            "Authentication-Results: mx.home.example; spf=softfail smtp.mailfrom=example.org",
            // What a sender can put into a comment or a quoted string is no finding.
            "Authentication-Results: mx.home.example; spf=none (; dmarc=pass header.from=example.org)",
            "Authentication-Results: mx.home.example; spf=none smtp.mailfrom=\"a; dmarc=pass header.from=example.org\"",
            "Authentication-Results: mx.evil.example (mx.home.example); dmarc=pass header.from=example.org",
            // Some servers repeat the sender of the envelope in a comment.
            "Authentication-Results: mx.home.example; spf=pass (domain of \"x); dmarc=pass header.from=example.org (\"@evil.example is fine) smtp.mailfrom=x",
            "Authentication-Results: mx.home.example; spf=pass (domain of x); dmarc=pass header.from=example.org (@evil.example is fine); dmarc=fail",
            "Authentication-Results: mx.home.example; spf=pass (of x); dkim=pass header.d=example.org (@evil.example is fine); dmarc=pass header.from=evil.example",
            "Authentication-Results: mx.home.example; spf=pass smtp.mailfrom=ada@example.org smtp.mailfrom=x@evil.example",
            // A domain may have a bracket in its name.
            "Authentication-Results: mx.home.example; dkim=pass header.d=example.org(.evil.example header.s=a; dmarc=fail",
            "Authentication-Results: mx.home.example; dkim=pass header.d=example.org(.evil.example header.s=a) header.b=x; dmarc=fail",
            "Authentication-Results: mx.home.example; dkim=pass header.d=example.org header.s=\"; dmarc=fail",
            // One below the server's own is the sender's work.
            "Authentication-Results: mx.home.example; dmarc=fail\r\nAuthentication-Results: mx.home.example; dmarc=pass header.from=example.org",
        ] {
            assert!(judge(headers).is_err(), "{headers}");
        }
    }

    #[test]
    fn n14_the_reason_is_told() {
        insta::assert_snapshot!(judge("A: b").unwrap_err(), @"it has no Authentication-Results, and `authserv_ids` names mx.home.example");
        insta::assert_snapshot!(judge("Authentication-Results: mx.other.example; dmarc=pass").unwrap_err(), @r#"its topmost Authentication-Results is of "mx.other.example", and `authserv_ids` names mx.home.example (add that name only if it is your provider's)"#);
        insta::assert_snapshot!(judge("Authentication-Results: mx.home.example; dmarc=fail").unwrap_err(), @"DMARC failed");
        insta::assert_snapshot!(judge("Authentication-Results: mx.home.example; spf=neutral").unwrap_err(), @"neither a signature nor the way it came shows it");
    }
}
