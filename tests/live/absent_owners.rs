//! Shards whose owner cannot be asked: one that other nodes do not reach, and one that nobody knows.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_rt::task::JoinHandle;
use awc::http::Method;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, query};
use tokio::time::sleep;
use waypost::store::claims::{Claims, Joined};
use waypost::store::shard::Shard;
use waypost_actors::model::OrganizationId;
use waypost_client::Api;
use waypost_test_support::{Engine, TestStore, eventually, run};

use crate::nodes::nodes;
use crate::server::{DEADLINE, organization_body, text};

/// The first key of the locks of shards.
const SHARDS: i32 = 7002;

/// The answer to a list of an organization: its status, what a client is told to wait, and the body.
async fn listed(api: &Api, organization: &OrganizationId) -> (u16, Option<String>, String) {
    let asked = awc::Client::builder().timeout(DEADLINE).finish();
    let asked = asked.get(format!("{}/v1/vehicles?organizationId={organization}", api.server()));
    let mut answer = asked.bearer_auth(api.token()).send().await.unwrap();
    let wait = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let body = answer.body().await.unwrap();
    (answer.status().as_u16(), wait, String::from_utf8_lossy(&body).into_owned())
}

async fn status(api: &Api, organization: &OrganizationId) -> Result<(), u16> {
    match listed(api, organization).await.0 {
        200 => Ok(()),
        status => Err(status),
    }
}

/// Organizations in most of the shards.
async fn organizations(api: &Api) -> Vec<OrganizationId> {
    let mut all = Vec::new();
    for number in 0..40 {
        let new = organization_body(&format!("fleet{number}"));
        let made = api.send(Method::POST, "/v1/organizations", &new).await.unwrap();
        all.push(OrganizationId(text(&made["id"]).parse().unwrap()));
    }
    all
}

/// A node that is there for the database alone: it has joined, and nobody listens at its address.
async fn ghost(store: &TestStore) -> Claims {
    let nowhere: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    match Claims::join(store.url(), nowhere).await.unwrap() {
        Joined::WithOthers(claims) => claims,
        Joined::Alone(_) | Joined::NotYet => panic!("a node is there"),
    }
}

/// Takes the shard of an organization that falls to this node, but not the first, which is everybody's; and wants no more.
async fn take_one(claims: &mut Claims, all: &[OrganizationId]) -> OrganizationId {
    claims.want().await.unwrap();
    let taken = loop {
        claims.look().await.unwrap();
        let mut taken = None;
        for organization in all {
            let shard = Shard::of(*organization);
            if !shard.holds_platform() && claims.take(shard).await.unwrap() {
                taken = Some(*organization);
                break;
            }
        }
        match taken {
            Some(organization) => break organization,
            None => sleep(Duration::from_millis(50)).await,
        }
    };
    claims.drain().await.unwrap();
    taken
}

/// Whether somebody waits for a lock of a shard.
async fn is_waited_for(store: &TestStore) -> bool {
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and classid = $1 \
        and database = (select oid from pg_database where datname = current_database())";
    let waiting: Vec<(i64,)> = store.db.read().sql(waiting).bind(i64::from(SHARDS)).all().await.unwrap();
    waiting == [(1,)]
}

/// Keeps a node there for the database until the task is aborted.
fn stays(mut claims: Claims) -> JoinHandle<()> {
    actix_rt::spawn(async move {
        while claims.look().await.is_ok() {
            sleep(Duration::from_millis(300)).await;
        }
    })
}

#[test]
fn an_owner_that_cannot_be_reached_costs_its_organizations_alone() {
    run(Engine::Postgres, async |store| {
        let [(_, mut node)] = nodes(&store, &[]).await;
        let api = node.operator().await;
        let all = organizations(&api).await;
        let mut ghost = ghost(&store).await;
        let theirs = take_one(&mut ghost, &all).await;
        let stays = stays(ghost);
        let ours = *all.iter().find(|one| Shard::of(**one) != Shard::of(theirs)).unwrap();
        let refused = async || match listed(&api, &theirs).await {
            (503, Some(wait), body)
                if body.contains("the server that has this organization cannot be reached") =>
            {
                Ok(wait)
            }
            other => Err(other),
        };
        assert_eq!(eventually(DEADLINE, refused).await, "1");
        // What the node gave back for a moment comes back to it.
        eventually(DEADLINE, async || status(&api, &ours).await).await;
        assert_eq!(refused().await.unwrap(), "1");
        assert!(node.is_ready().await, "the owner is known: it is the network that is to be looked at");

        stays.abort();
        eventually(DEADLINE, async || status(&api, &theirs).await).await;
        node.stop().await;
    });
}

#[test]
fn a_shard_without_an_owner_is_waited_for_and_then_refused_and_told() {
    run(Engine::Postgres, async |store| {
        let [(_, mut node)] = nodes(&store, &[]).await;
        let api = node.operator().await;
        let all = organizations(&api).await;
        let mut ghost = ghost(&store).await;
        let organization = take_one(&mut ghost, &all).await;
        // Somebody who is no node gets the lock next: he waits for it, and nodes only try.
        let mut nobody = PgConnection::connect(store.url()).await.unwrap();
        let lock = query("select pg_advisory_lock($1, $2)");
        let shard = i32::from(Shard::of(organization).number());
        let locked = async {
            lock.bind(SHARDS).bind(shard).execute(&mut nobody).await.unwrap();
        };
        let gives_back = async {
            eventually(DEADLINE, async || is_waited_for(&store).await).await;
            ghost.give_back(Shard::of(organization)).await.unwrap();
        };
        tokio::join!(locked, gives_back);
        drop(ghost);

        let refused = async || match listed(&api, &organization).await {
            (503, Some(wait), body) if body.contains("the server of this organization is changing") => {
                Ok(wait)
            }
            other => Err(other),
        };
        assert_eq!(eventually(DEADLINE, refused).await, "1");
        eventually(DEADLINE, async || !node.is_ready().await).await;
        // Whoever asks just before the end of it waits, and is answered.
        let (waited, ()) = tokio::join!(listed(&api, &organization), async {
            nobody.close().await.unwrap();
        });
        assert_eq!(waited.0, 200, "{waited:?}");
        eventually(DEADLINE, async || node.is_ready().await).await;
        node.stop().await;
    });
}
