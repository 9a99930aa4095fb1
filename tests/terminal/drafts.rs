//! Commands that work in a copy of the workspace.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;

use crate::place::{Place, Way};

#[tokio::test]
async fn d6_a_command_in_a_draft_changes_the_draft_and_nothing_else() {
    let place = Place::new(Way::Namespaces).await;
    assert!(place.confined.sandbox.overlays());
    for (name, text) in [("changed", "as it was"), ("deleted", "as it was"), ("kept", "as it was")] {
        fs::write(place.workspace().join(name), text).unwrap();
    }
    fs::create_dir_all(place.workspace().join("folder/inner")).unwrap();
    fs::write(place.workspace().join("folder/inner/file"), "as it was").unwrap();
    let place = place.in_a_draft();
    let (text, code) =
        place.run("echo new > changed; rm deleted; echo x > made; mv folder moved; cat changed; ls").await;
    assert_eq!((text.as_str(), code), ("new\nchanged\nkept\nmade\nmoved", 0));
    let (text, _) = place.run("cat moved/inner/file made").await;
    assert_eq!(text, "as it wasx", "the next command goes on where this one ended");
    for name in ["changed", "deleted", "kept", "folder/inner/file"] {
        assert_eq!(fs::read_to_string(place.workspace().join(name)).unwrap(), "as it was", "{name}");
    }
    assert!(!place.workspace().join("made").exists());
    let upper = place.path("data/draft/upper");
    assert_eq!(fs::read_to_string(upper.join("changed")).unwrap(), "new\n");
    assert!(fs::symlink_metadata(upper.join("deleted")).unwrap().file_type().is_char_device());
    assert!(!upper.join("kept").exists());
    // What was changed is reached by the place of the folder alone.
    let (_, code) = place.run(&format!("stat {} || ls {}", upper.display(), upper.parent().unwrap().display())).await;
    assert_ne!(code, 0);
    let (text, _) = place.run("grep overlay /proc/self/mountinfo").await;
    assert!(!text.contains("data/draft"), "{text}");
}
