//! The figures of other compilers, from the `peers.csv` of each group.

use std::collections::BTreeMap;
use std::path::Path;

/// Points of the domain of the Devito kernels: their figures are operations per point.
const DEVITO_POINTS: f64 = 64.0 * 64.0 * 64.0;

/// Columns that are numbers but no figures of a compiler.
const NO_FIGURES: [&str; 1] = ["dag_nodes"];

/// The figures of one group.
#[derive(Clone, Debug)]
pub struct Peers {
    /// Columns with operations, in the order of the file.
    pub columns: Vec<String>,
    /// Columns with seconds, in the order of the file.
    pub seconds: Vec<String>,
    /// Figures by kernel and column.
    figures: BTreeMap<(String, String), f64>,
}

impl Peers {
    /// Reads the figures of a group, from below the folder of all fixtures.
    ///
    /// # Errors
    /// If there is no table, or it is not one.
    pub fn read(fixtures: &Path, group: &str) -> Result<Self, csv::Error> {
        let mut reader = csv::Reader::from_path(fixtures.join(group).join("peers.csv"))?;
        let header = reader.headers()?.clone();
        let scale = if group == "devito" { DEVITO_POINTS } else { 1.0 };
        let mut figures = BTreeMap::new();
        for record in reader.records() {
            let record = record?;
            let kernel = record.get(0).unwrap_or_default();
            for (column, text) in header.iter().zip(&record).skip(1) {
                let scale = if is_operations(column) { scale } else { 1.0 };
                if let Ok(figure) = text.parse::<f64>()
                    && !NO_FIGURES.contains(&column)
                {
                    figures.insert((kernel.to_owned(), column.to_owned()), figure * scale);
                }
            }
        }
        let has_figures = |column: &&str| figures.keys().any(|(_, found)| found == column);
        let (columns, seconds) =
            header.iter().filter(has_figures).map(str::to_owned).partition(|column| is_operations(column));
        Ok(Self { columns, seconds, figures })
    }

    /// The operations, or the seconds, of that kernel in that column.
    #[must_use]
    pub fn figure(&self, kernel: &str, column: &str) -> Option<f64> {
        self.figures.get(&(kernel.to_owned(), column.to_owned())).copied()
    }
}

/// Whether a column counts operations; columns that end in `_s` are seconds.
fn is_operations(column: &str) -> bool {
    !column.ends_with("_s")
}

/// The column that level O1 must not exceed on any kernel of the group.
#[must_use]
pub fn accepted_column(group: &str) -> &'static str {
    match group {
        "tsfc" => "vanilla",
        "coffee" => "O1",
        _ => "noop_ops_per_point",
    }
}
