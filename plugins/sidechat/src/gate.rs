//! Which tool calls of a side session are denied.

/// Whether a call may run whatever its session is, so that no log need be read for it.
pub fn is_harmless(tool: &str, read_only: bool, exceptions: &[String]) -> bool {
    read_only || exceptions.iter().any(|exception| exception == tool)
}

/// What the model reads of a call that was denied.
pub fn reason(tool: &str) -> String {
    format!(
        "this is a side session, which changes nothing, and the tool {tool:?} is not read-only; answer from what can be read (the person can lift this with /promote)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_gate_lets_through_what_reads_and_what_the_settings_except() {
        let exceptions = ["bash".to_owned()];
        assert!(is_harmless("read", true, &[]));
        assert!(is_harmless("bash", false, &exceptions));
        assert!(!is_harmless("bash", false, &[]));
        assert!(!is_harmless("bash2", false, &exceptions));
    }

    #[test]
    fn side_gate_names_the_tool_and_the_way_out() {
        let said = reason("edit");
        assert!(said.contains("\"edit\"") && said.contains("/promote"), "{said}");
    }
}
