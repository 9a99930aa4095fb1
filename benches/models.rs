//! What a call of a model costs on this side: its reply read, its history made legal, its request built, tokens counted.
//!
//! `cargo bench --bench models [-- stream|legal|request|tokens]`; the numbers are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hob_agent::machine::compaction::ContextView;
use hob_agent::machine::effect::ModelCallPurpose;
use hob_agent::machine::transcript::Transcript;
use hob_agent::prompt::{BASE, HistorySlice, PromptInputs};
use hob_core::domain::ids::CallId;
use hob_model::anthropic::Anthropic;
use hob_model::gemini::Gemini;
use hob_model::legal::{self, HistoryTarget, legalize};
use hob_model::message::{Message, ToolCall, ToolResult};
use hob_model::ollama::Ollama;
use hob_model::openai::{OpenAi, quirks};
use hob_model::provider::{Provider, Request, Sink, ToolSchema};
use hob_model::refused_parameters::NoParameterStore;
use hob_model::settings::{Deadlines, Settings, Tuning};
use hob_model::tokens;
use serde::Serialize;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// The tokens of the streamed reply, each an event of its own.
const REPLY_TOKENS: usize = 2_000;
/// What the reply is made of: words as models cut them, with what JSON must escape.
const WORDS: &[&str] =
    &[" the", " garden", " is", " \"green\"", ",", " and", " für", " you", ".\n\n", " Water", " it", " 3", " times"];

/// One way of talking with a model, with a reply as its servers really write it.
struct Dialect {
    name: &'static str,
    kind: &'static str,
    head: &'static str,
    /// What stands before the word, and after it.
    word: (&'static str, &'static str),
    tail: &'static str,
}

const DIALECTS: [Dialect; 4] = [
    Dialect {
        name: "openai",
        kind: "text/event-stream",
        head: "data: {\"id\":\"chatcmpl-CaE1\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\"model\":\"gpt-5.1\",\"service_tier\":\"default\",\"system_fingerprint\":null,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"Zk3\"}\n\n",
        word: (
            "data: {\"id\":\"chatcmpl-CaE1\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\"model\":\"gpt-5.1\",\"service_tier\":\"default\",\"system_fingerprint\":null,\"choices\":[{\"index\":0,\"delta\":{\"content\":",
            "},\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"Zk3uQ\"}\n\n",
        ),
        tail: "data: {\"id\":\"chatcmpl-CaE1\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\"model\":\"gpt-5.1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\ndata: {\"id\":\"chatcmpl-CaE1\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2000,\"total_tokens\":2009}}\n\ndata: [DONE]\n\n",
    },
    Dialect {
        name: "anthropic",
        kind: "text/event-stream; charset=utf-8",
        head: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-haiku-4-5\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        word: (
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":",
            "}     }\n\n",
        ),
        tail: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":2000}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    },
    Dialect {
        name: "gemini",
        kind: "text/event-stream",
        head: "",
        word: (
            "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": ",
            "}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 9,\"candidatesTokenCount\": 1000,\"totalTokenCount\": 1009,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 9}]},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"abcdefghijklmnop\"}\r\n\r\n",
        ),
        tail: "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 9,\"candidatesTokenCount\": 2000,\"totalTokenCount\": 2009},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"abcdefghijklmnop\"}\r\n\r\n",
    },
    Dialect {
        name: "ollama",
        kind: "application/x-ndjson",
        head: "",
        word: (
            "{\"model\":\"llama3.2\",\"created_at\":\"2026-11-20T08:52:19.385406455Z\",\"message\":{\"role\":\"assistant\",\"content\":",
            "},\"done\":false}\n",
        ),
        tail: "{\"model\":\"llama3.2\",\"created_at\":\"2026-11-20T08:52:29.385406455Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":4883583458,\"load_duration\":1334875,\"prompt_eval_count\":9,\"prompt_eval_duration\":342546000,\"eval_count\":2000,\"eval_duration\":4535599000}\n",
    },
];

/// What Ollama shows of its model.
const SHOWN: &str = r#"{"model_info":{"general.architecture":"llama","llama.context_length":1000000000},"capabilities":["completion","tools"]}"#;

impl Dialect {
    /// The reply, an event a piece.
    fn events(&self) -> Vec<String> {
        let words = WORDS.iter().cycle().take(REPLY_TOKENS);
        let said = words.map(|word| [self.word.0, &serde_json::to_string(word).unwrap(), self.word.1].concat());
        [self.head.to_owned()].into_iter().chain(said).chain([self.tail.to_owned()]).collect()
    }

    fn settings(&self, base_url: &str) -> Settings {
        Settings {
            base_url: base_url.to_owned(),
            api_key: None,
            model: "bench".to_owned(),
            label: format!("{}/bench", self.name),
            deadlines: Deadlines::default(),
            tuning: Tuning::default(),
            sees_images: true,
            context_tokens: Some(1_000_000_000),
        }
    }

    fn model(&self, base_url: &str) -> Model {
        let settings = self.settings(base_url);
        match self.name {
            "openai" => Model::OpenAi(OpenAi::new(settings, &quirks::PLAIN, Arc::new(NoParameterStore)).unwrap()),
            "anthropic" => Model::Anthropic(Anthropic::new(settings).unwrap()),
            "gemini" => Model::Gemini(Gemini::new(settings).unwrap()),
            _ => Model::Ollama(Ollama::new(settings).unwrap()),
        }
    }
}

enum Model {
    OpenAi(OpenAi),
    Anthropic(Anthropic),
    Gemini(Gemini),
    Ollama(Ollama),
}

impl Model {
    fn provider(&self) -> &dyn Provider {
        match self {
            Self::OpenAi(model) => model,
            Self::Anthropic(model) => model,
            Self::Gemini(model) => model,
            Self::Ollama(model) => model,
        }
    }

    async fn body(&self, request: &Request) -> Vec<u8> {
        match self {
            Self::OpenAi(model) => model.body(request),
            Self::Anthropic(model) => model.body(request),
            Self::Gemini(model) => model.body(request),
            Self::Ollama(model) => model.body(request).await,
        }
        .unwrap()
    }
}

/// A server on loopback that answers every request with the same reply, piece by piece; its address.
fn serve(kind: &'static str, pieces: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let chunk = |piece: &String| format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes();
    let chunks: Arc<Vec<_>> = Arc::new(pieces.iter().filter(|piece| !piece.is_empty()).map(chunk).collect());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let chunks = Arc::clone(&chunks);
            std::thread::spawn(move || answer(stream.unwrap(), kind, &chunks));
        }
    });
    address
}

