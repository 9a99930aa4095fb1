//! By what push services know who sends (RFC 8292): a signed word for one of them, for a few hours.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde::Serialize;
use url::Url;

use crate::push::encryption::EncryptionError;

/// The key pair of this Hob.
pub(super) struct VapidKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

/// A new key, to be kept.
pub(super) fn fresh() -> Result<Vec<u8>, EncryptionError> {
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())?;
    Ok(made.as_ref().to_vec())
}

/// What is signed.
#[derive(Serialize)]
struct Claims<'a> {
    aud: String,
    exp: i64,
    sub: &'a str,
}

impl VapidKey {
    /// From what is kept.
    pub(super) fn of(pkcs8: &[u8]) -> Result<Self, EncryptionError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
        Ok(Self { pair: pair.map_err(|_rejected| EncryptionError::Refused)?, random })
    }

    /// The public half, as browsers and push services take it.
    pub(super) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    /// `Authorization` for the push service at `endpoint`, until a moment in seconds since 1970.
    pub(super) fn authorization(&self, endpoint: &Url, until: i64, subject: &str) -> Result<String, EncryptionError> {
        let claims = Claims { aud: endpoint.origin().ascii_serialization(), exp: until, sub: subject };
        let claims = serde_json::to_vec(&claims).map_err(|_has_a_form| EncryptionError::Refused)?;
        let head = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"ES256"}"#);
        let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = self.pair.sign(&self.random, signed.as_bytes())?;
        Ok(format!("vapid t={signed}.{}, k={}", URL_SAFE_NO_PAD.encode(signature), self.public()))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn f8_a_push_service_can_check_who_sends() {
        let key = VapidKey::of(&fresh().unwrap()).unwrap();
        let endpoint = Url::parse("https://push.example.net:8443/v1/abc").unwrap();
        let told = key.authorization(&endpoint, 1_700_000_000, "https://hob.example.org").unwrap();
        let (token, public) = told.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes(public));
        public.verify(signed.as_bytes(), &bytes(signature)).unwrap();
        let claims = String::from_utf8(bytes(signed.split_once('.').unwrap().1)).unwrap();
        insta::assert_snapshot!(claims, @r#"{"aud":"https://push.example.net:8443","exp":1700000000,"sub":"https://hob.example.org"}"#);
        assert!(VapidKey::of(b"no key").is_err());
    }
}
