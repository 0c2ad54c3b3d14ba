//! To which organization a request belongs, by credentials as the server gives them.

use actix_web::test::TestRequest;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost::cluster::whose::{Finder, Whose};
use waypost::domain::account::Role;
use waypost_actors::model::OrganizationId;

use crate::harness::{PASSWORD, circle, on_each_engine, text};

/// Whose a request is.
async fn whose(finder: &Finder, path: &str, token: &str, body: Option<Value>) -> Whose {
    let request = if body.is_some() { TestRequest::post() } else { TestRequest::get() };
    let mut request = request.uri(path);
    if !token.is_empty() {
        request = request.insert_header(("authorization", format!("Bearer {token}")));
    }
    if let Some(body) = body {
        let body = body.to_string();
        request = request.insert_header(("content-length", body.len())).set_payload(body);
    }
    finder.organization_of(&mut request.to_srv_request()).await.unwrap()
}

fn organization(id: &str) -> Whose {
    Whose::Organization(OrganizationId(Uuid::try_parse(id).unwrap()))
}

#[test]
fn every_credential_of_an_organization_leads_to_it() {
    on_each_engine(async |app| {
        let finder = Finder::new(app.context.db.clone());
        app.org("other").await;
        let org = app.org("own").await;
        let own = organization(&org.id);
        let scopes = ["vehicles:read", "positions:read"];
        let (user, session) = app.system_user(&org.org_admin, &scopes).await;
        let keys = format!("/v1/system-users/{user}/keys");
        let key = app.post(&keys, &org.org_admin, json!({ "name": "a", "scopes": scopes })).await.ok(201);
        let key = text(&key["token"]);
        let bus = json!({ "name": "Bus", "tracker": { "uniqueId": "bus" } });
        let bus = app.post("/v1/vehicles", &org.org_admin, bus).await.ok(201);
        let tracker = text(&bus["tracker"]["token"]);
        let share = json!({ "vehicleIds": [bus["id"]], "endsAt": "2026-05-01T13:00:00Z" });
        let share = text(&app.post("/v1/shares", &org.org_admin, share).await.ok(201)["token"]);
        let ticket = text(&app.post("/v1/auth/ws-ticket", &org.viewer, json!(null)).await.ok(201)["ticket"]);
        for token in [&org.viewer, &session, &key] {
            assert_eq!(whose(&finder, "/v1/vehicles", token, None).await, own);
            assert_eq!(whose(&finder, "/v1/ws/live", token, None).await, own);
        }
        for (path, token) in [
            ("/v1/positions".to_owned(), tracker.as_str()),
            ("/v1/ws/tracker".to_owned(), &tracker),
            (format!("/in/{tracker}?lat=1"), ""),
            (format!("/in?token={tracker}"), ""),
            (format!("/s/{share}/vehicles"), ""),
            (format!("/v1/events/stream?ticket={ticket}"), ""),
        ] {
            // Once from the store, once from memory.
            for _ in 0..2 {
                assert_eq!(whose(&finder, &path, token, None).await, own, "{path}");
            }
        }
        for unknown in ["wpt_unknown", "wpk_unknown", "a.b.c"] {
            assert_eq!(whose(&finder, "/v1/vehicles", unknown, None).await, Whose::Nobody, "{unknown}");
        }
        app
    });
}

#[test]
fn links_of_letters_and_refresh_tokens_lead_to_the_organization_whose_sockets_they_may_end() {
    on_each_engine(async |app| {
        let finder = Finder::new(app.context.db.clone());
        let org = app.org("own").await;
        let account = app.account(Role::Viewer, Some(&org.id)).await;
        let link = app.context.auth.sign_in_link(account).await.unwrap();
        let path = format!("/v1/auth/sign-in-link/{link}");
        assert_eq!(whose(&finder, &path, "", None).await, organization(&org.id));
        let signed_in = app.post(&path, "", json!(null)).await.ok(200);
        let refresh = json!({ "refreshToken": signed_in["refreshToken"] });
        for path in ["/v1/auth/refresh", "/v1/auth/logout"] {
            assert_eq!(
                whose(&finder, path, "", Some(refresh.clone())).await,
                organization(&org.id),
                "{path}"
            );
            let unknown = json!({ "refreshToken": "wpr_unknown" });
            assert_eq!(whose(&finder, path, "", Some(unknown)).await, Whose::Nobody, "{path}");
        }
        // An invitation, and the letter that activates an organization.
        let invited =
            json!({ "email": "new@example.org", "firstName": "A", "lastName": "B", "role": "viewer" });
        app.post("/v1/users", &org.org_admin, invited).await.ok(201);
        assert_eq!(
            whose(&finder, &app.link("new@example.org", 1).await, "", None).await,
            organization(&org.id)
        );
        let made =
            app.post("/v1/organizations", &app.root, crate::harness::organization("third")).await.ok(201);
        let activation = app.link("third@example.org", 1).await;
        assert_eq!(whose(&finder, &activation, "", None).await, organization(&text(&made["id"])));
        let login = json!({ "email": "new@example.org", "password": PASSWORD });
        assert_eq!(whose(&finder, "/v1/auth/login", "", Some(login)).await, Whose::Nobody);
        app
    });
}

#[test]
fn an_operators_request_belongs_to_what_it_names() {
    on_each_engine(async |app| {
        let finder = Finder::new(app.context.db.clone());
        let org = app.org("own").await;
        let (own, root) = (organization(&org.id), &app.root);
        let user = app.account(Role::Viewer, Some(&org.id)).await;
        let (program, _) = app.system_user(&org.org_admin, &["vehicles:read"]).await;
        for path in [
            format!("/v1/vehicles?organizationId={}", org.id),
            format!("/v1/organizations/organization/{}", org.id),
            format!("/v1/users/{user}"),
            format!("/v1/system-users/{program}/keys"),
        ] {
            assert_eq!(whose(&finder, &path, root, None).await, own, "{path}");
        }
        let mut fence = circle("Depot");
        fence["organizationId"] = json!(org.id);
        assert_eq!(whose(&finder, "/v1/geofences", root, Some(fence.clone())).await, own);
        for path in ["/v1/organizations/all", "/v1/users", "/v1/auth/me"] {
            assert_eq!(whose(&finder, path, root, None).await, Whose::Nobody, "{path}");
        }
        // What somebody else names counts for nothing.
        let other = app.org("other").await;
        assert_eq!(
            whose(&finder, "/v1/geofences", &other.org_admin, Some(fence)).await,
            organization(&other.id)
        );
        app
    });
}
