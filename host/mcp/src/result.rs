//! What a server gives for a call, as the model reads it.

use dsh_agent::{ToolError, ToolOutput};
use dsh_session::Json;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// Most bytes that a model reads of one result.
const MOST: usize = 64 << 10;

/// A result as text: what is no text is named with its type and size, for a log has no place for it.
pub(crate) fn output(server: &str, result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut parts: Vec<String> = result.content.iter().map(said).collect();
    let structured = result.structured_content.as_ref().map(ToString::to_string);
    // Servers repeat it as text for clients that do not know of it.
    if let (true, Some(structured)) = (parts.is_empty(), &structured) {
        parts.push(structured.clone());
    }
    let mut text = bounded(parts.join("\n"));
    if text.is_empty() {
        text.push_str("[no content]");
    }
    if result.is_error == Some(true) {
        return Err(ToolError::new("McpToolError", "TOOL_ERROR", &text));
    }
    let structured = structured.filter(|structured| structured.len() <= MOST);
    let meta = match structured.as_deref().map(serde_json::from_str::<serde_json::Value>) {
        Some(Ok(structured)) => serde_json::json!({ "server": server, "structured": structured }),
        _ => serde_json::json!({ "server": server }),
    };
    let meta = Json::of(&meta).map_err(|error| ToolError::arguments(&error.to_string()))?;
    Ok(ToolOutput { meta: Some(meta), ..ToolOutput::text(&text)? })
}

fn said(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                left_out(uri, mime_type.as_deref().unwrap_or("of unknown type"), blob)
            }
            _ => "[a resource of a kind that is not known here]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}: {}]", link.name, link.uri),
        _ => "[content of a kind that is not known here]".into(),
    }
}

fn left_out(what: &str, kind: &str, base64: &str) -> String {
    format!("[{what} left out: {kind}, about {} bytes]", base64.len() / 4 * 3)
}

fn bounded(mut text: String) -> String {
    if text.len() > MOST {
        let end = text.floor_char_boundary(MOST);
        let more = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{more} more bytes left out]"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: serde_json::Value) -> Result<String, ToolError> {
        let output = output("s", serde_json::from_value(json).unwrap())?;
        Ok(output.content[0].read::<serde_json::Value>().unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned())
    }

    #[test]
    fn every_kind_of_content_is_said() {
        let blocks = serde_json::json!({ "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "b" } },
            { "type": "resource", "resource": { "uri": "x:z", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "x:l", "name": "l" }
        ]});
        let expected = "a\n[image left out: image/png, about 3 bytes]\n[audio left out: audio/wav, about 3 bytes]\n\
            [x:y]\nb\n[x:z left out: of unknown type, about 3 bytes]\n[resource l: x:l]";
        assert_eq!(result(blocks).unwrap(), expected);
        assert_eq!(result(serde_json::json!({ "content": [] })).unwrap(), "[no content]");
    }

    #[test]
    fn structured_content_stands_in_for_missing_text() {
        let alone = serde_json::json!({ "content": [], "structuredContent": { "n": 1 } });
        assert_eq!(result(alone).unwrap(), r#"{"n":1}"#);
    }

    #[test]
    fn an_error_is_the_tools_failure() {
        let error = result(
            serde_json::json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }),
        );
        assert_eq!(error, Err(ToolError::new("McpToolError", "TOOL_ERROR", "no")));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = result(serde_json::json!({ "content": [{ "type": "text", "text": format!("x{}", "é".repeat(40_000)) }] })).unwrap();
        assert!(
            long.ends_with("é\n[14464 more bytes left out]")
                || long.contains("more bytes left out]"),
            "{}",
            &long[long.len() - 60..]
        );
        assert!(long.len() < MOST + 60);
    }
}
