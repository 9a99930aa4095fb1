//! Words sealed for one browser (RFC 8291, with `aes128gcm` of RFC 8188): its push service carries them and cannot read them. Pure.

use p256::elliptic_curve::point::AffineCoordinates as _;
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use p256::{PublicKey, SecretKey};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};

/// The one record's size, which no sealed word of Hob's reaches.
const RECORD_BYTES: u32 = 4_096;
/// What comes behind the words of the last record.
const LAST_RECORD: u8 = 2;
/// A salt's length.
pub(super) const SALT_BYTES: usize = 16;

/// Why nothing is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum EncryptionError {
    /// The browser's key is no point of the curve.
    #[error("p256dh is not a P-256 public key")]
    Key,
    /// The browser's secret has another length.
    #[error("auth must have 16 bytes")]
    Auth,
    /// The library refuses.
    #[error("it cannot be encrypted")]
    Refused,
}

impl From<Unspecified> for EncryptionError {
    fn from(_says_nothing: Unspecified) -> Self {
        Self::Refused
    }
}

/// A browser for which words are sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipient {
    key: PublicKey,
    auth: [u8; 16],
}

/// The length of what is derived.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Recipient {
    /// By its public key, as 65 bytes, and its secret.
    pub(super) fn new(key: &[u8], auth: &[u8]) -> Result<Self, EncryptionError> {
        let key = PublicKey::from_sec1_bytes(key).map_err(|_says_nothing| EncryptionError::Key)?;
        let auth = auth.try_into().map_err(|_says_nothing| EncryptionError::Auth)?;
        Ok(Self { key, auth })
    }

    /// Seals words with a key and a salt that are used once.
    pub(super) fn seal(
        &self,
        words: &[u8],
        own: &SecretKey,
        salt: [u8; SALT_BYTES],
    ) -> Result<Vec<u8>, EncryptionError> {
        let own_public = own.public_key().to_encoded_point(false);
        let their_public = self.key.to_encoded_point(false);
        let shared = (self.key.to_projective() * *own.to_nonzero_scalar()).to_affine().x();
        let info: [&[u8]; 3] = [b"WebPush: info\0", their_public.as_bytes(), own_public.as_bytes()];
        let mut input = [0; 32];
        derived((&self.auth, &shared[..]), &info, &mut input)?;
        let (mut key, mut nonce) = ([0; 16], [0; 12]);
        derived((&salt, &input[..]), &[b"Content-Encoding: aes128gcm\0"], &mut key)?;
        derived((&salt, &input[..]), &[b"Content-Encoding: nonce\0"], &mut nonce)?;
        let mut sealed = [words, &[LAST_RECORD]].concat();
        let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
        // The key was derived for this one message.
        cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)?;
        let id = own_public.as_bytes();
        let id_bytes = u8::try_from(id.len()).map_err(|_too_long| EncryptionError::Refused)?;
        Ok([&salt[..], &RECORD_BYTES.to_be_bytes(), &[id_bytes], id, &sealed].concat())
    }
}

/// HKDF with SHA-256.
fn derived(from: (&[u8; 16], &[u8]), info: &[&[u8]], out: &mut [u8]) -> Result<(), Unspecified> {
    let (salt, input) = from;
    Salt::new(HKDF_SHA256, salt).extract(input).expand(info, Length(out.len()))?.fill(out)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn f8_it_is_sealed_as_rfc_8291_shows() {
        let their_key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let recipient = Recipient::new(&bytes(their_key), &bytes("BTBZMqHH6r4Tts7J_aSIgg")).unwrap();
        let own = SecretKey::from_slice(&bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")).unwrap();
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let sealed = recipient.seal(b"When I grow up, I want to be a watermelon", &own, salt).unwrap();
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz\
                        AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(URL_SAFE_NO_PAD.encode(sealed), expected);
    }

    #[test]
    fn f8_what_is_no_key_seals_nothing() {
        let point = SecretKey::from_slice(&[7; 32]).unwrap().public_key().to_encoded_point(false);
        assert_eq!(Recipient::new(&[4; 65], &[0; 16]), Err(EncryptionError::Key));
        assert_eq!(Recipient::new(point.as_bytes(), &[0; 15]), Err(EncryptionError::Auth));
        assert!(Recipient::new(point.as_bytes(), &[0; 16]).is_ok());
    }
}
