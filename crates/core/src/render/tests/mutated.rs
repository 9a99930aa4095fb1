//! Texts that were changed at random keep to the laws; what once broke one is a seed in `fuzz/seeds/render`.

use crate::domain::mutation::{hold_for_mutations, seeds};
use crate::render::oracle::laws;

#[test]
fn k2_changed_texts_are_taken_by_every_platform() {
    hold_for_mutations(&seeds("render"), 150, |bytes| laws(&String::from_utf8_lossy(bytes)));
}
