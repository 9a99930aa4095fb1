//! A reply of OpenAI's Responses API, whatever the server writes.

#![no_main]

use hob_model::fuzzing::{Dialect, reply};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| reply(Dialect::Responses, input));
