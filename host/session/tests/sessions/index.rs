//! What the index beside a root remembers, and that nobody notices but by the time it saves.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dsh_session::{Encoding, Listing, QueryError, SessionId, Sessions, index_beside};

use crate::{Scratch, files, header, title};

impl Scratch {
    fn index(&self) -> PathBuf {
        index_beside(&self.root()).unwrap()
    }

    /// As another process that has just started.
    fn indexed(&self) -> Sessions {
        Sessions::new(self.store().with_index(self.index()))
    }

    /// Puts raw logs there, each with a title, and lets them be until a later change shows in their times.
    fn titled(&self, ids: &[&str]) {
        for id in ids {
            self.put(id, &row(&format!("title of {id}")));
        }
        settle(&self.root());
    }
}

fn row(title: &str) -> String {
    format!(
        "{{\"type\":\"session/title\",\"seq\":0,\"time\":5,\"data\":{{\"title\":\"{title}\",\"messageSeqs\":[],\"source\":{{\"kind\":\"user\"}}}}}}\n"
    )
}

/// Waits until the newest change under `dir` is so old that the next one has other times.
#[cfg(unix)]
fn settle(dir: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let probe = dir.join("probe");
    fs::write(&probe, "").unwrap();
    let changed = fs::metadata(&probe).unwrap();
    let changed = Duration::new(
        changed.ctime().try_into().unwrap(),
        changed.ctime_nsec().try_into().unwrap(),
    );
    fs::remove_file(probe).unwrap();
    let settled = SystemTime::UNIX_EPOCH + changed + Duration::from_millis(50);
    while SystemTime::now() < settled {
        std::thread::yield_now();
    }
}

async fn titles(sessions: &Sessions, ids: &[&str]) -> Vec<String> {
    let ids: Vec<SessionId> = ids.iter().map(|id| SessionId::new(id)).collect();
    let titles = sessions.titles(&ids).await;
    titles
        .into_iter()
        .map(|title| match title {
            Ok(Some(title)) => title.title,
            Ok(None) => "none".into(),
            Err(QueryError::NotFound(_)) => "not found".into(),
            Err(error) => format!("error: {error}"),
        })
        .collect()
}

async fn listed(sessions: &Sessions) -> Vec<String> {
    let records = sessions.list().await.unwrap();
    records.sessions.iter().map(|record| record.header.id.to_string()).collect()
}

/// What a store without an index tells.
fn plain(scratch: &Scratch) -> Listing {
    scratch.store().list().unwrap()
}

#[tokio::test]
async fn a_known_log_is_not_opened_again() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a", "b"]);
    let cold = scratch.indexed();
    assert_eq!(
        titles(&cold, &["b", "a", "b", "x"]).await,
        ["title of b", "title of a", "title of b", "not found"]
    );
    assert_eq!(cold.store().logs_opened(), 2);
    let warm = scratch.indexed();
    assert_eq!(listed(&warm).await, ["a", "b"]);
    assert_eq!(titles(&warm, &["a", "b"]).await, ["title of a", "title of b"]);
    assert_eq!(warm.store().logs_opened(), 0);
    assert_eq!(warm.store().list().unwrap().sessions, plain(&scratch).sessions);
    assert_eq!(files(&scratch.root()), ["session.jsonl", "session.jsonl"]);
}

#[tokio::test]
async fn titles_that_are_none_or_odd_or_hold_half_a_character_are_remembered() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.put("none", "");
    scratch.put("odd", "{\"type\":\"session/title\",\"seq\":0,\"time\":0,\"data\":{}}\n");
    scratch.put("lone", &row("x\\ud800"));
    settle(&scratch.root());
    let ids = ["none", "odd", "lone"];
    let cold = titles(&scratch.indexed(), &ids).await;
    assert_eq!(cold[2], "x\u{fffd}");
    let warm = scratch.indexed();
    assert_eq!(titles(&warm, &ids).await, cold);
    assert_eq!(warm.store().logs_opened(), 0);
}

#[tokio::test]
async fn a_log_that_another_process_appended_to_is_read_again() {
    let scratch = Scratch::new(Encoding::Zstd);
    let writer = scratch.sessions();
    let live = writer.create(header("a"), None).await.unwrap();
    live.append(title("first")).unwrap();
    live.commit().await.unwrap();
    settle(&scratch.root());
    let reader = scratch.indexed();
    assert_eq!(titles(&reader, &["a"]).await, ["first"]);
    live.append(title("second")).unwrap();
    live.commit().await.unwrap();
    assert_eq!(titles(&reader, &["a"]).await, ["second"]);
    assert_eq!(titles(&scratch.indexed(), &["a"]).await, ["second"]);
}

#[tokio::test]
async fn other_content_of_the_same_size_and_time_is_read_again() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a"]);
    let sessions = scratch.indexed();
    assert_eq!(titles(&sessions, &["a"]).await, ["title of a"]);
    let log = scratch.log("a");
    let modified = fs::metadata(&log).unwrap().modified().unwrap();
    let other = fs::read_to_string(&log).unwrap().replace("title of a", "TITLE OF A");
    // In place, then as another file in its place.
    fs::write(&log, &other).unwrap();
    fs::File::options().append(true).open(&log).unwrap().set_modified(modified).unwrap();
    assert_eq!(titles(&sessions, &["a"]).await, ["TITLE OF A"]);
    settle(&scratch.root());
    assert_eq!(titles(&sessions, &["a"]).await, ["TITLE OF A"]);
    let aside = log.with_extension("new");
    fs::write(&aside, other.replace("TITLE", "Title")).unwrap();
    fs::File::options().append(true).open(&aside).unwrap().set_modified(modified).unwrap();
    fs::rename(&aside, &log).unwrap();
    assert_eq!(titles(&sessions, &["a"]).await, ["Title OF A"]);
}

