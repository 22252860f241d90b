//! One method: trained and tested by this program, in processes of their own.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use humantime::format_duration;
use rembrandt::model::Model;
use rembrandt::{Error, Result};
use serde_json::Value;

use super::plan::{Entry, Plan};
use super::row::{Measured, MethodOutcome, MethodRow};
use super::store::ResultStore;
use super::{length, number};
use crate::watch::Watcher;

/// A method that is about to end when its time is over is waited for.
const TOLERANCE: f64 = 1.2;

/// How often a process is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// Where methods are measured.
pub struct Bench<'a> {
    pub plan: &'a Plan<'a>,
    pub store: &'a ResultStore,
}

/// How a process ended.
enum End {
    Result(Value),
    Refused(String),
    TooLate,
}

impl Bench<'_> {
    /// Trains and tests a method; `place` is its number, and how many there are. Also says whether the row is to be kept:
    /// a refusal or an accident may be over by the next time.
    pub fn measure(
        &self,
        entry: &Entry,
        place: (usize, usize),
        watcher: &mut dyn Watcher,
    ) -> Result<(MethodRow, bool)> {
        let model = self.store.file(&entry.file());
        let outcome = self.outcome(entry, &model, place, watcher);
        if !self.plan.of.keep_models && model.exists() {
            fs::remove_file(&model).map_err(Error::io(&model))?;
        }
        let (outcome, lasting) = outcome?;
        Ok((MethodRow { method: entry.method.name.into(), k: entry.k, outcome }, lasting))
    }

    fn outcome(
        &self,
        entry: &Entry,
        model: &Path,
        place: (usize, usize),
        watcher: &mut dyn Watcher,
    ) -> Result<(MethodOutcome, bool)> {
        let mut train = self.program("train");
        train.arg(&self.plan.train).arg("-o").arg(model).args(["--method", entry.method.name]);
        train.args(["--seed", &self.plan.of.seed.to_string()]).args(&self.plan.of.train_options);
        if let Some(k) = entry.k {
            train.args(["-k", &k.to_string()]);
        }
        let trained = match self.wait(train, &format!("training {}", entry.title()), place, watcher)? {
            End::Result(value) => value,
            End::Refused(reason) => return Ok((MethodOutcome::Failed { reason }, false)),
            End::TooLate => return Ok((self.too_late("trained"), true)),
        };
        let mut eval = self.program("eval");
        eval.arg(model).arg(&self.plan.test).args(["--bootstrap", &self.plan.of.bootstrap.to_string()]);
        eval.args(&self.plan.of.eval_options);
        let tested = match self.wait(eval, &format!("testing {}", entry.title()), place, watcher)? {
            End::Result(value) => value,
            End::Refused(reason) => return Ok((MethodOutcome::Failed { reason }, false)),
            End::TooLate => return Ok((self.too_late("tested"), true)),
        };
        let measured = measured(&trained, &tested, model, length(model)?)?;
        Ok((MethodOutcome::Measured(Box::new(measured)), true))
    }

    fn too_late(&self, what: &str) -> MethodOutcome {
        MethodOutcome::Failed { reason: format!("not {what} within {}", format_duration(self.plan.of.budget)) }
    }

    /// This program with a command, its result to be JSON.
    fn program(&self, command: &str) -> Command {
        let (name, first) = self.plan.of.command.split_first().expect("a command has a name");
        let mut program = Command::new(name);
        program.args(first);
        if let Some(threads) = self.plan.of.threads {
            program.args(["--threads", &threads.to_string()]);
        }
        // Our end of its input closes with us, however we end.
        program.arg(command).args(["--json", "--quiet", "--end-with-stdin"]);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program
    }

    /// Waits for a process as long as the budget allows.
    fn wait(&self, mut command: Command, what: &str, place: (usize, usize), watcher: &mut dyn Watcher) -> Result<End> {
        let began = Instant::now();
        let path = &self.plan.of.program;
        let mut child = Running(command.spawn().map_err(Error::io(path))?);
        // Read aside, so that a process with much to say is not held up.
        let out = drain(child.0.stdout.take());
        let err = drain(child.0.stderr.take());
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(Error::io(path))? {
                break status;
            }
            if is_over(began.elapsed(), self.plan.of.budget) {
                return Ok(End::TooLate);
            }
            watcher.wait(what, place, began.elapsed());
            thread::sleep(GLANCE);
        };
        let (out, err) = (collect(out), collect(err));
        if status.success() {
            let wrong = |e| Error::Data(format!("{what} gave no result that can be read: {e}"));
            return Ok(End::Result(serde_json::from_str(&out).map_err(wrong)?));
        }
        let reason = err.lines().rev().find_map(|line| line.strip_prefix("error: "));
        Ok(End::Refused(match reason {
            Some(reason) => self.plan.as_typed(reason),
            None => format!("{what} was ended: {status}"),
        }))
    }
}

/// Whether a process has had its time.
fn is_over(elapsed: Duration, budget: Duration) -> bool {
    elapsed > budget.mul_f64(TOLERANCE)
}

/// A process that does not outlive us: given up on, it is ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

type Drained = Option<thread::JoinHandle<String>>;

/// Reads a pipe to its end in a thread.
fn drain(pipe: Option<impl Read + Send + 'static>) -> Drained {
    pipe.map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // All that was read before an error is all there is to show.
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    })
}

fn collect(drained: Drained) -> String {
    drained.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// The numbers of a row, from what training and testing said.
fn measured(trained: &Value, tested: &Value, model: &Path, model_bytes: u64) -> Result<Measured> {
    let opened = Model::open(model)?;
    let interval = &tested["intervals"]["p@1"];
    let examples = number(tested, "n")?;
    Ok(Measured {
        examples: examples as u64,
        error: tested["error"].as_f64(),
        p1: number(tested, "p@1")?,
        p3: tested["p@3"].as_f64(),
        p5: tested["p@5"].as_f64(),
        interval: interval[0].as_f64().zip(interval[1].as_f64()).map(|(low, high)| [low, high]),
        train_seconds: number(&trained["seconds"], "total")?,
        peak_memory: trained["peak_memory_mb"].as_f64().map(|mb| mb * 1e6),
        model_bytes: model_bytes as f64,
        predict_microseconds: 1e6 * number(tested, "seconds")? / examples.max(1.0),
        k: Some(opened.shape().k).filter(|k| *k > 0),
        spectrum: opened.spectrum().to_vec(),
        training: trained.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_is_nearly_done_is_waited_for() {
        let [elapsed, budget] = [23, 20].map(Duration::from_secs);
        assert!(!is_over(elapsed, budget) && is_over(Duration::from_millis(24_001), budget));
    }
}
