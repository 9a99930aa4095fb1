//! Logins at an issuer that is strict, and the tokens at real servers: dovecot and aiosmtpd ask that issuer about each of them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::{Harness, letter, settings, words};
use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::policy::net::AllowedPlaces;
use hob_mail::account::{Account, SignIn};
use hob_mail::login::issuer::Issuer;
use hob_mail::login::{LoginError, MailLogin};
use hob_testkit::fake_issuer::{CLIENT, FakeIssuer, SCOPE};
use hob_testkit::mail_servers::{ROLES, Servers};
use hob_tools::net::EgressGuard;
use hob_tools::net::resolve::SystemResolver;
use jiff::{SignedDuration, Timestamp};

/// So much later than it is.
struct Later(SignedDuration);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        SystemClock.now() + self.0
    }
}

fn login(issuer: &FakeIssuer, data_dir: &Path) -> MailLogin {
    login_for(issuer, data_dir, "localhost")
}

fn login_for(issuer: &FakeIssuer, data_dir: &Path, host: &str) -> MailLogin {
    let url = |path: &str| format!("{}/{path}", issuer.url).parse().unwrap();
    let issuer = Issuer {
        device_url: url("device"),
        token_url: url("token"),
        scope: SCOPE.to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: None,
    };
    let guard = EgressGuard::new(AllowedPlaces::new(Vec::new()), Arc::new(SystemResolver));
    MailLogin::new("ada", issuer, vec![host.to_owned()], data_dir, &guard)
}

/// Logs in; gives how long was waited each time.
async fn log_in(login: &MailLogin) -> Result<Vec<u64>, LoginError> {
    let waited = Mutex::new(Vec::new());
    let code = login.begin().await?;
    assert_eq!((code.page.as_str(), code.user_code.as_str()), ("https://issuer.example/device", "WDJB-MJHT"));
    login.finish(code, async |pause: Duration| waited.lock().unwrap().push(pause.as_secs())).await?;
    Ok(waited.into_inner().unwrap())
}

async fn token(login: &MailLogin) -> Result<String, String> {
    login.token(None).await.map(|token| token.expose().to_owned()).map_err(|error| error.to_string())
}

fn needed() -> Result<String, String> {
    Err("nobody is logged in at ada's mail: on Hob's machine, hob mail login ada".to_owned())
}

#[tokio::test]
async fn f3_a_person_types_a_code_in_and_the_issuer_is_asked_no_faster_than_it_wants() {
    let (issuer, dir) = (FakeIssuer::start().await, TempDir::new().unwrap());
    let own = login(&issuer, dir.path());
    assert_eq!(token(&own).await, needed());
    issuer.answers(&["authorization_pending", "slow_down", "authorization_pending"]);
    assert_eq!(log_in(&own).await.unwrap(), [1, 1, 6, 6]);
    assert_eq!(token(&own).await.unwrap(), "access-token-1");
    let mode = |path: &str| dir.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("logins"), mode("logins/mail-ada.json")), (0o700, 0o600));
    // What was issued for one server is shown to no other.
    assert_eq!(token(&login_for(&issuer, dir.path(), "mail.evil.example")).await, needed());
    assert!(own.forget().unwrap() && !own.forget().unwrap());
    assert_eq!(token(&own).await, needed());
    assert_eq!(issuer.wrong(), [""; 0]);
}

#[tokio::test]
async fn f3_who_says_no_or_nothing_is_not_logged_in() {
    let (issuer, dir) = (FakeIssuer::start().await, TempDir::new().unwrap());
    let own = login(&issuer, dir.path());
    issuer.answers(&["access_denied"]);
    let told = log_in(&own).await.unwrap_err().to_string();
    assert_eq!(told, "it was refused: access_denied as the test wants it");
    issuer.answers(&["expired_token"]);
    assert!(matches!(log_in(&own).await, Err(LoginError::Expired)));
    issuer.answers(&["authorization_pending"; 60]);
    assert!(matches!(log_in(&own).await, Err(LoginError::Expired)), "it is not asked for ever");
    issuer.goes_down(true);
    assert!(matches!(log_in(&own).await, Err(LoginError::Unreachable(_))));
    assert_eq!((token(&own).await, issuer.issued()), (needed(), 0));
}

#[tokio::test]
async fn f3_one_party_renews_a_token_and_the_others_wait_for_it() {
    let (issuer, dir) = (FakeIssuer::start().await, TempDir::new().unwrap());
    log_in(&login(&issuer, dir.path())).await.unwrap();
    let later = || login(&issuer, dir.path()).with_clock(Arc::new(Later(SignedDuration::from_secs(3_590))));
    let parties = [later(), later(), later()];
    let got = futures::future::join_all(parties.iter().map(token)).await;
    // An issuer that saw the same refresh token twice would have ended the login.
    assert_eq!(got, vec![Ok("access-token-2".to_owned()); 3]);
    assert_eq!((issuer.issued(), issuer.wrong()), (2, Vec::new()));
    let expired = later().with_clock(Arc::new(Later(SignedDuration::from_hours(2))));
    issuer.goes_down(true);
    let told = token(&expired).await.unwrap_err();
    assert!(
        told.starts_with("the service that issues tokens for this mailbox cannot be asked: it answers 503"),
        "{told}"
    );
    issuer.goes_down(false);
    assert_eq!(token(&expired).await.unwrap(), "access-token-3", "an outage ends no login");
    issuer.revoke_login();
    let over = expired.with_clock(Arc::new(Later(SignedDuration::from_hours(4))));
    assert_eq!(token(&over).await, needed());
}

#[tokio::test]
async fn f3_mail_servers_take_the_token_and_one_that_they_refuse_is_renewed() {
    let (issuer, dir) = (FakeIssuer::start().await, TempDir::new().unwrap());
    let own = login(&issuer, dir.path());
    let servers = Servers::asking(&issuer.url, ROLES);
    servers.put_for("ada", &letter(1, "Ben <ben@x.example>", "Tea", "Tea?"));
    let account = Account::new(settings(&servers), SignIn::Login(Box::new(own.clone()))).unwrap();
    let harness = Harness::holding(servers, account).await;
    let told = words(&harness.call("mail_search", json!({})).await);
    assert_eq!(told, "error: nobody is logged in at ada's mail: on Hob's machine, hob mail login ada.");
    log_in(&own).await.unwrap();
    // Neither server knows this one any more; it holds long enough by the issuer's word.
    issuer.revoke_access();
    assert_eq!(harness.found(json!({})).await.len(), 1);
    assert_eq!(issuer.issued(), 2);
    issuer.revoke_access();
    let send = json!({ "to": ["cy@x.example"], "subject": "Tea", "text": "Gladly." });
    let told = words(&harness.call("mail_send", send).await);
    assert!(told.starts_with("Sent. The copy is ada/Gesendet/"), "{told}");
    assert_eq!((harness.servers.got("cy").len(), issuer.issued()), (1, 3));
    issuer.revoke_login();
    issuer.revoke_access();
    let send = json!({ "to": ["dan@x.example"], "subject": "Tea", "text": "Gladly." });
    let told = words(&harness.call("mail_send", send).await);
    assert!(told.contains("nobody is logged in at ada's mail"), "{told}");
    assert_eq!((harness.servers.got("dan").len(), issuer.wrong()), (0, Vec::<String>::new()));
}
