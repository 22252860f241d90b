//! An evaluation for people who decide: a page that needs no other file, and the report of each label.

use std::fmt::Write;
use std::path::Path;

use rembrandt::metrics::{Difference, LabelScores};
use rembrandt::model::Evaluation;
use rembrandt::{Error, Result};
use serde_json::{Value, json};

use crate::plot::{escaped, reliability};
use crate::text::{self, count, thousands};

const STYLE: &str = include_str!("compare/report.css");

/// Rows of the tables of labels and of pairs on a page.
const LABELS: usize = 500;
const PAIRS: usize = 50;

/// Columns of the report of labels.
const COLUMNS: [&str; 8] =
    ["label", "training_examples", "support", "predicted", "precision", "recall", "f1", "threshold"];

/// Writes the report of each label, those with most examples first: JSON where the name of the file ends so, and TSV else.
///
/// # Errors
/// If the file cannot be written, or a name does not fit into TSV.
pub fn write_labels(path: &Path, evaluation: &Evaluation) -> Result<()> {
    let rows: Vec<[Value; 8]> = evaluation.labels().iter().map(|label| row(evaluation, label)).collect();
    if path.extension().is_some_and(|extension| extension == "json") {
        let object =
            |row: &[Value; 8]| Value::Object(COLUMNS.map(str::to_owned).into_iter().zip(row.clone()).collect());
        return text::write(path, &format!("{}\n", json!(rows.iter().map(object).collect::<Vec<_>>())));
    }
    let mut lines = format!("{}\n", COLUMNS.join("\t"));
    for row in &rows {
        if let Some(name) = row[0].as_str().filter(|name| name.contains('\t')) {
            let reason = format!("cannot hold the label {name:?}, which has a tab: name a file that ends with .json");
            return Err(Error::file(path, reason));
        }
        lines += &format!("{}\n", row.each_ref().map(cell).join("\t"));
    }
    text::write(path, &lines)
}

/// The columns of a label, told.
fn row(evaluation: &Evaluation, label: &LabelScores) -> [Value; 8] {
    [
        json!(evaluation.label_name(label.label)),
        json!(evaluation.training_examples(label.label)),
        json!(label.support),
        json!(label.predicted),
        json!(label.precision()),
        json!(label.recall()),
        json!(label.f1()),
        json!(evaluation.threshold(label.label)),
    ]
}

/// A value as it stands in a table; nothing where there is none.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.4}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Whether other predictions are better, for a terminal.
pub fn comparison(differences: &[Difference]) -> String {
    let head = ["score", "first", "second", "difference", "interval", "p"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(differences.iter().map(difference)).collect();
    text::table(&rows)
}

fn difference(d: &Difference) -> [String; 6] {
    [
        d.name.clone(),
        format!("{:.4}", d.first),
        format!("{:.4}", d.second),
        format!("{:+.4}", d.difference),
        format!("[{:+.4}, {:+.4}]", d.interval.low, d.interval.high),
        if d.p < 0.0001 { "< 0.0001".to_owned() } else { format!("{:.4}", d.p) },
    ]
}

/// An evaluation with what a page says of it.
pub struct Page<'a> {
    /// The model or file that was evaluated.
    pub model: &'a Path,
    /// On which examples.
    pub test: &'a Path,
    /// The evaluation.
    pub evaluation: &'a Evaluation,
    /// Other predictions and how they differ.
    pub against: Option<(&'a Path, &'a [Difference])>,
}

