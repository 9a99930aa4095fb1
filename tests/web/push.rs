//! Browsers are told that something waits while the page is closed (row F8). The push service is a fake over loopback, and the
//! browser opens what it was sent with another library's curve than the one that sealed it.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use ring::signature::{self, ECDSA_P256_SHA256_FIXED};
use serde_json::{Value, json as object};
use tokio::sync::mpsc;

use crate::browser::{Browser, hob};
use hob_testkit::fake_model::Reply;
use hob_testkit::process::within;
use hob_testkit::served::Served;
use hob_testkit::test_hob::{PAYS, TestHob};

/// What a push service was sent.
struct Post {
    to: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A push service.
struct Service {
    served: Served,
    posts: mpsc::UnboundedReceiver<Post>,
    /// What it answers next; 201 if nothing is said. 0: it never answers.
    answers: Arc<Mutex<Vec<u16>>>,
}

type ServiceState = (mpsc::UnboundedSender<Post>, Arc<Mutex<Vec<u16>>>);

async fn take(
    State((posts, answers)): State<ServiceState>,
    Path(to): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let next = answers.lock().unwrap().pop().unwrap_or(201);
    // A test that is over takes nothing any more.
    if posts.send(Post { to, headers, body: body.to_vec() }).is_err() {
        return StatusCode::GONE;
    }
    if next == 0 {
        std::future::pending::<()>().await;
    }
    StatusCode::from_u16(next).unwrap()
}

impl Service {
    async fn start() -> Self {
        let (sender, posts) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let routes = Router::new().route("/push/{to}", post(take)).with_state((sender, Arc::clone(&answers)));
        Self { served: Served::start(routes).await, posts, answers }
    }

    fn origin(&self) -> String {
        self.served.root()
    }

    /// The settings of a house whose operator opens this place.
    fn opened(&self, more: &str) -> String {
        format!("[web]\nallow = ['{}']\n{more}", self.served.address())
    }

    async fn next(&mut self) -> Post {
        within("a push", self.posts.recv()).await.unwrap()
    }
}

/// The side of a browser that opens what it is sent.
struct PushedBrowser {
    key: EphemeralPrivateKey,
    public: Vec<u8>,
    auth: [u8; 16],
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derived(salt: &[u8], input: &[u8], info: &[&[u8]], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    Salt::new(HKDF_SHA256, salt).extract(input).expand(info, Length(length)).unwrap().fill(&mut out).unwrap();
    out
}

impl PushedBrowser {
    fn new() -> Self {
        let key = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = key.compute_public_key().unwrap().as_ref().to_vec();
        Self { key, public, auth: [9; 16] }
    }

    /// Has this browser told, at this address.
    async fn listens(&self, browser: &Browser, endpoint: &str) -> StatusCode {
        let told = object!({ "endpoint": endpoint, "p256dh": URL_SAFE_NO_PAD.encode(&self.public), "auth": URL_SAFE_NO_PAD.encode(self.auth) });
        browser.ask(Method::PUT, "/api/push").json(&told).send().await.unwrap().status()
    }

