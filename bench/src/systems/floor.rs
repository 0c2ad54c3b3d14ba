//! The floor as a system to measure: it takes the tracker socket's frames, and is asked for its transitions.

use anyhow::{Context, Result};
use waypost_test_support::PrivatePostgres;

use super::acks::AckEar;
use super::child::Child;
use super::items::encoder;
use super::session::{Answer, Opening, Processes, Session};
use super::waypost::{begin_millis, start_postgres, tracker_upgrade, world_arguments};
use super::{Packing, Store, ask};
use crate::wire::http;
use crate::world::{Transition, World};

/// Starts the floor, with what keeps its rows, and opens its sockets; `None` where that is not installed.
pub(crate) fn open_floor(world: &World, packing: Packing, store: Store) -> Result<Option<Session>> {
    let postgres = if store == Store::Postgres { start_postgres()? } else { None };
    if store == Store::Postgres && postgres.is_none() {
        return Ok(None);
    }
    let begin = begin_millis();
    let mut arguments = vec!["floor".to_owned(), format!("--begin-millis={begin}")];
    arguments.extend(world_arguments(world));
    arguments.push(format!("--store={}", format!("{store:?}").to_lowercase()));
    arguments.extend(postgres.iter().map(|postgres| format!("--database-url={}", postgres.url("postgres"))));
    let child = Child::start(&arguments)?;
    let address = child.ready.address.clone();
    let database = postgres.as_ref().map(PrivatePostgres::process_id);
    let processes = Processes { server: Some(child.pid()), database };
    let name = match store {
        Store::Null => "floor",
        Store::Sqlite => "floor, durable, SQLite",
        Store::Postgres => "floor, durable, PostgreSQL",
    };
    let encode = encoder(begin, packing, &address, &[]);
    let mut session = Session::new(name, processes, packing, world.vehicles, encode)?;
    let (connections, _) = packing.of(world.vehicles);
    let openings = (0..connections).map(|connection| Opening {
        address: address.clone(),
        request: tracker_upgrade(&address, &connection.to_string()).into_bytes(),
        answer: Answer::Head("101"),
        then: Vec::new(),
        ear: Box::<AckEar>::default(),
    });
    session.open(openings.collect())?;
    session.fetch_transitions = Some(Box::new(move |_| {
        let (_, body) = ask(&address, &http::get(&address, "/transitions"))?;
        std::str::from_utf8(&body)?.lines().map(parse).collect()
    }));
    session.keep(Box::new((child, postgres)));
    Ok(Some(session))
}

fn parse(line: &str) -> Result<Transition> {
    let numbers: Vec<u32> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [vehicle, round, is_entry, fence] = numbers[..] else {
        return None.with_context(|| format!("no transition: {line}"));
    };
    Ok(Transition { vehicle, round, is_entry: is_entry == 1, fence })
}
