//! A person's folders, a project to work in, and commands that are run there.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser as _;
use dsh_wasm::{Cli, Exit, Person, Surroundings};
use serde_json::Value;

/// A person's folders, a project to work in, and sessions.
pub(crate) struct Desk {
    dir: tempfile::TempDir,
    /// What is answered to each question; none where nobody is there.
    pub(crate) answer: Option<bool>,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) variables: Vec<(String, String)>,
}

/// Somebody who gives the same answer to each question.
struct Answers(bool, Arc<AtomicUsize>);

impl Person for Answers {
    fn agrees(&self, _: &str) -> io::Result<bool> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(self.0)
    }
}

/// What a command printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) exit: Result<Exit, String>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    /// With these files, the project's below `project`, the person's below `config`.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("project/.git")).unwrap();
        let desk = Self { dir, answer: None, asked: Arc::default(), variables: Vec::new() };
        for (path, text) in files {
            desk.write(path, text);
        }
        desk
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        // Without links, as sessions and trust have it.
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Ran {
        let person = self
            .answer
            .map(|answer| Arc::new(Answers(answer, Arc::clone(&self.asked))) as Arc<dyn Person>);
        let around = Surroundings {
            variables: self.variables.clone(),
            cwd: self.path("project"),
            home: Some(self.path("")),
            config: Some(self.path("config")),
            data: Some(self.path("data")),
            person,
        };
        let words = ["dsh-wasm"].iter().chain(args);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let cli = Cli::try_parse_from(words).unwrap();
        let exit = dsh_wasm::execute_in(cli, &around, &mut out, &mut err).await;
        Ran {
            exit: exit.map_err(|err| format!("{err:#}")),
            out: String::from_utf8(out).unwrap(),
            err: String::from_utf8(err).unwrap(),
        }
    }

    /// Runs a turn that completes, and gives the messages of the request that came of it.
    pub(crate) async fn messages(&self, args: &[&str]) -> (String, Vec<Value>) {
        let root = self.path("sessions");
        let root = root.to_str().unwrap();
        let ran = self.run(&[&["run", "--json", "--root", root], args].concat()).await;
        assert_eq!(ran.exit, Ok(Exit::Done), "{}{}", ran.out, ran.err);
        let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
        let session = first["session"].as_str().unwrap().to_owned();
        let shown = self.run(&["show", "--root", root, "--request", "--json", &session]).await;
        let request: Value = serde_json::from_str(&shown.out).unwrap();
        (session, request["messages"].as_array().unwrap().clone())
    }
}
