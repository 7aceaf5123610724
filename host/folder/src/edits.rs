//! Changes of the operator's file that leave everything else in it, comments too, as it is.

use std::path::PathBuf;

use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value,
};

use crate::error::{FolderError, listed};
use crate::grant::Grant;

const HEAD: &str = "\
# Which plugins run, in this order, the first outermost; what each is granted and how it is set.
# What a plugin has is what it declares and is granted here. `plugin` commands change this file, and so can you.

";

/// The operator's file on its way to being changed.
#[derive(Clone, Debug)]
pub struct Edits {
    file: PathBuf,
    document: DocumentMut,
}

impl Edits {
    /// Begins with the file's text; it must have been read as an operator's file before. `file` is for errors.
    ///
    /// # Errors
    ///
    /// [`FolderError::Layout`]: it is no TOML, or its plugins are no tables of their own.
    pub fn new(file: impl Into<PathBuf>, text: &str) -> Result<Edits, FolderError> {
        let file = file.into();
        let text = if text.trim().is_empty() { HEAD } else { text };
        let layout = |reason: String| FolderError::Layout { file: file.clone(), reason };
        let document: DocumentMut =
            text.parse().map_err(|err: toml_edit::TomlError| layout(err.to_string()))?;
        match document.get("plugin") {
            None | Some(Item::ArrayOfTables(_)) => Ok(Edits { file, document }),
            Some(_) => Err(layout("`plugin` is a list of values".to_owned())),
        }
    }

