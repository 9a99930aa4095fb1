//! One conversation, four providers: each takes the others' turns, calls and all, and gets its own thoughts back.

use serde_json::json;

use hob_testkit::fake_anthropic::{self, FakeAnthropic};
use hob_testkit::fake_gemini::{self, FakeGemini};
use hob_testkit::fake_model::Reply;
use hob_testkit::fake_ollama::{self, FakeOllama};
use hob_testkit::test_hob::{ADA, TestHob};

const CLAUDE: &str = "claude-sonnet-4-6";
const GEMINI: &str = "gemini-3-flash-preview";
const FACT: &str = r#"{"category":"c","key":"k","value":"v"}"#;

#[tokio::test]
async fn a_user_switches_models_without_changing_anything_else() {
    let claude = FakeAnthropic::start().await;
    let gemini = FakeGemini::start(GEMINI).await;
    let ollama = FakeOllama::start(fake_ollama::Model::default()).await;
    let mut hob = TestHob::new().await;
    let openai = hob.model.base_url();
    hob.configure(&format!(
        "[provider]
        kind = 'anthropic'
        base_url = '{}'
        effort = 'medium'
        [provider.models]
        primary = '{CLAUDE}'
        [[provider.fallbacks]]
        kind = 'gemini'
        base_url = '{}'
        api_key = '{}'
        model = '{GEMINI}'
        [[provider.fallbacks]]
        kind = 'ollama'
        base_url = '{}'
        model = 'qwen3'
        [[provider.fallbacks]]
        kind = 'openai_compatible'
        base_url = '{openai}'
        model = 'fake'",
        claude.base_url(),
        gemini.root(),
        fake_gemini::KEY,
        ollama.root()
    ));
    hob.start().await;
    let mut told = 0;
    // Each of them twice, so that everyone reads what all the others left.
    for round in 0..2 {
        for model in [CLAUDE, GEMINI, "qwen3", "openai-compatible/fake"] {
            hob.say(ADA, &format!("/model {model}"));
            told += 1;
            hob.told(ADA, told).await;
            match model {
                CLAUDE => {
                    let signature = format!("signed-by-claude-{round}");
                    let script = fake_anthropic::Script::begin().thinking("Claude's thought", &signature);
                    claude.reply(script.words("I look.").call("remember_fact", FACT).finish("tool_use"));
                    claude.reply(fake_anthropic::Script::begin().words("Claude is done.").finish("end_turn"));
                }
                GEMINI => {
                    let args = json!({"category": "c", "key": "k", "value": "v"});
                    let script = fake_gemini::Script::default();
                    gemini.says(script.call("remember_fact", &args, Some("c2lnbmVk")).finish("STOP"));
                    gemini.says(fake_gemini::Script::default().words("Gemini is done.").finish("STOP"));
                }
                "qwen3" => {
                    let args = json!({"category": "c", "key": "k", "value": "v"});
                    let script = fake_ollama::Script::default().thinks("Qwen's thought");
                    ollama.says(script.call("remember_fact", &args).finish("stop"));
                    ollama.says(fake_ollama::Script::default().words("Qwen is done.").finish("stop"));
                }
                _ => {
                    hob.model.reply(Reply::call("remember_fact", FACT)).reply(Reply::text("The fake is done."));
                }
            }
            hob.say(ADA, &format!("Remember it, {round}"));
            told += 1;
            let answer = hob.told(ADA, told).await.pop().unwrap();
            assert!(answer.ends_with(" is done."), "{model}: {answer}");
        }
    }
    let refused = [claude.refused(), gemini.refused(), ollama.refused(), hob.model.refused()].concat();
    assert_eq!(refused, Vec::<String>::new());
    // What one sealed is nobody else's to read, and nobody's to see.
    let others = [
        gemini.requests().iter().map(|asked| asked.body.to_string()).collect::<String>(),
        ollama.requests().iter().map(|asked| asked.body.to_string()).collect(),
        hob.model.requests().iter().map(|asked| asked.body.to_string()).collect(),
        hob.heard(ADA).join("\n"),
    ];
    assert!(others.iter().all(|text| !text.contains("signed-by-claude") && !text.contains("Claude's thought")));
    let to_claude: String = claude.requests().iter().map(|asked| asked.body.to_string()).collect();
    assert!(to_claude.contains("signed-by-claude"), "its own thought goes back to it");
    assert!(!to_claude.contains("c2lnbmVk") && !to_claude.contains("Qwen's thought"));
    let to_gemini = gemini.requests().last().unwrap().body.to_string();
    assert!(to_gemini.contains("c2lnbmVk") && !to_gemini.contains("Qwen's thought"));
}
