//! One child process with everything that it starts: its output, its time, and its end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

use crate::bounded::Bounded;

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long output is waited for that a process outside of the group still holds open.
const DRAIN: Duration = Duration::from_millis(500);

/// How a process ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None where its time ran out.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: Bounded,
}

/// Runs `command` for `time` at most, keeping `most` bytes of what it writes to both outputs, in their order.
///
/// It gets a session of its own, so no terminal and no interrupt from one. When it ends, or when the future is
/// dropped, whatever is left in its process group is killed; what moved itself out of the group is not.
pub(crate) async fn run(mut command: Command, time: Duration, most: usize) -> io::Result<Ended> {
    let deadline = Instant::now() + time;
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).kill_on_drop(true);
    let mut running = Running::start(command)?;
    let mut pipe =
        Pipe { pipe: Receiver::from_owned_fd(reader.into())?, output: Bounded::new(most) };
    let mut status = pipe.read_until(&mut running, deadline).await?;
    let in_time = status.is_some();
    if !in_time {
        running.signal(Signal::TERM);
        status = pipe.read_until(&mut running, Instant::now() + GRACE).await?;
    }
    running.signal(Signal::KILL);
    if status.is_none() {
        running.child.wait().await?;
    }
    running.over = true;
    pipe.drain(Instant::now() + DRAIN).await?;
    Ok(Ended { status: status.filter(|_| in_time), output: pipe.output })
}

struct Running {
    child: Box<dyn ChildWrapper>,
    group: Option<Pid>,
    over: bool,
}

impl Running {
    fn start(command: Command) -> io::Result<Self> {
        // The command holds the pipe's writing end, so it goes at the end of this function.
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        // The wrapper would wait for the whole group.
        let child = command.spawn()?.into_inner();
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self { group: id.and_then(Pid::from_raw), child, over: false })
    }

    /// Signals the group. Where it is gone there is nobody to tell.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

struct Pipe {
    pipe: Receiver,
    output: Bounded,
}

impl Pipe {
    /// Reads until the process has ended; none where the deadline came first.
    async fn read_until(
        &mut self,
        running: &mut Running,
        deadline: Instant,
    ) -> io::Result<Option<ExitStatus>> {
        let mut open = true;
        let mut part = vec![0; 16 << 10];
        let sleep = tokio::time::sleep_until(deadline);
        tokio::pin!(sleep);
        loop {
            tokio::select! {
                status = running.child.wait() => return Ok(Some(status?)),
                // A flood must not hide the clock, so both are looked at in turn.
                () = &mut sleep => return Ok(None),
                read = self.pipe.read(&mut part), if open => {
                    let read = read?;
                    open = read > 0;
                    self.output.push(part.get(..read).unwrap_or_default());
                }
            }
        }
    }

    /// Reads what is still there.
    async fn drain(&mut self, deadline: Instant) -> io::Result<()> {
        let mut part = vec![0; 16 << 10];
        loop {
            match timeout_at(deadline, self.pipe.read(&mut part)).await {
                Ok(Ok(0)) | Err(_) => return Ok(()),
                Ok(read) => self.output.push(part.get(..read?).unwrap_or_default()),
            }
        }
    }
}