    /// The changed text.
    #[must_use]
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// The ids in order.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let tables = self.document.get("plugin").and_then(Item::as_array_of_tables);
        tables.into_iter().flatten().filter_map(id).map(str::to_owned).collect()
    }

    /// Names a plugin behind all others; one that is there stays as it is.
    pub fn add(&mut self, id: &str, enabled: bool) {
        if self.ids().iter().any(|known| known == id) {
            return;
        }
        let mut table = Table::new();
        table.insert("id", value(id));
        if !enabled {
            table.insert("enabled", value(false));
        }
        let empty = self.document.iter().next().is_none();
        if empty {
            // A document of comments alone keeps them behind what is added; they belong in front.
            let head = self.document.trailing().as_str().unwrap_or_default().to_owned();
            self.document.set_trailing("");
            table.decor_mut().set_prefix(head);
        }
        let plugins =
            self.document.entry("plugin").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        if let Some(plugins) = plugins.as_array_of_tables_mut() {
            plugins.push(table);
        }
    }

    /// Takes a plugin out, and with it what it was granted and set to. Says whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(plugins) = self.plugins() else { return false };
        let before = plugins.len();
        plugins.retain(|table| self::id(table) != Some(id));
        plugins.len() < before
    }

    /// Switches a plugin on or off.
    ///
    /// # Errors
    ///
    /// [`FolderError::Unknown`].
    pub fn enable(&mut self, id: &str, enabled: bool) -> Result<(), FolderError> {
        let table = self.table(id)?;
        if enabled {
            table.remove("enabled");
        } else {
            table.insert("enabled", value(false));
        }
        Ok(())
    }

    /// Grants one thing.
    ///
    /// # Errors
    ///
    /// [`FolderError::Unknown`], and [`FolderError::Layout`] where a key has another type than it should.
    pub fn grant(&mut self, id: &str, grant: &Grant) -> Result<(), FolderError> {
        let file = self.file.clone();
        let table = self.table(id)?;
        let odd = || layout(&file, id);
        if let Grant::Limit { key, figure } = grant {
            let figure = i64::try_from(*figure).unwrap_or(i64::MAX);
            nested(table, "limits").ok_or_else(odd)?.insert(key, value(figure));
            return Ok(());
        }
        let grants = nested(table, "grants").ok_or_else(odd)?;
        match grant {
            Grant::Import(name) => insert(grants, "imports", name).ok_or_else(odd)?,
            Grant::Kind(kind) => insert(grants, "message-kinds", kind).ok_or_else(odd)?,
            Grant::RewriteUser => drop(grants.insert("rewrite-user", value(true))),
            Grant::AppendSystem => drop(grants.insert("append-system", value(true))),
            Grant::WasiEmpty => drop(grants.insert("wasi-empty", value(true))),
            Grant::Titles(scope) => {
                nested(grants, "sessions").ok_or_else(odd)?.insert("titles", value(scope.name()));
            }
            Grant::Texts(scope) => {
                nested(grants, "sessions").ok_or_else(odd)?.insert("texts", value(scope.name()));
            }
            Grant::Limit { .. } => {}
        }
        Ok(())
    }

    /// Takes one thing back. Of a scope or a limit the kind counts, whatever its figure.
    ///
    /// # Errors
    ///
    /// As [`Edits::grant`].
    pub fn revoke(&mut self, id: &str, grant: &Grant) -> Result<(), FolderError> {
        let table = self.table(id)?;
        if let Grant::Limit { key, .. } = grant {
            if let Some(limits) = table.get_mut("limits").and_then(Item::as_table_like_mut) {
                limits.remove(key);
            }
            return Ok(());
        }
        let Some(grants) = table.get_mut("grants").and_then(Item::as_table_like_mut) else {
            return Ok(());
        };
        let take = |item: Option<&mut Item>, what: &str| {
            if let Some(list) = item.and_then(Item::as_array_mut) {
                list.retain(|value| value.as_str() != Some(what));
            }
        };
        match grant {
            Grant::Import(name) => take(grants.get_mut("imports"), name),
            Grant::Kind(kind) => take(grants.get_mut("message-kinds"), kind),
            Grant::RewriteUser => drop(grants.remove("rewrite-user")),
            Grant::AppendSystem => drop(grants.remove("append-system")),
            Grant::WasiEmpty => drop(grants.remove("wasi-empty")),
            Grant::Titles(_) | Grant::Texts(_) => {
                let key = if matches!(grant, Grant::Titles(_)) { "titles" } else { "texts" };
                if let Some(scopes) = grants.get_mut("sessions").and_then(Item::as_table_like_mut) {
                    scopes.remove(key);
                }
            }
            Grant::Limit { .. } => {}
        }
        Ok(())
    }

    /// Puts the plugins in this order.
    ///
    /// # Errors
    ///
    /// [`FolderError::Unknown`] and [`FolderError::Order`]: it names each plugin exactly once.
    pub fn order(&mut self, order: &[String]) -> Result<(), FolderError> {
        let ids = self.ids();
        if let Some(stranger) = order.iter().find(|id| !ids.contains(id)) {
            return Err(FolderError::unknown(stranger, ids.iter().map(String::as_str)));
        }
        for id in &ids {
            let times = order.iter().filter(|named| *named == id).count();
            if times != 1 {
                let known = listed(ids.iter().map(String::as_str));
                return Err(FolderError::Order { id: id.clone(), times, known });
            }
        }
        let Some(plugins) = self.plugins() else { return Ok(()) };
        let mut tables: Vec<Table> = plugins.iter().cloned().collect();
        // What stands above the first table is the file's own, and stays there.
        let head =
            tables.first().and_then(|first| first.decor().prefix()).and_then(|head| head.as_str());
        let head = head.unwrap_or_default().to_owned();
        tables.sort_by_key(|table| order.iter().position(|named| id(table) == Some(named)));
        plugins.clear();
        for mut table in tables {
            unplaced(&mut table);
            plugins.push(table);
        }
        let first_was = ids.first();
        for table in plugins.iter_mut() {
            if id(table) == first_was.map(String::as_str) && order.first() != first_was {
                table.decor_mut().set_prefix("\n");
            } else if id(table) == order.first().map(String::as_str) && order.first() != first_was {
                let own = table.decor().prefix().and_then(|own| own.as_str()).unwrap_or_default();
                let own = format!("{}{}", head, own.trim_start_matches('\n'));
                table.decor_mut().set_prefix(own);
            }
        }
        Ok(())
    }

    fn plugins(&mut self) -> Option<&mut ArrayOfTables> {
        self.document.get_mut("plugin").and_then(Item::as_array_of_tables_mut)
    }

    fn table(&mut self, id: &str) -> Result<&mut Table, FolderError> {
        let ids = self.ids();
        let plugins = self.plugins().into_iter().flat_map(ArrayOfTables::iter_mut);
        let mut named = plugins.filter(|table| self::id(table) == Some(id));
        named.next().ok_or_else(|| FolderError::unknown(id, ids.iter().map(String::as_str)))
    }
}

fn id(table: &Table) -> Option<&str> {
    table.get("id")?.as_str()
}

/// Lets a table stand where it is put, not where it was read.
fn unplaced(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        if let Some(table) = item.as_table_mut() {
            unplaced(table);
        }
    }
}

/// The table at `key`, made where it is not there.
fn nested<'a>(table: &'a mut dyn TableLike, key: &str) -> Option<&'a mut dyn TableLike> {
    let made = || Item::Value(Value::InlineTable(InlineTable::new()));
    table.entry(key).or_insert_with(made).as_table_like_mut()
}

/// Puts `what` into the list at `key`, once.
fn insert(table: &mut dyn TableLike, key: &str, what: &str) -> Option<()> {
    let made = || Item::Value(Value::Array(Array::new()));
    let list = table.entry(key).or_insert_with(made).as_array_mut()?;
    if !list.iter().any(|value| value.as_str() == Some(what)) {
        list.push(what);
    }
    Some(())
}

