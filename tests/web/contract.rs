//! The API does what its description says, whatever it is asked: `schemathesis` from PyPI asks it. The description is one:
//! `openapi-spec-validator` from PyPI reads it, and what `openapi-typescript` from npm makes of it compiles.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use reqwest::Method;
use tokio::process::Command;

use crate::browser::hob;
use crate::compat::ApiClient;
use hob_testkit::fake_model::Reply;

/// It is asked for so long at most: what hangs fails, and what is slow does not.
const PATIENCE: Duration = Duration::from_secs(600);

#[tokio::test]
async fn n8_the_api_keeps_its_description() {
    let mut hob = hob("").await;
    hob.model.otherwise(|_| Reply::text("Yes."));
    let program = ApiClient::of(&mut hob, &[]).await;
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
    command.env_clear().current_dir(hob.home.path()).kill_on_drop(true).stdin(Stdio::null());
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = ended.unwrap_or_else(|_| panic!("it still asks after {PATIENCE:?}")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("generated,") && !said.contains("failed"), "{said}");
}

/// A program that is written against the generated types: paths, parameters, bodies and answers have to fit.
const CLIENT: &str = r#"
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const hob = createClient<paths>({ baseUrl: "http://127.0.0.1:1" });
export async function role(): Promise<components["schemas"]["Visit"]["role"] | undefined> {
    const { data, error } = await hob.GET("/api/visit");
    return error ? undefined : data.role;
}
"#;

/// Runs a tool to its end; it must have nothing to say against what it is given.
async fn satisfied(program: &str, arguments: &[&str], folder: &Path) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools").join(program);
    assert!(tool.exists(), "{program} is missing: scripts/test installs it (it needs a network, once)");
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(folder).kill_on_drop(true).stdin(Stdio::null());
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = ended.unwrap_or_else(|_| panic!("{program} still works after {PATIENCE:?}")).unwrap();
    let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {said}{warned}");
}

#[tokio::test]
async fn n8_the_description_is_openapi_and_a_client_of_it_compiles() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let asked = program.ask(Method::GET, "/api/openapi.json").send().await.unwrap();
    let described = asked.error_for_status().unwrap().text().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("openapi.json"), described).unwrap();
    std::fs::write(folder.path().join("client.ts"), CLIENT).unwrap();
    satisfied("bin/openapi-spec-validator", &["--schema", "3.1", "openapi.json"], folder.path()).await;
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/api/node_modules");
    std::os::unix::fs::symlink(modules, folder.path().join("node_modules")).unwrap();
    satisfied("api/node_modules/.bin/openapi-typescript", &["openapi.json", "--output", "api.ts"], folder.path()).await;
    let strict = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--moduleResolution", "bundler"];
    let strict = [&strict[..], &["--module", "es2022", "client.ts"]].concat();
    satisfied("api/node_modules/.bin/tsc", &strict, folder.path()).await;
    hob.stop().await;
}
