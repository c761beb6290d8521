//! What a call to a stub node asks for: a hash, in how much detail, in order or by names.
//!
//! Source: Bitcoin Core 31.99, src/rpc/util.cpp and, for names, src/rpc/server.cpp,
//! `transformNamedArguments`.

use chain::Hash32;
use serde_json::{Map, Value};

use super::outcome::{BAD_PARAMETER, WRONG_TYPE};

/// What is asked for of a block or a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Its bytes.
    Hex,
    /// What can be said of it.
    Json,
}

/// The names of each method's parameters in order, where it may be called by names here; other names
/// of one parameter with `|` between them.
const NAMES: [(&str, &[&str]); 5] = [
    ("getblock", &["blockhash", "verbosity|verbose"]),
    ("getblockhash", &["height"]),
    ("getblockheader", &["blockhash", "verbose"]),
    ("getrawtransaction", &["txid", "verbosity|verbose", "blockhash"]),
    ("estimatesmartfee", &["conf_target", "estimate_mode"]),
];

/// Parameters that were given by their names, in order.
pub(super) fn in_order(
    method: &str,
    named: &Map<String, Value>,
) -> Result<Vec<Value>, (i64, &'static str)> {
    let names = NAMES.iter().find(|(name, _)| *name == method).map_or(&[][..], |(_, names)| names);
    let mut params = vec![Value::Null; names.len()];
    for (name, value) in named {
        let place = names.iter().position(|names| names.split('|').any(|other| other == name));
        params[place.ok_or((BAD_PARAMETER, "Unknown named parameter"))?] = value.clone();
    }
    Ok(params)
}

/// A hash that is a parameter.
pub(super) fn hash_of(param: Option<&Value>) -> Result<Hash32, (i64, &'static str)> {
    let text = param.and_then(Value::as_str);
    let text = text.ok_or((WRONG_TYPE, "JSON value is not a string as expected"))?;
    text.parse().map_err(|_| (BAD_PARAMETER, "hash must be of length 64 and hexadecimal"))
}

/// A verbosity that is a parameter, as a number or a boolean.
pub(super) fn detail(
    param: Option<&Value>,
    unless_given: Detail,
) -> Result<Detail, (i64, &'static str)> {
    match param {
        None | Some(Value::Null) => Ok(unless_given),
        Some(Value::Bool(false)) => Ok(Detail::Hex),
        Some(Value::Bool(true)) => Ok(Detail::Json),
        Some(Value::Number(number)) if number.as_i64() == Some(0) => Ok(Detail::Hex),
        Some(Value::Number(_)) => Ok(Detail::Json),
        Some(_) => Err((WRONG_TYPE, "JSON value is not an integer as expected")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_put_in_order() {
        let named = |value: Value| in_order("getblock", value.as_object().expect("an object"));
        let both = json!({ "verbose": false, "blockhash": "00" });
        assert_eq!(named(both), Ok(vec![json!("00"), json!(false)]));
        assert_eq!(named(json!({ "blockhash": "00" })), Ok(vec![json!("00"), Value::Null]));
        assert!(named(json!({ "height": 1 })).is_err());
        assert!(in_order("uptime", &Map::new()).is_ok_and(|params| params.is_empty()));
    }
}
