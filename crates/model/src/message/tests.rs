use super::*;

fn call() -> ToolCall {
    ToolCall { id: CallId("1.0".to_owned()), name: "look".to_owned(), arguments: "{}".to_owned() }
}

fn sealed() -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: "a/b".to_owned(), kind: "thinking".to_owned(), data: "{ }".to_owned() })
}

fn picture() -> Picture {
    let (media_type, name) = (MediaType::Jpeg, "photo.jpg".to_owned());
    Picture { file: FileId(3), hash: "ab".to_owned(), media_type, name, bytes: 5 }
}

#[test]
fn c6_a_picture_is_stored_by_reference() {
    let message = Message::user_with("look", &[picture()]);
    let stored = serde_json::to_string(&message).unwrap();
    insta::assert_snapshot!(stored, @r#"{"role":"user","text":"","parts":[{"is":"text","text":"look"},{"is":"picture","file":3,"hash":"ab","media_type":"image/jpeg","name":"photo.jpg","bytes":5}]}"#);
    assert_eq!((message.text().as_ref(), message.pictures().count()), ("look", 1));
    assert_eq!(Message::user_with("hi", &[]), Message::user("hi"));
    assert_eq!(format!("{:?}", Base64::from("AA==")), "Base64(4 characters)");
}

#[test]
fn words_and_calls_are_stored_as_ever() {
    let table = [
        (Message::user("hi"), r#"{"role":"user","text":"hi"}"#),
        (Message::assistant("ho", Vec::new()), r#"{"role":"assistant","text":"ho"}"#),
        (
            Message::assistant("", vec![call()]),
            r#"{"role":"assistant","text":"","calls":[{"id":"1.0","name":"look","arguments":"{}"}]}"#,
        ),
    ];
    for (message, stored) in table {
        assert_eq!(serde_json::to_string(&message).unwrap(), stored);
        assert_eq!(serde_json::from_str::<Message>(stored).unwrap(), message);
    }
}

#[test]
fn parts_come_back_in_their_order() {
    let image = UserPart::Image(Image::new(MediaType::Png, "AA=="));
    let picture = picture();
    let table = [
        Message::User { parts: vec![image.clone()] },
        Message::User { parts: vec![UserPart::Picture(picture.clone())] },
        Message::user_with("look", &[picture.clone(), picture]),
        Message::User { parts: vec![UserPart::text("a"), image, UserPart::text("b")] },
        Message::Assistant { parts: vec![sealed(), ReplyPart::text("a"), sealed(), ReplyPart::Call(call())] },
        Message::Assistant { parts: vec![ReplyPart::Call(call()), ReplyPart::text("a")] },
    ];
    for message in table {
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message, "{stored}");
    }
    let completion = Completion { parts: vec![sealed(), ReplyPart::text("a")], ..Completion::default() };
    let stored = serde_json::to_string(&completion).unwrap();
    assert_eq!(serde_json::from_str::<Completion>(&stored).unwrap(), completion, "{stored}");
    assert_eq!(completion.text(), "a");
}