#[tokio::test]
async fn a_removed_log_is_forgotten() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a", "b"]);
    let sessions = scratch.indexed();
    titles(&sessions, &["a", "b"]).await;
    fs::remove_dir_all(scratch.log("a").parent().unwrap()).unwrap();
    assert_eq!(titles(&sessions, &["a", "b"]).await, ["not found", "title of b"]);
    assert_eq!(listed(&sessions).await, ["b"]);
    let index = fs::read_to_string(scratch.index()).unwrap();
    assert!(index.contains("title of b") && !index.contains("title of a"));
}

#[tokio::test]
async fn a_damaged_index_tells_nothing_wrong() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a", "b"]);
    titles(&scratch.indexed(), &["a", "b"]).await;
    let sound = fs::read(scratch.index()).unwrap();
    let at = sound.windows(10).position(|bytes| bytes == b"title of a").unwrap();
    let mut changed = sound.clone();
    changed[at] = b'T';
    let foreign = [b"dsh-index 2\n", &sound[12..]].concat();
    for (index, opened) in [
        (changed, 1),
        (sound[..sound.len() - 1].to_vec(), 1),
        (foreign, 2),
        (vec![0xff; 5000], 2),
        (Vec::new(), 2),
        (sound, 0),
    ] {
        fs::write(scratch.index(), index).unwrap();
        let sessions = scratch.indexed();
        assert_eq!(titles(&sessions, &["a", "b"]).await, ["title of a", "title of b"]);
        assert_eq!(sessions.store().logs_opened(), opened);
        let healed = scratch.indexed();
        titles(&healed, &["a", "b"]).await;
        assert_eq!(healed.store().logs_opened(), 0);
    }
}

#[tokio::test]
async fn no_index_where_none_can_be() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a"]);
    let nowhere = scratch.dir.path().join("missing/index");
    for path in [nowhere, scratch.dir.path().to_owned(), "/dev/full".into(), "/proc/index".into()] {
        let sessions = Sessions::new(scratch.store().with_index(&path));
        assert_eq!(titles(&sessions, &["a"]).await, ["title of a"]);
        assert_eq!(listed(&sessions).await, ["a"]);
    }
    assert_eq!(index_beside(Path::new("/")), None);
    assert_eq!(index_beside(Path::new("..")), None);
}

#[cfg(unix)]
#[tokio::test]
async fn the_index_is_private_and_of_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a"]);
    titles(&scratch.indexed(), &["a"]).await;
    let mode = fs::metadata(scratch.index()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // What others can write is not believed.
    fs::set_permissions(scratch.index(), fs::Permissions::from_mode(0o666)).unwrap();
    let sessions = scratch.indexed();
    titles(&sessions, &["a"]).await;
    assert_eq!(sessions.store().logs_opened(), 1);
    // Nor what lies elsewhere, and a link there is replaced, not written through.
    let elsewhere = scratch.dir.path().join("elsewhere");
    fs::rename(scratch.index(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scratch.index()).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let sessions = scratch.indexed();
    titles(&sessions, &["a"]).await;
    assert_eq!(sessions.store().logs_opened(), 1);
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    assert!(fs::symlink_metadata(scratch.index()).unwrap().is_file());
}

#[tokio::test]
async fn whoever_died_while_writing_the_index_is_cleared_away() {
    let scratch = Scratch::new(Encoding::Raw);
    scratch.titled(&["a"]);
    let mut aside = scratch.index().into_os_string();
    aside.push(".tmp");
    fs::File::create(&aside).unwrap().write_all(b"half").unwrap();
    // It may live: nothing is written.
    titles(&scratch.indexed(), &["a"]).await;
    assert!(!scratch.index().exists());
    let old = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(&aside).unwrap().set_modified(old).unwrap();
    titles(&scratch.indexed(), &["a"]).await;
    assert!(scratch.index().exists() && !Path::new(&aside).exists());
}

#[test]
fn two_that_write_it_at_once_leave_a_sound_one() {
    let scratch = Scratch::new(Encoding::Raw);
    let ids: Vec<String> = (0..40).map(|at| format!("s{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    scratch.titled(&ids);
    // Stores of their own share nothing but files, as processes do.
    std::thread::scope(|scope| {
        for part in ids.chunks(10) {
            let scratch = &scratch;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                for id in part {
                    let found = runtime.block_on(titles(&scratch.indexed(), &[id]));
                    assert_eq!(found, [format!("title of {id}")]);
                }
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let expected: Vec<String> = ids.iter().map(|id| format!("title of {id}")).collect();
    assert_eq!(runtime.block_on(titles(&scratch.indexed(), &ids)), expected);
    let warm = scratch.indexed();
    assert_eq!(runtime.block_on(titles(&warm, &ids)), expected);
    assert_eq!(warm.store().logs_opened(), 0);
}

#[tokio::test]
async fn ten_thousand_known_logs_are_listed_without_opening_one() {
    let scratch = Scratch::new(Encoding::Raw);
    let ids: Vec<String> = (0..10_000).map(|at| format!("s{at:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    scratch.titled(&ids);
    let cold = scratch.indexed();
    assert_eq!(listed(&cold).await.len(), 10_000);
    let known = titles(&cold, &ids).await;
    assert_eq!(cold.store().logs_opened(), 20_000);
    let warm = scratch.indexed();
    assert_eq!(listed(&warm).await.len(), 10_000);
    assert_eq!(titles(&warm, &ids).await, known);
    assert_eq!(warm.store().logs_opened(), 0);
    // One that grows is the only one to be read.
    scratch.put(ids[7], &row("another"));
    assert_eq!(titles(&warm, &ids).await[7], "another");
    assert_eq!(warm.store().logs_opened(), 1);
}
