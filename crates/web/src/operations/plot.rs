//! Bars by day, drawn as SVG. Names in it are text: whoever chose them writes no markup.

use plotters::prelude::{
    ChartBuilder, DrawingAreaErrorKind, IntoDrawingArea as _, IntoFont as _, RGBColor, Rectangle, SVGBackend,
    SeriesLabelPosition,
};
use plotters::style::Color as _;
use serde::{Deserialize, Serialize};

use hob_core::domain::text::cut;

/// How wide a plot is; browsers make it fit.
const WIDTH: u32 = 500;
/// How high.
const HEIGHT: u32 = 260;
/// What of that is left for bars, in pixels.
const PLOT_PIXELS: f64 = 216.0;
/// What each name needs, in pixels.
const NAME_PIXELS: f64 = 17.0;
/// So many are told apart; the others are drawn together.
const SERIES_MAX: usize = 6;
/// The longest name in a plot.
const NAME_CHARS_MAX: usize = 32;
/// How much of its day a bar takes, to each side.
const HALF_BAR: f64 = 0.4;

/// On what a plot stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Theme {
    /// On white.
    #[default]
    Light,
    /// On black.
    Dark,
}

/// The colours of a theme: as those of the page.
struct Colours {
    ink: RGBColor,
    line: RGBColor,
    ground: RGBColor,
    bars: [RGBColor; SERIES_MAX + 1],
}

impl Theme {
    fn colours(self) -> Colours {
        match self {
            Self::Light => Colours {
                ink: RGBColor(0x44, 0x40, 0x3c),
                line: RGBColor(0xd6, 0xd3, 0xd1),
                ground: RGBColor(0xff, 0xff, 0xff),
                bars: [
                    RGBColor(0xc2, 0x41, 0x0c),
                    RGBColor(0x1d, 0x4e, 0xd8),
                    RGBColor(0x15, 0x80, 0x3d),
                    RGBColor(0x7e, 0x22, 0xce),
                    RGBColor(0xa1, 0x62, 0x07),
                    RGBColor(0x0e, 0x74, 0x90),
                    RGBColor(0x78, 0x71, 0x6c),
                ],
            },
            Self::Dark => Colours {
                ink: RGBColor(0xd6, 0xd3, 0xd1),
                line: RGBColor(0x44, 0x40, 0x3c),
                ground: RGBColor(0x29, 0x25, 0x24),
                bars: [
                    RGBColor(0xfd, 0xba, 0x74),
                    RGBColor(0x93, 0xc5, 0xfd),
                    RGBColor(0x86, 0xef, 0xac),
                    RGBColor(0xd8, 0xb4, 0xfe),
                    RGBColor(0xfd, 0xe0, 0x47),
                    RGBColor(0x67, 0xe8, 0xf9),
                    RGBColor(0xa8, 0xa2, 0x9e),
                ],
            },
        }
    }
}

/// What belongs together: a value for each day.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

