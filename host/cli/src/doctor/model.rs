//! The model: its settings, its service, its key and its name.

use dsh_config::Settings;
use dsh_model::Probe;

use super::finding::Report;
use crate::model;
use crate::surroundings::Surroundings;

/// Most models that are named where the one that is set is not among them.
const NAMED: usize = 20;

/// Asks the service of the model that the settings name for its models; nothing is billed.
pub(super) async fn check(
    settings: &Settings,
    around: &Surroundings,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let name = &settings.model.name;
    let chat = match model::service(settings, around).await {
        Ok(Some(chat)) => chat,
        Ok(None) => {
            match model::offline(name) {
                Ok(_) => report.ok("model", &format!("{name}, which works offline"))?,
                Err(error) => {
                    let fix = "correct `model.name`; after `script:` stands the path of a script";
                    report.fault("model-unusable", &format!("{error:#}"), fix)?;
                }
            }
            return Ok(());
        }
        Err(error) => {
            let fix = "correct the keys that begin with `model.`; docs/config.md has each of them";
            return Ok(report.fault("model-unusable", &format!("{error:#}"), fix)?);
        }
    };
    match chat.probe().await {
        Probe::Well => report.ok("model", &format!("{name}, which its service knows"))?,
        Probe::Unlisted => {
            report.ok(
                "model",
                &format!("{name}; its service is there, and does not list its models"),
            )?;
        }
        Probe::UnknownModel { known } => {
            let more = known.len().saturating_sub(NAMED);
            let mut known = known.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 {
                known += &format!(" and {more} more");
            }
            let says = format!("the service does not know {name:?}; it has: {known}");
            report.fault("model-unknown", &says, "name one of them in `model.name`")?;
        }
        Probe::KeyMissing(failure) => {
            let fix = "give the service's key with `model.key-env` or `model.key-command`";
            report.fault("key-missing", &failure.message, fix)?;
        }
        Probe::KeyRefused(failure) => {
            let fix = "check that the key is whole, still good, and this service's";
            report.fault("key-refused", &failure.message, fix)?;
        }
        Probe::Unreachable(failure) => {
            let fix = "check `model.base-url`, that the service runs, and the network";
            report.fault("model-unreachable", &failure.message, fix)?;
        }
        Probe::Unwell(failure) => {
            let fix = "the service answers, but not as it should: check `model.base-url`, or try again later";
            report.fault("model-unwell", &failure.message, fix)?;
        }
    }
    Ok(())
}
