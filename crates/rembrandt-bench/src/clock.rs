//! Time spent computing, which other processes do not stretch.

use std::fs;

/// Seconds that all threads of this process have computed; absent where the system does not say.
pub fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program comes second, in brackets, and may hold anything.
    // User and system time are the twelfth and thirteenth word after it, in hundredths of a second.
    let words = stat.rsplit_once(')')?.1.split_whitespace();
    let ticks: Vec<f64> = words.skip(11).take(2).filter_map(|word| word.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

/// Seconds that this thread has computed, to the nanosecond; absent where the system does not say.
pub fn thread_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(stat.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn time_passes_while_something_is_computed() {
        let (process, thread) = (cpu_seconds().unwrap(), thread_seconds().unwrap());
        let mut sum = 0u64;
        while cpu_seconds().unwrap() == process || thread_seconds().unwrap() == thread {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(cpu_seconds().unwrap() > process && thread_seconds().unwrap() > thread);
    }
}
