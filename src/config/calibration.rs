//! Setting of the calibration: the constants of estimated request charges, by name or from a file.

use std::sync::Arc;

use clap::Args;

use onehop_store::charges::{CALIBRATION_NAMES, Calibration};

/// Setting of the calibration.
#[derive(Debug, Clone, Args)]
pub struct CalibrationSettings {
    /// Calibration of estimated request charges: `current` for the service since 2020, `article-2019` for the
    /// article's table alone, or a file of `onehop charges calibrate`
    #[arg(
        id = "calibration",
        long = "calibration",
        value_name = "NAME|FILE",
        env = "ONEHOP_CALIBRATION",
        default_value = "current",
        value_parser = calibration
    )]
    calibration: Arc<Calibration>,
}

impl CalibrationSettings {
    /// The calibration.
    #[must_use]
    pub fn calibration(&self) -> Arc<Calibration> {
        Arc::clone(&self.calibration)
    }
}

fn calibration(text: &str) -> Result<Arc<Calibration>, String> {
    if let Some(calibration) = Calibration::named(text) {
        return Ok(calibration);
    }
    let names = CALIBRATION_NAMES.join(", ");
    let file = std::fs::read_to_string(text)
        .map_err(|error| format!("it is none of {names}, and no file that can be read: {error}"))?;
    Calibration::parse(&file).map(Arc::new).map_err(|error| error.to_string())
}
