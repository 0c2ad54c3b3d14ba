//! `waypost serve`: the server, until it is asked to stop.

use std::pin::pin;

use anyhow::bail;

use super::demo::refuse_demos;
use super::setting_flags::ServeArgs;
use waypost::app::{Application, Ended, Node, stop_signal};
use waypost::clock::Clock;
use waypost::config::Settings;
use waypost::connections::descriptors;
use waypost::telemetry;

pub(super) async fn serve(args: ServeArgs) -> anyhow::Result<()> {
    let settings = args.settings()?;
    telemetry::start(&settings)?;
    refuse_demos(&settings.data_dir)?;
    descriptors::raise();
    if settings.node_listen.is_some() {
        return serve_node(settings).await;
    }
    // Heard from here to the end: a signal between the start and serving counts too.
    let mut asked = pin!(stop_signal());
    let application = tokio::select! {
        built = Application::build(settings, Clock::system()) => built?,
        // Nothing needs finishing while it still waits for its store.
        () = &mut asked => return Ok(()),
    };
    greet(&application);
    match application.run(asked).await? {
        Ended::Asked => Ok(()),
        Ended::Broken => bail!("the server cannot go on; its log says why"),
        Ended::TakenOver => {
            bail!(
                "another server has taken over the store, or an earlier state was put in its place; the log says which"
            )
        }
    }
}

async fn serve_node(settings: Settings) -> anyhow::Result<()> {
    let mut asked = pin!(stop_signal());
    let node = tokio::select! {
        built = Node::build(settings, Clock::system()) => built?,
        () = &mut asked => return Ok(()),
    };
    println!(
        "waypost {} listens on http://{}, for other nodes on {}",
        env!("CARGO_PKG_VERSION"),
        node.address,
        node.node_address
    );
    if let Some(admin) = node.admin_address {
        println!("metrics at http://{admin}/metrics");
    }
    match node.run(asked).await? {
        Ended::Asked => Ok(()),
        Ended::Broken | Ended::TakenOver => bail!("the node cannot go on; its log says why"),
    }
}

/// Prints the address once the server is ready, and the way to the first account.
fn greet(application: &Application) {
    let url = application.context.settings.public_url();
    println!("waypost {} listens on http://{}", env!("CARGO_PKG_VERSION"), application.address);
    if let Some(admin) = application.admin_address {
        println!("metrics at http://{admin}/metrics");
    }
    if let Some(notice) = application.first_start.notice(&url) {
        println!("{notice}");
    }
}
