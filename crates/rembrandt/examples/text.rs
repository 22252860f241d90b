//! Raw texts in, names of labels out. `Texts::read("articles.csv")` reads them from a file.

use rembrandt::{Result, Texts, Trainer};

pub(crate) fn main() -> Result<()> {
    let subjects =
        [("tea", "green leaves from the hills"), ("coffee", "dark beans, roasted"), ("paint", "a tin of oil")];
    let texts = Texts::new((0..300).map(|i| {
        let (subject, about) = subjects[i % 3];
        (format!("{subject} {about} number {}", i % 7), vec![subject])
    }));
    let model = Trainer::new().fit(&texts)?;
    let top = model.predict_texts(&["a cup of green tea", "roasted coffee"], 1)?;
    for (i, row) in top.iter().enumerate() {
        for prediction in row {
            println!("{i}: {} with {:.2}", model.label_name(prediction.label), prediction.probability);
        }
    }
    assert_eq!(model.label_name(top.labels(0)[0]), "tea");
    Ok(())
}
