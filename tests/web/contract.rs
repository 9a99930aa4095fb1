//! The API does what its description says, whatever it is asked: `schemathesis` from PyPI asks it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::browser::house;
use crate::compat::Program;
use crate::support::fake_model::Reply;

/// It is asked for so long at most.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn n8_the_api_keeps_its_description() {
    let mut house = house("").await;
    house.model.otherwise(|_| Reply::text("Yes."));
    let program = Program::of(&mut house, &[]).await;
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/bin/schemathesis");
    assert!(tool.exists(), "schemathesis is missing: scripts/test installs it (it needs a network, once)");
    let mut command = Command::new(tool);
    command.args([
        "run",
        &program.at("/api/openapi.json"),
        "--header",
        &format!("Authorization: Bearer {}", program.key),
    ]);
    // What streams never ends by itself. Whether a key was shown is tried elsewhere, and here each request shows one.
    command.args(["--exclude-path-regex", "/events$", "--exclude-checks", "ignored_auth,positive_data_acceptance"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", "12", "--seed", "7", "--workers", "1"]);
    command.args(["--request-timeout", "10", "--no-color", "--generation-database", "none"]);
    command.env_clear().current_dir(house.home.path()).kill_on_drop(true).stdin(Stdio::null());
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = ended.unwrap_or_else(|_| panic!("it still asks after {PATIENCE:?}")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("generated,") && !said.contains("failed"), "{said}");
}
