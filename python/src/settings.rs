//! Parameters of a training from what Python gives: a method by name, and settings put over its defaults.

use rembrandt::data::featurizer::FeaturizerParams;
use rembrandt::embed::Method;
use rembrandt::metrics::Propensity;
use rembrandt::train::{HeadChoice, HeadKind, Training};
use rembrandt::tree::{TreeMethod, TreeParams};
use rembrandt::{Dataset, Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A training as Python asks for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    method: String,
    head: Option<HeadKind>,
    k: Option<u64>,
    ridge: Option<f64>,
    seed: Option<u64>,
    group_duplicates: bool,
    propensity: bool,
    /// Any parameters of the method, by their names in the library.
    params: Map<String, Value>,
    pub tfidf: bool,
    pub normalize: bool,
    pub featurizer: Option<FeaturizerParams>,
}

impl Settings {
    pub fn read(text: &str) -> Result<Settings> {
        serde_json::from_str(text).map_err(|e| Error::parameter("params", e.to_string()))
    }

    /// The training with all its parameters.
    pub fn training(&self, data: &Dataset) -> Result<Training> {
        let name = Value::from(self.method.as_str());
        let training = match serde_json::from_value::<TreeMethod>(name.clone()) {
            Ok(method) if self.head.is_none() => Training::from(TreeParams::new(method)),
            Ok(_) => return Err(Error::parameter("head", format!("means nothing to {}: leave it out", self.method))),
            Err(_) => {
                let unknown = |_| Error::parameter("method", format!("{:?} is not a method", self.method));
                let method: Method = serde_json::from_value(name).map_err(unknown)?;
                Training::new(method, self.head.map(HeadChoice::Kind), data)?
            }
        };
        let mut all = json!(training);
        let (_, fields) = all.as_object_mut().and_then(|all| all.iter_mut().next()).expect("an enum of structs");
        for (name, value) in self.choices() {
            let place = fields.get_mut(name);
            *place
                .ok_or_else(|| Error::parameter(name, format!("means nothing to {}: leave it out", self.method)))? =
                value;
        }
        if let Some(seed) = self.seed {
            self.put_seed(fields, seed)?;
        }
        put_over(fields, &self.params, "params")?;
        serde_json::from_value(all).map_err(|e| Error::parameter("params", e.to_string()))
    }

    /// Those of the settings that were made.
    fn choices(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let made = [
            ("k", self.k.map(Value::from)),
            ("ridge", self.ridge.map(Value::from)),
            ("group_duplicates", self.group_duplicates.then_some(Value::Bool(true))),
            ("propensity", self.propensity.then(|| json!(Propensity::default()))),
        ];
        made.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// Every part that is random has the same seed.
    fn put_seed(&self, fields: &mut Value, seed: u64) -> Result<()> {
        let mut found = false;
        for place in ["/seed", "/embedding/seed", "/descent/seed"] {
            if let Some(place) = fields.pointer_mut(place) {
                (*place, found) = (seed.into(), true);
            }
        }
        let useless = || Error::parameter("seed", format!("nothing of {} is random: leave it out", self.method));
        found.then_some(()).ok_or_else(useless)
    }
}

/// Parameters with settings, as JSON, put over them.
pub fn overridden<T: serde::Serialize + DeserializeOwned>(params: &T, settings: &str) -> Result<T> {
    let wrong = |e: serde_json::Error| Error::parameter("params", e.to_string());
    let settings: Map<String, Value> = serde_json::from_str(settings).map_err(wrong)?;
    let mut fields = json!(params);
    put_over(&mut fields, &settings, "params")?;
    serde_json::from_value(fields).map_err(wrong)
}

/// Puts values in place of others of the same names; those in an object one by one.
fn put_over(fields: &mut Value, settings: &Map<String, Value>, place: &str) -> Result<()> {
    for (name, value) in settings {
        let known: Vec<String> = fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let Some(old) = fields.get_mut(name) else {
            let reason = format!("{place} has no {name:?}: choose from {}", known.join(", "));
            return Err(Error::parameter("params", reason));
        };
        match (old.is_object(), value) {
            (true, Value::Object(inner)) => put_over(old, inner, &format!("{place}.{name}"))?,
            _ => *old = value.clone(),
        }
    }
    Ok(())
}
