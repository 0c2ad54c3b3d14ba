//! Files of drivers' documents: what is taken, who reads it, and what it goes with.

use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost::ops::retention::enforce;

use crate::harness::{App, Said, on_each_engine, text, with_app};

/// The smallest content that is taken for a PDF.
const PDF: &[u8] = b"%PDF-1.7\nlicence";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nlicence";

/// Uploads a file.
async fn put_file(app: &App, token: &str, path: &str, content: &[u8]) -> Said {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/octet-stream")];
    app.send("PUT", path, &headers, content).await
}

/// A driver whom nobody holds, with a document that has a file; the ids of both.
pub(crate) async fn driver_with_file(app: &App, token: &str) -> (String, String) {
    let body = json!({ "firstName": "Ana", "lastName": "Ruiz", "lock": false, "documents": [{ "type": "license" }] });
    let made = app.post("/v1/drivers", token, body).await.ok(201);
    let (driver, document) = (text(&made["id"]), text(&made["documents"][0]["id"]));
    put_file(app, token, &format!("/v1/drivers/{driver}/documents/{document}/file"), PDF).await.ok(200);
    (driver, document)
}

/// A driver with documents: the path, and the paths of their files.
async fn driver(app: &App, token: &str, kinds: &[&str]) -> (String, Vec<String>) {
    let documents: Vec<Value> = kinds.iter().map(|kind| json!({ "type": kind })).collect();
    let body = json!({ "firstName": "Ana", "lastName": "Ruiz", "documents": documents });
    let made = app.post("/v1/drivers", token, body).await.ok(201);
    let path = format!("/v1/drivers/{}", text(&made["id"]));
    let file = |document: &Value| format!("{path}/documents/{}/file", text(&document["id"]));
    let files = made["documents"].as_array().unwrap().iter().map(file).collect();
    (path, files)
}

/// Rows that the store has of files and of their parts.
async fn stored(app: &App) -> (i64, i64) {
    let count = async |select: &'static str| app.context.db.read().sql(select).scalar().await.unwrap();
    (count("select count(*) from driver_file").await, count("select count(*) from driver_file_part").await)
}

#[test]
fn a_file_comes_back_as_it_was_and_stands_in_its_document() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (path, files) = driver(&app, &org.org_admin, &["license", "contract"]).await;
        app.get(&files[0], &org.viewer).await.problem(404, "notFound");
        // Three parts and a bit.
        let large: Vec<u8> = PDF.iter().copied().chain((0..800_000).map(|n| (n % 251) as u8)).collect();
        let own = put_file(&app, &org.org_admin, &files[0], &large).await.ok(200);
        let told = json!({ "mediaType": "application/pdf", "bytes": large.len(),
            "uploadedAt": own["documents"][0]["file"]["uploadedAt"] });
        assert_eq!((&own["documents"][0]["file"], &own["documents"][1]["file"]), (&told, &Value::Null));
        assert!(text(&told["uploadedAt"]).starts_with("2026-05-01T12:00"));
        let said = app.get(&files[0], &org.viewer).await;
        assert!(said.status == 200 && said.bytes == large, "{} bytes", said.bytes.len());
        assert_eq!(said.header("content-type"), Some("application/octet-stream"));
        let disposition = said.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; filename=\"") && disposition.ends_with(".pdf\""));
        assert_eq!(said.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(said.header("cache-control"), Some("no-store"));

        put_file(&app, &org.org_admin, &files[0], PNG).await.ok(200);
        let said = app.get(&files[0], &org.viewer).await;
        assert_eq!((said.header("content-type"), &said.bytes[..]), (Some("application/octet-stream"), PNG));
        assert_eq!(stored(&app).await.0, 1, "one takes the other's place");
        app.delete(&files[0], &org.org_admin).await.ok(204);
        app.delete(&files[0], &org.org_admin).await.problem(404, "notFound");
        app.get(&files[0], &org.viewer).await.problem(404, "notFound");
        let shown = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(
            (&shown["documents"][0]["type"], &shown["documents"][0]["file"]),
            (&json!("license"), &Value::Null)
        );
        let audit = app.get("/v1/audit?resource=driver&action=update", &org.org_admin).await.ok(200);
        assert_eq!(
            audit["pagination"]["totalItems"]
                .as_i64()
                .or(Some(audit["data"].as_array().unwrap().len() as i64)),
            Some(3)
        );
        enforce(&app.context).await.unwrap();
        assert_eq!(stored(&app).await, (0, 0), "retention takes the parts");
        app
    });
}

