//! Values of the right type that make no sense.
//!
//! Leaves what only a node or a file can tell (is it reachable, is it a certificate) to those who
//! use them. Invariant: a problem names the field as the file has it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use http::HeaderValue;
use meter::Plans;

use super::problem::nearest;
use super::{ChainConfig, Config};

/// A field and what is wrong with it.
type Problem = (String, String);

impl Config {
    /// Returns the first value that makes no sense.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.check_store()?;
        self.check_listeners()?;
        self.check_log()?;
        self.check_numbers()?;
        self.check_origins()?;
        if let Err(error) = Plans::with(self.plan.clone()) {
            return Err(("plan".into(), error.to_string()));
        }
        if self.log.level.parse::<tracing_subscriber::filter::Targets>().is_err() {
            return Err(problem("log.level", "expected error, warn, info, debug or trace"));
        }
        self.check_chains()
    }

    fn check_store(&self) -> Result<(), Problem> {
        let store = &self.store;
        store.buckets().map_err(|error| problem("store.buckets", &error.to_string()))?;
        store.address().map_err(|error| problem("store.accounts", &error.to_string()))?;
        let files = [
            ("store.accounts_password_file", &store.accounts_password_file),
            ("store.accounts_ca", &store.accounts_ca),
        ];
        if let Some((field, _)) =
            files.iter().find(|(_, file)| store.accounts.is_none() && file.is_some())
        {
            return Err(problem(field, "means nothing without store.accounts"));
        }
        let files = [
            ("store.buckets_password_file", &store.buckets_password_file),
            ("store.buckets_ca", &store.buckets_ca),
        ];
        match files.iter().find(|(_, file)| store.buckets.is_none() && file.is_some()) {
            Some((field, _)) => Err(problem(field, "means nothing without store.buckets")),
            None if store.buckets.is_some() && store.accounts.is_none() => Err(problem(
                "store.buckets",
                "is for several processes on one store: give store.accounts too",
            )),
            None => Ok(()),
        }
    }

    fn check_listeners(&self) -> Result<(), Problem> {
        let mut taken: BTreeMap<SocketAddr, &str> = BTreeMap::new();
        for listener in self.listeners() {
            let (name, address) = (listener.name(), listener.listen);
            if let Err(missing) = listener.tls() {
                return Err((
                    format!("{name}.{missing}"),
                    "missing; TLS needs tls_cert and tls_key".into(),
                ));
            }
            if address.port() != 0
                && let Some(other) = taken.insert(address, name)
            {
                return Err((
                    format!("{name}.listen"),
                    format!("{address} is the address of {other} already"),
                ));
            }
        }
        Ok(())
    }

    /// A filter takes any word for the name of a part of the program, and would log nothing.
    fn check_log(&self) -> Result<(), Problem> {
        let is_level =
            |word: &str| ["off", "error", "warn", "info", "debug", "trace"].contains(&word.trim());
        let parts = || self.log.level.split(',');
        if parts().any(is_level) && parts().all(|part| is_level(part) || part.contains('=')) {
            return Ok(());
        }
        let text = "must be off, error, warn, info, debug or trace, or such a level with filters \
                    behind it: info,request=debug";
        Err(problem("log.level", text))
    }

    fn check_numbers(&self) -> Result<(), Problem> {
        let (gateway, explorer, nodes) = (&self.gateway, &self.explorer, &self.nodes);
        let wide = |size: usize| size as u64;
        for (field, value, least) in [
            ("gateway.max_connections", wide(gateway.max_connections.unwrap_or(1)), 1),
            ("gateway.max_head_bytes", wide(gateway.max_head_bytes), 8192),
            ("gateway.head_timeout_ms", gateway.head_timeout_ms, 1),
            ("gateway.idle_timeout_ms", gateway.idle_timeout_ms, 1),
            ("gateway.write_stall_timeout_ms", gateway.write_stall_timeout_ms, 1),
            ("gateway.body_timeout_ms", gateway.body_timeout_ms, 1),
            ("gateway.max_request_bytes", wide(gateway.max_request_bytes), 1),
            ("gateway.max_in_flight", wide(gateway.max_in_flight), 1),
            ("gateway.max_buffered_bytes", wide(gateway.max_buffered_bytes), 1),
            ("gateway.max_cache_bytes", wide(gateway.max_cache_bytes), 1 << 20),
            ("gateway.log_range", gateway.log_range, 1),
            ("gateway.header_range", gateway.header_range, 1),
            ("explorer.max_connections", wide(explorer.max_connections.unwrap_or(1)), 1),
            ("explorer.max_in_flight", wide(explorer.max_in_flight), 1),
            ("explorer.max_reads", wide(explorer.max_reads), 1),
            ("explorer.max_answer_mb", explorer.max_answer_mb, 1),
            ("explorer.timeout_ms", explorer.timeout_ms, 1),
            ("explorer.cache_mb", wide(explorer.cache_mb), 8),
            ("explorer.write_buffer_mb", wide(explorer.write_buffer_mb), 8),
            ("explorer.mempool_mb", explorer.mempool_mb, 1),
            ("explorer.poll_ms", explorer.poll_ms, 10),
            ("explorer.fetch_window", wide(explorer.fetch_window), 1),
            ("nodes.connect_timeout_ms", nodes.connect_timeout_ms, 1),
            ("nodes.first_byte_timeout_ms", nodes.first_byte_timeout_ms, 1),
            ("nodes.whole_timeout_ms", nodes.whole_timeout_ms, 1),
            ("nodes.fast_whole_timeout_ms", nodes.fast_whole_timeout_ms, nodes.whole_timeout_ms),
            ("nodes.reader_window_ms", nodes.reader_window_ms, 1),
            ("nodes.max_response_bytes", nodes.max_response_bytes, 1),
            ("nodes.idle_timeout_ms", nodes.idle_timeout_ms, 1),
            ("nodes.probe_interval_ms", nodes.probe_interval_ms, 1),
            ("nodes.probe_timeout_ms", nodes.probe_timeout_ms, 1),
            ("nodes.ejection_failures", nodes.ejection_failures.into(), 1),
            ("nodes.ejection_first_ms", nodes.ejection_first_ms, 1),
            ("nodes.ejection_longest_ms", nodes.ejection_longest_ms, nodes.ejection_first_ms),
        ] {
            if value < least {
                return Err((field.into(), format!("must be at least {least}")));
            }
        }
        if self.serve.drain_grace_secs > 600 {
            return Err(problem("serve.drain_grace_secs", "must be at most 600"));
        }
        if !(1..=1024).contains(&self.serve.workers.unwrap_or(1)) {
            return Err(problem("serve.workers", "must be from 1 to 1024"));
        }
        Ok(())
    }

    fn check_origins(&self) -> Result<(), Problem> {
        for (field, origins) in [
            ("gateway.cors_origins", &self.gateway.cors_origins),
            ("explorer.cors_origins", &self.explorer.cors_origins),
        ] {
            let origin = |text: &str| {
                let host = text.strip_prefix("https://").or(text.strip_prefix("http://"));
                host.is_some_and(|host| !host.is_empty() && !host.contains('/'))
                    && HeaderValue::from_str(text).is_ok()
            };
            if !origins.iter().all(|text| text == "*" || origin(text)) {
                return Err(problem(
                    field,
                    "expected \"*\" or origins such as \"https://wallet.example\", without a path",
                ));
            }
        }
        Ok(())
    }

    fn check_chains(&self) -> Result<(), Problem> {
        let mut urls = BTreeMap::new();
        for (slug, config) in &self.chain {
            let known = chain::ALL.iter().map(|chain| chain.slug);
            let chain = chain::find(slug)
                .ok_or_else(|| (format!("chain.{slug}"), nearest("chain", slug, known)))?;
            let at = |field: &str| format!("chain.{slug}.{field}");
            if config.nodes.is_empty() {
                return Err((at("nodes"), "missing; a chain needs at least one node".into()));
            }
            config.served(chain, &self.nodes).map_err(|(field, what)| (at(field), what))?;
            check_methods(config).map_err(|(field, what)| (at(field), what.into()))?;
            check_nodes(slug, config, &mut urls)?;
        }
        self.check_explored()
    }

    /// Whoever names a chain wants it served, so one that cannot be is an error.
    fn check_explored(&self) -> Result<(), Problem> {
        let Some(chains) = &self.explorer.chains else { return Ok(()) };
        if chains.is_empty() {
            let text = "names no chain; leave it out for all, or the explorer by --only gateway";
            return Err(problem("explorer.chains", text));
        }
        for (place, slug) in chains.iter().enumerate() {
            let at = || format!("explorer.chains[{place}]");
            if chains[..place].contains(slug) {
                return Err((at(), format!("{slug:?} is there twice")));
            }
            let Some(config) = self.chain.get(slug) else {
                let known = chain::ALL.iter().map(|chain| chain.slug);
                let text = match chain::find(slug) {
                    Some(_) => format!("[chain.{slug}] is not configured"),
                    None => nearest("chain", slug, known),
                };
                return Err((at(), text));
            };
            if !config.explorer {
                return Err((at(), format!("chain.{slug}.explorer says false")));
            }
        }
        Ok(())
    }
}

