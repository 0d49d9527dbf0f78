//! A picture of a race: operations a second over operations for each byte that must be moved, below the peaks of the machine.
//!
//! # Output
//! One SVG file, complete in itself.
//! # Source
//! Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures", CACM 2009.

use std::path::Path;

use miette::miette;
use plotters::prelude::*;

use super::peaks::Peaks;
use super::race::{Race, Timed};

/// Operations for each byte, and 10^9 operations a second.
type Point = (f64, f64);

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 600);

/// Draws it into a file.
pub(super) fn draw(path: &Path, title: &str, races: &[Race], peaks: &Peaks) -> miette::Result<()> {
    let mut text = String::new();
    picture(&mut text, title, races, peaks).map_err(|error| miette!("the picture cannot be drawn: {error}"))?;
    std::fs::write(path, text).map_err(|error| miette!("cannot write `{}`: {error}", path.display()))
}

fn picture(text: &mut String, title: &str, races: &[Race], peaks: &Peaks) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let intensities = races.iter().flat_map(|race| {
        [Some(&race.input), race.peer.as_ref(), Some(race.best())]
            .into_iter()
            .flatten()
            .map(|one| one.operations / race.bytes)
    });
    let (low, high) =
        intensities.filter(|x| *x > 0.0).fold((0.1, 10.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
    let (low, high) = (low / 1.5, high * 1.5);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d((low..high).log_scale(), (peaks.operations / 1000.0..peaks.operations * 1.5).log_scale())?;
    chart.configure_mesh().x_desc("operations for each byte").y_desc("10^9 operations a second").draw()?;
    let corner = peaks.operations / peaks.bandwidth;
    let roof = [low, corner.clamp(low, high), high].map(|x| (x, (x * peaks.bandwidth).min(peaks.operations)));
    chart.draw_series(LineSeries::new(roof, &BLACK))?.label("the machine").legend(square(BLACK));
    let rate = |race: &Race, one: &Timed| (one.operations / race.bytes, one.operations / one.time);
    let groups: [(&str, RGBColor, Vec<Point>); 3] = [
        ("inputs", RGBColor(150, 150, 150), races.iter().map(|race| rate(race, &race.input)).collect()),
        ("peers", RED, races.iter().filter_map(|race| Some(rate(race, race.peer.as_ref()?))).collect()),
        ("nestegg", BLUE, races.iter().map(|race| rate(race, race.best())).collect()),
    ];
    for (label, color, points) in groups {
        chart
            .draw_series(points.into_iter().map(|point| Circle::new(point, 3, color.filled())))?
            .label(label)
            .legend(square(color));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    root.present()?;
    drop(chart);
    Ok(())
}

fn square(color: RGBColor) -> impl Fn((i32, i32)) -> Rectangle<(i32, i32)> {
    move |(x, y)| Rectangle::new([(x, y - 4), (x + 10, y + 4)], color.filled())
}
