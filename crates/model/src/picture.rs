//! Pictures: which of them are worth showing to a model, and which go along with a request.
//!
//! Only their headers are read: nothing is unpacked here, however large it says it would be.
//!
//! Never: I/O.
//! Start at [`inspect`] (when one comes) and [`plan`] (when a request is made).

use crate::message::{MediaType, Picture};

#[cfg(test)]
mod tests;

/// The most bytes of a picture that is shown: in Base64 they are the 5 MB that the strictest provider takes.
pub const BYTES_MAX: u64 = 3_932_160;
/// The most pixels of a side: beyond it Anthropic takes none.
const SIDE_MAX: u32 = 8_000;
/// The most pictures that go along with one request.
const COUNT_MAX: usize = 8;
/// The most bytes that they are together: in Base64 they fit the 20 MB that Gemini takes in all.
const TOTAL_BYTES_MAX: u64 = 12 << 20;
/// So many are left out at once, so that the requests of many turns begin alike.
const STEP: usize = 4;

/// Why a picture is shown to no model, in words that go on a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureRejection {
    /// It has too many bytes.
    #[error("it is larger than 3.9 MB")]
    TooHeavy,
    /// It has too many pixels.
    #[error("it is {0} × {1} pixels, and 8000 a side are the most")]
    TooLarge(u32, u32),
    /// Its header says nothing that makes sense.
    #[error("it is damaged")]
    Damaged,
    /// It moves, and not every provider takes that.
    #[error("it is animated, and only still pictures can be shown")]
    Moves,
}

/// What can be shown of a file, if it is a picture of a kind that models see; none: it is something else.
pub fn inspect(mime: &str, bytes: &[u8]) -> Option<Result<MediaType, PictureRejection>> {
    let (kind, size) = match mime {
        "image/jpeg" => (MediaType::Jpeg, jpeg(bytes)),
        "image/png" => (MediaType::Png, png(bytes)),
        "image/gif" => (MediaType::Gif, gif(bytes)),
        "image/webp" => (MediaType::WebP, webp(bytes)),
        _ => return None,
    };
    let fits = |size: u32| (1..=SIDE_MAX).contains(&size);
    Some(match size {
        None | Some((0, _) | (_, 0)) => Err(PictureRejection::Damaged),
        Some((width, height)) if !fits(width) || !fits(height) => Err(PictureRejection::TooLarge(width, height)),
        Some(_) if bytes.len() as u64 > BYTES_MAX => Err(PictureRejection::TooHeavy),
        Some(_) if moves(kind, bytes) => Err(PictureRejection::Moves),
        Some(_) => Ok(kind),
    })
}

/// How many of these pictures, the oldest first, do not go along any more. The newest always does.
pub fn plan(pictures: &[&Picture]) -> usize {
    let mut left_out = 0;
    while pictures.len() - left_out > COUNT_MAX {
        left_out += STEP;
    }
    let total = |from: usize| pictures.iter().skip(from).map(|picture| picture.bytes).sum::<u64>();
    while left_out + 1 < pictures.len() && total(left_out) > TOTAL_BYTES_MAX {
        left_out += 1;
    }
    left_out
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    let pair: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u32::from(u16::from_be_bytes(pair)))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    let pair: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u32::from(u16::from_le_bytes(pair)))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(be16(bytes, at)? << 16 | be16(bytes, at + 2)?)
}

/// The first chunk of a PNG tells its size.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    Some((be32(bytes, 16)?, be32(bytes, 20)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((le16(bytes, 6)?, le16(bytes, 8)?))
}

/// The first chunk of a WebP is one of three kinds, each with the size in another place.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((le24(bytes, 24)? + 1, le24(bytes, 27)? + 1)),
        b"VP8 " => Some((le16(bytes, 26)? & 0x3FFF, le16(bytes, 28)? & 0x3FFF)),
        b"VP8L" => {
            let packed = le16(bytes, 21)? | le16(bytes, 23)? << 16;
            Some(((packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1))
        }
        _ => None,
    }
}

/// A JPEG is a row of segments; the one that begins a frame tells the size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        match (*bytes.get(at)?, marker) {
            // Markers may be padded.
            (0xFF, 0xFF) => at += 1,
            (0xFF, 0x01 | 0xD0..=0xD7) => at += 2,
            (0xFF, 0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF) => {
                return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?));
            }
            // The picture itself begins, or is over, and nothing has told how large it is.
            (0xFF, 0xD8..=0xDA) => return None,
            (0xFF, _) => at += 2 + usize::try_from(be16(bytes, at + 2)?).ok()?.max(2),
            _ => return None,
        }
    }
}

/// Does it have more than one frame? A GIF that moves says how often it goes round, an animated WebP has a flag.
fn moves(kind: MediaType, bytes: &[u8]) -> bool {
    let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    match kind {
        MediaType::Gif => has(b"NETSCAPE2.0") || has(b"ANIMEXTS1.0"),
        MediaType::WebP => bytes.get(12..16) == Some(b"VP8X") && bytes.get(20).is_some_and(|flags| flags & 2 != 0),
        MediaType::Jpeg | MediaType::Png => false,
    }
}
