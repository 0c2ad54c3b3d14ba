//! The floor as a system to measure: it takes the tracker socket's frames, and is asked for its transitions.

use anyhow::{Context, Result};

use super::acks::AckEar;
use super::child::Child;
use super::items::encoder;
use super::session::{Opening, Processes, Session};
use super::waypost::{begin_millis, tracker_upgrade, world_arguments};
use super::{Packing, ask};
use crate::wire::http;
use crate::world::{Transition, World};

/// Starts the floor and opens its sockets.
pub(crate) fn open_floor(world: &World, packing: Packing) -> Result<Session> {
    let begin = begin_millis();
    let mut arguments = vec!["floor".to_owned(), format!("--begin-millis={begin}")];
    arguments.extend(world_arguments(world));
    let child = Child::start(&arguments)?;
    let address = child.ready.address.clone();
    let processes = Processes { server: Some(child.pid()), database: None };
    let mut session =
        Session::new("floor", processes, packing, world.vehicles, encoder(begin, packing, &address, &[]))?;
    let (connections, _) = packing.of(world.vehicles);
    let openings = (0..connections).map(|connection| Opening {
        address: address.clone(),
        request: tracker_upgrade(&address, &connection.to_string()).into_bytes(),
        answer: "101",
        then: Vec::new(),
        ear: Box::<AckEar>::default(),
    });
    session.open(openings.collect())?;
    session.fetch_transitions = Some(Box::new(move |_| {
        let (_, body) = ask(&address, &http::get(&address, "/transitions"))?;
        std::str::from_utf8(&body)?.lines().map(parse).collect()
    }));
    session.keep(Box::new(child));
    Ok(session)
}

fn parse(line: &str) -> Result<Transition> {
    let numbers: Vec<u32> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [vehicle, round, is_entry, fence] = numbers[..] else {
        return None.with_context(|| format!("no transition: {line}"));
    };
    Ok(Transition { vehicle, round, is_entry: is_entry == 1, fence })
}
