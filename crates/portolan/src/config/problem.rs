//! What is wrong with a configuration, in one line for people.
//!
//! Turns the parser's words into ours. Invariant: no text quotes a value, because a value in the
//! wrong place may be a secret.

use std::path::PathBuf;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, or not to be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A line of the file is no TOML, has an unknown field or a value of the wrong type.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A variable of the environment names no field, or its text does not fit it.
    #[error("{variable}: {problem}")]
    Variable {
        /// Its name.
        variable: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value of the right type that makes no sense.
    #[error("{field}: {problem}")]
    Value {
        /// The field, as in `gateway.listen`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Says that `given` is unknown, and which of the `known` names is meant, or what they are where none is near.
///
/// `kind` is what it is a name of: `field`, `chain`.
pub fn nearest<'a>(kind: &str, given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    if given.trim().is_empty() {
        return format!("the name of a {kind} is missing");
    }
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |name: &str| strsim::damerau_levenshtein(&given.to_lowercase(), name);
    match known.iter().min_by_key(|name| distance(name)) {
        Some(near) if distance(near) * 2 <= given.chars().count().max(near.len()) => {
            format!("unknown {kind} {given:?}; the nearest known one is {near:?}")
        }
        Some(_) => format!("unknown {kind} {given:?}; the known ones are {}", known.join(", ")),
        None => format!("unknown {kind} {given:?}"),
    }
}

/// Rewords what serde and the TOML parser say.
pub(super) fn reword(message: &str) -> String {
    for kind in ["field", "variant"] {
        if let Some(rest) = message.strip_prefix(&format!("unknown {kind} `"))
            && let Some((given, known)) = rest.split_once('`')
        {
            let kind = if kind == "field" { "field" } else { "value" };
            return nearest(kind, given, known.split('`').skip(1).step_by(2));
        }
    }
    if message.contains("socket address") {
        return "expected an address with a port, such as 127.0.0.1:8480".into();
    }
    if message.starts_with("invalid type") || message.starts_with("invalid value") {
        let expected = message.rsplit_once(", expected ").map_or("another value", |(_, what)| what);
        return format!("expected {}", kind_of_value(expected));
    }
    message.lines().collect::<Vec<_>>().join("; ")
}

/// A type of ours in the words of whoever writes a configuration.
fn kind_of_value(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a map" => "a section with fields",
        other if other.starts_with("struct ") => "a section with fields",
        other => other,
    }
}

/// The line, from 1, in which byte `at` of `text` stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
