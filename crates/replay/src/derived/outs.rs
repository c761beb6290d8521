//! Outputs by amount and place, together as they are asked for, from recorded answers of `/get_outs`.
//!
//! Invariant: only what the node said of these outputs in this phase is told; where one of them was
//! not recorded there is no answer.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What was recorded of outputs, with their transactions.
#[derive(Debug, Default)]
pub(super) struct Outs(HashMap<(u64, u64), String>);

#[derive(Deserialize)]
struct Params {
    outputs: Vec<OutputName>,
    #[serde(default)]
    get_txid: bool,
}

#[derive(Deserialize)]
struct OutputName {
    #[serde(default)]
    amount: u64,
    #[serde(default)]
    index: u64,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(default, borrow)]
    outs: Vec<&'a RawValue>,
}

impl Outs {
    /// Keeps what an answer says of each output.
    pub(super) fn add(&mut self, params: &str, result: &str) {
        let Ok(params) = serde_json::from_str::<Params>(params) else { return };
        let Ok(answer) = serde_json::from_str::<Answer<'_>>(result) else { return };
        if !params.get_txid || params.outputs.len() != answer.outs.len() {
            return;
        }
        for (place, out) in params.outputs.iter().zip(answer.outs) {
            self.0.entry((place.amount, place.index)).or_insert_with(|| out.get().to_owned());
        }
    }

    /// The result of a call that asks for transactions too; none where not all of it was recorded.
    pub(super) fn answer(&self, params: &str) -> Option<String> {
        let params: Params = serde_json::from_str(params).ok()?;
        let outs = params.outputs.iter().map(|place| self.0.get(&(place.amount, place.index)));
        let outs: Option<Vec<&str>> = outs.map(|out| out.map(String::as_str)).collect();
        let outs = outs.filter(|outs| params.get_txid && !outs.is_empty())?.join(",");
        Some(format!(
            r#"{{"credits":0,"outs":[{outs}],"status":"OK","top_hash":"","untrusted":false}}"#
        ))
    }
}
