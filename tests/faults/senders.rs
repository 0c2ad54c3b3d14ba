//! By what the buses of a run report, and sending them on their way.

use std::collections::BTreeMap;
use std::rc::Rc;

use rand::RngExt;
use waypost_test_support::Mosquitto;

use crate::devices::{Habits, Hardware, Publisher, can_report, come_unknown};
use crate::drill::Drill;
use crate::seed::dice;
use crate::tracker::{Manner, Tracker};

/// By what a bus reports.
enum Way<'b> {
    Socket,
    Listener,
    Broker(&'b Mosquitto),
}

impl Drill {
    /// Makes one of the buses whose devices are hardware an unknown one, until a quarter of all is answered.
    pub(crate) async fn send_unknown(&mut self, organization: &str) {
        let is_hardware = |number: &usize| matches!(self.way(*number), Way::Listener);
        let Some(bus) = (0..self.buses.len()).find(is_hardware).map(|number| self.buses[number].clone())
        else {
            return;
        };
        let path = format!("/v1/trackers/{}?organizationId={organization}", bus.tracker);
        self.api.remove(&path).await.unwrap();
        let (api, book, when) = (Rc::clone(&self.api), Rc::clone(&self.book), self.fixes / 4);
        self.trackers.spawn_local(come_unknown(api, organization.to_owned(), bus, book, when));
    }

    /// By what a bus reports.
    fn way(&self, number: usize) -> Way<'_> {
        let broker = self.load.outlets.as_ref().and_then(|outlets| outlets.broker());
        match (number % 4, broker) {
            _ if self.listeners.is_empty() || !can_report(&self.buses[number]) => Way::Socket,
            (1, _) => Way::Listener,
            (2, Some(broker)) => Way::Broker(broker),
            _ => Way::Socket,
        }
    }

    /// Has all buses report from now on.
    pub(crate) fn send_trackers(&mut self) {
        let mut servers = match &self.load.through {
            Some(proxy) => vec![format!("http://{proxy}")],
            None => vec![self.api.server().to_owned()],
        };
        servers.extend(self.peers.iter().map(|(launch, _)| launch.url()));
        let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, bus) in self.buses.iter().enumerate() {
            let mut dice = dice(self.seed, 1 + number as u64);
            let (bus, book, pace) = (bus.clone(), Rc::clone(&self.book), self.load.pace);
            let name = match self.way(number) {
                Way::Socket => {
                    let manner = Manner {
                        servers: servers.clone(),
                        items: dice.random_range(1..=self.load.items),
                        hello: dice.random(),
                        pace,
                        away: self.load.away,
                        patience: self.load.patience,
                    };
                    self.trackers.spawn_local(Tracker::new(bus, manner, book, dice).run());
                    "socket"
                }
                Way::Listener => {
                    let habits = Habits { pace, away: self.load.away, patience: self.load.patience };
                    let listeners = self.listeners.clone();
                    self.trackers.spawn_local(Hardware { bus, listeners, habits, book, dice }.run());
                    "listener"
                }
                Way::Broker(broker) => {
                    self.trackers.spawn_local(Publisher::new(bus, broker, pace, book).run());
                    "broker"
                }
            };
            *ways.entry(name).or_default() += 1;
        }
        if ways.len() > 1 {
            println!("seed {}: buses by what they report by: {ways:?}", self.seed);
        }
    }
}