fn layout(file: &std::path::Path, id: &str) -> FolderError {
    let reason = format!("what {id} is granted is not written as tables and lists");
    FolderError::Layout { file: file.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use dsh_plugin_host::{Manifest, OperatorFile};

    use super::*;

    const FILE: &str = "\
# mine

# the first
[[plugin]]
id = \"a\" # why
settings = { depth = 2 }

[plugin.grants]
imports = [\"dsh:session/query\"] # needed
sessions.titles = \"all\"

# the second
[[plugin]]
id = \"b\"
";

    fn edits(text: &str) -> Edits {
        Edits::new("plugins.toml", text).expect("an operator's file")
    }

    fn grant(text: &str) -> Grant {
        text.parse().expect("a grant")
    }

    #[test]
    fn an_empty_file_gets_a_head_and_its_plugins() {
        let mut edits = edits("");
        edits.add("a", false);
        edits.add("b", true);
        edits.add("a", true);
        let text = edits.text();
        assert!(text.starts_with("# Which plugins run"), "{text}");
        let file = OperatorFile::parse(&text).unwrap_or_else(|err| panic!("{err}: {text}"));
        assert_eq!(file.order().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((file.enabled("a"), file.enabled("b")), (Some(false), Some(true)));
    }

    #[test]
    fn what_is_granted_is_what_the_runtime_reads_and_taking_it_back_gives_the_same_file() {
        let all = [
            "kind=note",
            "rewrite-user",
            "append-system",
            "wasi-empty",
            "texts=lineage",
            "cpu-ms=9",
        ];
        let mut edits = edits(FILE);
        for text in all {
            edits.grant("a", &grant(text)).expect("granted");
            edits.grant("a", &grant(text)).expect("granted twice");
        }
        let manifest = "id = \"a\"\nversion = \"1\"\n[declares]\nimports = [\"dsh:session/query\"]\n\
             message-kinds = [\"note\"]\nrewrite-user = true\nappend-system = true\nwasi-empty = true\n\
             sessions = { titles = \"all\", texts = \"all\" }\n";
        let manifest = Manifest::parse(manifest).expect("a manifest");
        let text = edits.text();
        let file = OperatorFile::parse(&text).unwrap_or_else(|err| panic!("{err}: {text}"));
        let (grants, settings) = file.terms(&manifest).expect("terms").expect("named");
        let granted = Grant::all(&grants.capabilities);
        let expected = [
            "dsh:session/query",
            "kind=note",
            "rewrite-user",
            "append-system",
            "wasi-empty",
            "titles=all",
            "texts=lineage",
        ];
        assert_eq!(granted, expected.map(grant));
        assert_eq!((grants.limits.cpu_ms, &settings.0["depth"]), (9, &2.into()));
        for comment in ["# mine", "# the first", "# why", "# needed", "# the second"] {
            assert!(text.contains(comment), "{comment} is gone:\n{text}");
        }
        for text in all {
            edits.revoke("a", &grant(text)).expect("taken back");
        }
        let file = OperatorFile::parse(&edits.text()).expect("a file");
        let (grants, _) = file.terms(&manifest).expect("terms").expect("named");
        assert_eq!(
            Grant::all(&grants.capabilities),
            ["dsh:session/query", "titles=all"].map(grant)
        );
    }

    #[test]
    fn order_moves_a_plugin_with_all_that_is_its_own() {
        let mut edits = edits(FILE);
        edits.order(&["b".to_owned(), "a".to_owned()]).expect("an order");
        let text = edits.text();
        let file = OperatorFile::parse(&text).unwrap_or_else(|err| panic!("{err}: {text}"));
        assert_eq!(file.order().collect::<Vec<_>>(), ["b", "a"]);
        assert!(text.starts_with("# mine") && text.contains("# needed"), "{text}");
        let said = edits.order(&["a".to_owned(), "a".to_owned()]).expect_err("not b").to_string();
        assert!(said.contains("\"b\" is there 0 times"), "{said}");
        let said = edits.order(&["c".to_owned()]).expect_err("unknown").to_string();
        assert!(said.contains("\"c\"") && said.contains("b, a"), "{said}");
    }

    #[test]
    fn a_plugin_goes_with_all_that_is_its_own() {
        let mut edits = edits(FILE);
        assert!(edits.remove("a") && !edits.remove("a"));
        let text = edits.text();
        assert!(!text.contains("titles") && text.contains("id = \"b\""), "{text}");
        let said = edits.enable("a", true).expect_err("unknown").to_string();
        assert!(said.contains("there is b"), "{said}");
    }
}
