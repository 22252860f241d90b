use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::Run;
use crate::linalg::csr::Csr;
use crate::linalg::matrix::Matrix;

fn open(folder: &Path, seed: u64) -> Result<Checkpoints> {
    Checkpoints::open(
        folder,
        &json!({"command": "test", "data": {"n": 3}, "parameters": {"embedding": {"seed": seed}}}),
    )
}

fn desk() -> (tempfile::TempDir, PathBuf) {
    let desk = tempfile::tempdir().unwrap();
    let folder = desk.path().join("out.partial");
    (desk, folder)
}

/// A checkpoint of several kinds of content.
type Content = (Matrix, Vec<f64>, Option<Vec<u32>>, usize, Json<(f32, bool)>);

fn content() -> Content {
    (Matrix::from_fn(7, 3, |i, j| (i * 3 + j) as f32), vec![0.1, -2.5], Some(vec![7]), 9, Json((0.1, true)))
}

fn is_content(found: &Content) -> bool {
    let (matrix, numbers, ids, count, Json(small)) = content();
    found.0 == matrix && found.1 == numbers && found.2 == ids && found.3 == count && found.4.0 == small
}

/// Asks for the content; returns whether it was computed.
fn ask(checkpoints: &Checkpoints) -> bool {
    let mut computed = false;
    let mut run = Run::default().with_checkpoints(Some(checkpoints));
    let found = run.checkpoint("content", |_| {
        computed = true;
        Ok(content())
    });
    assert!(is_content(&found.unwrap()));
    computed
}

#[test]
fn a_piece_is_computed_once() {
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    assert!(checkpoints.is_empty() && ask(&checkpoints) && !ask(&checkpoints));
    assert_eq!((checkpoints.len(), checkpoints.computed(), checkpoints.found()), (1, 1, 1));
    drop(checkpoints);
    // In another process it would be the same.
    let again = open(&folder, 1).unwrap();
    assert!(!ask(&again));
    again.remove().unwrap();
    assert!(!folder.exists());
}

#[test]
fn a_torn_piece_is_never_believed() {
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    assert!(ask(&checkpoints));
    let path = folder.join("content.checkpoint");
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(ask(&checkpoints), "cut to {length} bytes");
        assert!(!ask(&checkpoints));
    }
    for place in 0..whole.len() {
        let mut torn = whole.clone();
        torn[place] ^= 0x41;
        fs::write(&path, torn).unwrap();
        assert!(ask(&checkpoints), "byte {place} changed");
    }
    fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    assert!(ask(&checkpoints), "a byte too many");
    // Whole, but under another name.
    fs::write(folder.join("other.checkpoint"), whole).unwrap();
    let other: Option<Content> = Run::default().with_checkpoints(Some(&checkpoints)).find("other", 0).unwrap();
    assert!(other.is_none());
}

#[test]
fn pieces_inside_a_piece_are_superseded() {
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    let mut run = Run::default().with_checkpoints(Some(&checkpoints));
    let numbers = |run: &mut Run<'_>| {
        run.checkpoint("sum", |run| {
            let one = run.checkpoint("one", |_| Ok(1usize))?;
            let two = run.within("more", |run| run.checkpoint("two", |_| Ok(2usize)))?;
            assert_eq!(checkpoints.len(), 3, "two inside, and one beside");
            Ok(one + two)
        })
    };
    run.checkpoint("summand", |_| Ok(0usize)).unwrap();
    assert_eq!(numbers(&mut run).unwrap(), 3);
    assert_eq!(checkpoints.len(), 2, "a name that begins alike is another");
    assert_eq!(numbers(&mut run).unwrap(), 3);
    assert_eq!(checkpoints.computed(), 4);
}

#[test]
fn a_key_tells_what_a_name_stands_for() {
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    let mut run = Run::default().with_checkpoints(Some(&checkpoints));
    for (key, expected) in [(1, 10usize), (2, 20), (1, 30)] {
        assert_eq!(run.checkpoint_of("latest", key, |_| Ok(expected)).unwrap(), expected);
        assert_eq!(run.checkpoint_of("latest", key, |_| Ok(0usize)).unwrap(), expected);
        assert_eq!(checkpoints.len(), 1);
    }
}

#[test]
fn rows_come_back() {
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    let mut rows = Csr::new(false);
    rows.push(3, 0.5);
    rows.end_row();
    rows.end_row();
    let mut run = Run::default().with_checkpoints(Some(&checkpoints));
    let moments = faer::Mat::from_fn(3, 2, |i, j| (i * 2 + j) as f64);
    run.keep("rows", 0, &(&rows, &moments, &vec![content().0])).unwrap();
    let found: Option<(Csr, faer::Mat<f64>, Vec<Matrix>)> = run.find("rows", 0).unwrap();
    let (found, matrix, matrices) = found.unwrap();
    assert_eq!((found, matrices), (rows, vec![content().0]));
    assert_eq!(matrix, moments);
}

#[test]
fn another_run_is_refused_and_told_what_differs() {
    let (_desk, folder) = desk();
    drop(open(&folder, 1).unwrap());
    let other = open(&folder, 2).unwrap_err().to_string();
    assert!(other.contains("embedding.seed was 1 and is 2: give the same data"), "{other}");
    let identity = json!({"command": "test", "data": {"n": 4}, "parameters": {"embedding": {"seed": 1}}});
    let data = Checkpoints::open(&folder, &identity).unwrap_err().to_string();
    assert!(data.contains("the data are not the same"), "{data}");
    let manifest = folder.join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace(", checkpoints ", ", checkpoints 9")).unwrap();
    let version = open(&folder, 1).unwrap_err().to_string();
    assert!(version.contains("another version of this program"), "{version}");
    fs::write(&manifest, &text[..9]).unwrap();
    assert!(open(&folder, 1).unwrap_err().to_string().contains("does not say which run"));
    fs::write(&manifest, text).unwrap();
    open(&folder, 1).unwrap();
}

#[test]
fn a_folder_has_one_run_at_a_time_and_nothing_foreign() {
    let (desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    assert!(open(&folder, 1).unwrap_err().to_string().contains("another run is at work"));
    drop(checkpoints);
    let file = desk.path().join("file.partial");
    fs::write(&file, "x").unwrap();
    assert!(open(&file, 1).unwrap_err().to_string().contains("is in the way"));
    let foreign = desk.path().join("foreign.partial");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letter.txt"), "x").unwrap();
    assert!(open(&foreign, 1).unwrap_err().to_string().contains("is not a folder of checkpoints"));
    assert!(foreign.join("letter.txt").exists());
    // A run that was killed while it wrote leaves a temporary file, which the next removes.
    fs::write(folder.join(".content.checkpoint.tmpAbC123"), "half").unwrap();
    drop(open(&folder, 1).unwrap());
    assert!(!folder.join(".content.checkpoint.tmpAbC123").exists());
}

#[test]
fn what_cannot_be_written_is_told() {
    let full = unwritable(Path::new("out.partial"), &ErrorKind::StorageFull.into()).to_string();
    assert!(full.starts_with("out.partial: there is no room for checkpoints: make some"), "{full}");
    let (_desk, folder) = desk();
    let checkpoints = open(&folder, 1).unwrap();
    // Not even an administrator can write into a folder that is gone.
    fs::remove_dir_all(&folder).unwrap();
    let gone = Run::default()
        .with_checkpoints(Some(&checkpoints))
        .checkpoint("content", |_| Ok(1usize))
        .unwrap_err()
        .to_string();
    assert!(gone.contains("checkpoints cannot be kept here"), "{gone}");
}