/// Answers one connection's requests until it is closed.
fn answer(mut stream: TcpStream, kind: &str, chunks: &[Vec<u8>]) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut length, mut shows, mut line) = (0, false, String::new());
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let lower = line.to_ascii_lowercase();
            shows |= lower.contains(" /api/show ");
            length = lower.strip_prefix("content-length:").map_or(length, |told| told.trim().parse().unwrap());
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        if shows {
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", SHOWN.len());
            stream.write_all((head + SHOWN).as_bytes()).unwrap();
            continue;
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        chunks.iter().for_each(|chunk| stream.write_all(chunk).unwrap());
        stream.write_all(b"0\r\n\r\n").unwrap();
    }
}

/// A sink that looks at what it is given.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Sink for Counting {
    fn delta(&self, text: &str) {
        self.0.fetch_add(text.len(), Ordering::Relaxed);
    }
}

/// The middle one of many times.
fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// How long `what` takes, in the middle; what it makes is dropped outside.
fn timed<T>(times: usize, mut what: impl FnMut() -> T) -> Duration {
    let once = |_| {
        let begun = Instant::now();
        let made = black_box(what());
        let took = begun.elapsed();
        drop(made);
        took
    };
    median((0..times).map(once).collect())
}

/// A reply of 2,000 tokens, against the same bytes merely read.
async fn stream(dialect: &Dialect, how: &str, pieces: Vec<String>) {
    let base = serve(dialect.kind, pieces);
    let model = dialect.model(&base);
    let client = hob_http::direct_client(Duration::from_secs(10)).unwrap();
    let request =
        Request { system: BASE.to_owned(), messages: vec![Message::user("How is the garden?")], ..Request::default() };
    let body = model.body(&request).await;
    let (mut raw, mut read) = (Vec::new(), Vec::new());
    let said: usize = WORDS.iter().cycle().take(REPLY_TOKENS).map(|word| word.len()).sum();
    for _ in 0..60 {
        let begun = Instant::now();
        let mut response = client.post(&base).body(body.clone()).send().await.unwrap();
        let mut bytes = 0;
        while let Some(chunk) = response.chunk().await.unwrap() {
            bytes += chunk.len();
        }
        raw.push(begun.elapsed());
        assert!(bytes > said);
        let sink = Counting::default();
        let begun = Instant::now();
        let completion = model.provider().complete(&request, &sink).await.unwrap();
        read.push(begun.elapsed());
        // White space before the first word is not shown.
        assert_eq!((completion.text().len(), sink.0.into_inner()), (said - 1, said - 1));
    }
    let (raw, read) = (median(raw), median(read));
    let ratio = read.as_secs_f64() / raw.as_secs_f64();
    println!("stream  {:<9} {how}: raw {raw:>9.2?}  read {read:>9.2?}  ratio {ratio:.2}", dialect.name);
}