impl Series {
    fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

#[derive(Debug)]
pub(super) struct Plot {
    /// What stands under each bar.
    pub(super) days: Vec<String>,
    /// What stands on top of each other.
    pub(super) series: Vec<Series>,
    /// What stands before numbers.
    pub(super) unit: &'static str,
    /// On what it stands.
    pub(super) theme: Theme,
}

/// It cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the plot cannot be drawn: {0}")]
pub(super) struct PlotError(#[from] DrawingAreaErrorKind<std::io::Error>);

impl Plot {
    pub(super) fn into_svg(mut self) -> Result<String, PlotError> {
        self.merge_small_series();
        let mut svg = String::new();
        self.draw(&mut svg)?;
        Ok(svg)
    }

    /// The greatest come first; the small ones are put together.
    fn merge_small_series(&mut self) {
        self.series.sort_by(|one, other| other.total().total_cmp(&one.total()).then_with(|| one.name.cmp(&other.name)));
        if self.series.len() <= SERIES_MAX {
            return;
        }
        let mut others = Series { name: "others".to_owned(), values: vec![0.0; self.days.len()] };
        for series in self.series.drain(SERIES_MAX..) {
            others.values.iter_mut().zip(series.values).for_each(|(sum, value)| *sum += value);
        }
        self.series.push(others);
    }

    /// How high the highest bar is, with room for the names above it.
    fn top(&self) -> f64 {
        let sum = |day: usize| self.series.iter().filter_map(|series| series.values.get(day)).sum::<f64>();
        let highest = (0..self.days.len()).map(sum).fold(0.0, f64::max);
        let names = (position(self.series.len()) * NAME_PIXELS + NAME_PIXELS) / PLOT_PIXELS;
        if highest > 0.0 { highest / (1.0 - names) } else { 1.0 }
    }

    fn draw(&self, svg: &mut String) -> Result<(), PlotError> {
        let Colours { ink, line, ground, bars } = self.theme.colours();
        let area = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
        let words = || ("sans-serif", 13).into_font().color(&ink);
        let right = position(self.days.len()) - 0.5;
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(52)
            .build_cartesian_2d(-0.5..right, 0.0..self.top())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(line)
            .light_line_style(line.mix(0.0))
            .axis_style(line)
            .label_style(words())
            .x_labels(7)
            .y_labels(5)
            .x_label_formatter(&|at| self.day_at(*at))
            .y_label_formatter(&|value| amount(*value, self.unit))
            .draw()?;
        let mut floors = vec![0.0; self.days.len()];
        for (series, colour) in self.series.iter().zip(bars) {
            let bar = |(day, (value, floor)): (usize, (&f64, &mut f64))| {
                let (below, middle) = (*floor, position(day));
                *floor += value;
                Rectangle::new([(middle - HALF_BAR, below), (middle + HALF_BAR, *floor)], colour.filled())
            };
            let drawn: Vec<_> = series.values.iter().zip(&mut floors).enumerate().map(bar).collect();
            chart
                .draw_series(drawn)?
                .label(cut(&series.name, NAME_CHARS_MAX))
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
        }
        if !self.series.is_empty() {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(ground.mix(0.85))
                .border_style(line)
                .label_font(words())
                .draw()?;
        }
        area.present()?;
        Ok(())
    }

    /// What stands under a place of the axis; nothing between two days.
    fn day_at(&self, at: f64) -> String {
        let named = self.days.iter().enumerate().find(|(day, _)| (position(*day) - at).abs() < 0.01);
        named.map(|(_, name)| name.clone()).unwrap_or_default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are a few hundred days at most")]
fn position(day: usize) -> f64 {
    day as f64
}

/// A number for people: `$0.25`, `12 k`.
fn amount(value: f64, unit: &str) -> String {
    match value.abs() {
        0.0 => format!("{unit}0"),
        small if small < 0.01 => format!("{unit}{value:.4}"),
        small if small < 10.0 => format!("{unit}{value:.2}"),
        some if some < 10_000.0 => format!("{unit}{value:.0}"),
        many if many < 1e7 => format!("{unit}{:.0} k", value / 1e3),
        _ => format!("{unit}{:.1} M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(series: Vec<Series>, theme: Theme) -> String {
        let days = ["1 Jan", "2 Jan", "3 Jan"].map(str::to_owned).to_vec();
        Plot { days, series, unit: "$", theme }.into_svg().unwrap()
    }

    fn series(name: &str, values: [f64; 3]) -> Series {
        Series { name: name.to_owned(), values: values.to_vec() }
    }

    #[test]
    fn names_in_a_plot_are_text() {
        let svg = plot(vec![series("<script>alert('x')</script>&\"", [1.0, 0.0, 2.0])], Theme::Light);
        assert!(svg.starts_with("<svg ") && svg.contains("&lt;script&gt;"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
        assert!(svg.contains("2 Jan"), "{svg}");
    }

    #[test]
    fn bars_stand_on_each_other_and_the_small_ones_together() {
        let many: Vec<Series> =
            (0..9).map(|number| series(&format!("model {number}"), [f64::from(9 - number), 0.0, 1.0])).collect();
        let svg = plot(many, Theme::Dark);
        assert!(svg.contains("others") && svg.contains("model 5") && !svg.contains("model 6"), "{svg}");
        let colour = |theme: Theme| theme.colours().bars.map(|RGBColor(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}"));
        assert!(colour(Theme::Dark).iter().all(|colour| svg.contains(colour)), "{svg}");
        assert!(colour(Theme::Light).iter().all(|colour| !svg.contains(colour)), "{svg}");
    }

    #[test]
    fn where_nothing_was_spent_there_is_an_empty_plot() {
        let svg = plot(Vec::new(), Theme::Light);
        assert!(svg.starts_with("<svg ") && svg.contains("1 Jan"), "{svg}");
    }

    #[test]
    fn amounts_are_short() {
        let amounts = [0.0, 0.0042, 0.25, 42.0, 25_000.0, 12_500_000.0].map(|value| amount(value, "$"));
        assert_eq!(amounts, ["$0", "$0.0042", "$0.25", "$42", "$25 k", "$12.5 M"]);
    }
}
