//! What the program finds around it: read once, at the start, and handed to whoever needs it.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_config::{Base, Trust};

/// What is around the program. The default is nothing at all: no settings, and nobody to ask.
#[derive(Default)]
pub struct Surroundings {
    /// The environment; variables that are no UTF-8 are left out.
    pub variables: Vec<(String, String)>,
    /// The current folder.
    pub cwd: PathBuf,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The folder of the person's settings and instructions.
    pub config: Option<PathBuf>,
    /// The folder of what is kept for the person, trust among it.
    pub data: Option<PathBuf>,
    /// Who can answer a question, where somebody can.
    pub person: Option<Arc<dyn Person>>,
}

/// Somebody who can be asked.
pub trait Person: Send + Sync {
    /// Asks, and says whether the answer was yes. Whatever is not clearly yes is no.
    ///
    /// # Errors
    /// When the question cannot be put, or the answer cannot be read.
    fn agrees(&self, question: &str) -> io::Result<bool>;

    /// Asks, and gives what was typed from now on. Waits as long as the person takes.
    ///
    /// # Errors
    /// See [`Person::agrees`].
    fn answer(&self, question: &str) -> io::Result<String> {
        Ok(if self.agrees(question)? { "y" } else { "n" }.to_owned())
    }
}

/// The person at the terminal.
struct Terminal;

impl Person for Terminal {
    fn agrees(&self, question: &str) -> io::Result<bool> {
        let mut err = io::stderr().lock();
        write!(err, "{question} [y/N] ")?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn answer(&self, question: &str) -> io::Result<String> {
        // What was typed before the question was seen is no answer to it.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
        let mut err = io::stderr();
        write!(err, "{question} ")?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer)
    }
}

impl Surroundings {
    /// What is around this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that looks around")]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os();
        let variables = variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        // Both ends: the question must be seen, and the answer must come from whoever sees it.
        let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self {
            variables: variables.collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
            home: dirs::home_dir(),
            config: dirs::config_dir().map(|dir| dir.join("dsh-wasm")),
            data: dirs::data_dir().map(|dir| dir.join("dsh-wasm")),
            person: terminal.then(|| Arc::new(Terminal) as Arc<dyn Person>),
        }
    }

    /// The person's file of settings.
    pub fn settings_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|dir| dir.join("config.toml"))
    }

    /// What the person trusts; none where nothing can be kept.
    pub fn trust(&self) -> Option<Trust> {
        self.data.as_ref().map(|dir| Trust::new(dir.join("trust")))
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// From where the paths of variables and options go.
    pub(crate) fn base(&self) -> Base<'_> {
        Base { folder: &self.cwd, home: self.home() }
    }

    /// A variable; none where it is not set.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}
