//! Progress on standard error: a bar on a terminal, now and then a line elsewhere, nothing when asked to be quiet.

use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rembrandt::{Progress, Run, Unit};
use rembrandt_bench::Watcher;

use crate::failure::say;
use crate::memory;

/// Work that is over before this is not announced in a log.
const BEFORE_LINES: Duration = Duration::from_secs(2);

/// Lines in a log are at least this far apart.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The same where a process is waited for, of which nothing is known but that it runs.
const BETWEEN_WAITS: Duration = Duration::from_secs(30);

/// The stage of waiting for a process.
const WAITING: &str = "waiting";

/// Whether the beginning of each stage is told.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Has the beginning of each stage told from now on.
pub fn tell_stages() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// Shows how far a command is.
pub struct Display {
    kind: Presentation,
    stage: &'static str,
    started: Instant,
    /// When the work began that the numbers count.
    began: Instant,
    last_line: Option<Instant>,
    /// Work done at the last call: less means that another computation has begun.
    done: u64,
    /// All there was to do at the last call.
    total: Option<u64>,
    /// The number of the computation, from 1: each counts its work anew.
    step: u32,
}

enum Presentation {
    Quiet,
    Lines,
    Bar(ProgressBar),
}

impl Display {
    /// A display that suits where standard error goes.
    pub fn new(quiet: bool) -> Display {
        let kind = match quiet {
            true => Presentation::Quiet,
            false if stderr().is_terminal() => {
                Presentation::Bar(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)))
            }
            false => Presentation::Lines,
        };
        let now = Instant::now();
        Display { kind, stage: "", started: now, began: now, last_line: None, done: 0, total: None, step: 1 }
    }

    /// A computation whose progress is shown.
    pub fn run(&mut self) -> Run<'_> {
        Run::watched(|progress| {
            self.progress(progress);
            true
        })
    }

    /// Shows how far a computation is.
    pub fn progress(&mut self, progress: &Progress) {
        self.show(progress.stage, progress.unit, progress.done, progress.total);
    }

    /// Says something that stays on the screen.
    pub fn note(&self, text: &str) {
        match &self.kind {
            Presentation::Quiet => {}
            Presentation::Lines => say(&format!("note: {text}")),
            Presentation::Bar(bar) => bar.suspend(|| say(&format!("note: {text}"))),
        }
    }

    /// Says that a stage begins.
    fn tell_stage(&self, stage: &str) {
        let memory = memory::resident().map_or_else(String::new, |bytes| format!(", {} of memory", ByteSize(bytes)));
        let text = format!("{:.2} s: {stage}{memory}", self.started.elapsed().as_secs_f64());
        match &self.kind {
            Presentation::Bar(bar) => bar.suspend(|| say(&text)),
            Presentation::Quiet | Presentation::Lines => say(&text),
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Presentation::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, stage: &'static str, unit: Unit, done: u64, total: Option<u64>) {
        // Work is counted over all stages of a computation, so its clock runs on from stage to stage. Another computation
        // begins with less work done, or has another amount of it.
        let another = total != std::mem::replace(&mut self.total, total) || ["", "reading"].contains(&self.stage);
        if stage != self.stage && VERBOSE.load(Ordering::Relaxed) {
            self.tell_stage(stage);
        }
        let less = done < std::mem::replace(&mut self.done, done);
        if (stage != self.stage && another) || less {
            self.began = Instant::now();
            self.step += u32::from(!["", "reading"].contains(&self.stage));
            if let Presentation::Bar(bar) = &self.kind {
                bar.set_style(style(unit, total.is_some()));
                bar.set_message(stage);
                bar.reset();
            }
        }
        self.stage = stage;
        match &self.kind {
            Presentation::Quiet => {}
            Presentation::Bar(bar) => {
                if let Some(total) = total {
                    bar.set_length(total);
                }
                bar.set_message(stage);
                bar.set_position(done);
            }
            Presentation::Lines => {
                if due(self.started.elapsed(), self.last_line.map(|last| last.elapsed())) {
                    self.last_line = Some(Instant::now());
                    say(&line(self.step, stage, unit, done, total, self.began.elapsed()));
                }
            }
        }
    }
}

impl Watcher for Display {
    fn progress(&mut self, progress: &Progress) {
        Display::progress(self, progress);
    }

