//! A letter, whatever stands in it.

#![no_main]

use hob_email::fuzzing::letter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // The parser's own panics are caught by the house, and no crash. One that reaches the fuzzer still ends it.
    init: drop(std::panic::take_hook()),
    |input: &[u8]| letter(input)
);