    /// Opens what was sealed for it (RFC 8291). A key like this opens one thing.
    fn open(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (record, rest) = rest.split_at(4);
        assert_eq!((u32::from_be_bytes(record.try_into().unwrap()), rest[0]), (4_096, 65));
        let (theirs, sealed) = rest[1..].split_at(65);
        let peer = UnparsedPublicKey::new(&ECDH_P256, theirs);
        let shared = agree_ephemeral(self.key, &peer, <[u8]>::to_vec).unwrap();
        let input = derived(&self.auth, &shared, &[b"WebPush: info\0", &self.public, theirs], 32);
        let key = derived(salt, &input, &[b"Content-Encoding: aes128gcm\0"], 16);
        let nonce = derived(salt, &input, &[b"Content-Encoding: nonce\0"], 12);
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut words = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce.try_into().unwrap());
        let words = cipher.open_in_place(nonce, Aad::empty(), &mut words).unwrap();
        let (last, words) = words.split_last().unwrap();
        assert_eq!(*last, 2, "the last record");
        serde_json::from_slice(words).unwrap()
    }
}

async fn listening(hob: &mut TestHob, service: &Service, name: &str) -> (Browser, PushedBrowser) {
    let (browser, ear) = (Browser::entered(hob).await, PushedBrowser::new());
    // A browser needs the key before its push service gives it an address.
    assert_eq!(browser.get("/api/push").await["told"], false);
    let endpoint = format!("{}/push/{name}", service.origin());
    assert_eq!(ear.listens(&browser, &endpoint).await, StatusCode::NO_CONTENT);
    (browser, ear)
}

#[tokio::test]
async fn f8_a_browser_is_told_that_something_waits_and_nothing_of_it() {
    let mut service = Service::start().await;
    let mut hob = hob(&service.opened(PAYS)).await;
    let (browser, ear) = listening(&mut hob, &service, "a").await;
    let key = browser.get("/api/push").await;
    assert_eq!(key["told"], true);
    hob.model.reply(Reply::text("Secret words."));
    browser.say("kitchen", "m1", "Tell me.").await;
    let post = service.next().await;
    let header = |name: &str| post.headers[name].to_str().unwrap().to_owned();
    assert_eq!(
        (header("ttl"), header("urgency"), header("content-encoding")),
        ("86400".into(), "normal".into(), "aes128gcm".into())
    );
    assert_eq!(header("topic").len(), 32);
    assert!(!header("topic").contains("kitchen"));
    let proof = header("authorization");
    let (token, public) = proof.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(public, key["key"].as_str().unwrap());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let public = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes(public));
    public.verify(signed.as_bytes(), &bytes(signature)).unwrap();
    let claims: Value = serde_json::from_slice(&bytes(signed.split_once('.').unwrap().1)).unwrap();
    assert_eq!((&claims["aud"], &claims["sub"]), (&object!(service.origin()), &object!("mailto:hob@localhost")));
    assert_eq!(ear.open(&post.body), object!({ "kind": "said", "chat": "kitchen" }), "and no word of what was said");

