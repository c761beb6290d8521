//! Whom a service takes its requests from: web pages, and proxies that speak for others.

use std::net::IpAddr;

use http::HeaderMap;
use ipnet::IpNet;

use crate::cors::Cors;

/// What an operator says of the clients of a service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clients {
    /// Origins of browsers.
    pub cors: Cors,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl Clients {
    /// Is that address a trusted proxy?
    pub fn is_proxy(&self, peer: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|net| net.contains(&peer))
    }

    /// The address that a request comes from.
    ///
    /// `X-Forwarded-For` is believed only from a trusted proxy, and there the right-most address
    /// that is no trusted proxy itself (decision B10). An entry that is no address ends the search:
    /// what stands left of it may be the client's own invention.
    pub fn address(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        client_address(headers, peer, &self.trusted_proxies)
    }
}

fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if trusted.is_empty() || !is_trusted(&peer) {
        return peer;
    }
    let mut nearest = peer;
    let values: Vec<&http::HeaderValue> = headers.get_all("x-forwarded-for").iter().collect();
    for entry in values.iter().rev().flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','))
    {
        let Some(address) = parse(entry) else { return nearest };
        nearest = address;
        if !is_trusted(&address) {
            return address;
        }
    }
    nearest
}

/// An address with or without port and brackets.
fn parse(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map_or(text, |(inner, _)| inner);
    let address: IpAddr = bare
        .parse()
        .ok()
        .or_else(|| text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        client_address(&headers, peer.parse().unwrap(), &trusted).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        let proxies = &["10.0.0.0/8", "fd00::/8"];
        assert_eq!(ask("9.9.9.9", &["1.2.3.4"], proxies), "9.9.9.9");
        assert_eq!(ask("9.9.9.9", &["1.2.3.4"], &[]), "9.9.9.9");
        assert_eq!(ask("10.0.0.1", &["1.2.3.4"], proxies), "1.2.3.4");
        assert_eq!(ask("10.0.0.1", &["6.6.6.6, 1.2.3.4, 10.0.0.2"], proxies), "1.2.3.4");
        assert_eq!(ask("10.0.0.1", &["6.6.6.6", "1.2.3.4"], proxies), "1.2.3.4");
        assert_eq!(ask("10.0.0.1", &["6.6.6.6, nonsense, 10.0.0.2"], proxies), "10.0.0.2");
        assert_eq!(ask("10.0.0.1", &["1.2.3.4:5678"], proxies), "1.2.3.4");
        assert_eq!(ask("fd00::1", &["[2001:db8::1]:80"], proxies), "2001:db8::1");
        assert_eq!(ask("10.0.0.1", &[], proxies), "10.0.0.1");
    }
}
