//! The tool calls of a reply, put together from pieces that name them in many ways.

use std::collections::HashSet;

use serde_json::Value;

/// One tool call as far as it has arrived.
#[derive(Debug)]
pub(crate) struct Call {
    /// The block that it is.
    pub(crate) block: u64,
    /// Its id from the first piece on: the service's own, or one that was made where that is missing or taken.
    pub(crate) id: String,
    /// The tool; empty until a piece names it.
    pub(crate) name: String,
    /// As the model writes them.
    pub(crate) arguments: String,
    /// How the service calls it.
    wire: (Option<u64>, String),
}

/// The calls of one reply.
#[derive(Debug)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// Ids that no further call may have.
    taken: HashSet<String>,
    /// What made ids begin with.
    prefix: String,
}

/// A piece of a call, as it came.
pub(crate) struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: std::borrow::Cow<'a, str>,
}

/// What a piece does.
pub(crate) struct Grown<'a> {
    /// The call after it.
    pub(crate) call: &'a Call,
    /// Whether the piece opened it.
    pub(crate) new: bool,
}

impl<'a> Piece<'a> {
    /// Reads an item of `tool_calls`; `place` stands for the index in a reply that is not streamed.
    pub(crate) fn read(item: &'a Value, place: Option<u64>) -> Self {
        let text = |value: Option<&'a Value>| value.and_then(Value::as_str).unwrap_or_default();
        let function = item.get("function");
        let member = |name| function.and_then(|function| function.get(name));
        let arguments = match member("arguments") {
            Some(Value::String(text)) => text.as_str().into(),
            // Some local servers send the object itself.
            Some(value @ (Value::Object(_) | Value::Array(_))) => value.to_string().into(),
            _ => "".into(),
        };
        Self {
            index: item.get("index").and_then(Value::as_u64).or(place),
            id: text(item.get("id")),
            name: text(member("name")),
            arguments,
        }
    }

    /// How many bytes it adds to the arguments.
    pub(crate) fn arguments(&self) -> &str {
        &self.arguments
    }
}

impl Calls {
    /// None yet. `history` are the ids of earlier calls, `prefix` begins each id that has to be made.
    pub(crate) fn new(history: HashSet<String>, prefix: String) -> Self {
        Self { calls: Vec::new(), taken: history, prefix }
    }

    /// The calls so far, in the order in which they were opened.
    pub(crate) fn all(&self) -> &[Call] {
        &self.calls
    }

    /// Takes a piece; `block` is the block that a new call gets.
    pub(crate) fn push(&mut self, piece: &Piece<'_>, block: u64) -> Option<Grown<'_>> {
        let found = self.find(piece);
        let new = found.is_none();
        let place = match found {
            Some(place) => place,
            None => {
                let id = self.fresh_id(piece.id);
                let wire = (piece.index, piece.id.to_owned());
                let (name, arguments) = (String::new(), String::new());
                self.calls.push(Call { block, id, name, arguments, wire });
                self.calls.len() - 1
            }
        };
        let call = self.calls.get_mut(place)?;
        if call.name.is_empty() {
            call.name.push_str(piece.name);
        }
        if call.wire.1.is_empty() {
            call.wire.1.push_str(piece.id);
        }
        call.arguments.push_str(&piece.arguments);
        Some(Grown { call, new })
    }

    /// The call that a piece belongs to.
    ///
    /// By its id where it has one; else by its index, of calls with the same index by the newest; else it belongs to
    /// the newest call. A piece is a new call where its id is new (services reuse an index), or where it names a tool
    /// although the call that it would belong to is whole already.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let fits = |call: &Call| match (piece.index, call.wire.0) {
            (Some(asked), Some(known)) => asked == known,
            _ => true,
        };
        let newest = |wanted: &dyn Fn(&Call) -> bool| {
            self.calls.iter().rposition(|call| fits(call) && wanted(call))
        };
        if !piece.id.is_empty() {
            return newest(&|call| call.wire.1 == piece.id).or_else(|| {
                let place = newest(&|_| true)?;
                self.calls.get(place).filter(|call| call.wire.1.is_empty()).map(|_| place)
            });
        }
        let place = newest(&|_| true)?;
        let call = self.calls.get(place)?;
        let another = !piece.name.is_empty() && !piece.arguments.is_empty() && call.is_whole();
        (!another).then_some(place)
    }

    fn fresh_id(&mut self, wanted: &str) -> String {
        let mut id = wanted.to_owned();
        let mut number = self.calls.len();
        while id.is_empty() || self.taken.contains(&id) {
            id = format!("{}_{number}", self.prefix);
            number += 1;
        }
        self.taken.insert(id.clone());
        id
    }
}

