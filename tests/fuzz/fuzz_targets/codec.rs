//! See `dsh_fuzz::codec`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dsh_fuzz::codec::holds(bytes));
