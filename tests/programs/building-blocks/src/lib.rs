//! The building blocks of session-reference, exported one by one for the vectors.
//!
//! Linking the plugin's crate brings its own exports along; nobody calls them here.

mod bindings {
    wit_bindgen::generate!({ path: "wit" });

    #[cfg(target_arch = "wasm32")]
    mod exported {
        #![expect(unsafe_code, reason = "generated; the canonical ABI passes pointers")]
        use crate::BuildingBlocks;
        super::export!(BuildingBlocks with_types_in super);
    }
}

use bindings::exports::conformance::building_blocks::blocks::{Cut, Guest};
use serde_json::value::RawValue;
use session_reference::{cut, json};

/// The component.
pub struct BuildingBlocks;

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
