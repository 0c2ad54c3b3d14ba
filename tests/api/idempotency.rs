//! Idempotency-Key: a request that was carried out is not carried out again.

use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost::store::sql::Engine;

use crate::harness::{App, PASSWORD, Said, circle, organization, text, with_app};

async fn post(app: &App, path: &str, token: &str, key: &str, body: &Value) -> Said {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("content-type", "application/json"), ("idempotency-key", key)];
    if !token.is_empty() {
        headers.push(("authorization", bearer.as_str()));
    }
    app.send("POST", path, &headers, body.to_string()).await
}

async fn count(app: &App, sql: &'static str) -> i64 {
    app.context.db.read().sql(sql).scalar().await.unwrap()
}

#[test]
fn the_same_key_and_body_get_the_first_answer_with_its_token() {
    with_app(async |app| {
        let org = app.org("repeating").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-9" } });
        let first = post(&app, "/v1/vehicles", &org.org_admin, "key-1", &body).await;
        let again = post(&app, "/v1/vehicles", &org.org_admin, "\"key-1\"", &body).await;
        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(first.body, again.body);
        assert!(text(&again.body["tracker"]["token"]).starts_with("wpt_"));
        for header in ["location", "etag", "content-type"] {
            assert!(
                first.header(header).is_some() && first.header(header) == again.header(header),
                "{header}"
            );
        }
        assert_eq!(
            (first.header("idempotency-replayed"), again.header("idempotency-replayed")),
            (None, Some("true"))
        );
        assert_eq!(count(&app, "select count(*) from vehicle").await, 1);

        let other = post(&app, "/v1/vehicles", &org.org_admin, "key-1", &json!({ "name": "Tram" })).await;
        other.problem(422, "idempotencyKeyReused");
        // Another path is another request; another principal has keys of its own.
        post(&app, "/v1/geofences", &org.org_admin, "key-1", &circle("a"))
            .await
            .problem(422, "idempotencyKeyReused");
        post(&app, "/v1/geofences", &org.dispatcher, "key-1", &circle("a")).await.ok(201);
        // A day later the key is free.
        app.pass(24 * 3600 + 1);
        let token =
            app.sign_in(app.account(waypost::domain::account::Role::OrgAdmin, Some(&org.id)).await).await;
        post(&app, "/v1/geofences", &token, "key-1", &circle("b")).await.ok(201);
        assert_eq!(count(&app, "select count(*) from idempotency").await, 1);
        app
    });
}

#[test]
fn two_at_once_make_one() {
    with_app(async |app| {
        let org = app.org("hasty").await;
        for round in 0..20 {
            let (key, body) = (format!("key-{round}"), json!({ "name": format!("Bus {round}") }));
            let send = || post(&app, "/v1/vehicles", &org.org_admin, &key, &body);
            let (one, two) = join(send(), send()).await;
            let mut statuses = [one.status, two.status];
            statuses.sort_unstable();
            assert!(matches!(statuses, [201, 201] | [201, 409]), "{statuses:?}");
            if let Some(late) = [&one, &two].into_iter().find(|said| said.status == 409) {
                late.problem(409, "idempotencyKeyInUse");
                assert_eq!(late.header("retry-after"), Some("1"));
                assert_eq!(send().await.header("idempotency-replayed"), Some("true"));
            }
        }
        assert_eq!(count(&app, "select count(*) from vehicle").await, 20);
        app
    });
}

