//! The document of the interface says what the explorer does: reasons, statuses, chains, paths, and
//! the fields of every answer, which are written into it from their types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use explorer::Reason;
use serde_json::{Map, Value};

/// A document: its name, the paths of its family under `/api/v1/{chain}`, its schemas.
struct Document {
    name: &'static str,
    paths: &'static [&'static str],
    schemas: fn() -> Map<String, Value>,
}

const DOCUMENTS: [Document; 3] = [
    Document { name: "explorer", paths: &UTXO, schemas: explorer::interface::utxo_schemas },
    Document {
        name: "explorer-accounts",
        paths: &ACCOUNTS,
        schemas: explorer::interface::account_schemas,
    },
    Document { name: "explorer-rings", paths: &RINGS, schemas: explorer::interface::ring_schemas },
];

/// The paths of the account family.
const ACCOUNTS: [&str; 11] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{hash}",
    "/address/{address}",
    "/address/{address}/txs",
    "/gas",
    "/contract/{address}",
    "/mempool",
    "/search/{query}",
];

/// The paths of the ring family.
const RINGS: [&str; 8] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{hash}",
    "/mempool",
    "/search/{query}",
    "/tx/{hash}/outputs/check",
];

/// The paths of the utxo family.
const UTXO: [&str; 10] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{txid}",
    "/address/{address}",
    "/address/{address}/txs",
    "/address/{address}/utxo",
    "/mempool",
    "/search/{query}",
];

/// If it is set, the documents are brought up to the types.
const WRITE: &str = "PORTOLAN_WRITE_INTERFACE";

impl Document {
    fn path(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
        folder.join(format!("{}.openapi.yaml", self.name))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }
}

/// The order in which a schema is read best; what is not named comes last.
const ORDER: [&str; 7] =
    ["$ref", "type", "format", "minimum", "description", "required", "properties"];
/// Most characters of a line.
const WIDTH: usize = 100;

/// A schema as the document has it.
fn written(name: &str, schema: &Value) -> String {
    let mut out = format!("    {name}:\n");
    fields(&mut out, schema.as_object().unwrap(), 6);
    out
}

fn fields(out: &mut String, map: &Map<String, Value>, indent: usize) {
    sorted(map).into_iter().for_each(|key| field(out, key, &map[key], indent));
}

/// The names of a map, those of a schema in the order in which it is read best.
fn sorted(map: &Map<String, Value>) -> Vec<&String> {
    let place = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    let mut keys: Vec<&String> = map.keys().collect();
    if is_schema(map) {
        keys.sort_by_key(|key| place(key));
    }
    keys
}

/// Whether a map is a schema, and not one of names to schemas.
fn is_schema(map: &Map<String, Value>) -> bool {
    map.values().any(|value| !value.is_object())
}

fn field(out: &mut String, key: &str, value: &Value, indent: usize) {
    let pad = " ".repeat(indent);
    let line = format!("{pad}{key}: {}", flow(value));
    match value {
        Value::String(text) if key == "description" => {
            out.push_str(&format!("{pad}{key}: >-\n"));
            wrap(out, text, indent + 2);
        }
        Value::Object(map) if line.len() > WIDTH || map.values().any(Value::is_object) => {
            out.push_str(&format!("{pad}{key}:\n"));
            fields(out, map, indent + 2);
        }
        Value::Array(list) if line.len() > WIDTH || list.iter().any(Value::is_object) => {
            out.push_str(&format!("{pad}{key}:\n"));
            list.iter().for_each(|item| out.push_str(&format!("{pad}  - {}\n", flow(item))));
        }
        _ => {
            out.push_str(&line);
            out.push('\n');
        }
    }
}

/// A value on one line. A text is quoted unless it is one word without a meaning of its own.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) if is_word(text) => text.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let one = |key: &&String| format!("{key}: {}", flow(&map[*key]));
            let items: Vec<String> = sorted(map).iter().map(one).collect();
            format!("{{ {} }}", items.join(", "))
        }
        _ => value.to_string(),
    }
}

fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let meaning = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(plain)
        && !meaning.contains(&text)
}

