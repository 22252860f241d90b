use clap::CommandFactory;

use rembrandt::train::RankerParams;

use super::*;

fn embed(options: &str) -> Box<EmbedArgs> {
    let line = format!("rembrandt embed train -o out {options}");
    match Arguments::try_parse_from(line.split_whitespace()).unwrap().command {
        Command::Embed(args) => args,
        _ => unreachable!(),
    }
}

#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

#[test]
fn nothing_given_means_the_defaults() {
    assert_eq!(embed("").params.params(), Rembrandt::default());
}

#[test]
fn options_override_the_preset() {
    let preset = Rembrandt::preset(Preset::Lshtc);
    assert_eq!(embed("--preset lshtc").params.params(), preset);
    let expected = preset.with(|p| {
        p.k = 7;
        p.bias = false;
        p.ridge = 2.5
    });
    assert_eq!(embed("--preset lshtc -k 7 --bias=false --ridge 2.5").params.params(), expected);
}

#[test]
fn rows_are_divided_when_asked_for_or_by_the_preset() {
    let scale = |options: &str| embed(options).params.row_scale();
    assert_eq!((scale(""), scale("--preset aloi"), scale("--preset mulan")), Default::default());
    assert_eq!((scale("--preset lshtc"), scale("--scale-rows length")), (RowScale::Sum, RowScale::Length));
    assert_eq!(scale("--preset lshtc --scale-rows none"), RowScale::None);
}

#[test]
fn every_option_reaches_its_parameter() {
    let params = embed(
        "-k 1 --passes 2 --oversample 3 --random-fraction 0.5 --ridge 4 --ridge-convention authors --cg-steps 5 --tolerance 6 \
         --preconditioner none --solver direct --bias --center --projection-ridge 7 --projection-steps 8 \
         --projection-tolerance 9 --panel 10 --seed 11",
    )
    .params
    .params();
    let expected = Rembrandt::default().with(|p| {
        p.k = 1;
        p.passes = 2;
        p.oversample = 3;
        p.random_fraction = 0.5;
        p.ridge = 4.0;
        p.ridge_convention = RidgeConvention::Authors;
        p.cg_steps = 5;
        p.tolerance = 6.0;
        p.preconditioner = Preconditioner::None;
        p.solver = Solver::Direct;
        p.bias = true;
        p.center = true;
        p.projection.ridge = Some(7.0);
        p.projection.cg_steps = Some(8);
        p.projection.tolerance = Some(9.0);
        p.panel = 10;
        p.seed = 11;
    });
    assert_eq!(params, expected);
}

#[test]
fn help_tells_the_real_defaults() {
    let defaults = Rembrandt::default();
    let numbers = [
        ("k", defaults.k as f64),
        ("passes", defaults.passes as f64),
        ("oversample", defaults.oversample as f64),
        ("random_fraction", defaults.random_fraction),
        ("ridge", defaults.ridge),
        ("cg_steps", defaults.cg_steps as f64),
        ("tolerance", defaults.tolerance),
        ("panel", defaults.panel as f64),
        ("seed", defaults.seed as f64),
    ];
    let command = Arguments::command();
    let embed = command.find_subcommand("embed").unwrap();
    let ranker = RankerParams::default();
    let told_of_train = [
        ("k", Some(RankerParams::K as f64)),
        ("ridge", ranker.ridge),
        ("cg_steps", Some(ranker.embedding.cg_steps as f64)),
    ];
    for (name, expected) in numbers {
        let argument = embed.get_arguments().find(|a| a.get_id() == name).unwrap();
        let help = argument.get_help().unwrap().to_string();
        let told = help.split_once("[default: ").unwrap().1;
        let number = |told: &str| told.split([';', ',', ']']).next().unwrap().parse::<f64>().ok();
        assert_eq!(number(told), Some(expected), "{name}");
        let of_train = told.split_once("train: ").map(|(_, told)| number(told));
        assert_eq!(of_train, told_of_train.iter().find(|(told, _)| *told == name).map(|(_, number)| *number), "{name}");
    }
    let same = ranker.embedding.with(|p| p.cg_steps = defaults.cg_steps);
    assert_eq!(same, defaults, "train has other defaults that its help does not tell");
}
