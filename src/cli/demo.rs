//! `waypost demo`: a server on its own data, with real buses that drive through real geofences.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use waypost_actors::model::{NewAttributes, Rules, Timestamp};
use waypost_actors::tracking::Reported;

use super::setting_flags::DemoArgs;
use waypost::app::{Application, stop_signal};
use waypost::auth::{Caller, Reports, find_tracker, secret};
use waypost::clock::Clock;
use waypost::config::{AdminListen, Secret, Settings};
use waypost::context::Context;
use waypost::ingest::Intake;
use waypost::ingest::decode::Item;
use waypost::ops::scoped::Scoped;
use waypost::ops::{geofences, organizations, vehicles};
use waypost::store::account;
use waypost::store::lock::lock_directory;
use waypost::store::private;
use waypost::telemetry;
use waypost_client::demo::{Bundle, DEMO_SPEED_UP, FixItem, Scheduled, bundle, plan};

/// Where the demo keeps its data, unless `--data-dir` says otherwise.
const DATA_DIR: &str = "./waypost-demo";
/// The file that marks a directory as a demo's, which the next demo may empty.
const MARK: &str = "waypost-demo.txt";
const EMAIL: &str = "demo@waypost.example";
/// Pause between two checks for fixes that are due.
const TICK: Duration = Duration::from_millis(200);

pub(super) async fn demo(args: DemoArgs) -> anyhow::Result<()> {
    let directory = args.given("data_dir").unwrap_or(DATA_DIR).into();
    let settings = own(args.settings()?, directory);
    telemetry::start(&settings)?;
    empty(&settings.data_dir)?;
    let application = Application::build(settings, Clock::system()).await?;
    let context = application.context.clone();
    let bundle = bundle()?;
    let fleet = prepare(&context, &bundle).await?;
    greet(&application, &bundle).await?;
    let replay = actix_web::rt::spawn(replay(context, bundle, fleet));
    application.run(stop_signal()).await?;
    replay.abort();
    Ok(())
}

/// The settings of a demo in a directory: nothing that is an operator's is used, and nobody gets mail.
fn own(settings: Settings, data_dir: PathBuf) -> Settings {
    let log = if settings.log == Settings::default().log { "warn".into() } else { settings.log };
    Settings {
        log,
        data_dir,
        database_url: None,
        redis_url: None,
        smtp_url: None,
        device_listeners: Vec::new(),
        mqtt_brokers: Vec::new(),
        admin_listen: AdminListen::Off,
        admin_email: Some(EMAIL.into()),
        admin_password: Some(Secret::new(secret::new(""))),
        ..settings
    }
}

/// Refuses a directory that is a demo's, and would be emptied by the next one.
pub(super) fn refuse_demos(directory: &Path) -> anyhow::Result<()> {
    if directory.join(MARK).exists() {
        bail!(
            "{} is a demo's, and emptied by the next demo: name another one with --data-dir, or delete {MARK} there to \
             keep what it has",
            directory.display()
        );
    }
    Ok(())
}

/// Empties the demo's directory, but only one that a demo has made.
fn empty(directory: &Path) -> anyhow::Result<()> {
    let mark = directory.join(MARK);
    if mark.exists() {
        let Some(_held) = lock_directory(directory)? else {
            bail!("a demo runs on {} already; stop it, or give --data-dir and --listen", directory.display());
        };
        std::fs::remove_dir_all(directory)?;
    } else if directory.exists() && directory.read_dir()?.next().is_some() {
        bail!("{} is not a demo's data directory; name another one with --data-dir", directory.display());
    }
    private::make_directory(directory)?;
    let text = "waypost demo keeps its data here and empties this directory whenever it starts.\n";
    std::fs::write(mark, text).context("the data directory cannot be written")
}

async fn greet(application: &Application, bundle: &Bundle) -> anyhow::Result<()> {
    let context = &application.context;
    let admin =
        account::find_by_email(context.db.read(), EMAIL).await?.context("the demo's account is missing")?;
    let token = context.auth.sign_in_link(admin.id).await?;
    let (buses, fences) = (bundle.vehicles.len(), bundle.fences.len());
    let from = bundle.from.to_string();
    let day = from.split('T').next().unwrap_or_default();
    println!(
        "{buses} buses of Austin, Texas, as they drove on {day}, {DEMO_SPEED_UP} times as fast, in {fences} geofences"
    );
    println!("open {}/#token={token}", context.settings.public_url());
    println!("the link signs in once; Ctrl-C stops the demo");
    Ok(())
}

