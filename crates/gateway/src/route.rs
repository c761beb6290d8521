//! Paths and verbs: which chain is asked, and whether the key stands in the path.

use http::Method;

use crate::refusal::{Reason, Refusal};

/// What a request line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    /// The chain's name as it was written.
    pub(crate) chain: &'a str,
    /// The key as last path segment; an empty one is none.
    pub(crate) key: Option<&'a str>,
}

impl<'a> Route<'a> {
    /// Reads `/v1/rpc/{chain}` and `/v1/rpc/{chain}/{key}`; a trailing slash is another path
    /// (decision G18).
    ///
    /// # Errors
    /// The refusal of a path that is not there.
    pub(crate) fn of(path: &'a str) -> Result<Route<'a>, Refusal> {
        let not_found = || Refusal::from(Reason::PathNotFound);
        let rest = path.strip_prefix("/v1/rpc/").ok_or_else(not_found)?;
        let mut segments = rest.split('/');
        let chain = segments.next().filter(|chain| !chain.is_empty()).ok_or_else(not_found)?;
        let key = match segments.next() {
            Some("") if segments.next().is_none() && chain::find(chain).is_some() => {
                let text =
                    format!("no such path: write /v1/rpc/{chain}, without a slash at the end");
                return Err(Refusal::saying(Reason::PathNotFound, text));
            }
            Some("") => return Err(not_found()),
            key => key,
        };
        match segments.next() {
            None => Ok(Route { chain, key }),
            Some("") if segments.next().is_none() && chain::find(chain).is_some() => {
                // The key itself is not repeated.
                let text = "no such path: write it without the slash at the end";
                Err(Refusal::saying(Reason::PathNotFound, text))
            }
            Some(_) => Err(not_found()),
        }
    }
}

/// Refuses every verb but POST on a path that is there.
///
/// # Errors
/// INVALID_REQUEST; the answer carries `Allow: POST`.
pub(crate) fn only_post(method: &Method) -> Result<(), Refusal> {
    if method == Method::POST {
        return Ok(());
    }
    Err(Refusal::saying(Reason::InvalidRequest, "calls are sent with POST"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_apart() {
        assert_eq!(Route::of("/v1/rpc/btc"), Ok(Route { chain: "btc", key: None }));
        assert_eq!(Route::of("/v1/rpc/btc/ptl_x"), Ok(Route { chain: "btc", key: Some("ptl_x") }));
        assert_eq!(Route::of("/v1/rpc/BTC"), Ok(Route { chain: "BTC", key: None }));
        for path in [
            "/",
            "/v1/rpc",
            "/v1/rpc/",
            "/v1/rpc/btc/",
            "/v1/rpc/btc/k/",
            "/v1/rpc/btc/k/x",
            "/v2/rpc/btc",
            "//v1/rpc/btc",
            "/v1/rpc//k",
        ] {
            assert_eq!(Route::of(path).unwrap_err().reason, Reason::PathNotFound, "{path}");
        }
    }

    #[test]
    fn slash_at_the_end_is_named() {
        let said = |path| Route::of(path).unwrap_err().text.unwrap_or_default();
        assert!(said("/v1/rpc/btc/").contains("/v1/rpc/btc, without a slash at the end"));
        let after_key = said("/v1/rpc/btc/ptl_secret/");
        assert!(after_key.contains("without the slash at the end"), "{after_key}");
        assert!(!after_key.contains("secret"));
        for path in ["/v1/rpc/btc/k/x", "/v1/rpc/btc/k//", "/v1/rpc/nope/k/", "/v1/rpc/"] {
            assert_eq!(said(path), "", "{path}");
        }
    }
}
