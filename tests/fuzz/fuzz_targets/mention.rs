//! See `dsh_fuzz::mention`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dsh_fuzz::mention::holds(bytes));
