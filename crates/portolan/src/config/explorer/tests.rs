//! Which chains a process serves, and which lists are refused.

use crate::config::Config;

/// Three chains, one of them not for the explorer.
const CHAINS: &str = "[chain.btc]\nnodes = [{ url = \"http://127.0.0.1:1\" }]\n\
                      [chain.ltc]\nnodes = [{ url = \"http://127.0.0.1:2\" }]\n\
                      [chain.zec]\nexplorer = false\nnodes = [{ url = \"http://127.0.0.1:3\" }]\n";

fn load(explorer: &str, variable: Option<&str>) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.toml");
    std::fs::write(&file, format!("[explorer]\n{explorer}\n{CHAINS}")).unwrap();
    let name = "PORTOLAN__EXPLORER__CHAINS".to_owned();
    let variables = variable.map(|text| (name, text.to_owned()));
    Config::load(Some(&file), variables).map_err(|error| error.to_string())
}

fn explored(explorer: &str, variable: Option<&str>) -> Vec<&'static str> {
    let served = load(explorer, variable).unwrap().served();
    assert_eq!(served.len(), 3, "the gateway serves them all");
    served.iter().filter(|one| one.explorer).map(|one| one.chain.slug).collect()
}

#[test]
fn a_process_explores_all_chains_or_those_that_it_is_told() {
    assert_eq!(explored("", None), ["btc", "ltc"]);
    assert_eq!(explored("chains = [\"ltc\"]", None), ["ltc"]);
    assert_eq!(explored("chains = [\"ltc\", \"btc\"]", None), ["btc", "ltc"]);
    assert_eq!(explored("", Some("btc")), ["btc"]);
    assert_eq!(explored("chains = [\"ltc\"]", Some("btc,ltc")), ["btc", "ltc"]);
}

#[test]
fn a_chain_that_cannot_be_explored_is_named() {
    let refusal = |list: &str| load(&format!("chains = {list}"), None).unwrap_err();
    let unknown = "explorer.chains[1]: unknown chain \"btx\"; the nearest known one is \"btc\"";
    assert_eq!(refusal("[\"ltc\", \"btx\"]"), unknown);
    let missing = "explorer.chains[0]: [chain.doge] is not configured";
    assert_eq!(refusal("[\"doge\"]"), missing);
    assert_eq!(refusal("[\"zec\"]"), "explorer.chains[0]: chain.zec.explorer says false");
    assert_eq!(refusal("[\"btc\", \"btc\"]"), "explorer.chains[1]: \"btc\" is there twice");
    assert!(refusal("[]").contains("names no chain"), "{}", refusal("[]"));
}