/// Lines of at most a hundred characters.
fn wrap(out: &mut String, text: &str, indent: usize) {
    let mut line = " ".repeat(indent);
    for word in text.split_whitespace() {
        if line.len() + word.len() >= WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The document with a schema in the place of the one of that name, or at its end.
fn with(document: &str, name: &str, schema: &str) -> String {
    let (head, schemas) = document.split_once("\n  schemas:\n").unwrap();
    let mut out = format!("{head}\n  schemas:\n");
    let (mut inside, mut found) = (false, false);
    for line in schemas.split_inclusive('\n') {
        if line.starts_with("    ") && !line.starts_with("     ") {
            inside = line.trim_end() == format!("    {name}:");
            if inside {
                out.push_str(schema);
                found = true;
            }
        }
        if !inside {
            out.push_str(line);
        }
    }
    if !found {
        out.push_str(schema);
    }
    out
}

#[test]
fn answers_have_the_fields_of_their_types() {
    for document in DOCUMENTS {
        let text = document.text();
        let mut derived = text.clone();
        for (name, schema) in (document.schemas)() {
            derived = with(&derived, &name, &written(&name, &schema));
        }
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(document.path(), &derived).unwrap();
            continue;
        }
        let parted = text.lines().zip(derived.lines()).find(|(old, new)| old != new);
        assert!(text == derived, "{WRITE}=1 brings {} up to its types: {parted:?}", document.name);
    }
}

/// Every schema of a document is made from a type, but for those of a refusal and of what a client
/// sends.
#[test]
fn no_schema_is_written_by_hand() {
    for document in DOCUMENTS {
        let text = document.text();
        let (_, schemas) = text.split_once("\n  schemas:\n").unwrap();
        let names = schemas.lines().filter_map(|line| line.strip_prefix("    "));
        let names =
            names.filter(|line| !line.starts_with(' ')).map(|line| line.trim_end_matches(':'));
        let made = (document.schemas)();
        let by_hand: Vec<&str> = names.filter(|name| !made.contains_key(*name)).collect();
        let by_hand: Vec<&str> = by_hand.into_iter().filter(|name| *name != "Claim").collect();
        assert_eq!(by_hand, ["Error"], "{}", document.name);
    }
}

/// The items of the list that follows `name`.
fn list<'a>(interface: &'a str, name: &str) -> Vec<&'a str> {
    let (_, rest) = interface.split_once(name).unwrap();
    let items = rest.lines().map(str::trim).skip_while(|line| !line.starts_with("- "));
    items.map_while(|line| line.strip_prefix("- ")).collect()
}

#[test]
fn interface_has_every_reason_and_no_other() {
    let names = Reason::ALL.map(|reason| reason.row().name);
    for document in DOCUMENTS {
        assert_eq!(list(&document.text(), "reason:\n"), names, "{}", document.name);
    }
}

#[test]
fn every_path_has_every_status_and_no_other() {
    for document in DOCUMENTS {
        let interface = document.text();
        let (_, paths) = interface.split_once("\npaths:\n").unwrap();
        let (paths, _) = paths.split_once("\ncomponents:\n").unwrap();
        let parts: Vec<&str> = paths.split("  /api/v1/{chain}").skip(1).collect();
        let found: Vec<&str> = parts.iter().map(|part| part.split_once(":\n").unwrap().0).collect();
        assert_eq!(found, document.paths);
        let refused = Reason::ALL.iter().map(|reason| reason.row().status);
        let expected: BTreeSet<u16> = refused.chain([200, 304]).collect();
        for (path, part) in document.paths.iter().zip(parts) {
            // What is posted is never kept, so it is never unchanged.
            let kept = !path.ends_with("/check");
            let expected: BTreeSet<u16> =
                expected.iter().copied().filter(|status| kept || *status != 304).collect();
            let statuses = part.lines().filter_map(|line| line.trim().strip_prefix('"'));
            let statuses = statuses.map(|line| line.split('"').next().unwrap().parse().unwrap());
            // The pre-flight question stands with one path, for all.
            let statuses: BTreeSet<u16> = statuses.filter(|status| *status != 204).collect();
            assert_eq!(statuses, expected, "{part}");
        }
    }
}

/// What stands under a name of a part of a document's components.
fn component<'a>(document: &'a str, part: &str, name: &str) -> &'a str {
    let (_, rest) = document.split_once(&format!("\n  {part}:\n")).unwrap();
    let start = rest.find(&format!("    {name}:\n")).unwrap();
    let own = &rest[start..];
    let after = own.match_indices("\n").map(|(at, _)| at + 1).find(|at| {
        let line = &own[*at..];
        line.len() - line.trim_start_matches(' ').len() <= 4
    });
    &own[..after.unwrap_or(own.len())]
}

/// Each document stands for itself, as makers of clients want it, and says the same as the others.
#[test]
fn what_all_documents_have_is_the_same_in_each() {
    let [utxo, others @ ..] = &DOCUMENTS.map(|document| document.text());
    for other in others {
        for name in ["Unchanged", "Charged", "Missing", "Refusal", "Later"] {
            assert_eq!(component(other, "responses", name), component(utxo, "responses", name));
        }
        for name in ["RequestId", "Limit", "Remaining", "Reset", "Units", "RetryAfter", "Tag"] {
            assert_eq!(component(other, "headers", name), component(utxo, "headers", name));
        }
        assert_eq!(component(other, "schemas", "Error"), component(utxo, "schemas", "Error"));
    }
}

#[test]
fn interface_has_every_chain_in_order() {
    let [utxo, accounts, rings] = DOCUMENTS;
    for (document, family) in [(utxo, "utxo"), (accounts, "account"), (rings, "ring")] {
        let chains = chain::ALL.iter().filter(|chain| chain.family.as_str() == family);
        let slugs: Vec<&str> = chains.map(|chain| chain.slug).collect();
        assert!(document.text().contains(&format!("enum: [{}]", slugs.join(", "))), "{family}");
    }
}