    fn wait(&mut self, what: &str, place: (usize, usize), elapsed: Duration) {
        let text = format!("{} of {}: {what}", place.0, place.1);
        match &self.kind {
            Presentation::Quiet => {}
            Presentation::Bar(bar) => {
                if self.stage != WAITING {
                    bar.reset();
                    bar.set_style(waiting_style());
                }
                bar.set_message(format!("{text}{}", lasting(elapsed)));
                bar.tick();
            }
            Presentation::Lines => {
                if self.last_line.is_none_or(|last| last.elapsed() >= BETWEEN_WAITS) {
                    self.last_line = Some(Instant::now());
                    say(&format!("{text}{}", lasting(elapsed)));
                }
            }
        }
        self.stage = WAITING;
    }

    fn note(&mut self, text: &str) {
        Display::note(self, text);
    }

    fn clear(&mut self) {
        Display::clear(self);
    }
}

/// ` for 5 seconds`; nothing while there is no second to speak of.
fn lasting(elapsed: Duration) -> String {
    if elapsed.as_secs() == 0 { String::new() } else { format!(" for {}", HumanDuration(elapsed)) }
}

/// Whether a log is to get a line, so long after the start and after the line before.
fn due(since_start: Duration, since_line: Option<Duration>) -> bool {
    since_line.map_or(since_start >= BEFORE_LINES, |since| since >= BETWEEN_LINES)
}

/// A line for a log. A step after the first is numbered, since its work is counted anew.
fn line(step: u32, stage: &str, unit: Unit, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let fraction = total.filter(|t| *t > 0).map(|t| (done as f64 / t as f64).min(1.0));
    let mut line = match (fraction, unit) {
        (Some(f), _) => format!("{stage}: {:.0}%", 100.0 * f),
        (None, Unit::Bytes) => format!("{stage}: {}", DecimalBytes(done)),
        (None, Unit::Work) => stage.to_owned(),
    };
    let seconds = elapsed.as_secs_f64();
    // The first moments say little about the rest.
    if let Some(f) = fraction.filter(|f| *f > 0.0 && *f < 1.0 && seconds >= 1.0) {
        let left = Duration::try_from_secs_f64(seconds * (1.0 - f) / f).unwrap_or(Duration::MAX);
        line.push_str(&format!(", about {} left", HumanDuration(left)));
    }
    if step > 1 { format!("step {step}, {line}") } else { line }
}

fn style(unit: Unit, bounded: bool) -> ProgressStyle {
    let template = match (unit, bounded) {
        (Unit::Bytes, true) => "{msg:>14} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left",
        (Unit::Bytes, false) => "{msg:>14} {spinner} {bytes} {binary_bytes_per_sec}",
        (Unit::Work, _) => "{msg:>14} {wide_bar} {percent}% {columns} {eta} left",
    };
    ProgressStyle::with_template(template)
        .expect("the templates are valid")
        .with_key("columns", |state: &ProgressState, out: &mut dyn Write| {
            // A formatter that refuses a few characters is not worth stopping for.
            let _ = write!(out, "{:.0} columns/s", state.per_sec());
        })
        .progress_chars("=> ")
}

fn waiting_style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").expect("the template is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_much_is_left() {
        let minute = Duration::from_secs(60);
        assert_eq!(line(1, "fitting", Unit::Work, 1, Some(4), minute), "fitting: 25%, about 3 minutes left");
        assert_eq!(line(1, "fitting", Unit::Work, 4, Some(4), minute), "fitting: 100%");
        assert_eq!(line(1, "fitting", Unit::Work, 0, Some(0), minute), "fitting");
        assert_eq!(line(1, "reading", Unit::Bytes, 2_000_000, None, minute), "reading: 2.00 MB");
    }

    #[test]
    fn each_computation_is_a_step() {
        let mut display = Display::new(true);
        let stages = [("reading", 100, 100), ("range finder", 35, 100), ("projection", 100, 100), ("ranker", 68, 200)];
        for (stage, done, total) in stages {
            display.show(stage, Unit::Work, done, Some(total));
        }
        assert_eq!(display.step, 2);
        display.show("ranker", Unit::Work, 200, Some(200));
        display.show("projection", Unit::Work, 5, Some(10));
        assert_eq!(display.step, 3);
        let minute = Duration::from_secs(60);
        assert_eq!(line(3, "projection", Unit::Work, 10, Some(10), minute), "step 3, projection: 100%");
    }

    #[test]
    fn lines_are_few() {
        let seconds = Duration::from_secs;
        assert!(!due(seconds(1), None) && due(seconds(2), None));
        assert!(!due(seconds(60), Some(seconds(4))) && due(seconds(60), Some(seconds(5))));
    }

    #[test]
    fn templates_are_valid() {
        for unit in [Unit::Bytes, Unit::Work] {
            style(unit, true);
            style(unit, false);
        }
        waiting_style();
    }
}
