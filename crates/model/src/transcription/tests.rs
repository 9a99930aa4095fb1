use futures::StreamExt as _;

use super::*;

fn settings() -> Settings {
    Settings {
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        api_key: None,
        model: "whisper-1".to_owned(),
        language: Some("de".to_owned()),
        bytes_max: 8,
        timeout: Duration::from_secs(1),
        minute: Some(Money::from_usd(0.006)),
    }
}

fn recording(content: &[u8]) -> Recording<'_> {
    let kind = RecordingKind::of("audio/ogg", false).unwrap();
    Recording { content, kind, seconds: None }
}

#[tokio::test]
async fn c6_a_recording_is_sent_as_a_form() {
    let form =
        <Form as AsyncTryFrom<RecordingUpload>>::try_from(RecordingUpload::new(&settings(), &recording(b"OggS")))
            .await
            .unwrap();
    let boundary = form.boundary().to_owned();
    let body: Vec<Bytes> = form.into_stream().map(|piece| piece.unwrap()).collect().await;
    let body = String::from_utf8(body.concat()).unwrap().replace("\r\n", "\n").replace(&boundary, "BOUNDARY");
    insta::assert_snapshot!(body, @r#"
    --BOUNDARY
    Content-Disposition: form-data; name="model"

    whisper-1
    --BOUNDARY
    Content-Disposition: form-data; name="response_format"

    json
    --BOUNDARY
    Content-Disposition: form-data; name="language"

    de
    --BOUNDARY
    Content-Disposition: form-data; name="file"; filename="recording.ogg"
    Content-Type: audio/ogg

    OggS
    --BOUNDARY--
    "#);
}

#[test]
fn c6_what_it_is_decides_under_which_name_it_is_sent() {
    let table = [
        ("audio/ogg", false, Some("ogg")),
        ("audio/opus", false, Some("ogg")),
        ("audio/mpeg", false, Some("mp3")),
        ("audio/m4a", false, Some("m4a")),
        ("audio/x-wav", false, Some("wav")),
        ("audio/x-flac", false, Some("flac")),
        ("video/webm", true, Some("webm")),
        ("video/webm", false, None),
        ("video/mp4", true, Some("mp4")),
        ("video/mp4", false, None),
        ("audio/midi", true, None),
        ("text/plain", true, None),
    ];
    for (mime, spoken, expected) in table {
        assert_eq!(RecordingKind::of(mime, spoken).map(|kind| kind.extension), expected, "{mime}");
    }
}

#[test]
fn n10_a_recording_costs_by_its_length() {
    let transcriber = Transcriber::new(settings()).unwrap();
    let table = [(0, Some(60), 6_000_000, 600), (0, Some(90), 9_000_000, 900), (120_000, None, 6_000_000, 600)];
    for (bytes, seconds, nanos, tokens) in table {
        assert_eq!(transcriber.estimate(bytes, seconds), MoneyAndTokens { usd: Money::from_nanos(nanos), tokens });
    }
    let free = Transcriber::new(Settings { minute: None, ..settings() }).unwrap();
    assert_eq!(
        free.estimate(1, Some(60)),
        MoneyAndTokens { usd: Money::ZERO, tokens: 600 },
        "what nobody knows the price of has tokens"
    );
}

#[tokio::test]
async fn c6_what_is_too_large_is_not_sent() {
    let transcriber = Transcriber::new(settings()).unwrap();
    let heard = transcriber.transcribe_until(&recording(&[0; 9]), Instant::now() + Duration::from_secs(5)).await;
    assert_eq!(heard.unwrap_err().why, "it has 0.0 MB, and 0.0 MB are the most");
}
