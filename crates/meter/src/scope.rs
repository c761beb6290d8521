//! What a key may be used for (decision B19).
//!
//! An empty list is no limit. Invariant: scopes that cannot be read permit nothing.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Limits of a key beside those of its account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scopes {
    /// Slugs of chains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<String>,
    /// Names of methods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Networks of clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<IpNet>,
    /// Origins of web pages, as in the `Origin` header: scheme, host, port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
}

/// Scopes that no key can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No such chain.
    #[error("{0:?} is no chain; the chains are btc ltc doge bch xec zec dcr eth xmr")]
    Chain(String),
    /// No method has such a name.
    #[error("{0:?} is no name of a method")]
    Method(String),
    /// No origin.
    #[error("{0:?} is no origin: write scheme://host or scheme://host:port")]
    Origin(String),
}

impl Scopes {
    /// Scopes of a key of which no more is known than that it is limited: nobody may use it.
    pub(crate) fn nothing() -> Scopes {
        Scopes { origins: vec![String::new()], ..Scopes::default() }
    }

    /// The scopes as the store keeps them; empty text for none.
    pub(crate) fn to_text(&self) -> String {
        match *self == Scopes::default() {
            true => String::new(),
            // A struct of lists of text always has a JSON form.
            false => serde_json::to_string(self).unwrap_or_else(|_| "?".to_owned()),
        }
    }

    /// Reads what [`Scopes::to_text`] wrote; what cannot be read permits nothing.
    pub(crate) fn from_text(text: &str) -> Scopes {
        match text {
            "" => Scopes::default(),
            // serde would read an array as a struct without names.
            _ if !text.starts_with('{') => Scopes::nothing(),
            _ => serde_json::from_str(text).unwrap_or_else(|_| Scopes::nothing()),
        }
    }

    /// The scopes with origins in lower case, if a key can have them.
    pub(crate) fn checked(mut self) -> Result<Scopes, ScopeError> {
        if let Some(odd) = self.chains.iter().find(|slug| chain::find(slug).is_none()) {
            return Err(ScopeError::Chain(odd.clone()));
        }
        let named = |method: &String| {
            (1..=64).contains(&method.len()) && method.bytes().all(|b| b.is_ascii_graphic())
        };
        if let Some(odd) = self.methods.iter().find(|method| !named(method)) {
            return Err(ScopeError::Method(odd.clone()));
        }
        for origin in &mut self.origins {
            if !is_origin(origin) {
                return Err(ScopeError::Origin(origin.clone()));
            }
            origin.make_ascii_lowercase();
        }
        Ok(self)
    }

    /// May this client present the key?
    pub(crate) fn permits(&self, client: IpAddr, origin: Option<&str>) -> bool {
        let client = client.to_canonical();
        let near = self.networks.is_empty() || self.networks.iter().any(|n| n.contains(&client));
        let from = |allowed: &String| origin.is_some_and(|o| allowed.eq_ignore_ascii_case(o));
        near && (self.origins.is_empty() || (origin != Some("") && self.origins.iter().any(from)))
    }

    /// Is the method in scope?
    pub(crate) fn permits_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == method)
    }
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    !scheme.is_empty()
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && (1..=255).contains(&rest.len())
        && rest.bytes().all(|b| b.is_ascii_graphic() && !b"/?#@,".contains(&b))
}

#[cfg(test)]
mod tests;
