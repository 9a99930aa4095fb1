//! A letter, whatever stands in it.

#![no_main]

use hob::channel::email::fuzzing::letter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| letter(input));
