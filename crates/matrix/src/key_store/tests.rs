//! The tests that `matrix-sdk-crypto` has for whatever keeps keys, on this file.

#![expect(unexpected_cfgs, reason = "the tests are a macro, and ask for features of the crate that it comes from")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{OnceLock, PoisonError};

use super::*;

/// A folder for each name, as long as the tests run.
fn folder(name: &str, is_new: bool) -> PathBuf {
    static FOLDERS: OnceLock<Mutex<BTreeMap<String, tempfile::TempDir>>> = OnceLock::new();
    let mut folders = FOLDERS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if is_new {
        folders.remove(name);
    }
    folders.entry(name.to_owned()).or_insert_with(|| tempfile::tempdir().unwrap()).path().join("keys.db")
}

async fn get_store(name: &str, _passphrase: Option<&str>, clear_data: bool) -> KeyStore {
    KeyStore::open(&folder(name, clear_data), &[7; 32]).await.unwrap()
}

impl KeyStore {
    fn get_static_account(&self) -> Option<StaticAccountData> {
        self.own.lock().unwrap().clone()
    }
}

matrix_sdk_crypto::cryptostore_integration_tests!();

#[tokio::test]
async fn f11_keys_are_sealed_and_open_with_their_own_key_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.db");
    let store = KeyStore::open(&path, &[1; 32]).await.unwrap();
    store.set(Kind::Own.named("where"), &"in the blue box").await.unwrap();
    assert!(matches!(KeyStore::open(&path, &[1; 32]).await, Err(KeyStoreError::Busy)));
    store.close().await;
    drop(store);
    let files = std::fs::read_dir(dir.path()).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let all: Vec<u8> = files.flatten().collect();
    assert!(!all.windows(8).any(|bytes| bytes == b"blue box" || bytes == b"\"where\"\0"));
    assert!(matches!(KeyStore::open(&path, &[2; 32]).await, Err(KeyStoreError::Seal(_))));
    let store = KeyStore::open(&path, &[1; 32]).await.unwrap();
    let kept: Option<String> = store.get(Kind::Own.named("where")).await.unwrap();
    assert_eq!(kept.as_deref(), Some("in the blue box"));
}
