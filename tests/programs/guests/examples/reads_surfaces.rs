//! A surface gives its header, its nodes in pages, texts in the order asked, and parts of a text.

use programs::{Decision, Failure, Message, PreStep, query, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let ids = ["a".to_owned(), "missing".to_owned()];
        let mut answers = query::read_surfaces(&ids).into_iter();
        let surface = answers.next().expect("an answer for each id")?;
        let missing = answers.next().and_then(Result::err).expect("an answer for each id");
        assert_eq!(missing.code, "not-found");
        assert_eq!(surface.header().id, "a");
        assert_eq!(surface.captured_through(), Some(7));
        assert_eq!(surface.length(), 2);
        assert_eq!(surface.nodes(0, 9).len(), 2);
        assert_eq!(surface.nodes(1, 1).len(), 1);
        assert_eq!(surface.nodes(2, 1).len(), 0);
        let sizes = surface.nodes(0, 2).into_iter().map(|node| node.text_bytes.to_string());
        let sizes = sizes.collect::<Vec<_>>().join("+");
        let texts = surface.texts(&[1, 0, 1]).join("|");
        Ok(seen(format!("{sizes} {texts} {}", surface.text_part(1, 1, 3))))
    }
}

programs::export!(Program: PreStep);
