//! Which run the checkpoints are of: compared before any of them is believed.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{Error, Result};

/// Raised whenever checkpoints mean something else than before, though all parameters are the same.
const FORMAT: u32 = 5;
/// Values longer than this are not shown.
const SHOWN: usize = 40;

/// The identity of a run: the caller's description and the program.
pub(super) fn complete(identity: &Value) -> Value {
    json!({"program": format!("{}, checkpoints {FORMAT}", env!("CARGO_PKG_VERSION")), "run": identity})
}

/// Refuses another run, in a sentence that says what differs.
pub(super) fn compare(folder: &Path, found: &Value, wanted: &Value) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let begin_anew = "or remove the folder to begin anew";
    let reason = match (found["program"].as_str(), wanted["program"].as_str()) {
        (then, now) if then != now => {
            let then = then.unwrap_or("an unknown version");
            let now = now.unwrap_or_default();
            format!(
                "holds checkpoints of another version of this program ({then}, this is {now}): use that, {begin_anew}"
            )
        }
        _ => {
            let what = difference("", &found["run"], &wanted["run"]).unwrap_or_else(|| "something differs".to_owned());
            format!("holds checkpoints of another run: {what}: give the same data and parameters, {begin_anew}")
        }
    };
    Err(Error::file(folder, reason))
}

/// The first value that is not the same, in words.
fn difference(name: &str, then: &Value, now: &Value) -> Option<String> {
    if then == now {
        return None;
    }
    if name == "data" || name.starts_with("data.") {
        return Some("the data are not the same".to_owned());
    }
    if let (Value::Object(then), Value::Object(now)) = (then, now) {
        return fields(then, now).find_map(|field| {
            // Fields common to all parameters need not be said.
            let inner = match name {
                "" | "parameters" => field.clone(),
                _ => format!("{name}.{field}"),
            };
            let of = |object: &Map<String, Value>| object.get(&field).cloned().unwrap_or(Value::Null);
            difference(&inner, &of(then), &of(now))
        });
    }
    Some(match (shown(then), shown(now)) {
        (Some(then), Some(now)) => format!("{name} was {then} and is {now}"),
        _ => format!("{name} is not the same"),
    })
}

/// All fields of both.
fn fields(a: &Map<String, Value>, b: &Map<String, Value>) -> impl Iterator<Item = String> {
    let mut names: Vec<String> = a.keys().chain(b.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.into_iter()
}

fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => "not given".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (text.len() <= SHOWN).then_some(text)
}
