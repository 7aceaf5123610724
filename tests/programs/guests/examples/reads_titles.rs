//! Titles come in the order asked, an id given twice is answered twice, and each entry fails alone.

use programs::{Decision, Failure, Message, PreStep, query, seen};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let ids = ["b", "missing", "a", "b"].map(str::to_owned);
        let titles = query::read_titles(&ids).into_iter().map(|title| match title {
            Ok(title) => title.unwrap_or_else(|| "none".to_owned()),
            Err(failure) => failure.code,
        });
        Ok(seen(titles.collect::<Vec<_>>().join(" ")))
    }
}

programs::export!(Program: PreStep);
