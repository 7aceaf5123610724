//! See `dsh_fuzz::fold`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dsh_fuzz::fold::holds(bytes));
