//! `rembrandt convert`: text to a cache file.

use std::time::Instant;

use bytesize::ByteSize;
use rembrandt::data::{Dataset, convert};
use rembrandt::{Error, Examples, Side};
use serde_json::json;

use crate::args::ConvertArgs;
use crate::output::{about, facts, print, print_json};
use crate::progress::Display;
use crate::source;

pub fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    if Dataset::is_cache(&args.train) {
        return Err(Error::file(&args.train, "is a cache file already: use it as it is").into());
    }
    source::check_outputs(std::slice::from_ref(&args.output), &args.train, &args.data.read)?;
    let began = Instant::now();
    let mut display = Display::new(args.quiet);
    let converted = converted(args, &mut display);
    display.clear();
    let data = converted?;
    let (shape, seconds) = (data.shape(), began.elapsed().as_secs_f64());
    if args.json {
        return print_json(&json!({
            "n": shape.n, "d": shape.d, "c": shape.c,
            "nnz": data.nnz(Side::X), "label_nnz": data.nnz(Side::Y),
            "bytes": data.bytes(), "seconds": seconds, "output": args.output.display().to_string(),
        }));
    }
    if args.quiet {
        return Ok(());
    }
    let [size, entries] = about(&data);
    print(&facts(&[
        size,
        entries,
        ("time", format!("{seconds:.2} s")),
        ("wrote", format!("{} ({})", args.output.display(), ByteSize(data.bytes()))),
    ]))
}

/// Writes the cache file: of sparse rows in the memory of a chunk, of texts once all their words are counted.
fn converted(args: &ConvertArgs, display: &mut Display) -> rembrandt::Result<Dataset> {
    if source::is_text(&args.train, &args.data, display)? {
        let texts = source::texts(&args.train, &args.data, display)?;
        texts.into_words(args.data.features.options()?.featurizer)?.write_cache(&args.output)?;
        return Dataset::open(&args.output);
    }
    let (data, notes) = convert(&args.train, &args.data.read.options(), &args.output, &mut display.run())?;
    notes.iter().for_each(|note| display.note(note));
    Ok(data)
}
