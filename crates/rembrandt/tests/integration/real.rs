//! On real data: the bundled debtags always, and where it is at hand what lies in the directory named by REMBRANDT_DATA,
//! with `bibtex/train.txt.zst` and so on.

use std::path::{Path, PathBuf};

use rembrandt::data::Dataset;
use rembrandt::embed::{Preset, energy_dimension};
use rembrandt::tree::{FastXmlParams, LpsrParams, Wanted};
use rembrandt::{Examples, Matrix, Rembrandt, Run, Side};

/// The training file of a data set, or nothing and a line that says so.
fn train(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("REMBRANDT_DATA").map(|dir| PathBuf::from(dir).join(name).join("train.txt.zst"));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        println!("skipped: REMBRANDT_DATA does not name a directory with {name}/train.txt.zst");
    }
    path
}

/// XᵀX and XᵀY, by multiplying with unit vectors.
fn dense(data: &Dataset) -> (Matrix, Matrix) {
    let shape = data.shape();
    let product = |a, b, height: usize, width: usize| {
        let units = Matrix::from_fn(width, width, |i, j| f32::from(u8::from(i == j)));
        let mut out = Matrix::zeros(height, width);
        data.cross(a, b, units.view(), out.view_mut()).unwrap();
        out
    };
    (product(Side::X, Side::X, shape.d, shape.d), product(Side::X, Side::Y, shape.d, shape.c))
}

#[test]
fn bibtex_with_defaults_captures_nearly_all_that_50_dimensions_can() {
    let Some(path) = train("bibtex") else { return };
    let data = Dataset::read(&path).unwrap();
    let (xx, xy) = dense(&data);
    let rho = (0..xx.rows()).map(|i| f64::from(xx.row(i)[i])).sum::<f64>() / xx.rows() as f64;
    let oracle = crate::common::oracle_of(&xx, &xy, rho);
    for seed in 1..=3 {
        let embedding = Rembrandt::new(50).with(|p| p.seed = seed).fit(&data, &mut Run::default()).unwrap();
        assert!((embedding.report.rho / rho - 1.0).abs() < 1e-4);
        let fraction = crate::common::captured(&oracle, &embedding.labels) / oracle.best(50);
        println!("bibtex, seed {seed}: {fraction:.5} of the optimum");
        assert!(fraction >= 0.995, "seed {seed}: {fraction}");
    }
}

#[test]
fn aloi_with_the_authors_settings_uses_the_direct_solver() {
    let Some(path) = train("aloi") else { return };
    let data = Dataset::read(&path).unwrap();
    let embedding = Rembrandt::preset(Preset::Aloi).fit(&data, &mut Run::default()).unwrap();
    assert_eq!((&*embedding.report.solver, embedding.report.rank), ("direct", 50));
    assert!(embedding.report.energy_fraction > 0.9);
}

#[test]
fn the_authors_rule_for_k_agrees_with_the_singular_values_of_the_labels() {
    for name in ["bibtex", "corel5k", "yeast"] {
        let Some(path) = train(name) else { continue };
        let data = Dataset::read(&path).unwrap();
        let (shape, labels) = (data.shape(), data.labels().unwrap());
        let mut y = faer::Mat::<f64>::zeros(shape.n, shape.c);
        for i in 0..shape.n {
            labels.view().row(i).0.iter().for_each(|l| y[(i, *l as usize)] = 1.0);
        }
        let energy: Vec<f64> = y.singular_values().unwrap().iter().map(|s| s * s).collect();
        let held = |k: usize| energy[..k].iter().sum::<f64>() / energy.iter().sum::<f64>();
        let share = Preset::Mulan.energy_share().unwrap();
        let k = energy_dimension(&data, share).unwrap();
        println!("{name}: k = {k} holds {:.4}, one less {:.4}", held(k), held(k - 1));
        assert!(held(k) > share && held(k - 1) <= share, "{name}: {k}");
    }
}

#[test]
fn debtags_with_defaults_captures_nearly_as_much_as_with_many_passes() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/debtags/train.txt.gz");
    let data = Dataset::read(&path).unwrap();
    let fit = |params: &Rembrandt| params.fit(&data, &mut Run::default()).unwrap();
    let defaults = fit(&Rembrandt::new(50));
    let thorough = fit(&Rembrandt::new(50).with(|p| {
        p.passes = 6;
        p.cg_steps = 30
    }));
    let fraction = defaults.report.energy / thorough.report.energy;
    println!("debtags: {fraction:.5} of the energy of many passes");
    // Ten steps also measure their own energy a little too small.
    assert!((0.98..=1.0001).contains(&fraction), "{fraction}");
}

#[test]
fn trees_rank_the_tags_of_bibtex() {
    let Some(path) = train("bibtex") else { return };
    let read = |path: &Path| Dataset::read(path).unwrap();
    let (data, test) = (read(&path), read(&path.with_file_name("test.txt.zst")));
    let (x, y) = (test.features().unwrap(), test.labels().unwrap());
    let precision = |best: &dyn Fn(usize) -> Vec<(u32, f32)>| {
        let hit = |i: &usize| best(*i).first().is_some_and(|(label, _)| y.view().row(*i).0.contains(label));
        (0..x.rows()).filter(hit).count() as f64 / x.rows() as f64
    };
    let forest = FastXmlParams::default().with(|p| p.trees = 10).fit(&data, &mut Run::default()).unwrap();
    let parted = LpsrParams::default().fit(&data, &mut Run::default()).unwrap();
    let first = Wanted { top: 1, labels: None };
    let row = |i: usize| x.view().row(i);
    let found = [
        precision(&|i| forest.rank(row(i).0, row(i).1, first)),
        precision(&|i| parted.rank(row(i).0, row(i).1, first)),
    ];
    println!("bibtex, precision at 1 of ten trees of FastXML and of LPSR-NB: {found:.3?}");
    assert!(found[0] > 0.56 && found[1] > 0.56, "{found:?}");
}
