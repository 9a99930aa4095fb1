//! Pictures on their way to a model: what stands in a history by reference gets its bytes when a request is made.
//!
//! Never: a picture in what is recorded. Whether a request is the one that was recorded does not depend on its bytes.
//! Start at [`Driver::with_pictures`].

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::agent::driver::Driver;
use crate::domain::ids::FileId;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::message::{Base64, Image, Message, Picture, UserPart};
use crate::model::picture;
use crate::model::provider::Request;
use crate::store::error::StoreError;
use crate::store::{Statement, Tx, files};

impl Driver {
    /// The request with the bytes of its pictures, as many as fit; words stand for the others, and for all of them where
    /// the model is known not to see.
    pub(super) async fn with_pictures(&mut self, mut request: Request, label: &str) -> Result<Request, StoreError> {
        let all: Vec<Picture> = request.messages.iter().flat_map(Message::pictures).cloned().collect();
        if all.is_empty() || !self.ports.table.may_see(label) {
            return Ok(request);
        }
        let left_out = picture::plan(&all.iter().collect::<Vec<_>>());
        let kept = self.read(StillKept { files: all.iter().map(|picture| picture.file).collect() }).await?;
        let mut loaded: BTreeMap<String, Base64> = BTreeMap::new();
        let mut parts = Vec::with_capacity(all.len());
        for (at, picture) in all.iter().enumerate() {
            let Picture { file, hash, media_type, name, bytes } = picture;
            if at < left_out {
                parts.push(UserPart::text(format!("[picture {name:?}: shown before, and left out here for room]")));
                continue;
            }
            if !loaded.contains_key(hash) && kept.contains(&(*file, hash.clone())) {
                match self.ports.contents.read(hash, *bytes).await {
                    Ok(content) => {
                        loaded.insert(hash.clone(), STANDARD.encode(content).into());
                    }
                    Err(error) => tracing::warn!(run = %self.key.run, %file, %error, "a picture cannot be read"),
                }
            }
            parts.push(match loaded.get(hash).filter(|_| kept.contains(&(*file, hash.clone()))) {
                Some(base64) => {
                    UserPart::Image(Image { media_type: *media_type, base64: base64.clone(), name: name.clone() })
                }
                None => UserPart::text(format!("[picture {name:?}: it is not kept any more]")),
            });
        }
        put(&mut request, parts.into_iter());
        Ok(request)
    }
}

/// Puts these parts in the place of the pictures, in order.
fn put(request: &mut Request, mut parts: impl Iterator<Item = UserPart>) {
    let messages = request.messages.iter_mut().filter_map(|message| match message {
        Message::User { parts } => Some(parts),
        Message::Assistant { .. } | Message::Tool(_) => None,
    });
    for place in messages.flatten().filter(|part| matches!(part, UserPart::Picture(_))) {
        if let Some(part) = parts.next() {
            *place = part;
        }
    }
}

/// The same request with words for its pictures, if they may be why it was refused: one that a provider does not take
/// must not end the conversation in which it was sent.
pub(super) fn without_pictures(request: &Request, error: &ModelError) -> Option<Request> {
    if !matches!(error.class, ErrorClass::BadRequest | ErrorClass::Refused) {
        return None;
    }
    let mut blind = request.clone();
    let mut replaced = 0;
    for message in &mut blind.messages {
        let Message::User { parts } = message else { continue };
        for part in parts {
            if let UserPart::Image(Image { name, .. }) = part {
                *part = UserPart::text(format!("[picture {name:?}: the model's provider did not take it]"));
                replaced += 1;
            }
        }
    }
    if replaced > 0 {
        tracing::warn!(pictures = replaced, class = %error.class, "a request with pictures was refused; asked without");
    }
    (replaced > 0).then_some(blind)
}

/// Which files still have a record, with the content that they are known by.
#[derive(Clone)]
struct StillKept {
    files: BTreeSet<FileId>,
}

#[async_trait]
impl Statement for StillKept {
    type Output = BTreeSet<(FileId, String)>;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        let mut kept = BTreeSet::new();
        for id in &self.files {
            kept.extend(files::find(tx, *id).await?.map(|record| (record.id, record.hash)));
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::message::MediaType;
    use crate::model::provider::ToolChoice;

    fn request(parts: Vec<UserPart>) -> Request {
        let messages = vec![Message::user("before"), Message::User { parts }, Message::assistant("after", Vec::new())];
        let (system, tools, tool_choice) = (String::new(), Vec::new(), ToolChoice::Auto);
        Request { system, messages, stable: 1, tools, tool_choice, max_output_tokens: None }
    }

    fn image() -> UserPart {
        UserPart::Image(Image { media_type: MediaType::Png, base64: "AA==".into(), name: "a\".png".to_owned() })
    }

    #[test]
    fn c6_pictures_take_the_places_of_their_references_in_order() {
        let picture = |name: &str| {
            let (hash, name) = (String::new(), name.to_owned());
            UserPart::Picture(Picture { file: FileId(1), hash, media_type: MediaType::Png, name, bytes: 1 })
        };
        let mut asked = request(vec![UserPart::text("look"), picture("a"), UserPart::text("and"), picture("b")]);
        put(&mut asked, [UserPart::text("one"), image()].into_iter());
        let expected = request(vec![UserPart::text("look"), UserPart::text("one"), UserPart::text("and"), image()]);
        assert_eq!(asked, expected);
    }

    #[test]
    fn c6_a_picture_that_is_refused_does_not_end_the_conversation() {
        let refused = |class| ModelError::new(class, "no");
        let asked = request(vec![UserPart::text("look"), image()]);
        for class in [ErrorClass::BadRequest, ErrorClass::Refused] {
            let blind = without_pictures(&asked, &refused(class)).unwrap();
            let words = r#"[picture "a\".png": the model's provider did not take it]"#;
            assert_eq!(blind, request(vec![UserPart::text("look"), UserPart::text(words)]));
            assert_eq!(without_pictures(&blind, &refused(class)), None, "once");
        }
        for class in [ErrorClass::Auth, ErrorClass::RateLimit, ErrorClass::ContextTooLong, ErrorClass::Network] {
            assert_eq!(without_pictures(&asked, &refused(class)), None, "{class}");
        }
    }
}