    // It listens at a new address, with a new key; what knows Hob is the same after a crash.
    hob.restart().await;
    let browser = browser.at(crate::browser::root(&mut hob).await);
    assert_eq!(browser.get("/api/push").await["key"], key["key"]);
    let ear = PushedBrowser::new();
    assert_eq!(ear.listens(&browser, &format!("{}/push/b", service.origin())).await, StatusCode::NO_CONTENT);
    hob.model.reply(Reply::call("pay", r#"{"to": "Bob"}"#));
    browser.say("bills", "m2", "Pay Bob.").await;
    let post = service.next().await;
    assert_eq!((post.to.as_str(), post.headers["urgency"].to_str().unwrap()), ("b", "high"));
    assert_eq!(ear.open(&post.body), object!({ "kind": "asks", "chat": "bills" }));
}

#[tokio::test]
async fn f8_who_looks_at_the_page_is_not_told() {
    let mut service = Service::start().await;
    let mut hob = hob(&service.opened("")).await;
    let (browser, _ear) = listening(&mut hob, &service, "a").await;
    let mut window = browser.listen("open", None).await;
    hob.model.otherwise(|_| Reply::text("Yes."));
    browser.say("open", "m1", "Well?").await;
    window.answer().await;
    browser.say("beside", "m2", "Well?").await;
    hob.ended(2).await;
    hob.recorded(2).await;
    drop(window);
    // That a window is closed, the server hears when it looks: from then on it tells.
    let mut told = None;
    for number in 0..100 {
        browser.say("closed", &format!("c{number}"), "Well?").await;
        hob.recorded(3 + number).await;
        if let Ok(post) = service.posts.try_recv() {
            told = Some(post);
            break;
        }
    }
    let post = match told {
        Some(post) => post,
        None => service.next().await,
    };
    let topic = post.headers["topic"].clone();
    while let Ok(post) = service.posts.try_recv() {
        assert_eq!(post.headers["topic"], topic, "only of the conversation after the window was closed");
    }
}

#[tokio::test]
async fn f8_a_browser_that_is_gone_is_told_no_more_and_others_are_tried_again() {
    let mut service = Service::start().await;
    let mut hob = hob(&service.opened("")).await;
    let (browser, _ear) = listening(&mut hob, &service, "a").await;
    hob.model.otherwise(|_| Reply::text("Yes."));
    // The last is answered first.
    *service.answers.lock().unwrap() = vec![410, 503];
    browser.say("k", "m1", "Well?").await;
    let (first, again) = (service.next().await, service.next().await);
    assert_ne!(first.body, again.body, "each is sealed anew");
    hob.process().until_logged("a browser is told no more", 1).await;
    assert_eq!(browser.get("/api/push").await["told"], false);
}

#[tokio::test]
async fn f8_who_logs_out_is_told_no_more() {
    let mut service = Service::start().await;
    let mut hob = hob(&service.opened("")).await;
    let (gone, _ear) = listening(&mut hob, &service, "gone").await;
    let (browser, _other) = listening(&mut hob, &service, "stays").await;
    gone.ask(Method::POST, "/logout").send().await.unwrap().error_for_status().unwrap();
    hob.model.otherwise(|_| Reply::text("Yes."));
    for id in ["m1", "m2"] {
        browser.say("k", id, "Well?").await;
        assert_eq!(service.next().await.to, "stays");
    }
    assert!(service.posts.try_recv().is_err());
}

#[tokio::test]
async fn f8_no_push_goes_where_hob_does_not_go() {
    let mut service = Service::start().await;
    let mut hob = hob("").await;
    let (browser, ear) = (Browser::entered(&mut hob).await, PushedBrowser::new());
    browser.get("/api/push").await;
    for bad in [
        format!("{}/push/a", service.origin()),
        "ftp://push.example/a".to_owned(),
        "https://a:b@push.example/a".to_owned(),
    ] {
        assert_eq!(ear.listens(&browser, &bad).await, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
    }
    // By its address alone nobody sees that it leads into the house: who sends does.
    let inward = format!("https://{}/push/a", service.served.address());
    assert_eq!(ear.listens(&browser, &inward).await, StatusCode::NO_CONTENT);
    hob.model.otherwise(|_| Reply::text("Yes."));
    browser.say("k", "m1", "Well?").await;
    hob.process().until_logged("a push service takes nothing", 1).await;
    let log = hob.process().log();
    assert!(log.contains("127.0.0.1 was not asked"), "{log}");
    assert!(service.posts.try_recv().is_err());
}

#[tokio::test]
async fn f8_a_push_service_that_hangs_holds_nobody_up() {
    let mut service = Service::start().await;
    let mut hob = hob(&service.opened(PAYS)).await;
    let (browser, _ear) = listening(&mut hob, &service, "a").await;
    *service.answers.lock().unwrap() = vec![0; 8];
    hob.model.reply(Reply::call("pay", r#"{"to": "Bob"}"#));
    hob.model.reply(Reply::text("Paid."));
    browser.say("k", "m1", "Pay Bob.").await;
    service.next().await;
    // It has the question and says nothing: the approval goes its way.
    let timeline = browser.get("/api/chats/k/messages").await;
    let all = timeline["messages"].as_array().unwrap();
    let token = &all.iter().find_map(|one| one["buttons"].get(0)).unwrap()["token"];
    let mut listening = browser.listen("k", Some("0-0")).await;
    let press = object!({ "id": "p1", "token": token });
    browser.ask(Method::POST, "/api/chats/k/presses").json(&press).send().await.unwrap().error_for_status().unwrap();
    listening.says("Paid.").await;
}