/// Creates the demo's organization with its fences and buses; returns an intake for each bus.
async fn prepare(context: &Context, bundle: &Bundle) -> anyhow::Result<Vec<Intake>> {
    let caller = Caller::console();
    let organization = json!({
        "name": format!("Buses of Austin, {DEMO_SPEED_UP} times as fast"),
        "contactEmail": EMAIL,
        "admin": { "email": "dispatcher@waypost.example", "firstName": "Demo", "lastName": "Dispatcher" },
    });
    let organization =
        organizations::create_organization(context, Some(&caller), organization.into()).await?.0.id;
    organizations::activate_organization(context, &caller, organization, false).await?;
    let by = Scoped { caller: caller.clone(), organization: Some(organization) };
    for fence in &bundle.fences {
        // At thirty times the speed, the way between two fixes says little about the fences along it.
        let rules = Rules { infer_passages: false, ..Rules::default() };
        let body = json!({ "name": fence.name, "shape": fence.shape, "rules": rules });
        geofences::create_geofence(context, &by, body.into()).await?;
    }
    let mut fleet = Vec::new();
    for bus in &bundle.vehicles {
        fleet.push(bus_intake(context, &by, &bus.name).await?);
    }
    Ok(fleet)
}

async fn bus_intake(context: &Context, by: &Scoped, name: &str) -> anyhow::Result<Intake> {
    let body = json!({
        "name": format!("Bus {name}"),
        "category": "bus",
        "tracking": { "maxSpeedKmh": null },
        "tracker": { "uniqueId": format!("demo-{name}") },
    });
    let created = vehicles::create_vehicle(context, by, body.into()).await?;
    let token = created.tracker.context("the bus has no tracker")?.token;
    let credential = find_tracker(&context.db, &token).await?.context("the tracker's token is unknown")?;
    let reports = Reports::Own(Arc::new(credential));
    Ok(Intake::new(context.live.clone(), reports, context.report_log.clone()))
}

/// Reports each fix when it is due, for ever.
async fn replay(context: Context, bundle: Bundle, mut fleet: Vec<Intake>) {
    let mut scheduled = plan(&bundle, context.clock.now()).peekable();
    let mut tick = tokio::time::interval(TICK);
    loop {
        tick.tick().await;
        let now = context.clock.now();
        while let Some(Scheduled { due, vehicle, fix }) = scheduled.next_if(|next| next.due <= now) {
            let Some(intake) = fleet.get_mut(vehicle) else { continue };
            if let Err(error) = intake.take(0, vec![Ok(item(due, fix))]).await {
                tracing::warn!(%error, "a fix of the demo was not taken");
            }
        }
    }
}

fn item(due: Timestamp, fix: FixItem) -> Item<'static> {
    let reported = Reported {
        latitude: fix.place.latitude,
        longitude: fix.place.longitude,
        speed_kmh: fix.speed_kmh,
        heading_degrees: fix.heading_degrees,
        altitude_meters: fix.altitude_meters,
        accuracy_meters: fix.accuracy_meters,
        ..Reported::default()
    };
    Item::of(None, Ok(due), reported, NewAttributes::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_an_operators_is_used() {
        let operators = Settings {
            data_dir: "theirs".into(),
            smtp_url: Some(Secret::new("smtp://theirs".into())),
            ..Settings::default()
        };
        let own = own(operators, DATA_DIR.into());
        assert_eq!((own.data_dir.as_path(), own.smtp_url), (Path::new(DATA_DIR), None));
    }

    #[test]
    fn only_an_idle_demos_directory_is_emptied() {
        let directory = tempfile::tempdir().unwrap();
        let (demo, foreign) = (directory.path().join("demo"), directory.path().to_owned());
        empty(&demo).unwrap();
        std::fs::write(demo.join("data"), "old").unwrap();

        let running = lock_directory(&demo).unwrap().unwrap();
        assert!(empty(&demo).unwrap_err().to_string().contains("already"));
        assert!(demo.join("data").exists());
        drop(running);

        empty(&demo).unwrap();
        assert!(!demo.join("data").exists());
        assert!(empty(&foreign).unwrap_err().to_string().contains("not a demo's"));
        assert!(demo.exists());
    }
}
