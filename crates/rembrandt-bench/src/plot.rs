//! Plots as SVG, drawn by hand: no script, no font, nothing to load.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Room for the axes: left, right, top, bottom.
const MARGIN: [f64; 4] = [62.0, 20.0, 16.0, 50.0];
/// The width of a letter and the height of a line, about.
const LETTER: f64 = 7.8;
const LINE: f64 = 14.0;

/// A point with an interval.
pub struct Point {
    pub label: String,
    pub color: &'static str,
    pub x: f64,
    pub y: f64,
    pub interval: Option<[f64; 2]>,
}

/// A line through points, all numbers above 0.
pub struct Curve {
    pub label: String,
    pub color: &'static str,
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// A line of values, the first at 1; what is not above 0 is left out.
    pub fn ranked(label: String, color: &'static str, values: &[f64]) -> Curve {
        let points = values.iter().enumerate().map(|(j, v)| (j as f64 + 1.0, *v));
        Curve { label, color, points: points.filter(|(_, v)| *v > 0.0).collect() }
    }
}

/// A range of numbers, spread over a length.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Where the ends are in the picture.
    ends: [f64; 2],
}

impl Axis {
    /// A logarithmic axis with some room at both ends. The numbers must be above zero.
    fn log(values: impl Iterator<Item = f64>, room: f64, ends: [f64; 2]) -> Axis {
        let (low, high) = range(values.map(f64::log10));
        let room = room * (high - low).max(0.3);
        Axis { low: low - room, high: high + room, log: true, ends }
    }

    /// A linear axis.
    fn linear(values: impl Iterator<Item = f64>, room: f64, ends: [f64; 2]) -> Axis {
        let (low, high) = range(values);
        let room = room * (high - low).max(1e-3);
        Axis { low: low - room, high: high + room, log: false, ends }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.ends[0] + (self.ends[1] - self.ends[0]) * (value - self.low) / (self.high - self.low)
    }

