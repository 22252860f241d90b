//! The page of a comparison: one file that needs no other.

use std::fmt::Write;
use std::path::Path;

use super::Compared;
use super::methods::METHODS;
use super::row::{self, Measured, MethodOutcome, MethodRow};
use crate::plot::{Curve, Point, curves, escaped, scatter};
use crate::text::{count, size, thousands};

const STYLE: &str = include_str!("report.css");

/// A colour for each method, told apart by people who do not see all of them, on white and on black.
const COLORS: [&str; METHODS.len()] =
    ["#d1495b", "#2e86ab", "#5aa9d6", "#7a6ff0", "#8f5fbf", "#b85fbf", "#6b8e23", "#2a9d6f", "#c98a1b", "#8a8f98"];

/// The whole page.
pub fn page(compared: &Compared<'_>) -> String {
    let Compared { of, shape, rows, multiclass } = compared;
    let (shape, multiclass) = (*shape, *multiclass);
    let data = escaped(&title(&of.train));
    let measured: Vec<(&MethodRow, &Measured)> = rows.iter().filter_map(|row| Some((row, row.measured()?))).collect();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{data}: methods compared</title>\n<style>\n{STYLE}</style></head>\n<body><main>\n"
    );
    let task = if multiclass { "one label per example" } else { "several labels per example" };
    let shape = if shape.n > 0 { size(shape) } else { "raw texts".to_owned() };
    let tests = measured.iter().map(|(_, m)| m.examples).max().unwrap_or(0);
    let _ = write!(
        page,
        "<header><p class=\"kicker\">rembrandt compare</p><h1>{data}</h1>\n<p class=\"lead\">{shape}; {task}; tested on \
         {} others</p></header>\n",
        thousands(tests)
    );
    page.push_str(&cards(&measured, multiclass));
    page.push_str(&table(rows, multiclass));
    page.push_str(&plots(&measured, multiclass));
    page.push_str(&methods(rows));
    let intervals = match of.bootstrap {
        0 => String::new(),
        n => format!(" Intervals are the middle 90 % of {n} replicates of a Poisson bootstrap of the test rows."),
    };
    let _ = writeln!(
        page,
        "<section><h2>Repeat it</h2><pre>{}</pre><p class=\"note\">Every method was trained on the same rows with {}, \
         within {} each, in a process of its own. Embeddings choose what was not given (dimensions, ridge, head) on \
         held-out training rows; trees have the settings of their papers. No choice saw the test rows.{} Prediction is of the five best labels, all \
         threads at work.</p></section>",
        escaped(&of.command()),
        count(rayon::current_num_threads() as u64, "thread"),
        row::seconds(of.budget.as_secs_f64()),
        intervals
    );
    page.push_str("</main></body></html>\n");
    page
}

/// The name of the data: by their file, or by their folder where the file is called like those of all others.
fn title(train: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = name(train).unwrap_or_default();
    let folder = train.canonicalize().ok().and_then(|path| path.parent().and_then(name));
    match folder {
        Some(folder) if file.starts_with("train") => folder,
        _ => file,
    }
}

/// The findings that stand out.
fn cards(measured: &[(&MethodRow, &Measured)], multiclass: bool) -> String {
    // Rows are in order, the best first.
    let Some((best, figures)) = measured.first() else { return String::new() };
    let metric = if multiclass { "error" } else { "precision at 1" };
    let mut cards = vec![("most accurate", best.title(), format!("{} {metric}", figures.headline()[0]))];
    let least = |value: fn(&Measured) -> f64| measured.iter().min_by(|a, b| value(a.1).total_cmp(&value(b.1)));
    if let Some((row, m)) = least(|m| m.train_seconds) {
        cards.push(("fastest to train", row.title(), row::seconds(m.train_seconds)));
    }
    if let Some((row, m)) = least(|m| m.predict_microseconds) {
        cards.push(("fastest to predict", row.title(), row::microseconds(m.predict_microseconds)));
    }
    if let Some((row, m)) = least(|m| m.model_bytes) {
        cards.push(("smallest model", row.title(), row::bytes(m.model_bytes)));
    }
    let card = |(what, who, value): (&str, String, String)| {
        format!(
            "<div class=\"card\"><p>{what}</p><strong>{}</strong><span>{}</span></div>",
            escaped(&who),
            escaped(&value)
        )
    };
    format!("<section class=\"cards\">{}</section>\n", cards.into_iter().map(card).collect::<String>())
}

fn table(rows: &[MethodRow], multiclass: bool) -> String {
    let metric = if multiclass { "error" } else { "P@1" };
    let mut out = format!(
        "<section class=\"wide\"><table><thead><tr><th>method</th><th>{metric}</th><th class=\"bar\">90 % \
         interval</th><th>P@3</th><th>P@5</th><th>train</th><th>memory</th><th>model</th><th>predict</th></tr></thead>\n<tbody>\n"
    );
    let scale = Scale::of(rows);
    for row in rows {
        let name = format!("<th><i style=\"background:{}\"></i>{}</th>", color(row), escaped(&row.title()));
        let line = match &row.outcome {
            MethodOutcome::Failed { reason } => {
                format!("<tr class=\"failed\">{name}<td colspan=\"8\">{}</td></tr>\n", escaped(reason))
            }
            MethodOutcome::Measured(m) => {
                let [value, interval] = m.headline();
                let cells = [
                    row::percent_or_none(m.p3),
                    row::percent_or_none(m.p5),
                    row::seconds(m.train_seconds),
                    m.peak_memory.map_or_else(|| "–".to_owned(), row::bytes),
                    row::bytes(m.model_bytes),
                    row::microseconds(m.predict_microseconds),
                ];
                let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
                format!(
                    "<tr>{name}<td class=\"main\">{value}</td><td class=\"bar\" title=\"{}\">{}</td>{cells}</tr>\n",
                    escaped(&interval),
                    scale.bar(m, color(row))
                )
            }
        };
        out.push_str(&line);
    }
    out.push_str("</tbody></table></section>\n");
    out
}

