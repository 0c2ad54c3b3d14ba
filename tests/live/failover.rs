//! A database that fails over: its name leads to another address from then on.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tokio::time::Instant;
use waypost::store::open::Location;
use waypost_test_support::{Engine, Program, Proxy, eventually, port_for_restarts, run, scratch};

use crate::all_organizations::Fleet;
use crate::proxy::{address_of, url_at};
use crate::server::{DEADLINE, launch, stored_positions};
use crate::tracker::end_connections;
use crate::wire::items;
use crate::writer::{BACK_WITHIN, START};

const NAME: &str = "database.test";

/// What runs a program with a file of its own in place of the system's names of hosts.
fn with_names(file: &Path) -> Vec<OsString> {
    let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let mut runner: Vec<OsString> = ["unshare", "--mount", "sh", "-c", script].map(OsString::from).into();
    runner.push(file.into());
    runner
}

#[test]
fn a_database_whose_name_leads_elsewhere_is_found_there() {
    let names = scratch("names").join("hosts");
    let lead_to = |address: Ipv4Addr| fs::write(&names, format!("{address} {NAME}\n")).unwrap();
    lead_to(Ipv4Addr::LOCALHOST);
    let runner = with_names(&names);
    let tried = Command::new(&runner[0]).args(&runner[1..]).arg("true").stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("tests: a name that leads elsewhere: skipped, this user may not mount one");
        return;
    }
    run(Engine::Postgres, async |store| {
        let (port, database) = (port_for_restarts(), address_of(&store));
        let before = Proxy::start(port, &database).await;
        let mut launch = launch(&store);
        (launch.location, launch.runner) = (Location::Postgres(url_at(&store, NAME, port)), runner);
        let mut program = Program::start(&launch).await;
        let api = program.operator().await;
        let fleet = Fleet::make(&api, 0).await;
        let report = async |from, to| {
            let body = json!({ "items": items(from, to, START) });
            api.send_as(&fleet.token, "/v1/positions", &body).await.is_ok()
        };
        assert!(report(1, 2).await);

        // Of the machine that is gone nothing is heard, and the new one knows no session of before.
        before.swallow();
        drop(before);
        end_connections(store.url()).await;
        lead_to(Ipv4Addr::new(127, 0, 0, 2));
        let _after = Proxy::start_at(Ipv4Addr::new(127, 0, 0, 2), port, &database).await;
        let since = Instant::now();
        eventually(DEADLINE, async || report(3, 4).await).await;
        let back = since.elapsed();
        assert!(back < BACK_WITHIN, "acknowledged again after {back:?}");
        assert_eq!(stored_positions(&store).await, 4);
        program.stop().await;
    });
}
