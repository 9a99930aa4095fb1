//! The body of a refusal, whatever stands in it.

#![no_main]

use hob_model::fuzzing::error_body;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| error_body(input));