impl Call {
    /// Whether nothing can be added to the arguments.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The calls that these pieces make, as id, tool and arguments.
    fn made(pieces: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::new(["old".to_owned()].into(), "call_4".into());
        for (block, piece) in (0..).zip(pieces) {
            calls.push(&Piece::read(piece, None), block).unwrap();
        }
        let told = |call: &Call| (call.id.clone(), call.name.clone(), call.arguments.clone());
        calls.all().iter().map(told).collect()
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
    }

    #[track_caller]
    fn check(pieces: &[Value], expected: &[(&str, &str, &str)]) {
        let made = made(pieces);
        let made: Vec<_> = made.iter().map(|(id, name, text)| (&**id, &**name, &**text)).collect();
        assert_eq!(made, expected);
    }

    #[test]
    fn parallel_calls_are_told_apart_by_their_index() {
        check(
            &[
                piece(Some(0), Some("a"), Some("ls"), ""),
                piece(Some(1), Some("b"), Some("cat"), ""),
                piece(Some(0), None, None, "{\"x\""),
                piece(Some(1), Some(""), Some(""), "{}"),
                piece(Some(0), None, None, ":1}"),
            ],
            &[("a", "ls", r#"{"x":1}"#), ("b", "cat", "{}")],
        );
    }

    #[test]
    fn an_index_that_is_used_again_with_another_id_is_another_call() {
        check(
            &[
                piece(Some(0), Some("a"), Some("ls"), "{"),
                piece(Some(0), Some("b"), Some("cat"), "{}"),
                piece(Some(0), Some("a"), None, "}"),
            ],
            &[("a", "ls", "{}"), ("b", "cat", "{}")],
        );
    }

    #[test]
    fn an_id_in_every_piece_is_one_call() {
        check(
            &[
                piece(Some(0), Some("a"), Some("ls"), "{"),
                piece(Some(0), Some("a"), Some("ls"), "}"),
                piece(Some(0), Some("a"), Some("ls"), ""),
            ],
            &[("a", "ls", "{}")],
        );
    }

    #[test]
    fn calls_without_an_index_follow_each_other() {
        check(
            &[
                piece(None, Some("a"), Some("ls"), "{"),
                piece(None, None, None, "}"),
                piece(None, Some("b"), Some("cat"), "{}"),
            ],
            &[("a", "ls", "{}"), ("b", "cat", "{}")],
        );
    }

    #[test]
    fn whole_calls_without_ids_are_calls_of_their_own_with_made_ids() {
        for index in [None, Some(0)] {
            check(
                &[piece(index, Some(""), Some("ls"), "{}"), piece(index, None, Some("ls"), "{}")],
                &[("call_4_0", "ls", "{}"), ("call_4_1", "ls", "{}")],
            );
        }
    }

    #[test]
    fn an_id_that_is_taken_is_made_anew_and_one_that_comes_late_changes_nothing() {
        check(
            &[
                piece(Some(0), Some("old"), Some("ls"), "{}"),
                piece(Some(1), None, Some("ls"), "{"),
                piece(Some(1), Some("late"), None, "}"),
                piece(Some(2), Some("old"), Some("ls"), "{}"),
            ],
            &[("call_4_0", "ls", "{}"), ("call_4_1", "ls", "{}"), ("call_4_2", "ls", "{}")],
        );
    }

    #[test]
    fn arguments_may_come_as_an_object_or_not_at_all() {
        let object = json!({ "index": 0, "function": { "name": "ls", "arguments": { "a": 1 } } });
        let none = json!({ "index": 1, "id": "b", "function": { "name": "pwd" } });
        check(&[object, none], &[("call_4_0", "ls", r#"{"a":1}"#), ("b", "pwd", "")]);
    }

    #[test]
    fn ids_of_any_script_stay_as_they_are() {
        check(
            &[piece(Some(0), Some("呼び出し-é"), Some("ls"), "{}")],
            &[("呼び出し-é", "ls", "{}")],
        );
    }
}
