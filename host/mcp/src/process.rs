//! The process of a server: its pipes, its last words, and its end.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

/// Most bytes of standard error that are kept: the last ones.
const LAST_WORDS: usize = 2 << 10;

/// How long its last words are waited for: they may come after its other pipe has closed.
const LISTENING: Duration = Duration::from_millis(300);

/// A running server. Dropping it kills it and whatever is left in its process group.
pub(crate) struct Process {
    group: Option<Pid>,
    /// Reaps it; it is killed by then.
    _child: Box<dyn ChildWrapper>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    /// Closes when its standard error does.
    listening: watch::Receiver<()>,
    allowance: Arc<AtomicU64>,
}

/// Its output, as long as it keeps to its allowance.
pub(crate) struct Metered {
    output: ChildStdout,
    allowance: Arc<AtomicU64>,
}

impl Process {
    /// Starts it, with a session of its own, so that interrupts from our terminal do not reach it.
    pub(crate) fn start(
        words: &[String],
        env: &[(String, String)],
        folder: &Path,
        allowance: u64,
    ) -> io::Result<(Self, Metered, ChildStdin)> {
        let missing = || io::Error::new(io::ErrorKind::InvalidInput, "its command is empty");
        let (program, arguments) = words.split_first().ok_or_else(missing)?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
        command.current_dir(folder).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        // The wrapper would wait for the whole group.
        let mut child = command.spawn()?.into_inner();
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let lost = || io::Error::other("its pipes are missing");
        let input = child.stdin().take().ok_or_else(lost)?;
        let output = child.stdout().take().ok_or_else(lost)?;
        let last_words = Arc::default();
        let (speaking, listening) = watch::channel(());
        if let Some(stderr) = child.stderr().take() {
            tokio::spawn(listen(stderr, Arc::clone(&last_words), speaking));
        }
        let allowance = Arc::new(AtomicU64::new(allowance));
        let metered = Metered { output, allowance: Arc::clone(&allowance) };
        Ok((Self { group, _child: child, last_words, listening, allowance }, metered, input))
    }

    /// Lets it say this many bytes more, from now on.
    pub(crate) fn allow(&self, bytes: u64) {
        self.allowance.store(bytes, Ordering::Relaxed);
    }

    /// Why it may have ended, as far as it can be told from here.
    pub(crate) async fn last_words(&self) -> String {
        // One that is still there goes on speaking, so this may well run out.
        let _ = tokio::time::timeout(LISTENING, self.listening.clone().changed()).await;
        if self.allowance.load(Ordering::Relaxed) == 0 {
            return "it said more than it may, and was stopped".into();
        }
        let mut words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(words.make_contiguous());
        match text.trim() {
            "" => "it wrote nothing to standard error".into(),
            text => format!("its standard error ends in: {text}"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Where it is gone there is nobody to tell.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads standard error to its end, so that the process never waits for a reader, and keeps the end of it.
async fn listen(
    mut stderr: ChildStderr,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    _speaking: watch::Sender<()>,
) {
    let mut part = vec![0; 4 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut part).await {
        let mut words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(part.get(..read).unwrap_or_default());
        let surplus = words.len().saturating_sub(LAST_WORDS);
        words.drain(..surplus);
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.allowance.load(Ordering::Relaxed) == 0 {
            // An end, as if it had closed its output: that is what its client then does.
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.output).poll_read(cx, buf);
        let read = (buf.filled().len() - before) as u64;
        let spend = |left: u64| Some(left.saturating_sub(read));
        let _ = this.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        polled
    }
}
