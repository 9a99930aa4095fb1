//! Hob's own device: it stays, it says when its keys are gone, and somebody can vouch for it.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;

use crate::world::{ADA, HOB, Person, World, said};

#[tokio::test]
async fn f11_a_device_whose_keys_are_gone_says_so_and_a_new_one_takes_its_place() {
    let mut world = World::new("").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    world.hob.model.reply(Reply::text("Hello."));
    ada.says(&room, "hi").await;
    ada.hears(&room, "Hello.").await;
    let first = world.login();
    assert!(world.hob.stop().await.success());
    std::fs::remove_file(world.keys()).unwrap();
    world.hob.start().await;
    world.hob.process().until_log("the keys of Hob's device on Matrix are gone").await;
    let status = hob_command(world.hob.home.path(), &["status"]).output().await.unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(
        status.contains("matrix: down; the keys of Hob's device on Matrix are gone")
            && status.contains("hob matrix reset"),
        "{status}"
    );
    // Beside a running Hob nothing is changed; nor does it make a new device by itself.
    assert_eq!(world.login()["device"], first["device"]);
    assert!(world.hob.stop().await.success());
    let reset = hob_command(world.hob.home.path(), &["matrix", "reset"]).output().await.unwrap();
    assert!(reset.status.success(), "{reset:?}");
    world.start().await;
    let second = world.login();
    assert_ne!(second["device"], first["device"]);
    assert_eq!((&second["has_keys"], &second["replaces_identity"]), (&json!(true), &json!(false)));
    world.hob.model.reply(Reply::text("Here again."));
    ada.does(json!({"do": "devices", "user": HOB})).await;
    ada.says(&room, "are you there?").await;
    ada.hears(&room, "Here again.").await;
    world.hob.nothing_refused();
}

#[tokio::test]
async fn f11_a_script_sets_matrix_up_and_a_mistyped_address_is_made_good() {
    let world = World::new("").await;
    let home = tempfile::tempdir().unwrap();
    let password = home.path().join("password");
    std::fs::write(&password, "hob\n").unwrap();
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
    let sets_up = async |homeserver: &str| {
        let mut command =
            hob_command(home.path(), &["init", "--non-interactive", "--provider", "offline", "--service", "none"]);
        command.args(["--matrix-homeserver", homeserver, "--matrix-user", HOB, "--owner-matrix-id", ADA, "--yes"]);
        command.arg("--matrix-password-file").arg(&password);
        let output = within("end of hob init", command.output()).await.unwrap();
        (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (is_set_up, told) = sets_up(&format!("{}/nothing-here", world.proxy.address)).await;
    assert!(!is_set_up && told.contains("Matrix: "), "{told}");
    let (is_set_up, told) = sets_up(&world.proxy.address).await;
    assert!(is_set_up && told.contains(&format!("Matrix: connected as {HOB}.")), "{told}");
    assert!(world.proxy.asked("/keys/device_signing/upload") > 0);
}

#[tokio::test]
async fn f11_a_message_without_a_key_is_told_of_once() {
    let mut world = World::new("").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    ada.does(json!({"do": "keep_key", "room": room})).await;
    ada.says(&room, "nobody can read this").await;
    ada.says(&room, "nor this").await;
    let told = |event: &serde_json::Value| {
        said(event).is_some_and(|text| text.starts_with("A message here was encrypted without a key for me"))
    };
    ada.until("word that it cannot be read", told).await;
    world.hob.process().until_logged("a message cannot be read yet", 2).await;
    assert_eq!(ada.seen().iter().filter(|event| told(event)).count(), 1);
    world.hob.nothing_refused();
}

/// `hob matrix verify` at work.
struct Verifying {
    child: Child,
    /// What it has printed.
    shown: String,
}

impl Verifying {
    /// It listens once this is done: nobody is heard before.
    async fn begin(world: &World) -> Self {
        let before = world.proxy.syncs();
        let mut command = hob_command(world.hob.home.path(), &["matrix", "verify"]);
        let child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        within("sync of a verification", async {
            while world.proxy.syncs() < before + 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        Self { child, shown: String::new() }
    }

    /// Until it asks whether the codes are the same.
    async fn until_asked(&mut self) {
        let stdout = self.child.stdout.as_mut().unwrap();
        within("question", async {
            let mut bytes = [0; 1_024];
            while !self.shown.contains("[y/N]") {
                let count = stdout.read(&mut bytes).await.unwrap();
                assert!(count > 0, "it ended: {}", self.shown);
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        })
        .await;
    }

    /// The codes are the same. Gives how it ended, and what it said to standard error.
    async fn says_yes(mut self) -> (bool, String) {
        self.child.stdin.as_mut().unwrap().write_all(b"y\n").await.unwrap();
        let ended = within("end of hob matrix verify", self.child.wait_with_output()).await.unwrap();
        (ended.status.success(), String::from_utf8(ended.stderr).unwrap())
    }
}

/// A world whose Hob has been there and is stopped; somebody whose client knows its device; that device.
async fn stopped() -> (World, Person, String) {
    let mut world = World::new("").await;
    world.start().await;
    let device = world.login()["device"].as_str().unwrap().to_owned();
    // Its own cross-signing keys are there, by the password, and its device is signed with them.
    assert!(world.proxy.asked("/keys/device_signing/upload") > 0);
    assert_eq!(world.proxy.asked("/keys/signatures/upload"), 1);
    assert!(world.hob.stop().await.success());
    let mut ada = world.person("ada").await;
    assert_eq!(ada.does(json!({"do": "devices", "user": HOB})).await, json!([device]));
    (world, ada, device)
}

#[tokio::test]
async fn f11_hob_signs_its_device_and_somebody_vouches_for_it_by_a_code() {
    let (world, mut ada, device) = stopped().await;
    let mut verifying = Verifying::begin(&world).await;
    // Whoever closes their client in the middle and begins once more has both ended. They may begin a third time.
    ada.does(json!({"do": "verify", "user": HOB, "device": device, "is_closed": true})).await;
    ada.does(json!({"do": "verify", "user": HOB, "device": device})).await;
    ada.until("end of the second", |event| event["type"] == "cancelled").await;
    ada.does(json!({"do": "verify", "user": HOB, "device": device})).await;
    let code = ada.until("code", |event| event["type"] == "code").await;
    verifying.until_asked().await;
    let shown = &verifying.shown;
    assert!(shown.contains(&format!("@ada:house.test ({})", ada.device)), "{shown}");
    for name in code["pictures"].as_array().unwrap() {
        // Some clients have other words for them, and colour them by a sign that is not seen.
        assert!(shown.contains(name.as_str().unwrap().chars().next().unwrap()), "{name} in {shown}");
    }
    let (is_verified, told) = verifying.says_yes().await;
    ada.until("end of it", |event| event["type"] == "verified").await;
    assert!(is_verified, "{told}");
}

#[tokio::test]
async fn f11_who_vouches_for_a_key_that_is_not_theirs_is_not_verified() {
    let (world, mut ada, device) = stopped().await;
    let mut verifying = Verifying::begin(&world).await;
    ada.does(json!({"do": "verify", "user": HOB, "device": device, "is_forged": true})).await;
    ada.until("code", |event| event["type"] == "code").await;
    verifying.until_asked().await;
    let (is_verified, told) = verifying.says_yes().await;
    assert!(!is_verified && told.contains("it was ended, and nobody is verified"), "{told}");
}
