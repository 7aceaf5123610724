//! How plugins stand, from one process to the next: faults in a row, and quarantine.

use std::fs;
use std::io::ErrorKind;

use dsh_plugin_host::{Quarantine, Standing};
use serde::{Deserialize, Serialize};

use crate::error::FolderError;
use crate::folder::{self, Folder};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    id: String,
    /// The component's digest: what another one did is not this one's fault.
    component: String,
    faults: u32,
    quarantined: Option<String>,
}

impl Folder {
    /// How the plugin with this component stood when it was last kept.
    ///
    /// # Errors
    ///
    /// When it is kept and cannot be read.
    pub fn standing(&self, id: &str, component: &str) -> Result<Standing, FolderError> {
        let file = self.standing_file(id);
        let bytes = match fs::read(&file) {
            Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Standing::default()),
            bytes => bytes.map_err(FolderError::io(&file, "read"))?,
        };
        let text: Text = serde_json::from_slice(&bytes)
            .map_err(|err| FolderError::io(&file, "read")(err.into()))?;
        if text.id != id || text.component != component {
            return Ok(Standing::default());
        }
        let quarantine = text.quarantined.map(Quarantine::after);
        Ok(Standing { faults: text.faults, quarantine })
    }

    /// Keeps how a plugin stands.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn keep_standing(
        &self,
        id: &str,
        component: &str,
        standing: &Standing,
    ) -> Result<(), FolderError> {
        if *standing == Standing::default() {
            return self.release(id);
        }
        let file = self.standing_file(id);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir).map_err(FolderError::io(dir, "made"))?;
        }
        let text = Text {
            id: id.to_owned(),
            component: component.to_owned(),
            faults: standing.faults,
            quarantined: standing
                .quarantine
                .as_ref()
                .map(|quarantine| quarantine.last_fault.clone()),
        };
        let bytes = serde_json::to_vec(&text)
            .map_err(|err| FolderError::io(&file, "written")(err.into()))?;
        folder::write(&file, &bytes)
    }

    /// Forgets a plugin's faults and its quarantine.
    ///
    /// # Errors
    ///
    /// When the file cannot be removed.
    pub fn release(&self, id: &str) -> Result<(), FolderError> {
        let file = self.standing_file(id);
        match fs::remove_file(&file) {
            Err(err) if err.kind() != ErrorKind::NotFound => {
                Err(FolderError::io(&file, "removed")(err))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_is_kept_for_the_component_that_earned_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(dir.path());
        let bad = Standing { faults: 3, quarantine: Some(Quarantine::after("a trap")) };
        folder.keep_standing("@a/b", "digest", &bad).expect("kept");
        assert_eq!(folder.standing("@a/b", "digest").expect("read"), bad);
        for (id, component) in [("@a/b", "another"), ("b", "digest")] {
            assert_eq!(folder.standing(id, component).expect("read"), Standing::default());
        }
        folder.release("@a/b").expect("released");
        folder.release("@a/b").expect("released twice");
        assert_eq!(folder.standing("@a/b", "digest").expect("read"), Standing::default());
    }
}
