//! What to say where a node's answer tells neither yes nor no.
//!
//! Invariant: it is no instruction, and what the node said stands in it, bounded and printable.

use std::fmt::Display;

/// Characters of what the node said that are shown.
const MOST: usize = 100;

/// That it could not be found out whether this is so, and what the node answered.
pub(super) fn could_not_find_out(whether: &str, answer: &dyn Display) -> String {
    let said: String =
        answer.to_string().chars().filter(|it| !it.is_control()).take(MOST).collect();
    format!("could not find out whether {whether} ({said})")
}
