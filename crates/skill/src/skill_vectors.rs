//! What skills mean, as vectors beside those of what was said.

use std::collections::BTreeMap;

use arc_swap::ArcSwap;
use std::sync::Arc;

use crate::loaded_skills::LoadedSkills;
use hob_memory::active_embedder::ActiveEmbedder;
use hob_memory::embedding::{Bill, Embedder};

/// The vectors of skills, by what was embedded.
#[derive(Debug, Default)]
struct Vectors {
    /// The digest of the model that made them.
    model: String,
    /// The text and its vector, by the skill's name.
    of: BTreeMap<String, (String, Vec<f32>)>,
}

/// Knows what skills mean.
#[derive(Default)]
pub(super) struct SkillVectors(ArcSwap<Vectors>);

impl SkillVectors {
    /// Embeds what was not yet, by this model.
    pub(super) async fn prepare(&self, embedder: &dyn Embedder, shelf: &LoadedSkills) {
        let known = self.0.load_full();
        let model = embedder.model().digest.clone();
        let texts = shelf.skills.values().map(|shelved| {
            let skill = &shelved.found.skill;
            (skill.name.clone(), format!("{}. {}", skill.name.replace('-', " "), skill.description))
        });
        let texts: BTreeMap<String, String> = texts.collect();
        let kept = known.of.iter().filter(|(name, (text, _))| known.model == model && texts.get(*name) == Some(text));
        let mut of: BTreeMap<_, _> = kept.map(|(name, kept)| (name.clone(), kept.clone())).collect();
        let missing: Vec<(&String, &String)> = texts.iter().filter(|(name, _)| !of.contains_key(*name)).collect();
        if missing.is_empty() && of.len() == known.of.len() {
            return;
        }
        let wanted: Vec<String> = missing.iter().map(|(_, text)| (*text).clone()).collect();
        match embedder.embed(&wanted).await {
            Ok(vectors) => {
                let made = missing.into_iter().zip(vectors);
                of.extend(made.map(|((name, text), vector)| (name.clone(), (text.clone(), vector))));
                self.0.store(Arc::new(Vectors { model, of }));
            }
            Err(error) => tracing::warn!(%error, "skills are found by words alone: they could not be embedded"),
        }
    }

    /// The cosine of each skill and what was said, whose vector is on this bill.
    pub(super) async fn near(&self, serving: &ActiveEmbedder, text: &str, bill: &Bill) -> BTreeMap<String, f32> {
        let vectors = self.0.load_full();
        if vectors.of.is_empty() || vectors.model != serving.embedder.model().digest {
            return BTreeMap::new();
        }
        let said = match serving.embed_cached(text, bill).await {
            Ok(asked) => asked,
            Err(error) => {
                tracing::debug!(%error, "what was said could not be embedded; skills are found by words alone");
                return BTreeMap::new();
            }
        };
        let dot = |one: &[f32]| one.iter().zip(&said.vector).map(|(a, b)| a * b).sum::<f32>();
        vectors.of.iter().map(|(name, (_, vector))| (name.clone(), dot(vector))).collect()
    }
}
