//! See `dsh_fuzz::row`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dsh_fuzz::row::holds(bytes));
