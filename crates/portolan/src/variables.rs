//! The variables of the environment that concern this program.
//!
//! Leaves what they override to `config`. Invariant: one that cannot be read is an error, never left
//! out.

use crate::failure::Failure;

/// Names and texts of those whose names begin with `PORTOLAN__`, in whatever case.
///
/// # Errors
/// One of them is not UTF-8.
pub(crate) fn variables() -> Result<Vec<(String, String)>, Failure> {
    let mut variables = Vec::new();
    for (name, text) in std::env::vars_os() {
        let Ok(name) = name.into_string() else { continue };
        if name.to_ascii_uppercase().starts_with("PORTOLAN__") {
            let text =
                text.into_string().map_err(|_| Failure::new(format!("{name}: not UTF-8")))?;
            variables.push((name, text));
        }
    }
    Ok(variables)
}
