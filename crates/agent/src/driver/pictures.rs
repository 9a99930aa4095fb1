//! Pictures on their way to a model: what stands in a history by reference gets its bytes when a request is made.
//!
//! Never: a picture in what is recorded. Whether a request is the one that was recorded does not depend on its bytes.
//! Start at [`Driver::with_pictures`].

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::driver::Driver;
use crate::machine::effect::ModelCall;
use hob_core::domain::ids::FileId;
use hob_model::message::{Base64, Image, Message, Picture, UserPart};
use hob_model::picture;
use hob_model::provider::Request;
use hob_store::error::StoreError;
use hob_store::{Tx, files};

impl Driver {
    /// The request of a call with the bytes of its pictures, as many as fit; words stand for the others, and for all of them
    /// where the model is known not to see, or has refused them.
    pub(super) async fn with_pictures(
        &mut self,
        mut request: Request,
        call: &ModelCall,
    ) -> Result<Request, StoreError> {
        let all: Vec<Picture> = request.messages.iter().flat_map(Message::pictures).cloned().collect();
        if all.is_empty() || !self.ports.table.may_see(&call.label) {
            return Ok(request);
        }
        if call.blind {
            replace_pictures(&mut request, all.iter().map(refused));
            return Ok(request);
        }
        let left_out = picture::plan(&all.iter().collect::<Vec<_>>());
        let files = all.iter().map(|picture| picture.file).collect();
        let kept = self.read(async |tx| still_kept(tx, &files).await).await?;
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
        replace_pictures(&mut request, parts.into_iter());
        Ok(request)
    }
}

/// What stands for a picture that the model has refused.
fn refused(picture: &Picture) -> UserPart {
    UserPart::text(format!("[picture {:?}: the model's provider did not take it]", picture.name))
}

/// Puts these parts in the place of the pictures, in order.
fn replace_pictures(request: &mut Request, mut parts: impl Iterator<Item = UserPart>) {
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

/// Does the request show pictures, and not only words for them?
pub(super) fn shows_pictures(request: &Request) -> bool {
    let parts = request.messages.iter().filter_map(|message| match message {
        Message::User { parts } => Some(parts),
        Message::Assistant { .. } | Message::Tool(_) => None,
    });
    parts.flatten().any(|part| matches!(part, UserPart::Image(_)))
}

/// Which files still have a record, with the content that they are known by.
async fn still_kept(tx: &mut Tx, files: &BTreeSet<FileId>) -> Result<BTreeSet<(FileId, String)>, StoreError> {
    let mut kept = BTreeSet::new();
    for id in files {
        kept.extend(files::find(tx, *id).await?.map(|record| (record.id, record.hash)));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_model::message::MediaType;

    fn request(parts: Vec<UserPart>) -> Request {
        let messages = vec![Message::user("before"), Message::User { parts }, Message::assistant("after", Vec::new())];
        Request { messages, stable: 1, ..Request::default() }
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
        replace_pictures(&mut asked, [UserPart::text("one"), image()].into_iter());
        let expected = request(vec![UserPart::text("look"), UserPart::text("one"), UserPart::text("and"), image()]);
        assert_eq!(asked, expected);
    }

    #[test]
    fn c6_a_request_in_which_words_stand_for_pictures_shows_none() {
        let (hash, name) = (String::new(), "a\".png".to_owned());
        let picture = Picture { file: FileId(1), hash, media_type: MediaType::Png, name, bytes: 1 };
        let mut asked = request(vec![UserPart::text("look"), UserPart::Picture(picture.clone())]);
        assert!(!shows_pictures(&asked));
        replace_pictures(&mut asked, [refused(&picture)].into_iter());
        let words = r#"[picture "a\".png": the model's provider did not take it]"#;
        assert_eq!(asked, request(vec![UserPart::text("look"), UserPart::text(words)]));
        assert!(!shows_pictures(&asked));
        assert!(shows_pictures(&request(vec![UserPart::text("look"), image()])));
    }
}
