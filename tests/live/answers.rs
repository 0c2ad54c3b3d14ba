//! What a server answers to every GET of its description, for comparison with another server's answers.

use std::collections::BTreeMap;

use serde_json::Value;
use waypost::config::Settings;
use waypost_actors::model::Timestamp;

use crate::server::{Server, text};

/// Entries of a list that are asked for one by one.
const LOOKED_AT: usize = 4;
/// Pages of a list that are read.
const PAGES: usize = 5;

/// What the clients of a filled store hold.
pub(crate) struct Filled {
    pub(crate) cursor: Value,
    /// The query for the fuel of a lorry's day.
    pub(crate) fuel: String,
    pub(crate) events: Vec<String>,
    pub(crate) dispatcher: String,
    pub(crate) admin: String,
    pub(crate) root: String,
    pub(crate) now: Timestamp,
}

/// By path and caller: the status and the bytes of an answer, apart from the request's id.
pub(crate) type Answers = BTreeMap<(String, &'static str), (u16, Vec<u8>)>;

struct Asking<'a> {
    server: &'a Server,
    answers: Answers,
}

impl Asking<'_> {
    async fn get(&mut self, path: &str, caller: &'static str, token: &str) -> Value {
        let said = self.server.get(path, token).await;
        let mut bytes = said.bytes;
        if said.status >= 400 {
            let mut problem = said.body.clone();
            problem.as_object_mut().unwrap().remove("requestId").expect("a problem has one");
            bytes = problem.to_string().into_bytes();
        }
        self.answers.insert((path.to_owned(), caller), (said.status, bytes));
        said.body
    }

    /// Every page of a list, up to a limit; the ids of its first entries.
    async fn list(&mut self, path: &str, caller: &'static str, token: &str) -> Vec<String> {
        let first = self.get(path, caller, token).await;
        let entries = first["data"].as_array().cloned().unwrap_or_default();
        let mut page = first;
        for _ in 0..PAGES {
            if page["pagination"]["hasNextPage"] != true {
                break;
            }
            let next = format!("{path}?after={}", text(&page["pagination"]["endCursor"]));
            page = self.get(&next, caller, token).await;
        }
        entries.iter().take(LOOKED_AT).filter_map(|entry| Some(entry["id"].as_str()?.to_owned())).collect()
    }
}

/// The answers of every GET of the description at one instant: lists, and some entries of each.
pub(crate) async fn answers(settings: Settings, filled: &Filled) -> Answers {
    let server = Server::start_at(settings, filled.now).await;
    let mut asking = Asking { server: &server, answers: Answers::new() };
    let description = serde_json::to_value(waypost::http::routes::document()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    // A stream of events does not end; what a share shows and the file of a document are asked by what no list tells.
    let is_whole = |path: &str| {
        !path.contains("/ws/")
            && path != "/v1/events/stream"
            && !path.starts_with("/s/")
            && !path.ends_with("/file")
    };
    let gets = paths.iter().filter(|(path, methods)| methods.get("get").is_some() && is_whole(path));
    let (of_one, lists): (Vec<&String>, Vec<&String>) =
        gets.map(|(path, _)| path).partition(|path| path.contains('{'));
    let callers = [("root", &filled.root), ("admin", &filled.admin), ("dispatcher", &filled.dispatcher)];
    for (caller, token) in callers {
        let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in &lists {
            ids.insert((*path).clone(), asking.list(path, caller, token).await);
        }
        for path in &of_one {
            let (before, after) = path.split_once('{').unwrap();
            let (parameter, after) = after.split_once('}').unwrap();
            let list = match parameter {
                "id" if before == "/v1/organizations/organization/" => "/v1/organizations",
                "id" => before.trim_end_matches('/'),
                "driverId" => "/v1/drivers",
                "vehicleId" => "/v1/vehicles",
                "geofenceId" => "/v1/geofences",
                "eventId" => "/v1/fuel/events",
                other => panic!("whose is {other}?"),
            };
            for id in &ids[list] {
                asking.get(&format!("{before}{id}{after}"), caller, token).await;
            }
        }
        asking.get("/v1/drivers/search?licenseNumber=B072RRE&country=DE", caller, token).await;
        asking.get("/v1/drivers?search=ruiz&sort=lastName", caller, token).await;
        for what in ["chart", "consumption", "raw-data"] {
            asking.get(&format!("/v1/fuel/{what}?{}", filled.fuel), caller, token).await;
        }
        asking.get("/v1/geofence-events?sort=sequence&limit=200", caller, token).await;
        asking.get("/v1/trips?open=false&limit=200", caller, token).await;
        asking.get("/v1/stops?sort=occurredAt&limit=200", caller, token).await;
        asking.get("/v1/visits?sort=-enteredAt&minDurationSeconds=10&limit=200", caller, token).await;
    }
    let answers = asking.answers;
    // Every route gets some answer.
    for path in lists.into_iter().chain(of_one) {
        let begin = path.split('{').next().unwrap();
        let of_route: Vec<_> = answers.iter().filter(|((asked, _), _)| asked.starts_with(begin)).collect();
        let told = of_route.last().map(|(_, (_, bytes))| String::from_utf8_lossy(bytes));
        let good = of_route.iter().any(|(_, (status, _))| *status == 200);
        assert!(good, "{path} never answers 200: {told:?}");
    }
    server.stop().await;
    answers
}
