//! Where a node listens, read from its URL.
//!
//! Connecting is left to `line`. Invariant: only host and port are ever shown; a path may hold a
//! key.

use std::net::IpAddr;

use http::Uri;
use rustls_pki_types::ServerName;

/// Where a node listens.
pub(crate) struct Address {
    /// Host as in the URL, IPv6 without brackets.
    pub(crate) host: String,
    /// TCP port.
    pub(crate) port: u16,
    /// `https`.
    pub(crate) tls: bool,
    /// Prefix of every path, without a slash at its end.
    pub(crate) prefix: String,
    authority: String,
}

impl Address {
    /// Reads a URL; the error says what is wrong without repeating it.
    pub(crate) fn parse(url: &str) -> Result<Address, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "cannot be read")?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("must begin with http:// or https://"),
        };
        let authority = uri.authority().ok_or("has no host")?;
        if authority.as_str().contains('@') {
            return Err("holds credentials: give them as user and password");
        }
        if uri.query().is_some() {
            return Err("holds a query");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("has no host");
        }
        Ok(Address {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            tls,
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authority: authority.as_str().to_owned(),
        })
    }

    /// `host:port` as the `Host` header and the operator see it.
    pub(crate) fn shown(&self) -> &str {
        &self.authority
    }

    /// The host where it is an IP address.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether the node sees us come from its own network: a private or loopback address, or a
    /// name that only such a network knows (without a dot, or in a domain kept for local use).
    pub(crate) fn is_private(&self) -> bool {
        match self.ip() {
            Some(IpAddr::V4(ip)) => ip.is_private() || ip.is_loopback() || ip.is_link_local(),
            Some(IpAddr::V6(ip)) => {
                ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
            }
            None => {
                let last = self.host.rsplit('.').next().unwrap_or_default();
                !self.host.contains('.')
                    || ["localhost", "local", "internal", "lan", "home"].contains(&last)
            }
        }
    }

    /// The name to ask for in a TLS handshake.
    pub(crate) fn server_name(
        &self,
        over: Option<&str>,
    ) -> Result<ServerName<'static>, &'static str> {
        ServerName::try_from(over.unwrap_or(&self.host).to_owned())
            .map_err(|_| "server_name is neither a DNS name nor an IP address")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_taken_apart() {
        let at = Address::parse("https://[::1]:9109/a/b/").unwrap();
        assert_eq!((at.host.as_str(), at.port, at.tls), ("::1", 9109, true));
        assert_eq!((at.prefix.as_str(), at.authority.as_str()), ("/a/b", "[::1]:9109"));
        let at = Address::parse("http://node").unwrap();
        assert_eq!((at.port, at.prefix.as_str()), (80, ""));
        for bad in ["node:8332", "ftp://n/", "http://u:p@n/", "http://", "http://n/?a=b", ""] {
            let problem = Address::parse(bad).err().expect(bad);
            assert!(bad.is_empty() || !problem.contains(bad));
        }
    }

    #[test]
    fn private_networks_are_told_from_public_ones() {
        for private in ["127.0.0.1", "10.1.2.3", "192.168.0.9", "[::1]", "[fd00::1]", "monerod"] {
            assert!(Address::parse(&format!("http://{private}:1/")).unwrap().is_private());
        }
        for public in ["8.8.8.8", "[2001:db8::1]", "node.example.org", "172.32.0.1"] {
            assert!(!Address::parse(&format!("http://{public}:1/")).unwrap().is_private());
        }
    }
}
