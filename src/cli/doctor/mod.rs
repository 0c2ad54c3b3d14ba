//! `waypost doctor`: looks at everything a server needs, without changing anything, and tells line by line what is wrong
//! and what to do. Also `waypost upgrade --check`.

mod inputs;
mod machine;
mod network;
mod report;
mod settings;
mod store;
mod upgrade;

use std::process::ExitCode;

use super::output::with_causes;
use super::setting_flags::ServeArgs;
use report::Report;
pub(super) use upgrade::{UpgradeArgs, upgrade};
use waypost::clock::Clock;
use waypost::config::Settings;

/// Looks at everything; the exit code is a failure if something is wrong.
pub(super) async fn doctor(args: ServeArgs) -> ExitCode {
    let mut report = Report::default();
    report.good("version", format!("waypost {}, {}", env!("CARGO_PKG_VERSION"), machine::system()));
    match Settings::load(&args.sources()) {
        Ok(settings) => look(&settings, &mut report).await,
        Err(error) => {
            let error = with_causes(&error.into());
            report.wrong("settings", error, "`waypost config` lists every setting with its place");
        }
    }
    report.told()
}

async fn look(settings: &Settings, report: &mut Report) {
    settings::look(settings, report);
    let now = Clock::system().now();
    let found = store::look(settings, now, report).await;
    if let Some(sealed) = found.as_ref().and_then(|found| found.sealed.as_ref()) {
        settings::sealed(settings, sealed, report);
    }
    machine::clock(found.as_ref(), report);
    machine::disk(settings, report);
    machine::permissions(settings, report);
    machine::descriptors(report);
    network::mail(settings, report).await;
    network::redis(settings, report).await;
    let is_served = found.as_ref().is_some_and(|found| found.is_served);
    network::ports(settings, is_served, report).await;
    inputs::look(settings, found.and_then(|found| found.organizations).as_deref(), report).await;
}
