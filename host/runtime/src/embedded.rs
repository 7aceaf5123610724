//! A manifest inside its component, so that one file is enough.

use crate::manifest::{Manifest, ManifestError};

/// The custom section that holds the text of a `plugin.toml`.
pub const MANIFEST_SECTION: &str = "dsh:plugin/manifest";

/// Magic number, version and layer.
const PREAMBLE: usize = 8;

/// The id of a custom section.
const CUSTOM: u8 = 0;

impl Manifest {
    /// Reads the manifest that a component carries in its section [`MANIFEST_SECTION`]; none where it carries none.
    ///
    /// Looks at the outermost component alone, for a part of it does not speak for the whole. What is cut off or
    /// otherwise broken is for loading to say.
    ///
    /// # Errors
    ///
    /// As [`Manifest::parse`]; also for a second manifest, and for one that is not UTF-8.
    pub fn of_component(wasm: &[u8]) -> Result<Option<Manifest>, ManifestError> {
        Manifest::text_of_component(wasm)?.map(Manifest::parse).transpose()
    }

    /// As [`Manifest::of_component`], as text: for whoever keeps manifests beside components.
    ///
    /// # Errors
    ///
    /// For a second manifest, and for one that is not UTF-8. What it says is not looked at.
    pub fn text_of_component(wasm: &[u8]) -> Result<Option<&str>, ManifestError> {
        let mut found = None;
        let mut rest = wasm.get(PREAMBLE..).unwrap_or_default();
        while let Some((id, content, after)) = section(rest) {
            rest = after;
            let Some(text) = (id == CUSTOM).then(|| named(content)).flatten() else { continue };
            if found.replace(text).is_some() {
                return Err(ManifestError::Malformed {
                    reason: "there are two of them".to_owned(),
                });
            }
        }
        let Some(text) = found else { return Ok(None) };
        str::from_utf8(text)
            .map(Some)
            .map_err(|err| ManifestError::Malformed { reason: err.to_string() })
    }

    /// The component with the text of a `plugin.toml` as a section behind all others.
    ///
    /// # Errors
    ///
    /// As [`Manifest::parse`], and where the component has a manifest already.
    pub fn embed(text: &str, wasm: &[u8]) -> Result<Vec<u8>, ManifestError> {
        Manifest::parse(text)?;
        let mut content = Vec::new();
        write_length(&mut content, MANIFEST_SECTION.len());
        content.extend(MANIFEST_SECTION.as_bytes());
        content.extend(text.as_bytes());
        let mut whole = wasm.to_vec();
        whole.push(CUSTOM);
        write_length(&mut whole, content.len());
        whole.extend(content);
        Manifest::of_component(&whole)?;
        Ok(whole)
    }
}

/// The first section of `bytes`: its id, its content and what comes after it. None at the end, or where it is cut.
fn section(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (id, rest) = bytes.split_first()?;
    let (length, rest) = read_length(rest)?;
    let (content, after) = rest.split_at_checked(length)?;
    Some((*id, content, after))
}

/// What a custom section holds, if it has the manifest's name.
fn named(content: &[u8]) -> Option<&[u8]> {
    let (length, rest) = read_length(content)?;
    let (name, held) = rest.split_at_checked(length)?;
    (name == MANIFEST_SECTION.as_bytes()).then_some(held)
}

/// An unsigned LEB128 number of 32 bits, and what comes after it.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0u64;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        length |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let length = u32::try_from(length).ok()?;
            return Some((usize::try_from(length).ok()?, bytes.get(place + 1..)?));
        }
    }
    None
}

fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    /// A manifest whose length takes two bytes.
    fn text() -> String {
        format!("id = \"a\"\nversion = \"1\"\n# {}\n", "x".repeat(300))
    }

    #[test]
    fn what_is_embedded_is_found_behind_other_sections() {
        let other = [EMPTY, &[CUSTOM, 3, 1, b'n', b'v']].concat();
        assert_eq!(Manifest::of_component(&other), Ok(None));
        let whole = Manifest::embed(&text(), &other).expect("a manifest");
        assert!(whole.starts_with(&other));
        let found = Manifest::of_component(&whole).expect("a manifest").expect("one");
        assert_eq!(found, Manifest::parse(&text()).expect("a manifest"));
    }

    #[test]
    fn a_second_manifest_and_a_wrong_one_are_refused() {
        let whole = Manifest::embed(&text(), EMPTY).expect("a manifest");
        let said = Manifest::embed(&text(), &whole).expect_err("two").to_string();
        assert!(said.contains("two of them"), "{said}");
        let said = Manifest::embed("id = 1\n", EMPTY).expect_err("no manifest").to_string();
        assert!(said.contains("line 1"), "{said}");
    }

    #[test]
    fn bytes_that_are_cut_anywhere_hold_no_manifest() {
        let whole = Manifest::embed(&text(), EMPTY).expect("a manifest");
        for end in 0..whole.len() {
            assert_eq!(Manifest::of_component(&whole[..end]), Ok(None), "{end}");
        }
        let endless = [EMPTY, &[CUSTOM, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat();
        assert_eq!(Manifest::of_component(&endless), Ok(None));
    }
}
