//! Which projects' values a person trusts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Offer;
use crate::project::hex;

/// What a person trusts: a folder of files, one for each project.
#[derive(Clone, Debug)]
pub struct Trust {
    dir: PathBuf,
}

/// What one of the files says.
#[derive(Deserialize, Serialize)]
struct Trusted {
    /// For people; the file's name is made from its bytes.
    folder: String,
    /// The digest of each value.
    values: BTreeMap<String, String>,
}

/// How an offered value stands to what was trusted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing was trusted under this key.
    New,
    /// Something else was.
    Changed,
    /// Just this was.
    Same,
}

impl Trust {
    /// What is kept in this folder, which need not be there.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Whether the person trusts exactly this: nothing more, nothing less, nothing else, in this place.
    #[must_use]
    pub fn holds(&self, offer: &Offer) -> bool {
        self.read(&offer.folder).is_some_and(|trusted| trusted.values == offer.digests())
    }

    /// Whether anything in this folder was ever trusted.
    #[must_use]
    pub fn knows(&self, folder: &Path) -> bool {
        self.read(folder).is_some()
    }

    /// How each value of the offer stands to what was trusted before, in the offer's order.
    #[must_use]
    pub fn changes(&self, offer: &Offer) -> Vec<Change> {
        let before = self.read(&offer.folder).map(|trusted| trusted.values).unwrap_or_default();
        let change = |value: &crate::Offered| match before.get(&value.key) {
            None => Change::New,
            Some(digest) if *digest == value.digest => Change::Same,
            Some(_) => Change::Changed,
        };
        offer.values.iter().map(change).collect()
    }

    /// Trusts exactly this, in place of what was trusted of the folder before. Whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn grant(&self, offer: &Offer) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let folder = offer.folder.display().to_string();
        let trusted = Trusted { folder, values: offer.digests() };
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        serde_json::to_writer_pretty(&mut file, &trusted)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(self.file(&offer.folder)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Trusts nothing of this folder any more; says whether anything was.
    ///
    /// # Errors
    /// When it cannot be taken away.
    pub fn revoke(&self, folder: &Path) -> io::Result<bool> {
        match fs::remove_file(self.file(folder)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A file that cannot be read, or says something else, trusts nothing.
    fn read(&self, folder: &Path) -> Option<Trusted> {
        serde_json::from_slice(&fs::read(self.file(folder)).ok()?).ok()
    }

    fn file(&self, folder: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(folder.as_os_str().as_encoded_bytes()));
        self.dir.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PROJECT_FILE, Project};

    /// A project with this file, and an empty folder for trust.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new(text: &str) -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(place.folder().join(".dsh-wasm")).unwrap();
            place.write(text);
            place
        }

        fn folder(&self) -> PathBuf {
            self.0.path().join("project")
        }

        fn write(&self, text: &str) {
            fs::write(self.folder().join(PROJECT_FILE), text).unwrap();
        }

        fn trust(&self) -> Trust {
            Trust::new(self.0.path().join("trust"))
        }

        fn offer(&self) -> Offer {
            offer(&self.folder())
        }
    }

    fn offer(folder: &Path) -> Offer {
        Project::find(folder, None).unwrap().expect("a project").offer().expect("an offer")
    }

    const TEXT: &str = "encoding = 'raw'\nmodel.base-url = 'http://h'\napproval.deny = ['x']\n";

    #[test]
    fn exactly_what_was_offered_is_trusted() {
        let place = Place::new(TEXT);
        let (trust, offered) = (place.trust(), place.offer());
        assert!(!trust.holds(&offered) && !trust.knows(&offered.folder));
        trust.grant(&offered).unwrap();
        assert!(trust.holds(&offered));
        // What everybody may set is no part of it, nor are order, comments and spelling.
        place.write("# new\n[approval]\ndeny = [\"x\"]\n[model]\nbase-url = \"http://h\"\n");
        assert!(trust.holds(&place.offer()));
        for (text, changes) in [
            ("model.base-url = 'http://i'\napproval.deny = ['x']", "[Changed, Same]"),
            ("model.base-url = 'http://h'", "[Same]"),
            (
                "model.base-url = 'http://h'\napproval.deny = ['x']\nmcp.a.command = ['b']",
                "[Same, Same, New]",
            ),
        ] {
            place.write(text);
            assert!(!trust.holds(&place.offer()), "{text}");
            assert_eq!(format!("{:?}", trust.changes(&place.offer())), changes);
        }
        place.write(TEXT);
        assert!(trust.revoke(&offered.folder).unwrap() && !trust.holds(&place.offer()));
        assert!(!trust.revoke(&offered.folder).unwrap());
    }

    #[test]
    fn trust_stays_with_the_place_that_links_lead_to() {
        let place = Place::new(TEXT);
        let trust = place.trust();
        trust.grant(&place.offer()).unwrap();
        let link = place.0.path().join("link");
        std::os::unix::fs::symlink(place.folder(), &link).unwrap();
        assert!(trust.holds(&offer(&link)), "the same place");
        let moved = place.0.path().join("moved");
        fs::rename(place.folder(), &moved).unwrap();
        assert!(!trust.holds(&offer(&moved)), "another place");
        let other = Place::new(TEXT);
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(other.folder(), &link).unwrap();
        assert!(!trust.holds(&offer(&link)), "the link leads elsewhere now");
    }

    #[test]
    fn a_program_of_the_projects_own_is_a_part_of_what_is_trusted() {
        let place = Place::new("mcp.a.command = ['./serve', 'README', '/bin/sh']");
        let program = place.folder().join("serve");
        fs::write(&program, "one").unwrap();
        let trust = place.trust();
        let offered = place.offer();
        let values = &offered.values;
        assert_eq!(values[0].files, [program.canonicalize().unwrap()], "and nothing outside");
        trust.grant(&offered).unwrap();
        fs::write(&program, "two").unwrap();
        assert!(!trust.holds(&place.offer()));
        assert_eq!(trust.changes(&place.offer()), [Change::Changed]);
    }

    #[test]
    fn a_damaged_file_trusts_nothing() {
        let place = Place::new(TEXT);
        let (trust, offered) = (place.trust(), place.offer());
        trust.grant(&offered).unwrap();
        let file = trust.file(&offered.folder);
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        assert!(!trust.holds(&offered));
        fs::write(&file, "{}").unwrap();
        assert!(!trust.holds(&offered));
        trust.grant(&offered).unwrap();
        assert!(trust.holds(&offered));
        let kept = fs::read_dir(place.0.path().join("trust")).unwrap().count();
        assert_eq!(kept, 1, "no half is left beside it");
    }

    #[test]
    fn the_nearest_project_upward_counts() {
        let place = Place::new(TEXT);
        let below = place.folder().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let found = Project::find(&below, None).unwrap().expect("a project");
        assert_eq!(found.folder(), place.folder().canonicalize().unwrap());
        fs::create_dir_all(below.join(".dsh-wasm")).unwrap();
        fs::write(below.join(PROJECT_FILE), "encoding = 'raw'").unwrap();
        let found = Project::find(&below, None).unwrap().expect("a project");
        assert!(found.folder().ends_with("a/b") && found.offer().is_none());
        assert!(Project::find(&place.0.path().join("gone"), None).unwrap().is_none());
    }
}