#[test]
fn what_is_no_pdf_or_picture_or_too_large_is_refused() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, files) = driver(&app, &org.org_admin, &["license"]).await;
        for content in [&b"<html>"[..], b"", b"GIF89a", &b"x".repeat(100_000)] {
            put_file(&app, &org.org_admin, &files[0], content).await.problem(415, "unsupportedMediaType");
        }
        let limit = 10 * 1024 * 1024;
        let mut whole = PDF.to_vec();
        whole.resize(limit, b' ');
        put_file(&app, &org.org_admin, &files[0], &whole).await.ok(200);
        whole.push(b' ');
        put_file(&app, &org.org_admin, &files[0], &whole).await.problem(413, "payloadTooLarge");
        assert_eq!(app.get(&files[0], &org.viewer).await.bytes.len(), limit, "the one before stays");
        put_file(&app, &org.dispatcher, &files[0], PDF).await.problem(403, "forbidden");
        let unknown = format!("{path}/documents/{}/file", Uuid::nil());
        put_file(&app, &org.org_admin, &unknown, PDF).await.problem(404, "notFound");
        // As if a hundred others were there.
        let grow = "update driver_file set bytes = 1073741824 - 20";
        app.context.db.write().sql(grow).run().await.unwrap();
        let (_, others) = driver(&app, &org.org_admin, &["license"]).await;
        put_file(&app, &org.org_admin, &others[0], PDF).await.ok(200);
        let (_, others) = driver(&app, &org.org_admin, &["license"]).await;
        put_file(&app, &org.org_admin, &others[0], PDF).await.problem(409, "fileLimitReached");
        put_file(&app, &org.org_admin, &files[0], PDF).await.ok(200);
        app
    });
}

#[test]
fn of_two_files_at_once_the_limit_lets_one_through() {
    on_each_engine(async |app| {
        let org = app.org("own").await;
        let (_, files) = driver(&app, &org.org_admin, &["license"]).await;
        put_file(&app, &org.org_admin, &files[0], PDF).await.ok(200);
        // As if a hundred others were there, and room for one.
        let grow = "update driver_file set bytes = 1073741824 - 20";
        app.context.db.write().sql(grow).run().await.unwrap();
        for _ in 0..20 {
            let (one, ones) = driver(&app, &org.org_admin, &["license"]).await;
            let (other, others) = driver(&app, &org.org_admin, &["license"]).await;
            let puts = (
                put_file(&app, &org.org_admin, &ones[0], PDF),
                put_file(&app, &org.org_admin, &others[0], PDF),
            );
            let said = join(puts.0, puts.1).await;
            let mut statuses = [said.0.status, said.1.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 409]);
            for path in [one, other] {
                app.delete(&path, &org.org_admin).await.ok(204);
            }
        }
        app
    });
}

#[test]
fn a_file_is_read_by_its_own_organization_alone() {
    with_app(async |app| {
        let (org, other) = (app.org("own").await, app.org("foreign").await);
        let license = json!({ "number": "L-1", "country": "DE" });
        let body = json!({ "firstName": "Ana", "lastName": "Ruiz", "license": license, "lock": false,
            "documents": [{ "type": "license" }] });
        let made = app.post("/v1/drivers", &org.org_admin, body).await.ok(201);
        let path = format!("/v1/drivers/{}", text(&made["id"]));
        let file = format!("{path}/documents/{}/file", text(&made["documents"][0]["id"]));
        put_file(&app, &org.org_admin, &file, PDF).await.ok(200);
        // The other one holds the same person, with a profile of its own.
        app.post(&format!("{path}/lock"), &other.org_admin, json!({})).await.ok(200);
        app.get(&file, &other.org_admin).await.problem(404, "notFound");
        put_file(&app, &other.org_admin, &file, PNG).await.problem(404, "notFound");
        app.delete(&file, &other.org_admin).await.problem(404, "notFound");
        assert_eq!(
            app.get(&file, &org.viewer).await.bytes,
            PDF,
            "its own stays, though it holds the driver no more"
        );
        app
    });
}

