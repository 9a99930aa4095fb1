//! Any text, on every platform.

#![no_main]

use hob_core::render::oracle::laws;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| laws(text));