#[test]
fn a_refusal_is_judged_anew_and_keys_have_a_form() {
    with_app(async |app| {
        let org = app.org("mending").await;
        let body = json!({ "name": "Bus", "plate": { "number": "A 1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, body.clone()).await.ok(201);
        post(&app, "/v1/vehicles", &org.org_admin, "k", &body).await.problem(409, "plateTaken");
        app.delete(&format!("/v1/vehicles/{}", text(&made["id"])), &org.org_admin).await.ok(204);
        post(&app, "/v1/vehicles", &org.org_admin, "k", &body).await.ok(201);
        for bad in ["", "two words", &"x".repeat(256)] {
            post(&app, "/v1/vehicles", &org.org_admin, bad, &body).await.problem(400, "malformedRequest");
        }
        app
    });
}

#[test]
fn what_the_transaction_kept_is_answered_after_a_crash() {
    with_app(async |app| {
        let org = app.org("crashing").await;
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-9" } });
        let first = post(&app, "/v1/vehicles", &org.org_admin, "k", &body).await;
        // As it is between the commit and the complete answer: only what the transaction wrote.
        let answer: Vec<u8> =
            app.context.db.read().sql("select answer from idempotency").scalar().await.unwrap();
        let plain = waypost::auth::cipher::decrypt("k", &answer).unwrap();
        let mut kept: Value = serde_json::from_slice(&plain).unwrap();
        (kept["headers"], kept["is_bare"]) = (json!([]), json!(true));
        let bare = waypost::auth::cipher::encrypt("k", kept.to_string().as_bytes());
        app.context.db.write().sql("update idempotency set answer = $1").bind(bare).run().await.unwrap();
        let again = post(&app, "/v1/vehicles", &org.org_admin, "k", &body).await;
        assert_eq!((again.status, again.header("location")), (201, first.header("location")));
        assert_eq!(again.body, first.body);
        app
    });
}

#[test]
fn the_database_holds_neither_the_key_nor_the_token() {
    with_app(async |app| {
        let org = app.org("discreet").await;
        let key = Uuid::nil().to_string();
        let made =
            post(&app, "/v1/trackers", &org.org_admin, &key, &json!({ "uniqueId": "imei-9" })).await.ok(201);
        let sign_up = json!({ "name": "robot", "email": "robot@example.org", "password": PASSWORD });
        let signed_up = post(&app, "/v1/system-users", "", &key, &sign_up).await.ok(201);
        let again = post(&app, "/v1/system-users", "", &key, &sign_up).await;
        assert_eq!((again.status, &again.body), (201, &signed_up));
        let secrets = [text(&made["token"]), PASSWORD.to_owned(), key];
        let rows: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = app
            .context
            .db
            .read()
            .sql("select key_hash, fingerprint, answer from idempotency")
            .all()
            .await
            .unwrap();
        assert_eq!(rows.len(), 2);
        for part in rows.iter().flat_map(|(a, b, c)| [a, b, c]) {
            let holds =
                |secret: &String| part.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!secrets.iter().any(holds));
        }
        app
    });
}

/// Every POST that creates something stores it in its transaction, together with its location.
#[test]
fn whatever_is_made_is_kept_with_it() {
    with_app(async |app| {
        if app.context.db.engine() != Engine::Sqlite {
            return app; // the trigger is written for the other
        }
        let org = app.org("thorough").await;
        let bus = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus" })).await.ok(201);
        let ana = json!({ "firstName": "Ana", "lastName": "Ruiz" });
        let driver = app.post("/v1/drivers", &org.org_admin, ana.clone()).await.ok(201);
        let path = format!("/v1/drivers/{}", text(&driver["id"]));
        // The complete answer is lost, as if the server ended right after the commit.
        let lose = "create trigger lose before update on idempotency begin select raise(abort, 'lost'); end";
        app.context.db.write().sql(lose).run().await.unwrap();
        let user = json!({ "email": "ana@example.org", "firstName": "A", "lastName": "R", "role": "viewer" });
        let robot =
            json!({ "name": "robot", "email": "robot@example.org", "password": PASSWORD, "scopes": [] });
        let requests = [
            ("/v1/organizations", &app.root, organization("another")),
            ("/v1/users", &org.org_admin, user),
            ("/v1/system-users", &org.org_admin, robot),
            ("/v1/drivers", &org.org_admin, ana),
            ("/v1/vehicles", &org.org_admin, json!({ "name": "Tram" })),
            ("/v1/trackers", &org.org_admin, json!({ "uniqueId": "imei-8" })),
            ("/v1/geofences", &org.org_admin, circle("Depot")),
            (&format!("{path}/lock"), &org.org_admin, json!({ "reason": "hired" })),
            (&format!("{path}/assign-vehicle"), &org.org_admin, json!({ "vehicleId": bus["id"] })),
            (&format!("{path}/unlock"), &org.org_admin, json!({})),
        ];
        for (path, token, body) in requests {
            let first = post(&app, path, token, path, &body).await;
            let again = post(&app, path, token, path, &body).await;
            assert!(first.status < 300, "{path}: {}", first.body);
            assert_eq!(again.header("idempotency-replayed"), Some("true"), "{path}: {}", again.body);
            let told = |said: &Said| {
                (said.status, said.header("location").map(str::to_owned), said.body["id"].clone())
            };
            assert_eq!(told(&first), told(&again), "{path}");
        }
        app
    });
}
