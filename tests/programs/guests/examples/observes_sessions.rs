//! All that can be seen of sessions: the list, and what each read answers for the ids in the prompts.

use programs::{Decision, Failure, Header, Message, PreStep, query, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let texts = batch.iter().flat_map(Message::texts).flatten();
        let ids: Vec<String> =
            texts.flat_map(|text| text.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
        let listed = query::list_sessions()
            .map_or_else(said, |headers| headers.iter().map(header).collect::<Vec<_>>().join("; "));
        let mut report = vec![format!("list: {listed}")];
        for (id, title) in ids.iter().zip(query::read_titles(&ids)) {
            report
                .push(format!("title of {id}: {}", title.map_or_else(said, |t| format!("{t:?}"))));
        }
        for (id, surface) in ids.iter().zip(query::read_surfaces(&ids)) {
            report.push(format!("surface of {id}: {}", surface.map_or_else(said, |s| shown(&s))));
        }
        for id in &ids {
            let notes = query::own_notes(id).map(|notes| {
                let note = |note: query::OwnNote| format!("{:?} {}", note.seq, note.message);
                notes.into_iter().map(note).collect::<Vec<_>>().join(", ")
            });
            report.push(format!("notes in {id}: {}", notes.unwrap_or_else(said)));
        }
        Ok(seen(report.join("\n")))
    }
}

fn said(Failure { code, message, details }: Failure) -> String {
    format!("{code} ({message}) {details:?}")
}

fn header(header: &Header) -> String {
    format!("{} in {:?} from {:?}", header.id, header.cwd, header.parent)
}

fn shown(surface: &query::Surface) -> String {
    let texts = surface.texts(&(0..surface.length()).collect::<Vec<_>>());
    format!("{} says {texts:?} through {:?}", header(&surface.header()), surface.captured_through())
}

programs::export!(Program: PreStep);