/// A gateway that offers nothing is none, and a method has a name.
fn check_methods(config: &ChainConfig) -> Result<(), (&'static str, &'static str)> {
    let (only, extra) = (config.methods.as_deref(), &config.extra_methods);
    if only.is_some_and(<[String]>::is_empty) && extra.is_empty() && config.gateway {
        let text = "names no method; leave it out for all of the chain, or say gateway = false";
        return Err(("methods", text));
    }
    match extra.iter().any(|name| name.trim().is_empty()) {
        true => Err(("extra_methods", "a method without a name")),
        false => Ok(()),
    }
}

/// Two nodes with one url would share its slots without knowing.
fn check_nodes<'a>(
    slug: &'a str,
    config: &ChainConfig,
    urls: &mut BTreeMap<String, &'a str>,
) -> Result<(), Problem> {
    for (place, node) in config.nodes.iter().enumerate() {
        let at = |field: &str| format!("chain.{slug}.nodes[{place}].{field}");
        if node.slots == Some(0) {
            return Err((at("slots"), "must be at least 1".into()));
        }
        if node.open_answers == Some(0) {
            return Err((at("open_answers"), "must be at least 1".into()));
        }
        if let Some(other) = urls.insert(node.url.trim_end_matches('/').to_lowercase(), slug) {
            return Err((at("url"), format!("is the url of another node of chain.{other}")));
        }
    }
    Ok(())
}

fn problem(field: &str, what: &str) -> Problem {
    (field.into(), what.into())
}
