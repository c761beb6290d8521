//! What a handler is asked, and the parts of it that every family reads alike.
//!
//! Invariant: a parameter that is malformed, out of bounds or given twice is refused; one that is
//! not known is ignored (decision E5).

use std::borrow::Cow;

use listen::RequestId;
use percent_encoding::percent_decode_str;

use crate::explorer::ChainService;
use crate::path::Path;
use crate::posted::Posted;
use crate::refusal::{Reason, Refusal};

/// A request that was admitted.
pub(crate) struct Question<'a> {
    /// For what goes wrong on our side.
    pub(crate) id: RequestId,
    pub(crate) path: Path<'a>,
    pub(crate) query: &'a str,
    /// The body, where the endpoint takes one. It may hold a secret: never log or keep it.
    pub(crate) body: Posted,
    pub(crate) service: &'a ChainService,
    /// Number of the account that asks.
    pub(crate) account: u64,
}

impl Question<'_> {
    /// The argument in the path, decoded.
    pub(crate) fn argument(&self) -> Result<Cow<'_, str>, Refusal> {
        percent_decode_str(self.path.argument)
            .decode_utf8()
            .map_err(|_| Refusal::saying(Reason::BadRequest, "the path is not UTF-8"))
    }

    /// A whole number in the query, if it is given.
    pub(crate) fn number(&self, name: &str) -> Result<Option<Number>, Refusal> {
        let mut found = None;
        for pair in self.query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if percent_decode_str(key).decode_utf8().is_ok_and(|key| key == name) {
                if found.is_some() {
                    return Err(bad(format!("{name} is given twice")));
                }
                let value = percent_decode_str(value).decode_utf8().ok();
                let number = value.and_then(|value| Number::of(&value));
                let malformed = || bad(format!("{name} is not a plain whole number"));
                found = Some(number.ok_or_else(malformed)?);
            }
        }
        Ok(found)
    }

    /// A number from `least` to `most`, or `default`.
    pub(crate) fn bounded(
        &self,
        name: &str,
        least: u64,
        most: u64,
        default: u64,
    ) -> Result<u64, Refusal> {
        let number = match self.number(name)? {
            None => return Ok(default),
            Some(Number::Fits(number)) => number,
            Some(Number::TooLarge) => return Err(out_of_bounds(name, least, most)),
        };
        match (least..=most).contains(&number) {
            true => Ok(number),
            false => Err(out_of_bounds(name, least, most)),
        }
    }

    /// The page and its size.
    pub(crate) fn page(&self) -> Result<Page, Refusal> {
        let page = self.bounded("page", 1, u64::MAX, 1)?;
        Ok(Page { page, size: self.bounded("page_size", 1, 50, 25)? })
    }
}

fn out_of_bounds(name: &str, least: u64, most: u64) -> Refusal {
    bad(match most {
        u64::MAX => format!("{name} is out of bounds: it is from {least} to what 64 bits hold"),
        _ => format!("{name} is out of bounds: it is from {least} to {most}"),
    })
}

fn bad(text: String) -> Refusal {
    Refusal::saying(Reason::BadRequest, text)
}

/// Digits without a sign or leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Fits(u64),
    /// Beyond 64 bits.
    TooLarge,
}

impl Number {
    /// Reads plain decimal digits.
    pub(crate) fn of(text: &str) -> Option<Number> {
        let plain = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'));
        plain.then(|| text.parse().map_or(Number::TooLarge, Number::Fits))
    }

    /// The height, if there can be such a one.
    pub(crate) fn height(self) -> Option<u32> {
        match self {
            Number::Fits(number) => number.try_into().ok(),
            Number::TooLarge => None,
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) page: u64,
    pub(crate) size: u64,
}

impl Page {
    /// How many items stand before it.
    pub(crate) fn from(self) -> u64 {
        (self.page - 1).saturating_mul(self.size)
    }

    /// How many pages there are of so many items.
    pub(crate) fn total(self, items: u64) -> u64 {
        items.div_ceil(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Endpoint;

    fn question(query: &str) -> Question<'_> {
        let chain = chain::find("btc").unwrap();
        let network = chain.network("regtest").unwrap();
        let service = Box::leak(Box::new(ChainService { chain, network, index: None }));
        let path = Path { slug: "btc", endpoint: Endpoint::Blocks, argument: "a%3Ab" };
        Question { id: RequestId::new(), path, query, body: Posted::default(), service, account: 1 }
    }

    #[test]
    fn parameters_are_plain_numbers_in_bounds_given_once() {
        let page = |query: &'static str| question(query).page().map(|page| (page.page, page.size));
        assert_eq!(page("").unwrap(), (1, 25));
        assert_eq!(page("page=3&page_size=50&x=%zz&y").unwrap(), (3, 50));
        assert_eq!(page("p%61ge=3").unwrap(), (3, 25));
        assert_eq!(page("page=18446744073709551615").unwrap().0, u64::MAX);
        for bad in [
            "page=0",
            "page=-1",
            "page=+7",
            "page=%2B7",
            "page=007",
            "page=",
            "page",
            "page=a",
            "page=1&page=1",
            "page=1.0",
            "page=1e3",
            "page=18446744073709551616",
            "page= 1",
            "page_size=51",
            "page_size=0",
            "page=%ff",
            "page=\u{661}",
        ] {
            assert_eq!(page(bad).unwrap_err().reason, Reason::BadRequest, "{bad}");
        }
        assert_eq!(question("").argument().unwrap(), "a:b");
        assert_eq!(Number::of("4294967296").and_then(Number::height), None);
    }
}