    /// Round numbers, a handful of them.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = self.low.floor() as i32..=self.high.ceil() as i32;
            let few = self.high - self.low < 2.5;
            let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            return all.filter(|v| (self.low..=self.high).contains(&v.log10())).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let unit = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * unit).into_iter().find(|s| *s >= rough).unwrap_or(unit);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|i| i as f64 * step).take_while(|v| *v <= self.high).collect()
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// Points over a logarithmic axis. `best` says whether the upper or the lower end of y is the good one: those that no
/// other point beats on both axes are joined by a line.
pub fn scatter(points: &[Point], x_title: &str, x_text: fn(f64) -> String, y_title: &str, up: bool) -> String {
    let (mut svg, [left, right, top, bottom]) = begin();
    if points.is_empty() {
        return end(svg);
    }
    let x = Axis::log(points.iter().map(|p| p.x.max(1e-9)), 0.12, [left, right]);
    let bounds = |p: &Point| [p.y, p.interval.map_or(p.y, |i| i[0]), p.interval.map_or(p.y, |i| i[1])];
    let y = Axis::linear(points.iter().flat_map(bounds), 0.08, [bottom, top]);
    // As many decimals as tell the ticks apart.
    let ticks = y.ticks();
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let decimals = if step.is_finite() { (-(100.0 * step).log10()).ceil().clamp(0.0, 4.0) as usize } else { 1 };
    let y_text = |v: f64| format!("{:.decimals$} %", if v.abs() < 1e-9 { 0.0 } else { 100.0 * v });
    frame(&mut svg, &x, x_text, x_title, &y, &y_text, y_title);

    let mut order: Vec<&Point> = points.iter().collect();
    order.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut frontier: Vec<&Point> = Vec::new();
    for point in order {
        let better = |last: &&Point| if up { point.y > last.y } else { point.y < last.y };
        if frontier.last().is_none_or(better) {
            frontier.push(point);
        }
    }
    let path: Vec<String> = frontier.iter().map(|p| format!("{:.1},{:.1}", x.place(p.x), y.place(p.y))).collect();
    let _ = write!(svg, r#"<polyline class="frontier" points="{}"/>"#, path.join(" "));

    let spot = |p: &Point| (x.place(p.x.max(1e-9)), y.place(p.y));
    for p in points {
        let (px, py) = spot(p);
        if let Some([low, high]) = p.interval {
            let _ = write!(
                svg,
                r#"<line x1="{px:.1}" x2="{px:.1}" y1="{:.1}" y2="{:.1}" stroke="{}" stroke-width="2" opacity=".45"/>"#,
                y.place(low),
                y.place(high),
                p.color
            );
        }
        let _ = write!(
            svg,
            r#"<circle cx="{px:.1}" cy="{py:.1}" r="6" fill="{}"><title>{}: {}, {:.2} %</title></circle>"#,
            p.color,
            escaped(&p.label),
            escaped(&x_text(p.x)),
            100.0 * p.y
        );
    }
    let spots: Vec<(f64, f64)> = points.iter().map(spot).collect();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for (p, at) in points.iter().zip(&spots) {
        let (tx, ty) = label_place(&p.label, *at, &spots, &mut taken);
        let _ = write!(svg, r#"<text class="name" x="{tx:.1}" y="{ty:.1}">{}</text>"#, escaped(&p.label));
    }
    end(svg)
}

/// Curves over two logarithmic axes.
pub fn curves(curves: &[Curve], x_title: &str, y_title: &str) -> String {
    let (mut svg, [left, right, top, bottom]) = begin();
    let points = || curves.iter().flat_map(|c| c.points.iter().copied());
    if points().next().is_none() {
        return end(svg);
    }
    let x = Axis::log(points().map(|(x, _)| x).chain([1.0, 2.0]), 0.02, [left, right]);
    let y = Axis::log(points().map(|(_, y)| y), 0.05, [bottom, top]);
    frame(&mut svg, &x, |v| format!("{v:.0}"), x_title, &y, &tidy, y_title);
    for (i, curve) in curves.iter().enumerate() {
        let path: Vec<String> =
            curve.points.iter().map(|(at, v)| format!("{:.1},{:.1}", x.place(*at), y.place(*v))).collect();
        let _ = write!(
            svg,
            r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="2.5" stroke-linejoin="round"/>"#,
            path.join(" "),
            curve.color
        );
        let (lx, ly) = (left + 16.0, bottom - 14.0 - (curves.len() - 1 - i) as f64 * 18.0);
        let _ = write!(
            svg,
            r#"<line x1="{lx:.1}" x2="{:.1}" y1="{:.1}" y2="{:.1}" stroke="{}" stroke-width="3"/><text class="name" x="{:.1}" y="{ly:.1}">{}</text>"#,
            lx + 18.0,
            ly - 4.0,
            ly - 4.0,
            curve.color,
            lx + 24.0,
            escaped(&curve.label)
        );
    }
    end(svg)
}

/// How often what is given with some probability is right: points of so many examples at (probability, frequency). Calibrated
/// probabilities lie on the diagonal.
pub fn reliability(points: &[(f64, f64, u64)]) -> String {
    let (mut svg, [left, right, top, bottom]) = begin();
    let share = |ends| Axis::linear([0.0, 1.0].into_iter(), 0.0, ends);
    let (x, y) = (share([left, right]), share([bottom, top]));
    frame(&mut svg, &x, |v| format!("{v:.1}"), "probability", &y, &|v| format!("{v:.1}"), "share that is right");
    let line = |svg: &mut String, class: &str, points: &[(f64, f64)]| {
        let path: Vec<String> = points.iter().map(|(a, b)| format!("{:.1},{:.1}", x.place(*a), y.place(*b))).collect();
        let _ = write!(svg, r#"<polyline {class} points="{}"/>"#, path.join(" "));
    };
    line(&mut svg, r#"class="frontier""#, &[(0.0, 0.0), (1.0, 1.0)]);
    let middles: Vec<(f64, f64)> = points.iter().map(|(p, share, _)| (*p, *share)).collect();
    line(&mut svg, r##"fill="none" stroke="#2e86ab" stroke-width="2.5""##, &middles);
    let most = points.iter().map(|(_, _, examples)| *examples).max().unwrap_or(1).max(1) as f64;
    for (probability, share, examples) in points {
        // The area tells how many examples there are.
        let radius = 3.0 + 9.0 * (*examples as f64 / most).sqrt();
        let _ = write!(
            svg,
            r##"<circle cx="{:.1}" cy="{:.1}" r="{radius:.1}" fill="#2e86ab" opacity=".75"><title>{examples} examples: probability {probability:.3}, right {share:.3}</title></circle>"##,
            x.place(*probability),
            y.place(*share)
        );
    }
    end(svg)
}

/// A number of any size in few letters.
fn tidy(value: f64) -> String {
    if (1e-2..1e4).contains(&value) { format!("{value}") } else { format!("{value:.0e}") }
}

/// The picture, and where the axes are: left, right, top, bottom.
fn begin() -> (String, [f64; 4]) {
    let [left, right, top, bottom] = MARGIN;
    let svg = format!(r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">"#);
    (svg, [left, WIDTH - right, top, HEIGHT - bottom])
}

fn end(mut svg: String) -> String {
    svg.push_str("</svg>");
    svg
}

fn frame(
    svg: &mut String,
    x: &Axis,
    x_text: fn(f64) -> String,
    x_title: &str,
    y: &Axis,
    y_text: &dyn Fn(f64) -> String,
    y_title: &str,
) {
    let ([left, right], [bottom, top]) = (x.ends, y.ends);
    for tick in y.ticks() {
        let at = y.place(tick);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{left}" x2="{right}" y1="{at:.1}" y2="{at:.1}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            left - 8.0,
            at + 4.0,
            escaped(&y_text(tick))
        );
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        let _ = write!(
            svg,
            r#"<line class="grid" x1="{at:.1}" x2="{at:.1}" y1="{top}" y2="{bottom}"/><text class="tick" x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            bottom + 18.0,
            escaped(&x_text(tick))
        );
    }
    let _ = write!(
        svg,
        r#"<text class="axis" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><text class="axis" transform="translate(14 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
        (left + right) / 2.0,
        HEIGHT - 8.0,
        escaped(x_title),
        (top + bottom) / 2.0,
        escaped(y_title)
    );
}

/// Where the name of a point goes: beside it, where it covers neither another name nor another point.
fn label_place(label: &str, (px, py): (f64, f64), points: &[(f64, f64)], taken: &mut Vec<[f64; 4]>) -> (f64, f64) {
    let width = LETTER * label.chars().count() as f64;
    let candidates = [
        (px + 10.0, py + 4.0),
        (px - 10.0 - width, py + 4.0),
        (px - width / 2.0, py - 12.0),
        (px - width / 2.0, py + 21.0),
        (px + 9.0, py - 9.0),
        (px + 9.0, py + 17.0),
        (px - 9.0 - width, py - 9.0),
        (px - 9.0 - width, py + 17.0),
        (px - width / 2.0, py - 26.0),
        (px - width / 2.0, py + 35.0),
    ];
    let cost = |(x, y): (f64, f64)| {
        let own = [x, y - LINE + 3.0, x + width, y + 3.0];
        let covers = |r: &[f64; 4]| own[0] < r[2] && r[0] < own[2] && own[1] < r[3] && r[1] < own[3];
        let names = taken.iter().filter(|r| covers(r)).count();
        let spots = points.iter().filter(|(x, y)| covers(&[x - 6.0, y - 6.0, x + 6.0, y + 6.0])).count();
        let outside = usize::from(own[0] < MARGIN[0] || own[2] > WIDTH || own[1] < 0.0 || own[3] > HEIGHT - MARGIN[3]);
        3 * names + 2 * spots + 4 * outside
    };
    let best = candidates.into_iter().min_by_key(|place| cost(*place)).unwrap_or(candidates[0]);
    taken.push([best.0, best.1 - LINE + 3.0, best.0 + width, best.1 + 3.0]);
    best
}

/// Text as HTML wants it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Pictures below each other, as one that stands alone.
pub fn standing_alone(pictures: &[String]) -> String {
    let height = 400 * pictures.len();
    let mut svg = format!(
        "<svg viewBox=\"0 0 640 {height}\" xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}</style>\
         <rect width=\"640\" height=\"{height}\" fill=\"#fff\"/>"
    );
    for (i, picture) in pictures.iter().enumerate() {
        svg.push_str(&format!("<svg y=\"{}\" width=\"640\" height=\"400\">{picture}</svg>", 400 * i));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The rules for plots from a report's style sheet, for a picture that stands alone.
const STYLE: &str = "text{fill:#1b1d22;font:12px sans-serif}.tick,.axis{fill:#667080}.axis{font-size:13px}\
                     .name{font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px}.grid{stroke:#e4e1d9}\
                     .frontier{fill:none;stroke:#667080;stroke-width:1.5;stroke-dasharray:5 4;opacity:.7}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis { low: 0.123, high: 0.91, log: false, ends: [0.0, 1.0] };
        let ticks: Vec<String> = axis.ticks().iter().map(|v| format!("{v:.1}")).collect();
        assert_eq!(ticks, ["0.2", "0.4", "0.6", "0.8"]);
        let axis = Axis { low: -0.2, high: 3.1, log: true, ends: [0.0, 1.0] };
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn places_go_from_end_to_end() {
        let axis = Axis { low: 0.0, high: 2.0, log: true, ends: [10.0, 30.0] };
        assert_eq!((axis.place(1.0), axis.place(10.0), axis.place(100.0)), (10.0, 20.0, 30.0));
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let points = [(100.0, 100.0), (104.0, 102.0), (98.0, 97.0)];
        let mut taken = Vec::new();
        for at in points {
            label_place("rembrandt", at, &points, &mut taken);
        }
        for (i, a) in taken.iter().enumerate() {
            for b in &taken[..i] {
                assert!(!(a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn calibrated_probabilities_lie_on_the_diagonal() {
        let svg = reliability(&[(0.0, 0.0, 1), (1.0, 1.0, 100)]);
        let centers: Vec<(&str, &str)> = svg
            .split("<circle cx=\"")
            .skip(1)
            .map(|circle| {
                let mut parts = circle.split('"');
                (parts.next().unwrap(), parts.nth(1).unwrap())
            })
            .collect();
        let diagonal = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(centers.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" "), diagonal);
        assert!(!reliability(&[]).contains("NaN"));
    }

    #[test]
    fn the_same_value_everywhere_is_no_trouble() {
        let point = |x: f64| Point { label: "a".into(), color: "red", x, y: 0.5, interval: None };
        let svg = scatter(&[point(1.0), point(1.0)], "x", tidy, "y", true);
        assert!(svg.contains("<circle") && !svg.contains("NaN") && !svg.contains("inf"));
        assert!(!scatter(&[], "x", tidy, "y", true).contains("circle"));
        let flat = curves(&[Curve::ranked("b".into(), "blue", &[0.0, 0.0])], "x", "y");
        assert!(!flat.contains("NaN"));
    }
}
