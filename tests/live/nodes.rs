//! The nodes of a cluster as strangers find them, where they come from and what they may not ask for; and as operators do.

use std::collections::{BTreeSet, HashMap};
use std::future::pending;

use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, query};
use waypost::clock::new_id;
use waypost::store::claims::Claims;
use waypost::store::shard::{SHARDS, Shard};
use waypost_actors::model::OrganizationId;
use waypost_client::Method;
use waypost_test_support::{
    Engine, Launch, NODE_LISTEN, Program, ROOT, TestStore, eventually, port_for_restarts, run,
};

use crate::all_organizations::Fleet;
use crate::server::{DEADLINE, launch, organization_body, text};
use crate::wire::crossings;

/// Nodes with these settings.
pub(crate) async fn nodes<const N: usize>(
    store: &TestStore,
    settings: &[(&str, &str)],
) -> [(Launch, Program); N] {
    let nodes = [(); N].map(|()| {
        let mut launch = launch(store);
        launch.make_node();
        launch
            .settings
            .extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let program = Program::spawn(&launch);
        (launch, program)
    });
    for (_, program) in &nodes {
        program.ready().await;
    }
    nodes
}

/// What a server tells at this port of its own.
pub(crate) async fn metrics(admin: u16) -> HashMap<String, f64> {
    let asked = awc::Client::default().get(format!("http://127.0.0.1:{admin}/metrics"));
    let text = asked.send().await.unwrap().body().limit(1 << 20).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

#[test]
fn sign_ins_are_counted_by_the_address_that_the_proxy_tells_at_any_node() {
    run(Engine::Postgres, async |store| {
        let settings =
            [("WAYPOST_CLIENT_ADDRESS_HEADER", "X-Forwarded-For"), ("WAYPOST_RATE_LIMIT_SIGN_IN", "2/h")];
        let mut nodes: [_; 2] = nodes(&store, &settings).await;
        let sign_in = async |node: &Launch, from: &str| {
            let asked = awc::Client::default()
                .post(format!("{}/v1/auth/login", node.url()))
                .insert_header(("X-Forwarded-For", from))
                .send_json(&json!({ "email": ROOT, "password": "not this one" }));
            asked.await.unwrap().status().as_u16()
        };
        // One of the nodes hands all of them on. A shard that changes its owner meanwhile counts anew, so only what must not be
        // refused is.
        for person in 1..=5 {
            for (node, _) in &nodes {
                let status = sign_in(node, &format!("192.0.2.{person}")).await;
                assert_eq!(status, 401, "person {person}");
            }
        }
        eventually(DEADLINE, async || sign_in(&nodes[0].0, "192.0.2.1").await == 429).await;
        Program::stop_all(nodes.iter_mut().map(|(_, program)| program)).await;
    });
}

#[test]
fn whoever_asks_about_several_shards_of_a_node_has_one_rate_limit() {
    run(Engine::Postgres, async |store| {
        let [(_, mut node)] = nodes(&store, &[("WAYPOST_RATE_LIMIT", "100/h")]).await;
        let api = node.operator().await;
        let mut organizations: Vec<OrganizationId> = Vec::new();
        while organizations.len() < 2 {
            let body = organization_body(&format!("org{}", new_id()));
            let made = api.send(Method::POST, "/v1/organizations", &body).await.unwrap();
            let made = OrganizationId(text(&made["id"]).parse().unwrap());
            if organizations.iter().all(|other| Shard::of(*other) != Shard::of(made)) {
                organizations.push(made);
            }
        }
        let mut left = Vec::new();
        for organization in &organizations {
            let path = format!("/v1/vehicles?organizationId={organization}");
            let answer = api.ask(Method::GET, &path, None::<&()>).await.unwrap();
            let (_, told) = answer.header("ratelimit").unwrap().split_once(";r=").unwrap();
            left.push(told.split(';').next().unwrap().parse::<i64>().unwrap());
        }
        assert_eq!(left[0] - left[1], 1, "one request is between them");
        node.stop().await;
    });
}

#[test]
fn nodes_tell_where_the_shards_are_by_the_metrics_of_the_alarm_rules() {
    run(Engine::Postgres, async |store| {
        let admins = [(); 2].map(|()| port_for_restarts());
        let mut nodes = Vec::new();
        for admin in admins {
            let admin = format!("127.0.0.1:{admin}");
            let [node] = self::nodes(&store, &[("WAYPOST_ADMIN_LISTEN", &admin)]).await;
            nodes.push(node);
        }
        let rules = include_str!("../../monitoring/alarms-cluster.yml");
        let names: BTreeSet<&str> = rules
            .split(|c: char| !c.is_ascii_lowercase() && c != '_')
            .filter(|word| word.starts_with("waypost_"))
            .collect();
        assert_eq!(names.len(), 2);
        let is_spread = async || {
            let (one, other) = (metrics(admins[0]).await, metrics(admins[1]).await);
            for told in [&one, &other] {
                for name in &names {
                    assert!(told.keys().any(|key| key.split('{').next() == Some(name)), "{name}");
                }
            }
            let shards = |told: &HashMap<String, f64>| {
                ["here", "elsewhere", "unknown"]
                    .map(|place| told[&format!("waypost_shards{{place=\"{place}\"}}")])
            };
            let (half, taken) = (f64::from(SHARDS) / 2.0, "waypost_shard_takeovers_total");
            let are_spread = [shards(&one), shards(&other)] == [[half, half, 0.0]; 2];
            // The first node had all of them.
            if are_spread && (one[taken], other[taken]) == (2.0 * half, half) {
                Ok(())
            } else {
                Err((one, other))
            }
        };
        eventually(DEADLINE, is_spread).await;
        Program::stop_all(nodes.iter_mut().map(|(_, program)| program)).await;
    });
}

#[test]
fn what_nodes_ask_of_each_other_is_not_there_for_strangers() {
    run(Engine::Postgres, async |store| {
        let mut nodes: [_; 2] = nodes(&store, &[]).await;
        let ask = async |path: &str| {
            let asked = awc::Client::default().get(format!("{}{path}", nodes[0].0.url()));
            asked.send().await.ok().map(|answer| answer.status().as_u16())
        };
        let paths = ["/feed", "/devices/teltonika/00000000-0000-4000-8000-000000000001"];
        for path in paths {
            assert_eq!(ask(path).await, Some(404), "{path}");
        }
        // A node that stops gives its shards back, and then hands on even what every node answers alike.
        nodes[0].1.signal("TERM");
        let mut asked = 0;
        while ask("/openapi.json").await == Some(200) {
            for path in paths {
                let status = ask(path).await;
                assert!(matches!(status, Some(404) | None), "{path}: {status:?}");
            }
            asked += 1;
        }
        assert!(asked > 1, "it hands on for seconds");
        Program::stop_all(nodes.iter_mut().map(|(_, program)| program)).await;
    });
}

#[test]
fn a_node_that_cannot_start_shards_leaves_them_to_others() {
    run(Engine::Postgres, async |store| {
        let (right, wrong, admin) = ("a".repeat(32), "b".repeat(32), port_for_restarts());
        let at = format!("127.0.0.1:{admin}");
        let settings = [("WAYPOST_MASTER_KEY", right.as_str()), ("WAYPOST_ADMIN_LISTEN", at.as_str())];
        let [(_, mut node)] = nodes(&store, &settings).await;
        let [(_, mut other)] = nodes(&store, &[("WAYPOST_MASTER_KEY", &wrong)]).await;
        let has_all_again = async || {
            let told = metrics(admin).await;
            let (here, taken) =
                (told["waypost_shards{place=\"here\"}"], told["waypost_shard_takeovers_total"]);
            // More than once, since it gave half of them back.
            if here == f64::from(SHARDS) && taken > here { Ok(()) } else { Err((here, taken)) }
        };
        eventually(DEADLINE, has_all_again).await;
        Program::stop_all([&mut node, &mut other]).await;
    });
}

#[test]
fn no_two_nodes_have_one_address() {
    run(Engine::Postgres, async |store| {
        let [(launch, mut node)] = nodes(&store, &[]).await;
        let (_, address) = launch.settings.iter().find(|(name, _)| name == NODE_LISTEN).unwrap();
        let join = async || Claims::join(store.url(), address.parse().unwrap()).await;
        let refused = join().await.err().expect("a node has it");
        assert!(refused.is_passing() && refused.to_string().contains(address), "{refused}");
        node.stop().await;
        eventually(DEADLINE, async || join().await.is_ok()).await;
    });
}

#[test]
fn a_node_that_cannot_store_fixes_is_not_ready() {
    run(Engine::Postgres, async |store| {
        let [(_, mut node)] = nodes(&store, &[]).await;
        let api = node.operator().await;
        let fleet = Fleet::make(&api, 0).await;
        let mut somebody = PgConnection::connect(store.url()).await.unwrap();
        let mut locked = somebody.begin().await.unwrap();
        query("lock table fix_log in access exclusive mode").execute(&mut *locked).await.unwrap();
        let report = async {
            let items = json!({ "items": crossings(1, 1) });
            api.send_as(&fleet.token, "/v1/positions", &items).await.ok();
            pending::<()>().await;
        };
        tokio::select! {
            () = report => {}
            () = eventually(DEADLINE, async || !node.is_ready().await) => {}
        }
        locked.rollback().await.unwrap();
        eventually(DEADLINE, async || node.is_ready().await).await;
        node.stop().await;
    });
}
