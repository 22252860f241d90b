//! `rembrandt neighbors`: the labels nearest to one label.

use rembrandt::EmbeddingFile;
use serde_json::{Value, json};

use crate::args::NeighborsArgs;
use crate::output;

pub fn run(args: &NeighborsArgs) -> anyhow::Result<()> {
    let file = EmbeddingFile::open(&args.file)?;
    let label = file.find_label(&args.label)?;
    let near = file.neighbors(label, args.top)?;
    if args.json {
        let near: Vec<Value> =
            near.iter().map(|n| json!({"id": n.id, "name": name(&file, n.id), "cosine": n.cosine})).collect();
        return output::print_json(&json!({"id": label, "name": name(&file, label), "neighbors": near}));
    }
    let lines: Vec<String> = near.iter().map(|n| format!("{:7.4}  {}\n", n.cosine, file.label_name(n.id))).collect();
    output::print(&lines.concat())
}

/// The name, or `null` where there are none.
fn name(file: &EmbeddingFile, id: usize) -> Option<&str> {
    file.label_names.as_ref().map(|names| names[id].as_str())
}
