//! Where the spans of plugins' calls go: to the OpenTelemetry collector that the person named, and nowhere else.
//!
//! Only with the cargo feature `otel` is there anything that could send them.

#[cfg(feature = "otel")]
mod exporter;

use std::io::Write;

use tokio::runtime::Handle;

use crate::Cli;
use crate::settings;
use crate::surroundings::Surroundings;

/// The collector's own path for spans, behind the base URL that the settings have.
#[cfg(feature = "otel")]
const TRACES: &str = "v1/traces";

/// Spans on their way out, for as long as the program runs.
#[derive(Default)]
pub struct Telemetry {
    #[cfg(feature = "otel")]
    exporter: Option<exporter::Exporter>,
}

impl Telemetry {
    /// Begins to send spans from `runtime`, where a collector is named: by `telemetry.endpoint`, or by one of the
    /// variables that every program with OpenTelemetry reads. Calls of plugins never wait for it.
    ///
    /// # Errors
    /// When what is named is no URL, or `err`, which is told of a setting that this program can do nothing with,
    /// cannot be written.
    pub fn begin(
        cli: &Cli,
        around: &Surroundings,
        runtime: &Handle,
        err: &mut dyn Write,
    ) -> anyhow::Result<Self> {
        // Settings that are wrong are told by whichever command needs them.
        let set = settings::own(&cli.globals, around).ok().and_then(|own| own.telemetry);
        Self::to(set.as_deref(), around, runtime, err)
    }

    #[cfg(feature = "otel")]
    fn to(
        set: Option<&str>,
        around: &Surroundings,
        runtime: &Handle,
        _: &mut dyn Write,
    ) -> anyhow::Result<Self> {
        let Some(url) = endpoint(set, around) else { return Ok(Self::default()) };
        Ok(Self { exporter: Some(exporter::Exporter::begin(&url, runtime)?) })
    }

    #[cfg(not(feature = "otel"))]
    fn to(
        set: Option<&str>,
        _: &Surroundings,
        _: &Handle,
        err: &mut dyn Write,
    ) -> anyhow::Result<Self> {
        if set.is_some() {
            writeln!(
                err,
                "dsh-wasm: `telemetry.endpoint` is set, but this program was built without OpenTelemetry (cargo feature `otel`): nothing is sent"
            )?;
        }
        Ok(Self::default())
    }

    /// Sends what is still here. A collector that does not answer is given up after a second.
    pub fn end(self) {
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.exporter {
            exporter.end();
        }
    }
}

/// The URL that spans are posted to; none where nobody named one. What the settings say comes first.
#[cfg(feature = "otel")]
fn endpoint(set: Option<&str>, around: &Surroundings) -> Option<String> {
    let below = |base: &str| format!("{}/{TRACES}", base.trim_end_matches('/'));
    let variable = |name| around.variable(name).filter(|value| !value.is_empty());
    set.map(below)
        .or_else(|| variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned))
        .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(below))
}

#[cfg(all(test, feature = "otel"))]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Surroundings {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Surroundings { variables: variables.iter().map(owned).collect(), ..Surroundings::default() }
    }

    #[test]
    fn settings_come_before_variables_and_the_more_exact_variable_before_the_other() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c/x/");
        let exact = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/y");
        let found = |set, variables: &[_]| endpoint(set, &with(variables));
        assert_eq!(found(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
        assert_eq!(found(None, &[base]).as_deref(), Some("http://c/x/v1/traces"));
        assert_eq!(found(None, &[base, exact]).as_deref(), Some("http://t/y"));
        let set = found(Some("http://s"), &[base, exact]);
        assert_eq!(set.as_deref(), Some("http://s/v1/traces"));
    }
}
