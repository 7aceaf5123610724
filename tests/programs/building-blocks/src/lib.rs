//! The building blocks of session-reference, exported one by one for the vectors.

use exports::conformance::building_blocks::blocks::{Cut, Guest};
use serde_json::value::RawValue;
use session_reference::{cut, json};

wit_bindgen::generate!({ path: "wit" });

struct BuildingBlocks;

impl Guest for BuildingBlocks {
    fn tag_safe(json: String) -> Result<String, String> {
        let value: &RawValue = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        json::tag_safe(value).map_err(|error| error.to_string())
    }

    fn head_and_tail(text: String, head: u64, tail: u64) -> Cut {
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let cut::Cut { text, omitted } = cut::head_and_tail(&text, size(head), size(tail));
        Cut { text, omitted }
    }
}

#[cfg(target_arch = "wasm32")]
export!(BuildingBlocks);
#[cfg(not(target_arch = "wasm32"))]
const _: fn(String) -> Result<String, String> = BuildingBlocks::tag_safe;
