use proptest::prelude::*;

use super::*;

/// The events of these bytes, pushed in pieces of so many.
fn events(framing: Framing, bytes: &[u8], piece_len: usize) -> Result<Vec<Frame>, ModelError> {
    let mut frames = Frames::new(framing);
    let mut seen = Vec::new();
    for piece in bytes.chunks(piece_len) {
        frames.push(piece)?;
        while let Some(frame) = frames.next_frame()? {
            seen.push(frame);
        }
    }
    seen.extend(frames.finish_stream());
    Ok(seen)
}

fn event(data: &str) -> Frame {
    Frame::Event(data.to_owned())
}

#[test]
fn server_sent_events_are_read_however_they_are_cut() {
    let table = [
        ("data: a\n\ndata: b\n\n", vec![event("a"), event("b")]),
        ("\u{feff}data:a\r\n\r\ndata: ü東🎉\r\n\r\n", vec![event("a"), event("ü東🎉")]),
        ("event: x\nid: 1\ndata: a\nretry: 5\ndata:  b\n\n", vec![event("a\n b")]),
        (": ping\n\n:\ndata: a\n\n\n\n", vec![Frame::Comment, Frame::Comment, event("a")]),
        ("data\n\ndata: a\n\n", vec![event(""), event("a")]),
        ("event: x\n\nnonsense\n\ndatum: a\n\n", vec![]),
        ("data: a\n\ndata: cut off\n", vec![event("a")]),
    ];
    for (text, expected) in table {
        for piece_len in [1, 2, 3, 7, 1000] {
            let seen = events(Framing::ServerSentEvents, text.as_bytes(), piece_len).unwrap();
            assert_eq!(seen, expected, "{text:?} by {piece_len}");
        }
    }
}

#[test]
fn json_lines_need_no_last_end() {
    for piece_len in [1, 2, 3, 1000] {
        let text = "\u{feff}{\"a\":1}\r\n\n  \n{\"b\":\"ü\"}\n{\"c\":3}";
        let seen = events(Framing::JsonLines, text.as_bytes(), piece_len).unwrap();
        assert_eq!(seen, [event("{\"a\":1}"), event("{\"b\":\"ü\"}"), event("{\"c\":3}")]);
    }
    assert_eq!(events(Framing::JsonLines, b"{\"a\":\"\xc3", 100).unwrap(), []);
}

#[test]
fn a_character_that_was_cut_costs_no_more_than_itself() {
    for piece_len in [1, 3, 100] {
        let seen = events(Framing::ServerSentEvents, b"data: a\xf0\x9f\r\n\r\ndata: b\n\n", piece_len).unwrap();
        assert_eq!(seen, [event("a\u{fffd}"), event("b")]);
        let seen = events(Framing::JsonLines, b"{\"a\":\"\xf0\x9f\"}\n", piece_len).unwrap();
        assert_eq!(seen, [event("{\"a\":\"\u{fffd}\"}")]);
    }
}

#[test]
fn floods_end() {
    let floods: [&[u8]; 4] = [b" ", b"\n", b"\r\n", b"data: \n"];
    for flood in floods {
        let bytes = flood.repeat(10_000_000 / flood.len());
        for framing in [Framing::ServerSentEvents, Framing::JsonLines] {
            if framing == Framing::JsonLines && flood == b"data: \n" {
                continue;
            }
            events(framing, &bytes, 64 * 1024).unwrap_err();
        }
    }
    let comment = format!(": {}\n\n", "ping".repeat(1000));
    let comments = comment.repeat(STREAM_BYTES_MAX / comment.len() + 1);
    events(Framing::ServerSentEvents, comments.as_bytes(), 64 * 1024).unwrap_err();
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b':'), Just(b'd'), Just(0xc3), any::<u8>()], 0..60),
        piece_len in 1_usize..8,
    ) {
        for framing in [Framing::ServerSentEvents, Framing::JsonLines] {
            prop_assert_eq!(events(framing, &bytes, piece_len).is_ok(), events(framing, &bytes, 1000).is_ok());
            if let (Ok(cut), Ok(whole)) = (events(framing, &bytes, piece_len), events(framing, &bytes, 1000)) {
                prop_assert_eq!(cut, whole);
            }
        }
    }
}
