#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code, reason = "the other targets call the rest")]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::records(bytes));
