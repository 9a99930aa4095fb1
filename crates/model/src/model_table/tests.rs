//! Which name finds what, and that the shipped data is sound.

use super::*;

fn shipped() -> ModelTable {
    ModelTable::new(&BTreeMap::new()).unwrap()
}

fn config(text: &str) -> ModelTable {
    ModelTable::new(&toml::from_str(text).unwrap()).unwrap()
}

/// Input and output, in millionths of a dollar per million tokens.
fn price(table: &ModelTable, label: &str) -> Option<(Rate, Rate)> {
    table.facts(label).rates.map(|rates| (rates.input, rates.output))
}

fn usd(input: u64, output: u64) -> Option<(Rate, Rate)> {
    Some((Rate::from_micro_usd(input), Rate::from_micro_usd(output)))
}

#[test]
fn names_find_their_model() {
    let haiku = usd(1_000_000, 5_000_000);
    let mini = usd(250_000, 2_000_000);
    let flash = usd(300_000, 2_500_000);
    let free = usd(0, 0);
    let table = [
        ("anthropic/claude-haiku-4-5", haiku),
        ("anthropic/claude-haiku-4-5-20251001", haiku),
        ("anthropic/claude-haiku-4-5@20251001", haiku),
        ("anthropic/claude-haiku-4-5-latest", haiku),
        ("Anthropic/Claude-Haiku-4.5", haiku),
        ("openrouter/anthropic/claude-haiku-4.5", haiku),
        ("openai/gpt-5-mini", mini),
        ("openai/gpt-5-mini-2025-08-07", mini),
        ("openrouter/openai/gpt-5-mini", mini),
        ("gemini/gemini-2.5-flash", flash),
        ("openrouter/google/gemini-2.5-flash", flash),
        ("gemini/gemini-2.5-flash-preview-0520", flash),
        ("groq/openai/gpt-oss-120b", usd(150_000, 600_000)),
        ("openrouter/x-ai/grok-4.7", usd(2_000_000, 6_000_000)),
        ("mistral/mistral-medium-3-5", usd(1_500_000, 7_500_000)),
        // A longer name is another model.
        ("openai/gpt-5-mini-turbo", None),
        ("openai/gpt-5-mini-2", None),
        ("openai/gpt-5", None),
        ("anthropic/claude-opus-5-9", None),
        ("anthropic/claude-opus-5-5", usd(4_000_000, 20_000_000)),
        ("gemini/gemini-2.5-flash-image", None),
        // What a reseller sells otherwise is not at the maker's price.
        ("openrouter/deepseek/deepseek-flash:free", None),
        ("openrouter/auto", None),
        ("openrouter/openai/gpt-oss-120b", None),
        // The same name at another provider.
        ("groq/gpt-5-mini", None),
        ("openai-compatible/gpt-5-mini", None),
        ("nonsense", None),
        ("", None),
        // One's own machine.
        ("ollama/qwen3:8b", free),
        ("llama_cpp/anything", free),
        ("lm_studio/anything", free),
        ("vllm/qwen/qwen3", free),
        ("offline/built-in", free),
    ];
    let shipped = shipped();
    for (label, expected) in table {
        assert_eq!(price(&shipped, label), expected, "{label}");
    }
}

#[test]
fn the_config_goes_before_the_table() {
    let table = config(
        "['openai/gpt-5-mini']\ninput_usd = 1\noutput_usd = 2.5\n\
         ['anthropic/claude-haiku-4-5']\ncontext_tokens = 5000\n\
         ['openai-compatible/own']\ncontext_tokens = 8000\ninput_usd = 0.003625\ncached_usd = 0\noutput_usd = 0.5\n\
         ['ollama/rented']\ninput_usd = 0.1\noutput_usd = 0.1",
    );
    let facts = table.facts("openai/gpt-5-mini-2025-08-07");
    let rates = facts.rates.unwrap();
    assert_eq!((rates.input, rates.output), usd(1_000_000, 2_500_000).unwrap());
    assert_eq!((rates.cached, rates.cache_write, rates.long), (rates.input, rates.input, None));
    assert_eq!((facts.context_tokens, facts.source), (Some(400_000), PriceSource::Config));

    let facts = table.facts("anthropic/claude-haiku-4-5");
    assert_eq!((facts.context_tokens, facts.max_output_tokens), (Some(5000), Some(64_000)));
    assert_eq!(facts.source.to_string(), "list price of 2026-10-24");

    let facts = table.facts("openai-compatible/own");
    let rates = facts.rates.unwrap();
    assert_eq!((rates.input, rates.cached), (Rate::from_micro_usd(3625), Rate::from_micro_usd(0)));
    assert_eq!((facts.context_tokens, facts.sees_images), (Some(8000), None));
    assert_eq!(table.facts("ollama/rented").source, PriceSource::Config);
    assert_eq!(table.facts("ollama/own").source, PriceSource::Own);
}

#[test]
fn the_shipped_data_is_sound() {
    let ModelTable { shipped, .. } = shipped();
    let day = |text: &str| text.parse::<jiff::civil::Date>().unwrap();
    let expected = ["anthropic", "deepseek", "gemini", "groq", "mistral", "moonshot", "openai", "xai"];
    assert!(shipped.vendors.keys().eq(expected), "{:?}", shipped.vendors.keys());
    for (name, vendor) in &shipped.vendors {
        assert!(day(&vendor.as_of) <= day(&shipped.as_of), "{name}");
        assert!(vendor.page.starts_with("https://"), "{name}");
        for (model, entry) in &vendor.models {
            let rates = entry.rates();
            let makes_vectors = entry.max_output_tokens == Some(0);
            assert!(rates.input > Rate::from_micro_usd(0), "{model}");
            assert!(rates.input < rates.output || makes_vectors, "{model}");
            assert!(rates.cached <= rates.input && rates.input <= rates.cache_write, "{model}");
            if let Some(long) = rates.long {
                assert!(long.input > rates.input && long.output > rates.output, "{model}");
                assert!(entry.context_tokens.is_some_and(|context| context > long.above_tokens), "{model}");
            }
            if let (Some(output), Some(context)) = (entry.max_output_tokens, entry.context_tokens) {
                assert!(output <= context && context < 10_000_000, "{model}");
            }
        }
    }
}

#[test]
fn the_usual_models_are_in_it() {
    let shipped = shipped();
    let presets = crate::discover::preset::PRESETS.iter().filter(|preset| preset.name != RESELLER);
    for (name, model) in presets.filter_map(|preset| Some((preset.name, preset.model?))) {
        let label = format!("{name}/{model}");
        assert_ne!(shipped.facts(&label).source, PriceSource::Unknown, "{label}");
    }
}
