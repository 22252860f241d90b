//! `rembrandt neighbors`: the labels nearest to one label.

use rembrandt::EmbeddingFile;
use rembrandt::model::{Model, Neighbor};
use serde_json::{Value, json};

use crate::args::NeighborsArgs;
use crate::output;

pub fn run(args: &NeighborsArgs) -> anyhow::Result<()> {
    if Model::is_model(&args.file) {
        let model = Model::open(&args.file)?;
        let label = model.find_label(&args.label)?;
        let near = model.neighbors(label, args.top)?;
        let named = model.label_names().is_some();
        return show(args, label, &near, named, |id| model.label_name(id));
    }
    let file = EmbeddingFile::open(&args.file)?;
    let label = file.find_label(&args.label)?;
    let near = file.neighbors(label, args.top)?;
    show(args, label, &near, file.label_names.is_some(), |id| file.label_name(id))
}

/// Prints the neighbors; in JSON the name is `null` where labels have none.
fn show(
    args: &NeighborsArgs,
    label: u32,
    near: &[Neighbor],
    named: bool,
    name: impl Fn(u32) -> String,
) -> anyhow::Result<()> {
    if args.json {
        let known = |label: u32| named.then(|| name(label));
        let near: Vec<Value> =
            near.iter().map(|n| json!({"id": n.label, "name": known(n.label), "cosine": n.cosine})).collect();
        return output::print_json(&json!({"id": label, "name": known(label), "neighbors": near}));
    }
    let lines: Vec<String> = near.iter().map(|n| format!("{:7.4}  {}\n", n.cosine, name(n.label))).collect();
    output::print(&lines.concat())
}
