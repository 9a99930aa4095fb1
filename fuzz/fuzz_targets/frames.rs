//! A stream's events, however its bytes are cut.

#![no_main]

use hob_model::fuzzing::frames;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| frames(input));
