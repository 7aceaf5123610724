//! The known key that a person may have meant.

use crate::ROWS;

/// The known key, or table of keys, that looks most like this one; none where nothing does.
pub(crate) fn nearest(key: &[&str]) -> Option<String> {
    let said = key.join(".");
    let candidates = ROWS.iter().flat_map(|row| {
        let names: Vec<&str> = row.name.split('.').collect();
        let whole = filled(&names, key);
        // The right name in the wrong place is as near as one slip.
        let misplaced = names.len() != key.len() && key.last() == names.last();
        let far = distance(&whole.join("."), &said);
        let key_of_row = (if misplaced { far.min(1) } else { far }, whole.join("."));
        let table = whole.get(..key.len()).filter(|_| key.len() < whole.len());
        let table = table.map(|table| (distance(&table.join("."), &said), table.join(".")));
        table.into_iter().chain([key_of_row])
    });
    let (far, meant) = candidates.min_by_key(|(far, _)| *far)?;
    (far <= allowed(&meant)).then_some(meant)
}

/// A row's name with the person's own names in place of its stars.
fn filled<'a>(names: &[&'a str], key: &[&'a str]) -> Vec<&'a str> {
    let said = key.iter().copied().map(Some).chain(std::iter::repeat(None));
    let pairs = names.iter().zip(said);
    pairs.map(|(name, said)| if *name == "*" { said.unwrap_or("NAME") } else { name }).collect()
}

/// Most edits for two names to be taken for one another.
fn allowed(name: &str) -> usize {
    (name.chars().count() / 4).clamp(1, 4)
}

/// How many characters have to be put in, taken out, exchanged or swapped to get from one to the other.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    let get = |rows: &[Vec<usize>], i: usize, j: usize| {
        rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(usize::MAX / 2)
    };
    for (i, a) in one.iter().enumerate() {
        rows.push(vec![i + 1]);
        for (j, b) in other.iter().enumerate() {
            let exchanged = get(&rows, i, j) + usize::from(a != b);
            let mut least = exchanged.min(get(&rows, i, j + 1) + 1).min(get(&rows, i + 1, j) + 1);
            let before =
                |chars: &[char], at: usize| at.checked_sub(1).and_then(|at| chars.get(at).copied());
            if before(&one, i) == Some(*b) && before(&other, j) == Some(*a) {
                least = least.min(get(&rows, i - 1, j - 1) + 1);
            }
            if let Some(row) = rows.last_mut() {
                row.push(least);
            }
        }
    }
    get(&rows, one.len(), other.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, meant: Option<&str>) {
        let parts: Vec<&str> = key.split('.').collect();
        assert_eq!(nearest(&parts).as_deref(), meant, "{key}");
    }

    #[test]
    fn a_slip_finds_its_key() {
        check("model.base_url", Some("model.base-url"));
        check("model.basurl", Some("model.base-url"));
        check("mcp.github.comand", Some("mcp.github.command"));
        check("encodin", Some("encoding"));
        check("modle", Some("model"));
        check("modle.name", Some("model.name"));
    }

    #[test]
    fn a_key_in_the_wrong_place_finds_its_own() {
        check("base-url", Some("model.base-url"));
        check("model.approval.deny", Some("approval.deny"));
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        check("weather", None);
        check("x", None);
    }
}