#[test]
fn a_put_keeps_files_and_cannot_make_one_up() {
    with_app(async |app| {
        let org = app.org("own").await;
        let (path, files) = driver(&app, &org.org_admin, &["license", "contract"]).await;
        for file in &files {
            put_file(&app, &org.org_admin, file, PDF).await.ok(200);
        }
        let mut documents = app.get(&path, &org.org_admin).await.ok(200)["documents"].clone();
        documents[0]["note"] = json!("seen");
        let changed = app.put(&path, &org.org_admin, json!({ "documents": documents })).await.ok(200);
        assert_eq!(changed["documents"], documents, "sent back as it was told");
        let without = json!([{ "id": documents[0]["id"], "type": "license" }]);
        let changed = app.put(&path, &org.org_admin, json!({ "documents": without })).await.ok(200);
        assert_eq!(changed["documents"][0]["file"], documents[0]["file"], "left out it stays");
        assert_eq!(stored(&app).await.0, 1, "that of the other document went with it");
        app.get(&files[1], &org.org_admin).await.problem(404, "notFound");
        let made_up = json!([{ "id": documents[0]["id"], "type": "license",
            "file": { "mediaType": "image/png", "bytes": 7, "uploadedAt": "2026-05-01T12:00:00Z" } }]);
        let new = json!([{ "type": "license", "file": documents[0]["file"] }]);
        for documents in [made_up, new] {
            let said = app.put(&path, &org.org_admin, json!({ "documents": documents })).await;
            let errors = said.problem(422, "validationFailed")["errors"].clone();
            assert_eq!(
                (&errors[0]["pointer"], &errors[0]["code"]),
                (&json!("/documents/0/file"), &json!("readOnly"))
            );
        }
        let tag = app.get(&path, &org.org_admin).await.header("etag").unwrap().to_owned();
        app.put(&path, &org.org_admin, json!({ "notes": "n" })).await.ok(200);
        let bearer = format!("Bearer {}", org.org_admin);
        let stale = [("authorization", bearer.as_str()), ("if-match", tag.as_str())];
        app.send("PUT", &files[0], &stale, PDF).await.problem(412, "preconditionFailed");
        app.send("DELETE", &files[0], &stale, "").await.problem(412, "preconditionFailed");
        app
    });
}

#[test]
fn files_go_with_the_profile_and_with_the_organization() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("own").await, app.org("other").await);
        let (path, files) = driver(&app, &org.org_admin, &["license"]).await;
        put_file(&app, &org.org_admin, &files[0], PDF).await.ok(200);
        let (_, others) = driver(&app, &other.org_admin, &["license"]).await;
        put_file(&app, &other.org_admin, &others[0], PDF).await.ok(200);
        app.delete(&path, &org.org_admin).await.ok(204);
        app.get(&files[0], &org.org_admin).await.problem(404, "notFound");
        let gone = app.get(&format!("{path}?includeDeleted=true"), &org.org_admin).await.ok(200);
        assert_eq!(
            (&gone["documents"][0]["type"], &gone["documents"][0]["file"]),
            (&json!("license"), &Value::Null)
        );
        assert_eq!(stored(&app).await.0, 1);
        app.delete(&format!("/v1/organizations/organization/{}", other.id), &app.root).await.ok(204);
        assert_eq!(stored(&app).await.0, 0);
        enforce(&app.context).await.unwrap();
        assert_eq!(stored(&app).await, (0, 0));
        app
    });
}
