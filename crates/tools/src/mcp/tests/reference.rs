//! The reference servers that the protocol's makers publish on npm (`scripts/mcp-servers`).

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Harness, program};
use crate::mcp::settings::{ServerTransport, Settings};
use hob_core::domain::secret::Secret;

fn installed(name: &str) -> PathBuf {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("target/mcp-servers/node_modules/.bin")
        .join(name);
    assert!(path.exists(), "{name} is missing: run scripts/mcp-servers (it needs a network, once)");
    path
}

fn reference(name: &str, more: &[&str]) -> Settings {
    let path = installed(name);
    let vector: Vec<&str> = path.to_str().into_iter().chain(more.iter().copied()).collect();
    program(&vector)
}

#[tokio::test]
async fn server_everything_answers_in_every_form() {
    let world = Harness::with(|_| reference("mcp-server-everything", &[])).asked().await;
    assert_eq!(world.line(), "mcp s: idle, 17 tools");
    insta::assert_snapshot!(world.says("s__get-sum", json!({ "a": 2, "b": 3 })).await, @"<MCP server s> The sum of 2 and 3 is 5.");
    insta::assert_snapshot!(world.says("s__get-tiny-image", json!({})).await, @"
    <MCP server s> Here's the image you requested:
    [image, image/png, 5 KB]
    The image above is the MCP logo. + picture.png
    ");
    insta::assert_snapshot!(world.says("s__get-structured-content", json!({ "location": "Chicago" })).await, @r#"<MCP server s> {"temperature":36,"conditions":"Light rain / drizzle","humidity":82}"#);
    insta::assert_snapshot!(world.says("s__get-resource-links", json!({ "count": 2 })).await, @"
    <MCP server s> Here are 2 resource links to resources available in this server:
    [demo://resource/dynamic/blob/1]: Resource 1: plaintext resource
    [demo://resource/dynamic/text/2]: Resource 2: plaintext resource
    ");
    insta::assert_snapshot!(world.says("s__get-sum", json!({ "a": "x" })).await, @"
    <MCP server s> error: MCP error -32602: Input validation error: Invalid arguments for tool get-sum: Invalid input: expected number, received string at a
    Invalid input: expected number, received undefined at b
    ");
    // Given up on, it is ended; the next call finds another.
    let long = world.call("s__trigger-long-running-operation", json!({ "duration": 60, "steps": 5 }));
    assert!(tokio::time::timeout(Duration::from_millis(300), long).await.is_err());
    world.gone().await;
    assert!(world.says("s__echo", json!({ "message": "ä" })).await.ends_with("Echo: ä"));
    world.stopped().await;
}

#[tokio::test]
async fn server_filesystem_is_believed_where_it_is_trusted() {
    let world = Harness::with(|dir| {
        std::fs::write(dir.join("note.txt"), "milk\n").unwrap();
        let dir = dir.canonicalize().unwrap();
        Settings {
            trusted_output: true,
            trusted_annotations: true,
            ..reference("mcp-server-filesystem", &[dir.to_str().unwrap()])
        }
    });
    let world = world.asked().await;
    let path = world.dir.path().canonicalize().unwrap().join("note.txt");
    assert_eq!(world.says("s__read_text_file", json!({ "path": path })).await, "milk\n");
    let outside = world.says("s__read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(outside.starts_with("error: Access denied"), "{outside}");
    let tools = world.shed.now();
    let asks = |tool: &str| tools.get(tool).unwrap().spec().facts;
    assert!(asks("s__read_text_file").risk.is_read() && !asks("s__write_file").risk.is_read());
    world.stopped().await;
}

#[tokio::test]
async fn server_memory_remembers_beyond_its_own_end() {
    let settings = |dir: &Path| {
        let way = match reference("mcp-server-memory", &[]).way {
            ServerTransport::Program { vector, dir: place, own, .. } => {
                let file = Secret::new(dir.join("memory.json").display().to_string());
                ServerTransport::Program {
                    vector,
                    environment: vec![("MEMORY_FILE_PATH".to_owned(), file)],
                    dir: place,
                    own,
                }
            }
            address @ ServerTransport::Address { .. } => address,
        };
        Settings { way, ..reference("mcp-server-memory", &[]) }
    };
    let world = Harness::with(settings).asked().await;
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["She likes tea."] });
    world.says("s__create_entities", json!({ "entities": [entity] })).await;
    let dir = world.dir.path().to_owned();
    let world = world.restarted(settings(&dir)).await;
    let found = world.says("s__open_nodes", json!({ "names": ["Ada"] })).await;
    assert!(found.contains("She likes tea."), "{found}");
    world.stopped().await;
}

/// `server-everything` by HTTP, on a port that was free a moment ago.
async fn listening(port: u16) -> Child {
    let mut command = Command::new(installed("mcp-server-everything"));
    command.arg("streamableHttp").env("PORT", port.to_string()).kill_on_drop(true);
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let up = async {
        while !lines.next_line().await.unwrap().unwrap_or_else(|| panic!("it ended")).contains("listening on port") {}
    };
    tokio::time::timeout(Duration::from_secs(120), up).await.unwrap();
    tokio::spawn(async move { while lines.next_line().await.is_ok_and(|line| line.is_some()) {} });
    server
}

#[tokio::test]
async fn server_everything_answers_by_http_and_again_after_its_restart() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = listening(port).await;
    let way = crate::mcp::tests::at(&format!("http://127.0.0.1:{port}/mcp"));
    let world = Harness::with(|_| Settings { way, ..program(&["x"]) }).asked().await;
    assert_eq!(world.line(), "mcp s: idle, 17 tools");
    let sum = async || world.says("s__get-sum", json!({ "a": 2, "b": 3 })).await;
    assert_eq!(sum().await, "<MCP server s> The sum of 2 and 3 is 5.");
    server.kill().await.unwrap();
    let down = sum().await;
    assert!(down.contains("for now: The MCP server s did not answer this call: the connection broke off"), "{down}");
    let _server = listening(port).await;
    assert_eq!(sum().await, "<MCP server s> The sum of 2 and 3 is 5.");
    world.stopped().await;
}
