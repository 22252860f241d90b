//! Any records come back as they were written, on any number of threads; any bytes are read or refused.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const FORMATS: [RecordFormat; 5] =
    [RecordFormat::Auto, RecordFormat::Tsv, RecordFormat::Csv, RecordFormat::Jsonl, RecordFormat::Lines];

fn any_record() -> impl Strategy<Value = Record> {
    let weight = prop_oneof![Just(1.0f32), 0.0f32..9.0];
    // A text without line ends or tabs can be written in every format.
    ("[^\\x00-\\x1f\\x7f]{0,20}", prop::collection::btree_set("[a-zé][a-zé\" ]{0,2}[a-zé\"]", 0..4), weight).prop_map(
        |(text, labels, weight)| {
            let labels: std::collections::BTreeSet<String> = labels.iter().map(|l| l.trim().to_owned()).collect();
            Record { text, labels: labels.into_iter().collect(), weight }
        },
    )
}

fn options(format: RecordFormat) -> RecordOptions {
    RecordOptions { format, weight: Some(Selector::Name("weight".into())), ..RecordOptions::default() }
}

fn sizes() -> impl Strategy<Value = Sizes> {
    (1usize..200).prop_map(|block| Sizes { block, longest_line: 1 << 20 })
}

fn on_threads(threads: usize, bytes: &[u8], options: &RecordOptions, sizes: Sizes) -> Result<Vec<Record>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(|| read_sized(bytes, options, sizes)).map(|(records, _)| records)
}

proptest! {
    #[test]
    fn tsv_comes_back(all in vec(any_record(), 1..12), sizes in sizes(), threads in 1usize..4) {
        let mut file = "weight\ttext\tlabels\n".to_owned();
        all.iter().for_each(|r| file += &format!("{}\t{}\t{}\n", r.weight, r.text, r.labels.join(",")));
        prop_assert_eq!(on_threads(threads, file.as_bytes(), &options(RecordFormat::Auto), sizes).unwrap(), all);
    }

    #[test]
    fn csv_comes_back(all in vec(any_record(), 1..12), sizes in sizes(), more in "[\n,\"]{0,3}") {
        let all: Vec<Record> = all.into_iter().map(|r| Record { text: r.text + &more, ..r }).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["weight", "text", "labels"]).unwrap();
        for r in &all {
            writer.write_record([&r.weight.to_string(), &r.text, &r.labels.join(",")]).unwrap();
        }
        let file = writer.into_inner().unwrap();
        prop_assert_eq!(on_threads(1, &file, &options(RecordFormat::Auto), sizes).unwrap(), all);
    }

    #[test]
    fn jsonl_comes_back(all in vec((any_record(), any::<String>()), 1..12), sizes in sizes(), threads in 1usize..4) {
        let all: Vec<Record> = all.into_iter().map(|(r, text)| Record { text, ..r }).collect();
        let line = |r: &Record| serde_json::json!({"text": r.text, "labels": r.labels, "weight": r.weight}).to_string();
        let file = all.iter().map(line).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(on_threads(threads, file.as_bytes(), &options(RecordFormat::Auto), sizes).unwrap(), all);
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..200),
            "[{}\"a,:\\[\\]1\n\r\t\u{e9}]{0,80}".prop_map(String::into_bytes),
            "text,labels\n[a,\"\n\r]{0,80}".prop_map(String::into_bytes),
            "\\{\"text\": \"a\", \"labels\": [{}\"a,:\\[\\]1]{0,20}\\}".prop_map(String::into_bytes),
        ],
        format in prop::sample::select(FORMATS.to_vec()),
        numbers in any::<bool>(),
        sizes in sizes(),
    ) {
        let options = match format {
            RecordFormat::Lines => RecordOptions { format, ..RecordOptions::default() },
            _ if numbers => RecordOptions { format, ..numbered(1, 1) },
            _ => options(format),
        };
        let one = on_threads(1, &bytes, &options, sizes).map_err(|error| error.to_string());
        let three = on_threads(3, &bytes, &options, sizes).map_err(|error| error.to_string());
        prop_assert_eq!(&one, &three);
        if let Err(message) = one {
            let known = ["file", "text: ", "labels: ", "weight: "];
            prop_assert!(known.iter().any(|start| message.starts_with(start)), "{}", message);
        }
    }

    #[test]
    fn lines_of_csv_are_counted_right(blanks in vec(0usize..3, 1..6), inside in vec(0usize..3, 6), crlf in any::<bool>()) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let mut file = format!("text,labels{newline}");
        for (blank, inner) in blanks.iter().zip(&inside) {
            file += &format!("{}\"x{}\",a{newline}", newline.repeat(*blank), newline.repeat(*inner));
        }
        let line = file.matches('\n').count() + 1;
        file += "x,,,";
        let message = read_sized(file.as_bytes(), &RecordOptions::default(), Sizes::default()).unwrap_err().to_string();
        prop_assert!(message.starts_with(&format!("file:{line}: ")), "{} is not in line {}", message, line);
    }
}
