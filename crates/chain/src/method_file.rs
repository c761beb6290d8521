//! Reads a method file: the set of a chain as data.
//!
//! The format: a line holds a method name and its marks, separated by single spaces; lines are
//! sorted by name; a line that starts with `#` is a comment. Marks:
//! - `send`: hands in a transaction, never sent twice once a byte was written;
//! - `heavy`, `heavy-from-verbosity-2`: counts against the cap of heavy calls;
//! - `path`: a plain-path call of monerod;
//! - `alias=NAME`: another spelling of NAME, whose marks it takes over;
//! - `guard=log-range`, `guard=header-range`: a range that is checked first;
//! - `cache=WORD`: for how long answers stay right, in the words of [`Cacheable`]: `always`, `tip`,
//!   `height`, `hash-1`, `hash-2`, `raw`, `raw-in-block`, `tag-1` to `tag-3`, `logs`.
//!
//! Invariant: what this accepts is sorted, unique, and every alias names a row of the same file.

use crate::{Cacheable, Guard, Heavy, Method, MethodSet};

/// Why a method file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodFileError {
    /// A mark that is not one of those above.
    #[error("{method}: unknown mark {mark}")]
    UnknownMark {
        /// The method of that line.
        method: String,
        /// The mark.
        mark: String,
    },
    /// A name that is not greater than the one before it.
    #[error("{0}: out of order, or twice")]
    OutOfOrder(String),
    /// An alias of a method that the file does not have.
    #[error("{0}: an alias of nothing")]
    DanglingAlias(String),
}

/// Reads the text of a method file.
pub(crate) fn parse(text: &'static str) -> Result<MethodSet, MethodFileError> {
    let mut rows: Vec<Method> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let row = parse_line(line, rows.len())?;
        if rows.last().is_some_and(|last| last.name >= row.name) {
            return Err(MethodFileError::OutOfOrder(row.name.into()));
        }
        rows.push(row);
    }
    take_over_marks(&mut rows)?;
    Ok(MethodSet::sorted(rows))
}

fn parse_line(line: &'static str, index: usize) -> Result<Method, MethodFileError> {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let mut row = Method {
        name,
        index,
        send: false,
        heavy: Heavy::Never,
        path: false,
        alias_of: None,
        guard: None,
        cache: Cacheable::Never,
    };
    for mark in words {
        match mark {
            "send" => row.send = true,
            "heavy" => row.heavy = Heavy::Always,
            "heavy-from-verbosity-2" => row.heavy = Heavy::FromVerbosity2,
            "path" => row.path = true,
            "guard=log-range" => row.guard = Some(Guard::LogRange),
            "guard=header-range" => row.guard = Some(Guard::HeaderRange),
            _ => match mark.strip_prefix("cache=").map(Cacheable::of_mark) {
                Some(Some(cache)) => row.cache = cache,
                _ => row.alias_of = Some(alias(name, mark)?),
            },
        }
    }
    Ok(row)
}

/// The method that an alias mark names.
fn alias(method: &str, mark: &'static str) -> Result<&'static str, MethodFileError> {
    mark.strip_prefix("alias=").ok_or_else(|| MethodFileError::UnknownMark {
        method: method.to_owned(),
        mark: mark.to_owned(),
    })
}

/// Gives each alias the marks of the method it stands for.
fn take_over_marks(rows: &mut [Method]) -> Result<(), MethodFileError> {
    for place in 0..rows.len() {
        let Some(target) = rows[place].alias_of else { continue };
        let Some(of) = rows.iter().copied().find(|r| r.name == target && r.alias_of.is_none())
        else {
            return Err(MethodFileError::DanglingAlias(rows[place].name.into()));
        };
        let alias = &mut rows[place];
        (alias.send, alias.heavy, alias.path) = (of.send, of.heavy, of.path);
        (alias.guard, alias.cache) = (of.guard, of.cache);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
