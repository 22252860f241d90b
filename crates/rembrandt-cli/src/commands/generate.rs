//! `rembrandt generate`: made-up data of any size.

use std::fs;
use std::time::Instant;

use indicatif::BinaryBytes;
use rembrandt::{Error, Run};
use rembrandt_bench::generate::{GeneratedAs, Part};
use serde_json::{Value, json};

use crate::args::GenerateArgs;
use crate::output::{count, facts, print, print_json};
use crate::progress::Display;

pub fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let generator = args.generator();
    generator.check()?;
    fs::create_dir_all(&args.output).map_err(Error::io(&args.output))?;
    let (as_what, ending) = if args.cache { (GeneratedAs::Cache, "rmb") } else { (GeneratedAs::Text, "txt") };
    let mut display = Display::new(args.quiet);
    let (mut rows, mut parts) = (Vec::new(), serde_json::Map::new());
    let mut best = 0.0;
    for (name, part) in [("train", Part::Train), ("test", Part::Test)] {
        let path = args.output.join(format!("{name}.{ending}"));
        let began = Instant::now();
        let mut run = Run::watched(|progress| {
            display.work(progress);
            true
        });
        let written = generator.write(part, as_what, &path, &mut run);
        drop(run);
        display.clear();
        let written = written?;
        let seconds = began.elapsed().as_secs_f64();
        let bytes = fs::metadata(&path).map_err(Error::io(&path))?.len();
        let rate = bytes as f64 / seconds.max(f64::MIN_POSITIVE);
        let each = |side: usize| written.entries[side] as f64 / written.examples.max(1) as f64;
        rows.push((
            name,
            format!(
                "{}: {}, {:.1} features and {:.2} labels each; {} in {seconds:.1} s ({}/s)",
                path.display(),
                count(written.examples, "example"),
                each(0),
                each(1),
                BinaryBytes(bytes),
                BinaryBytes(rate as u64)
            ),
        ));
        parts.insert(
            name.to_owned(),
            json!({
                "path": path, "examples": written.examples, "features": written.entries[0],
                "labels": written.entries[1], "bytes": bytes, "seconds": seconds, "best_p@1": written.best_p1(),
            }),
        );
        best = written.best_p1();
    }
    if args.json {
        parts.insert("params".to_owned(), json!(generator));
        return print_json(&Value::Object(parts));
    }
    if args.quiet {
        return Ok(());
    }
    rows.push((
        "best P@1",
        format!("{:.2} % on the test examples: of who knows what each was made from", 100.0 * best),
    ));
    print(&facts(&rows))
}
