//! The answers as schemas for the document of the interface, made from the types themselves.
//!
//! Leaves paths, parameters and headers to the document, which is written by hand. Invariant: a
//! field is in a schema if and only if its type has it, and nothing is ever null.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{account, ring, utxo};

/// The name before a schema's in a reference.
const PLACE: &str = "#/components/schemas/";

/// The schemas of the answers of the utxo family, by their names.
pub fn utxo_schemas() -> Map<String, Value> {
    schemas(utxo_family)
}

/// The schemas of the answers of the account family, by their names.
pub fn account_schemas() -> Map<String, Value> {
    schemas(account_family)
}

/// The schemas of the answers of the ring family, by their names.
pub fn ring_schemas() -> Map<String, Value> {
    schemas(ring_family)
}

/// Every schema that is made from a type of a family, by its name.
fn schemas(family: fn(&mut SchemaGenerator)) -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator =
        settings.with(|settings| settings.definitions_path = "/components/schemas".into()).into();
    family(&mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.values_mut().for_each(tidy);
    hoist_variants(&mut schemas);
    schemas
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// The answers of the account family.
fn account_family(generator: &mut SchemaGenerator) {
    add::<account::Status>(generator);
    add::<account::Summary>(generator);
    add::<account::Block<'static>>(generator);
    add::<account::Transactions>(generator);
    add::<account::Transaction>(generator);
    add::<account::Account>(generator);
    add::<account::History>(generator);
    add::<account::Gas>(generator);
    add::<account::Contract>(generator);
    add::<account::Mempool>(generator);
    add::<account::Meaning>(generator);
}

/// The answers of the ring family.
fn ring_family(generator: &mut SchemaGenerator) {
    add::<ring::Status>(generator);
    add::<ring::Summary>(generator);
    add::<ring::BlockJson>(generator);
    add::<ring::Transactions>(generator);
    add::<ring::TransactionJson<'static>>(generator);
    add::<ring::Meaning>(generator);
    add::<ring::OutputsCheck>(generator);
}

/// The answers of the utxo family.
fn utxo_family(generator: &mut SchemaGenerator) {
    add::<utxo::Status>(generator);
    add::<utxo::Summary>(generator);
    add::<utxo::Header>(generator);
    add::<utxo::Transactions>(generator);
    add::<utxo::Totals<'static>>(generator);
    add::<utxo::Unspent<'static>>(generator);
    add::<utxo::Pool>(generator);
    add::<utxo::Meaning<'static>>(generator);
}

/// Says of a schema what readers of such documents know: no null, since a field that does not
/// apply is absent; integers of 32 or 64 bits with a sign; a list of one value for a constant.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(tidy),
        Value::Object(fields) => {
            drop_null(fields);
            // How large a number may be is the format's business.
            if fields.contains_key("format") {
                fields.remove("maximum");
            }
            match fields.get("format").and_then(Value::as_str) {
                Some("uint8" | "uint16") => drop(fields.insert("format".into(), json!("int32"))),
                Some("uint32" | "uint64" | "uint") => {
                    drop(fields.insert("format".into(), json!("int64")));
                }
                _ => {}
            }
            if let Some(value) = fields.remove("const") {
                fields.insert("enum".into(), json!([value]));
            }
            fields.values_mut().for_each(tidy);
        }
        _ => {}
    }
}

fn drop_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &types[..] {
            let kind = kind.clone();
            fields.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = &mut choices[..] {
            let mut only = std::mem::take(only);
            fields.remove("anyOf");
            fields.append(&mut only);
        }
    }
}

/// Gives the variants of a choice names of their own, and says which field tells them apart.
fn hoist_variants(schemas: &mut Map<String, Value>) {
    let mut hoisted = Map::new();
    for (name, schema) in schemas.iter_mut() {
        let Some(Value::Array(variants)) = schema.get_mut("oneOf") else { continue };
        let mut mapping = Map::new();
        for variant in variants {
            let Some(kind) = variant["properties"]["kind"]["enum"][0].as_str() else { return };
            let (first, rest) = kind.split_at(1);
            let own = format!("{name}{}{rest}", first.to_uppercase());
            let place = format!("{PLACE}{own}");
            mapping.insert(kind.to_owned(), json!(place));
            hoisted.insert(own, std::mem::replace(variant, json!({ "$ref": place })));
        }
        schema["discriminator"] = json!({ "propertyName": "kind", "mapping": mapping });
    }
    schemas.append(&mut hoisted);
}
