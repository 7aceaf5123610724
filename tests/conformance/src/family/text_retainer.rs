//! `text_retainer`: a text cut to its ends.

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::blocks::{Blocks, Cut};
use crate::vector::{Got, Vector};
use crate::wtf16;

pub(super) fn run(blocks: &Blocks, vector: &Vector) -> Result<Got> {
    // The published client encodes the text as UTF-8 before it cuts.
    let text = wtf16::encoded(vector.input_str("text")?);
    let bytes = |name: &str| vector.input(name).as_u64().context("not a number of bytes");
    let Cut { text, omitted } =
        blocks.head_and_tail(&text, bytes("headBytes")?, bytes("tailBytes")?)?;
    let cut = json!({ "text": text, "truncated": omitted > 0, "omittedBytes": omitted });
    Ok(Got { outcome: Ok(cut), seen: Default::default() })
}
