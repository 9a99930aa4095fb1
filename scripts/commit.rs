//! The build script: tells a release which commit it is made from. A build for development is not made again for each commit.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this is how cargo tells a build script, and is told"
)]

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=scripts/commit.rs");
    println!("cargo:rerun-if-env-changed=HOB_COMMIT");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if std::env::var_os("HOB_COMMIT").is_some() || !is_release {
        return;
    }
    println!("cargo:rerun-if-changed=.git/logs/HEAD");
    let asked = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Some(told) = asked.ok().filter(|told| told.status.success()) {
        println!("cargo:rustc-env=HOB_COMMIT={}", String::from_utf8_lossy(&told.stdout).trim());
    }
}