/// The range of all intervals, for bars that compare.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(rows: &[MethodRow]) -> Scale {
        let bounds = rows.iter().filter_map(MethodRow::measured).flat_map(ends);
        let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = 0.05 * (high - low).max(1e-3);
        Scale { low: low - room, high: high + room }
    }

    /// An interval and the value in it.
    fn bar(&self, m: &Measured, color: &str) -> String {
        let place = |v: f64| 100.0 * (v - self.low) / (self.high - self.low);
        let [low, high] = ends(m).map(place);
        format!(
            "<span class=\"track\"><span style=\"left:{low:.1}%;width:{:.1}%;background:{color}\"></span><b \
             style=\"left:{:.1}%;background:{color}\"></b></span>",
            high - low,
            place(value(m))
        )
    }
}

/// The metric of the task.
fn value(m: &Measured) -> f64 {
    m.error.unwrap_or(m.p1)
}

/// Its interval; the value itself where there is none.
fn ends(m: &Measured) -> [f64; 2] {
    match (m.interval, m.error) {
        (Some([low, high]), None) => [low, high],
        (Some([low, high]), Some(_)) => [1.0 - high, 1.0 - low],
        (None, _) => [value(m); 2],
    }
}

fn plots(measured: &[(&MethodRow, &Measured)], multiclass: bool) -> String {
    let metric = if multiclass { "test error" } else { "precision at 1" };
    let points = |x: fn(&Measured) -> f64| -> Vec<Point> {
        let point = |(row, m): &(&MethodRow, &Measured)| Point {
            label: row.title(),
            color: color(row),
            x: x(m),
            y: value(m),
            interval: Some(ends(m)),
        };
        measured.iter().map(point).collect()
    };
    let time = scatter(&points(|m| m.train_seconds), "seconds to train", short_seconds, metric, !multiclass);
    let space = scatter(&points(|m| m.model_bytes), "size of the model", short_bytes, metric, !multiclass);
    let speed = scatter(
        &points(|m| m.predict_microseconds),
        "time to predict an example",
        row::microseconds,
        metric,
        !multiclass,
    );
    let mut spectra: Vec<Curve> = Vec::new();
    // Random directions have energies, but no order that a curve could show.
    let ordered = |m: &Measured| m.spectrum.first().is_some_and(|v| *v > 0.0 && m.spectrum.iter().all(|w| w <= v));
    for (row, m) in measured.iter().filter(|(_, m)| ordered(m)) {
        let first = m.spectrum.iter().copied().fold(0.0, f64::max);
        let values: Vec<f64> = m.spectrum.iter().map(|v| v / first).collect();
        spectra.push(Curve::ranked(row.title(), color(row), &values));
    }
    let figure = |title: &str, text: &str, svg: String| {
        format!("<figure><figcaption><strong>{title}</strong> {text}</figcaption>{svg}</figure>\n")
    };
    let mut out = "<section class=\"plots\">\n".to_owned();
    let frontier = "The line joins what nothing else beats on both.";
    out.push_str(&figure("Accuracy against training time.", frontier, time));
    out.push_str(&figure("Accuracy against size.", frontier, space));
    out.push_str(&figure("Accuracy against prediction time.", frontier, speed));
    if !spectra.is_empty() {
        let text = "Eigenvalues of what each embedding keeps, relative to the first.";
        out.push_str(&figure("The spectrum.", text, curves(&spectra, "dimension", "eigenvalue")));
    }
    out.push_str("</section>\n");
    out
}

fn short_seconds(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0} s") } else { format!("{value} s") }
}

fn short_bytes(value: f64) -> String {
    let (unit, name) =
        [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")].into_iter().find(|(u, _)| value >= *u).unwrap_or((1.0, "B"));
    format!("{:.3}", value / unit).trim_end_matches('0').trim_end_matches('.').to_owned() + " " + name
}

/// The methods in words, and where they come from.
fn methods(rows: &[MethodRow]) -> String {
    let mut out = "<section><h2>The methods</h2><dl>\n".to_owned();
    for method in METHODS.iter().filter(|method| rows.iter().any(|row| row.method == method.name)) {
        let _ = writeln!(
            out,
            "<dt>{}</dt><dd>{}. <cite>{}</cite></dd>",
            method.name,
            escaped(method.what),
            escaped(method.paper)
        );
    }
    out.push_str("</dl></section>\n");
    out
}

fn color(row: &MethodRow) -> &'static str {
    METHODS.iter().position(|method| method.name == row.method).map_or("#888888", |i| COLORS[i])
}
