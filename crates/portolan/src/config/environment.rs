//! Variables of the environment that override the file.
//!
//! `PORTOLAN__GATEWAY__LISTEN` is `listen` of `[gateway]`; a number is a place in a list, as in
//! `PORTOLAN__CHAIN__BTC__NODES__0__URL`. A text is taken as what the field takes: as it stands,
//! as TOML, or as a list with commas, an empty text being an empty list. Invariant: what a variable
//! says is checked as strictly as the file, and an error names the variable.

use std::path::Path;

use toml::{Table, Value};

use super::Config;
use super::problem::{ConfigError, line_of, reword};

/// An error of the parser, with the field that it is about.
type FieldError = serde_path_to_error::Error<toml::de::Error>;

const PREFIX: &str = "PORTOLAN__";

/// Reads `text` of `path` and what `variables` override.
pub(super) fn merge(
    path: &Path,
    text: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let mut overrides: Vec<(String, String)> = variables
        .into_iter()
        .filter(|(name, _)| name.to_ascii_uppercase().starts_with(PREFIX))
        .collect();
    overrides.sort();
    let line = |error: &toml::de::Error, problem| ConfigError::Line {
        path: path.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem,
    };
    let malformed = |error: toml::de::Error| line(&error, reword(error.message()));
    match serde_path_to_error::deserialize(toml::Deserializer::parse(text).map_err(malformed)?) {
        Ok(config) if overrides.is_empty() => return Ok(config),
        // What the file leaves out, a variable may say.
        Err(error) if overrides.is_empty() || !is_missing(error.inner()) => {
            return Err(line(error.inner(), in_field(&error)));
        }
        _ => {}
    }
    let mut table: Table = toml::from_str(text).map_err(malformed)?;
    for (variable, text) in &overrides {
        table = set(table, variable, text)?;
    }
    read(&table).map_err(|error| ConfigError::Value {
        field: "configuration with variables of the environment".into(),
        problem: in_field(&error),
    })
}

/// Sets one field, in the first form of `text` that it takes.
fn set(table: Table, variable: &str, text: &str) -> Result<Table, ConfigError> {
    let path: Vec<String> =
        variable[PREFIX.len()..].split("__").map(str::to_ascii_lowercase).collect();
    let mut problem = "names no field".to_owned();
    // The parser would take a list for a section, field after field.
    let is_section = matches!(try_form(&table, &path, Value::Table(Table::new())), Some(Ok(_)));
    for form in forms(text) {
        if is_section && form.is_array() {
            continue;
        }
        match try_form(&table, &path, form) {
            None => break,
            Some(Err(error)) => problem = error,
            Some(Ok(changed)) => return Ok(changed),
        }
    }
    Err(ConfigError::Variable { variable: variable.to_owned(), problem })
}

/// The table with `form` at `path`, or why it cannot be there; `None` where nothing can be.
fn try_form(table: &Table, path: &[String], form: Value) -> Option<Result<Table, String>> {
    let mut changed = Value::Table(table.clone());
    if !put(&mut changed, path, form) {
        return None;
    }
    let Value::Table(changed) = changed else { return None };
    Some(match read(&changed) {
        Err(error) if !is_missing(error.inner()) => Err(reword(error.inner().message())),
        _ => Ok(changed),
    })
}

/// The values that a text can stand for, the plainest last but for the text itself.
fn forms(text: &str) -> Vec<Value> {
    let mut forms = vec![Value::String(text.to_owned())];
    if !text.trim_start().starts_with(['[', '{']) {
        forms.push(Value::Array(list(text)));
    }
    if let Some(value) =
        toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut table| table.remove("v"))
    {
        forms.push(value);
    }
    forms
}

/// The items between commas. As in TOML one may stand behind the last.
fn list(text: &str) -> Vec<Value> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let items = text.trim().strip_suffix(',').unwrap_or(text).split(',');
    items.map(|item| Value::String(item.trim().to_owned())).collect()
}

/// Puts `value` at `path`; `false` if the path leads through something that holds nothing.
fn put(at: &mut Value, path: &[String], value: Value) -> bool {
    let Some((first, rest)) = path.split_first() else {
        *at = value;
        return true;
    };
    let inner = match at {
        Value::Table(table) => {
            let next_is_place = rest.first().is_some_and(|next| next.parse::<usize>().is_ok());
            let empty =
                if next_is_place { Value::Array(Vec::new()) } else { Value::Table(Table::new()) };
            table.entry(first.clone()).or_insert(empty)
        }
        Value::Array(list) => match first.parse::<usize>() {
            Ok(place) if place < list.len() => &mut list[place],
            Ok(place) if place == list.len() => {
                list.push(Value::Table(Table::new()));
                &mut list[place]
            }
            _ => return false,
        },
        _ => return false,
    };
    put(inner, rest, value)
}

fn read(table: &Table) -> Result<Config, FieldError> {
    serde_path_to_error::deserialize(Value::Table(table.clone()))
}

/// What is wrong, behind the field that it is wrong with; an unknown field is named by the words.
fn in_field(error: &FieldError) -> String {
    let (problem, field) = (reword(error.inner().message()), error.path().to_string());
    match field.as_str() {
        "." => problem,
        _ if problem.starts_with("unknown field") => problem,
        _ => format!("{field}: {problem}"),
    }
}

fn is_missing(error: &toml::de::Error) -> bool {
    error.message().starts_with("missing field")
}
