//! What must hold for any bytes at all. Each module is one property; tests elsewhere replay them on stable Rust.

pub mod codec;
pub mod fold;
pub mod mention;
pub mod row;
