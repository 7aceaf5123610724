//! Between the plugin host and our store and loop: each side's traits, implemented with the other.

mod pre_step;
mod sessions;

pub use pre_step::Sandbox;
pub use sessions::Reader;
