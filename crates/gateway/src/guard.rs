//! Ranges that are checked before a call is forwarded (decision G16).
//!
//! A guard looks at its own arguments alone and refuses a wrong type or a range that is too large;
//! everything else, malformed values included, is the node's business. A member that stands twice
//! is refused, since nodes differ in which of two they believe, and Go nodes ignore case.

use chain::Guard;

use crate::json::{Scan, folded_equals, unescape};
use crate::refusal::{Reason, Refusal};

/// The largest ranges, and what the tags of a block stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranges {
    /// Blocks that one `eth_getLogs` may span.
    pub(crate) logs: u64,
    /// Headers that one `get_block_headers_range` may span.
    pub(crate) headers: u64,
    /// Height of the last probed tip, if the chain was probed.
    pub(crate) tip: Option<u64>,
}

impl Ranges {
    /// Checks the raw `params` of a call with `guard`.
    ///
    /// # Errors
    /// INVALID_PARAMS for a guarded argument of the wrong type, RANGE_TOO_LARGE.
    pub(crate) fn check(&self, guard: Guard, params: Option<&[u8]>) -> Result<(), Refusal> {
        let Some(params) = params else { return Ok(()) };
        match guard {
            Guard::LogRange => self.logs(params),
            Guard::HeaderRange => self.headers(params),
        }
    }

    fn logs(&self, params: &[u8]) -> Result<(), Refusal> {
        let mut scan = Scan::inside(params, 0);
        if scan.enter(b'[').is_err() || scan.leave(b']') {
            return Ok(());
        }
        if scan.peek() != Some(b'{') {
            return Err(wrong_type("the filter of eth_getLogs is an object"));
        }
        let [from, to, hash] =
            members(&mut scan, ["fromBlock", "toBlock", "blockHash"], folded_equals)?;
        let is_text = |raw: Option<&[u8]>| raw.is_none_or(|raw| raw[0] == b'"');
        if ![from, to, hash].into_iter().all(is_text) {
            return Err(wrong_type("fromBlock, toBlock and blockHash are strings"));
        }
        if hash.is_some() {
            return Ok(());
        }
        match (self.block(from), self.block(to)) {
            (Some(from), Some(to)) => self.spans(from, to, self.logs, "blocks"),
            _ => Ok(()),
        }
    }

    /// The height that a block parameter names; None if it names none that we can tell.
    fn block(&self, raw: Option<&[u8]>) -> Option<u64> {
        let Some(raw) = raw else { return self.tip };
        let text = unescape(&raw[1..raw.len() - 1]);
        match text.as_ref() {
            "earliest" => Some(0),
            "" | "latest" | "pending" | "safe" | "finalized" => self.tip,
            text => number(text),
        }
    }

    fn headers(&self, params: &[u8]) -> Result<(), Refusal> {
        let mut scan = Scan::inside(params, 0);
        if scan.peek() != Some(b'{') {
            return Ok(());
        }
        let [start, end] =
            members(&mut scan, ["start_height", "end_height"], |raw, name| unescape(raw) == name)?;
        let height = |raw: Option<&[u8]>| match raw {
            None => Ok(0),
            Some(raw) if raw.iter().all(u8::is_ascii_digit) => Ok(std::str::from_utf8(raw)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(u64::MAX)),
            Some(_) => Err(wrong_type("start_height and end_height are whole numbers")),
        };
        let (start, end) = (height(start)?, height(end)?);
        self.spans(start, end, self.headers, "headers")
    }

    fn spans(&self, from: u64, to: u64, most: u64, what: &str) -> Result<(), Refusal> {
        if to.checked_sub(from).is_none_or(|span| span < most) {
            return Ok(());
        }
        Err(Refusal::saying(Reason::RangeTooLarge, format!("at most {most} {what} in one call")))
    }
}

/// The raw values of the named members of the object that comes next; null counts as absent.
fn members<'a, const N: usize>(
    scan: &mut Scan<'a>,
    names: [&str; N],
    same: impl Fn(&[u8], &str) -> bool,
) -> Result<[Option<&'a [u8]>; N], Refusal> {
    let mut found = [None; N];
    let mut read = || -> Result<bool, crate::json::Unreadable> {
        scan.enter(b'{')?;
        if scan.leave(b'}') {
            return Ok(true);
        }
        loop {
            let name = scan.name()?;
            let value = scan.value()?;
            if let Some(place) = names.iter().position(|known| same(name, known)) {
                if found[place].is_some() {
                    return Ok(false);
                }
                found[place] = Some(value);
            }
            if scan.leave(b'}') {
                return Ok(true);
            }
            scan.expect(b',')?;
        }
    };
    // The text was scanned before, so that only a repeated member can be met here.
    if read() != Ok(true) {
        return Err(wrong_type("a guarded member stands twice"));
    }
    Ok(found.map(|raw| raw.filter(|raw| *raw != b"null")))
}

