//! `tag_safe_json`: JSON in which no text can close a tag.

use anyhow::Result;
use serde_json::json;

use crate::blocks::Blocks;
use crate::vector::{Got, Vector};

pub(super) fn run(blocks: &Blocks, vector: &Vector) -> Result<Got> {
    let json = blocks.tag_safe(vector.input_json("value")?)?;
    Ok(Got { outcome: json.map(|json| json!({ "json": json })), seen: Default::default() })
}
