//! Commands in a session that another process writes: what is stored of it is read, and nothing else done to it.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use dsh_agent::TurnEnd;
use dsh_session::{Draft, Encoding, Live, SessionId, Sessions, Store, log_path};
use dsh_tests::{Rig, model, turn};
use dsh_wasm::{Attended, Ran, Stored};
use serde_json::json;

use crate::stage::lines;

/// A session with a completed turn, and the writer that is in its second one.
struct Busy {
    rig: Rig,
    id: SessionId,
    writer: Live,
    path: PathBuf,
}

impl Busy {
    async fn set() -> Self {
        let rig = Rig::empty().await;
        let id = rig.session(&["the task"]).await;
        let sessions = Sessions::new(Store::new(rig.root(), Encoding::Zstd, Arc::new(|| 0)));
        let (_, events) = sessions.history(&id, Vec::new()).await.unwrap();
        let start = events.iter().find(|event| &*event.kind == "turn/start").unwrap();
        let (writer, ()) = sessions.open(&id, ()).await.unwrap();
        writer.append(Draft::new("turn/start", start.data.clone())).unwrap();
        writer.commit().await.unwrap();
        let path = log_path(rig.root(), writer.header(), Encoding::Zstd).unwrap();
        // A write that is not whole yet, which an opening would cut.
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(&[0x28, 0xb5, 0x2f, 0xfd]).unwrap();
        Self { rig, id, writer, path }
    }

    async fn stored(&self, replies: &[serde_json::Value]) -> Stored {
        match self.rig.harness.attend(&self.id, model(replies)).await.unwrap() {
            Attended::Stored(stored) => *stored,
            Attended::Agent(_) => panic!("the session has a writer"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_session_is_forked_from_what_another_process_has_completed() {
    let busy = Busy::set().await;
    let before = busy.bytes();
    let stored = busy.stored(&[json!({ "text": "because" })]).await;
    let ran = busy.rig.harness.command_beside(&stored, "/side why?", None).await.unwrap();
    let Ran::Opened { agent: child, send, notice } = ran else { panic!("/side opens a session") };
    assert!(notice.is_some_and(|notice| notice.contains("running")));
    assert_eq!(turn(&child, &send.unwrap()).await, TurnEnd::Completed);
    let header = child.live().header();
    assert_eq!(header.parent.as_ref(), Some(&busy.id));
    assert!(header.seed_length < Some(busy.writer.next_seq()));
    let said = lines(&child.live().messages());
    let [task, reply, framing, question, answer] = &said[..] else { panic!("{said:?}") };
    assert_eq!(
        [task, reply, question, answer].map(String::as_str),
        ["user: the task", "model: ok", "user: why?", "model: because"]
    );
    assert!(framing.starts_with("sidechat: This is a side session"), "{framing}");
    assert!(busy.bytes() == before, "the source is as it was");

    let listed = busy.rig.harness.command_beside(&stored, "/sides", None).await.unwrap();
    let Ran::Text(listed) = listed else { panic!("/sides is a text") };
    assert!(listed.contains(header.id.escaped()), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_a_session_of_another_process_is_refused() {
    let busy = Busy::set().await;
    let Busy { rig, .. } = &busy;
    let stored = busy.stored(&[]).await;
    let Ok(Ran::Opened { agent: child, .. }) =
        rig.harness.command_beside(&stored, "/side", None).await
    else {
        panic!("/side opens a session")
    };
    let child_id = child.live().header().id.clone();
    child.dispose().await.unwrap();
    drop(child);
    let elsewhere = Sessions::new(Store::new(rig.root(), Encoding::Zstd, Arc::new(|| 0)));
    let (_writer, ()) = elsewhere.open(&child_id, ()).await.unwrap();
    let Attended::Stored(stored) = rig.harness.attend(&child_id, model(&[])).await.unwrap() else {
        panic!("the session has a writer")
    };
    let refused = rig.harness.command_beside(&stored, "/promote --yes", None).await;
    let said = refused.map(drop).unwrap_err().to_string();
    let holder = format!("session {child_id} is being written by process ");
    assert!(said.contains(&holder) && said.contains("[held]"), "{said}");
}
