//! The examples run, and do what they say.

#[path = "../../examples/custom_data.rs"]
mod custom_data;
#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/evaluate.rs"]
mod evaluate;
#[path = "../../examples/text.rs"]
mod text;
#[path = "../../examples/train.rs"]
mod train;

#[test]
fn examples_run() {
    custom_data::main().unwrap();
    embed::main().unwrap();
    evaluate::main().unwrap();
    text::main().unwrap();
    train::main().unwrap();
}