/// A household's conversation: each fifth message a question, then two calls, their results, and the answer.
fn history(count: usize) -> Vec<Message> {
    let call = |turn: usize, place: usize| ToolCall {
        id: CallId(format!("{turn}.{place}")),
        name: "recall".to_owned(),
        arguments: json!({"query": "tomatoes in the garden", "limit": 5 + place}).to_string(),
    };
    let result = |turn: usize, place: usize| {
        let text = "On Monday: the tomatoes were watered, two were ripe. On Tuesday: it rained. ".repeat(3);
        Message::Tool(ToolResult {
            call: CallId(format!("{turn}.{place}")),
            name: "recall".to_owned(),
            text,
            is_error: false,
        })
    };
    let message = |at: usize| match (at / 5, at % 5) {
        (turn, 0) => Message::user(format!("What did we say of the tomatoes in week {turn}, and is there more to do?")),
        (turn, 1) => Message::assistant("Let me look.", vec![call(turn, 0), call(turn, 1)]),
        (turn, place @ (2 | 3)) => result(turn, place - 2),
        (turn, _) => Message::assistant(
            format!("In week {turn} they were \"watered\" twice; nothing is left to do."),
            Vec::new(),
        ),
    };
    (0..count).map(message).collect()
}

/// The legality pass alone.
fn legality() {
    let history = history(10_000);
    let all = [
        ("openai", &legal::OPENAI),
        ("anthropic", &legal::ANTHROPIC),
        ("gemini", &legal::GEMINI),
        ("ollama", &legal::OLLAMA),
    ];
    for (name, rules) in all {
        let target = HistoryTarget { rules, model: "bench/bench", sees_images: true };
        let took = timed(100, || legalize(&history, history.len(), &target));
        let copy = timed(100, || history.clone());
        println!("legal   {name:<9} 10,000 messages: {took:>9.2?}  (copying them {copy:.2?})");
    }
}

/// A message in the plainest shape that can be sent: to copy it and write it down is the least there is to do.
#[derive(Clone, Serialize)]
struct Plain {
    role: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<ToolCall>,
}

impl Plain {
    fn of(message: &Message) -> Self {
        let role = match message {
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool(_) => "tool",
        };
        Self { role, text: message.text().into_owned(), calls: message.calls().cloned().collect() }
    }
}

/// The request of a turn after histories of several lengths, against copying these.
fn requests(runtime: &Runtime) {
    let parameters =
        json!({"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}});
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: parameters.clone(),
    };
    for dialect in &DIALECTS {
        let model = dialect.model(&serve(dialect.kind, Vec::new()));
        for count in [10, 100, 1_000, 10_000] {
            let past = HistorySlice { messages: history(count), ..HistorySlice::default() };
            let plain: Vec<_> = past.messages.iter().map(Plain::of).collect();
            let tools = vec![tool("recall"), tool("remember_fact")];
            let material =
                PromptInputs { system: BASE.to_owned(), tools: tools.into(), tail: "time: Friday".to_owned(), past };
            let times = (200_000 / count).clamp(60, 2_000);
            let mut said = Transcript::default();
            said.push(Message::user("And?"));
            let request = || material.request(&ContextView::default(), &said, None, ModelCallPurpose::Work);
            let build = || runtime.block_on(model.body(&request()));
            build();
            let built = timed(times, build);
            let copied = timed(times, || serde_json::to_vec(&plain.clone()).unwrap());
            let ratio = built.as_secs_f64() / copied.as_secs_f64();
            println!(
                "request {:<9} after {count:>6}: built {built:>9.2?}  copied {copied:>9.2?}  ratio {ratio:.2}",
                dialect.name
            );
        }
    }
}

/// Tokens counted a second, and by a turn after histories of several lengths.
fn counting() {
    let prose = include_str!("../docs/architecture.md").repeat(20);
    let code = include_str!("../crates/model/src/legal/turns.rs").repeat(30);
    let results = serde_json::to_string(&history(2_000)).unwrap();
    for (name, text) in [("prose", &prose), ("code", &code), ("JSON", &results)] {
        let took = timed(20, || tokens::count(text));
        let rate = text.len() as f64 / 1e6 / took.as_secs_f64();
        println!(
            "tokens  {name:<6} {rate:>6.1} MB/s  ({:.2} bytes a token)",
            text.len() as f64 / tokens::count(text) as f64
        );
    }
    for count in [10, 10_000] {
        let messages = history(count);
        let tokens = messages.iter().map(tokens::message).sum();
        let past = HistorySlice { messages, tokens, ..HistorySlice::default() };
        let material =
            PromptInputs { system: BASE.to_owned(), tools: Vec::new().into(), tail: "time: Friday".to_owned(), past };
        let took = timed(200, || material.tokens());
        println!("tokens  of a turn after {count:>6} archived messages: {took:.2?}");
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if runs("stream") {
        for dialect in &DIALECTS {
            runtime.block_on(stream(dialect, "event by event", dialect.events()));
            runtime.block_on(stream(dialect, "in one piece  ", vec![dialect.events().concat()]));
        }
    }
    if runs("legal") {
        legality();
    }
    if runs("request") {
        requests(&runtime);
    }
    if runs("tokens") {
        counting();
    }
}
