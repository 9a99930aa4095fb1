//! Against a server on loopback that goes on and on, or answers as it is told.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::settings::Deadlines;
use hob_core::domain::secret::Secret;

/// More than any answer may have, and than lies in the buffers of a connection.
const FLOOD_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
struct FakeForm;

impl AsyncTryFrom<FakeForm> for Form {
    type Error = OpenAIError;

    async fn try_from(_said: FakeForm) -> Result<Self, OpenAIError> {
        Ok(Self::new().text("model", "whisper-1"))
    }
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Models,
    Model,
    Embed,
    Transcribe,
    Speak,
}

const CALLS: [Call; 5] = [Call::Models, Call::Model, Call::Embed, Call::Transcribe, Call::Speak];

impl Call {
    async fn of(self, client: &Client) -> Result<Value, Failure> {
        match self {
            Self::Models => client.models().await,
            Self::Model => client.model("m").await,
            Self::Embed => client.embed("m", vec!["a".to_owned()], Some(3)).await,
            Self::Transcribe => client.transcribe(FakeForm).await,
            Self::Speak => {
                let spoken = client.speak(CreateSpeechRequest::default()).await;
                spoken.map(|sound| serde_json::from_slice(&sound).unwrap())
            }
        }
    }
}

async fn listener() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let endpoint = Endpoint::new(&base_url, "", Deadlines::default()).unwrap();
    let key = Secret::new("sk-test".to_owned());
    let endpoint = endpoint.key(reqwest::header::AUTHORIZATION, "Bearer ", Some(&key)).unwrap();
    (listener, endpoint)
}

/// Calls the server, which gives this head and then `more` for as long as it is listened to; answers with what came of it,
/// with the heads of all requests, and with how much the server could give.
async fn called(call: Call, head: &str, more: &[u8], most: usize) -> (Result<Value, Failure>, Vec<String>, usize) {
    let (listener, endpoint) = listener().await;
    let client = match call {
        Call::Speak => Client::for_sound(endpoint, Duration::from_secs(60)),
        _ => Client::patient(endpoint, Duration::from_secs(60)),
    };
    let (mut asked, mut given) = (Vec::new(), 0);
    let server = async {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                assert_ne!(connection.read_buf(&mut bytes).await.unwrap(), 0, "the client is gone");
            }
            asked.push(String::from_utf8_lossy(&bytes).split_once("\r\n\r\n").unwrap().0.to_lowercase());
            connection.write_all(head.as_bytes()).await.unwrap();
            while given < most && connection.write_all(more).await.is_ok() {
                given += more.len();
            }
        }
    };
    let outcome = tokio::select! {
        outcome = call.of(&client) => outcome,
        () = server => unreachable!("the server listens for ever"),
    };
    (outcome, asked, given)
}

fn head(status: &str, more: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n{more}\r\n")
}

#[tokio::test]
async fn k1_an_answer_without_end_is_given_up_and_not_buffered() {
    for call in CALLS {
        let (outcome, _, given) = called(call, &head("200 OK", ""), &[b' '; 64 * 1024], FLOOD_BYTES).await;
        assert_eq!(outcome.unwrap_err().error.class, ErrorClass::Malformed, "{call:?}");
        assert!(given < FLOOD_BYTES / 2, "{call:?} was given {given} bytes");
        let (outcome, _, given) = called(call, &head("400 Bad Request", ""), &[b' '; 64 * 1024], FLOOD_BYTES).await;
        let failure = outcome.unwrap_err();
        assert_eq!((failure.error.class, failure.status), (ErrorClass::BadRequest, 400), "{call:?}");
        assert!(given < FLOOD_BYTES / 2, "{call:?} was given {given} bytes of an error");
    }
}

#[tokio::test]
async fn k1_a_request_is_sent_once_and_its_failure_is_a_decision() {
    let error = br#"{"error":{"message":"Slow down.","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#;
    let more = format!("retry-after: 7\r\ncontent-length: {}\r\n", error.len());
    for call in CALLS {
        let head = head("429 Too Many Requests", &more);
        let (outcome, asked, _) = called(call, &head, error, error.len()).await;
        let failure = outcome.unwrap_err();
        let told = (failure.error.class, failure.error.retry_after, failure.status);
        assert_eq!(told, (ErrorClass::RateLimit, Some(Duration::from_secs(7)), 429), "{call:?}");
        assert_eq!(asked.len(), 1, "{call:?} was asked again");
    }
}

#[tokio::test]
async fn k1_requests_go_to_their_place_with_the_key_and_no_other_header_of_the_environment() {
    let places = [
        "get /v1/models ",
        "get /v1/models/m ",
        "post /v1/embeddings ",
        "post /v1/audio/transcriptions ",
        "post /v1/audio/speech ",
    ];
    for (call, place) in CALLS.into_iter().zip(places) {
        let answer = head("200 OK", "content-length: 2\r\n");
        let (outcome, asked, _) = called(call, &answer, b"{}", 2).await;
        assert_eq!(outcome.unwrap(), serde_json::json!({}));
        let head = asked.first().unwrap();
        assert!(head.starts_with(place) && head.contains("authorization: bearer sk-test"), "{head}");
        assert!(head.contains("user-agent: hob/") && !head.contains("openai-"), "{head}");
    }
}

/// A log that is kept.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn k1_what_an_answer_says_stays_out_of_the_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    for answer in [br#"{"text":"at the sea"}"#.as_slice(), b"at the sea", br#"{"text":"at the sea""#] {
        let (listener, endpoint) = listener().await;
        let client = Client::patient(endpoint, Duration::from_secs(60));
        let server = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            // Who answers before the question is asked is not a server.
            let mut asked = Vec::new();
            while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
                assert_ne!(connection.read_buf(&mut asked).await.unwrap(), 0, "the client is gone");
            }
            let head = head("200 OK", &format!("content-length: {}\r\n", answer.len()));
            connection.write_all(&[head.as_bytes(), answer].concat()).await.unwrap();
            connection.read_to_end(&mut Vec::new()).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(client.transcribe::<_, Vec<u8>>(FakeForm), server);
        assert_eq!(outcome.unwrap_err().error.class, ErrorClass::Malformed);
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("another shape") && !log.contains("sea"), "{log}");
}
