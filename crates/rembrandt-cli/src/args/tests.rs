use clap::CommandFactory;

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
    let expected = Rembrandt { k: 7, bias: false, ridge: 2.5, ..preset };
    assert_eq!(embed("--preset lshtc -k 7 --bias=false --ridge 2.5").params.params(), expected);
}

#[test]
fn every_option_reaches_its_parameter() {
    let params = embed(
        "-k 1 --passes 2 --oversample 3 --ridge 4 --ridge-convention authors --cg-steps 5 --tolerance 6 \
         --preconditioner none --solver direct --bias --center --projection-ridge 7 --projection-steps 8 \
         --projection-tolerance 9 --panel 10 --seed 11",
    )
    .params
    .params();
    let expected = Rembrandt {
        k: 1,
        passes: 2,
        oversample: 3,
        ridge: 4.0,
        ridge_convention: RidgeConvention::Authors,
        cg_steps: 5,
        tolerance: 6.0,
        preconditioner: Preconditioner::None,
        solver: Solver::Direct,
        bias: true,
        center: true,
        projection: rembrandt::embed::ProjectionParams { ridge: Some(7.0), cg_steps: Some(8), tolerance: Some(9.0) },
        panel: 10,
        seed: 11,
    };
    assert_eq!(params, expected);
}