/// A block number in hexadecimal or decimal digits; more than 64 bits count as the largest.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let plain = !digits.is_empty() && digits.chars().all(|char| char.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).unwrap_or(u64::MAX))
}

fn wrong_type(text: &str) -> Refusal {
    Refusal::saying(Reason::InvalidParams, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: Ranges = Ranges { logs: 2000, headers: 1000, tip: Some(10_000) };

    fn outcome(guard: Guard, params: &str) -> Option<Reason> {
        RANGES.check(guard, Some(params.as_bytes())).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn log_ranges_are_held() {
        let too_large = Some(Reason::RangeTooLarge);
        let wrong = Some(Reason::InvalidParams);
        for (params, expected) in [
            (r#"[{"fromBlock":"0x1","toBlock":"0x7d0"}]"#, None),
            (r#"[{"fromBlock":"0x1","toBlock":"0x7d1"}]"#, too_large),
            (r#"[{"fromBlock":"0x0"}]"#, too_large),
            (r#"[{"fromBlock":"earliest","toBlock":"latest"}]"#, too_large),
            (r#"[{"fromBlock":"earl\u0069est","toBlock":"latest"}]"#, too_large),
            (r#"[{"fromBlock":"0x2000"}]"#, None),
            (r#"[{"toBlock":"0x0"}]"#, None),
            (r#"[{}]"#, None),
            (r#"[{"fromBlock":null,"toBlock":null}]"#, None),
            (r#"[{"fromBlock":"0x0","FROMBLOCK":"0x2700"}]"#, wrong),
            (r#"[{"fromBlock":"0x2700","fromBloc\u212a":"0x0"}]"#, wrong),
            (r#"[{"FROMBLOCK":"0x0"}]"#, too_large),
            (r#"[{"fromBlock":0}]"#, wrong),
            (r#"[{"fromBlock":"0x0","blockHash":"0xab"}]"#, None),
            (r#"[{"blockHash":7}]"#, wrong),
            (r#"["x"]"#, wrong),
            (r#"[]"#, None),
            (r#"{}"#, None),
            (r#"null"#, None),
            (r#"[{"fromBlock":"0x0","toBlock":"0xfffffffffffffffffffff"}]"#, too_large),
            (r#"[{"fromBlock":"nonsense"}]"#, None),
            (r#"[{"fromBlock":"0x5","toBlock":"0x1"}]"#, None),
        ] {
            assert_eq!(outcome(Guard::LogRange, params), expected, "{params}");
        }
    }

    #[test]
    fn header_ranges_are_held() {
        for (params, expected) in [
            (r#"{"start_height":0,"end_height":999}"#, None),
            (r#"{"start_height":0,"end_height":1000}"#, Some(Reason::RangeTooLarge)),
            (r#"{"start_height":0,"end_h\u0065ight":1000}"#, Some(Reason::RangeTooLarge)),
            (r#"{"end_height":1000}"#, Some(Reason::RangeTooLarge)),
            (r#"{"start_height":5,"end_height":1}"#, None),
            (r#"{"start_height":"0","end_height":1}"#, Some(Reason::InvalidParams)),
            (r#"{"start_height":0.0}"#, Some(Reason::InvalidParams)),
            (r#"{"start_height":0,"end_height":5,"end_height":9999}"#, Some(Reason::InvalidParams)),
            (
                r#"{"start_height":0,"end_height":99999999999999999999999}"#,
                Some(Reason::RangeTooLarge),
            ),
            ("[]", None),
            ("{}", None),
        ] {
            assert_eq!(outcome(Guard::HeaderRange, params), expected, "{params}");
        }
    }

    #[test]
    fn nothing_is_refused_for_a_tip_that_nobody_knows() {
        let blind = Ranges { tip: None, ..RANGES };
        assert_eq!(blind.check(Guard::LogRange, Some(br#"[{"fromBlock":"0x0"}]"#)), Ok(()));
        assert_eq!(blind.check(Guard::LogRange, None), Ok(()));
    }
}