impl Page<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        let name = |path: &Path| path.file_name().map_or_else(String::new, |name| escaped(&name.to_string_lossy()));
        let (model, test) = (name(self.model), name(self.test));
        let examples = count(self.evaluation.examples, "example");
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>{model} on {test}</title>\n<style>\n{STYLE}</style>\
             </head>\n<body><main>\n<header><p class=\"kicker\">rembrandt eval</p><h1>{model}</h1>\n<p \
             class=\"lead\">{examples} of {test}</p></header>\n"
        );
        page.push_str(&self.cards());
        page.push_str(&self.scores());
        if let Some((other, differences)) = self.against {
            let rows = differences.iter().map(|d| difference(d).to_vec()).collect();
            let lead = format!(
                "First is {model}, second {}, on the same examples. p is the chance of so large a difference if there were \
                 none; below 0.05 it is usually taken for real.",
                name(other)
            );
            page.push_str(&section(
                "Compared",
                &lead,
                &["score", "first", "second", "difference", "interval", "p"],
                rows,
            ));
        }
        page.push_str(&self.bands());
        page.push_str(&self.plots());
        page.push_str(&self.pairs());
        page.push_str(&self.labels());
        page.push_str("</main></body></html>\n");
        page
    }

    fn cards(&self) -> String {
        let told = [
            ("p@1", "the best label is right"),
            ("micro_f1", "F1 of all decisions"),
            ("macro_f1", "F1 of labels, averaged"),
            ("ece", "calibration error"),
        ];
        let card = |(key, text): (&str, &str)| {
            let value = self.evaluation.scores.of(key)?;
            Some(format!(
                "<div class=\"card\"><p>{text}</p><strong>{:.1} %</strong><span>{key}</span></div>",
                100.0 * value
            ))
        };
        format!("<section class=\"cards\">{}</section>\n", told.into_iter().filter_map(card).collect::<String>())
    }

    fn scores(&self) -> String {
        let row = |(name, value, interval): (&str, f64, Option<[f64; 2]>)| {
            let interval = interval.map_or_else(String::new, |[low, high]| format!("{low:.4} to {high:.4}"));
            vec![name.to_owned(), format!("{value:.4}"), interval]
        };
        let lead = self.evaluation.level().map_or_else(String::new, |level| {
            format!(
                "With a confidence of {} % a score lies in its interval, by a bootstrap of the examples.",
                percent(level)
            )
        });
        section("Scores", &lead, &["score", "value", "interval"], self.evaluation.iter().map(row).collect())
    }

    fn bands(&self) -> String {
        let share = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
        let bands = self.evaluation.bands();
        let row = |band: &rembrandt::metrics::Band| {
            let [fewest, most] = band.training_examples;
            vec![
                band.name.to_owned(),
                thousands(band.labels as u64),
                format!("{} to {}", thousands(fewest), thousands(most)),
                thousands(band.support),
                share(band.precision),
                share(band.recall),
                share(band.micro_f1),
                share(band.macro_f1),
            ]
        };
        let head = ["", "labels", "training examples", "support", "precision", "recall", "micro F1", "macro F1"];
        let lead =
            "A third of all labels given in training belongs to the head, a third to the torso, the rest to the tail.";
        section("Frequent and rare labels", lead, &head, bands.iter().map(row).collect())
    }

    fn plots(&self) -> String {
        let bins = self.evaluation.reliability();
        if bins.is_empty() {
            return String::new();
        }
        let points: Vec<(f64, f64, u64)> =
            bins.iter().map(|bin| (bin.probability, bin.frequency, bin.examples)).collect();
        format!(
            "<section class=\"plots\" style=\"max-width: 640px\"><figure><figcaption><strong>Reliability.</strong> How often the best label is right, by \
             its probability. On the dashed line probabilities are what they say; larger points stand for more \
             examples.</figcaption>{}</figure></section>\n",
            reliability(&points)
        )
    }

    fn pairs(&self) -> String {
        let pairs = self.evaluation.confusions();
        let name = |label| self.evaluation.label_name(label);
        let rows =
            pairs.iter().take(PAIRS).map(|pair| vec![name(pair.missed), name(pair.given), thousands(pair.examples)]);
        let lead =
            "Examples that have the first label, which is not predicted, and are given the second, which is wrong.";
        section("Labels that are mixed up", lead, &["missed", "given", "examples"], rows.collect())
    }

    fn labels(&self) -> String {
        let labels = self.evaluation.labels();
        let shown = &labels[..labels.len().min(LABELS)];
        let rows = shown.iter().map(|label| row(self.evaluation, label).each_ref().map(cell).to_vec());
        let lead = match labels.len() > LABELS {
            true => format!("The {LABELS} with most examples, of {}.", count(labels.len() as u64, "label")),
            false => "Those that are true or predicted somewhere, by their number of examples.".to_owned(),
        };
        section(
            "Label by label",
            &lead,
            &COLUMNS.map(|column| column.replace('_', " ")).each_ref().map(String::as_str),
            rows.collect(),
        )
    }
}

/// A share in percent, without digits that say nothing.
fn percent(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

/// A title and a table, if there is anything in it.
fn section(title: &str, lead: &str, head: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out =
        format!("<section><h2>{title}</h2><p class=\"note\">{lead}</p><div class=\"wide\"><table><thead><tr>");
    head.iter().for_each(|name| out.push_str(&format!("<th>{name}</th>")));
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let cells: String = row[1..].iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(out, "<tr><th>{}</th>{cells}</tr>", escaped(&row[0]));
    }
    out.push_str("</tbody></table></div></section>\n");
    out
}
