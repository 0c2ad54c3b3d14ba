//! Users: who may create whom, who sees whom, invitations.

use serde_json::{Value, json};
use waypost::domain::account::Role;

use crate::harness::{App, Org, PASSWORD, ROOT, text, with_app};

fn person(email: &str, role: &str) -> Value {
    json!({ "email": email, "firstName": "Ada", "lastName": "Byron", "role": role })
}

fn emails(body: &Value) -> Vec<String> {
    body["data"].as_array().unwrap().iter().map(|user| text(&user["email"])).collect()
}

async fn operator(app: &App, role: Role) -> String {
    let account = app.account(role, None).await;
    app.sign_in(account).await
}

#[test]
fn a_user_is_invited_chooses_a_password_and_signs_in() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let mut body = person("Ada@Example.org", "dispatcher");
        body["phone"] = json!("+49 89 1");
        body["locale"] = json!("de-DE");
        body["timezone"] = json!("europe/berlin");
        let said = app.post("/v1/users", &org.org_admin, body).await;
        let made = said.ok(201);
        assert_eq!((&made["status"], &made["organizationId"]), (&json!("invited"), &json!(org.id)));
        assert_eq!((&made["timezone"], made.get("lastLoginAt")), (&json!("Europe/Berlin"), None));
        let path = text(&json!(said.header("location")));
        let read = app.get(&path, &org.org_admin).await;
        assert_eq!(read.ok(200), made);
        assert_eq!(read.resource_tag(), said.resource_tag());
        let login = json!({ "email": "ada@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login.clone()).await.problem(401, "invalidCredentials");
        let accept = app.link("Ada@Example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        assert_eq!(
            app.post(&accept, "", json!({ "password": PASSWORD })).await.ok(200)["role"],
            "dispatcher"
        );
        app.post("/v1/auth/login", "", login).await.ok(200);
        let found = app.get(&path, &org.org_admin).await;
        assert_eq!(found.ok(200)["status"], "active");
        assert!(found.body["lastLoginAt"].is_string());
        let tag = found.resource_tag();
        app.pass(1);
        let login = json!({ "email": "ada@example.org", "password": PASSWORD });
        app.post("/v1/auth/login", "", login).await.ok(200);
        let after = app.get(&path, &org.org_admin).await;
        assert_eq!(after.resource_tag(), tag, "signing in changes nothing that If-Match looks at");
        app
    });
}

#[test]
fn everything_wrong_is_told_and_nobody_chooses_a_password_for_another() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let body = json!({ "email": "?", "firstName": "", "role": "boss", "locale": "d", "timezone": "Mars/Olympus",
            "password": PASSWORD, "status": "active" });
        let said = app.post("/v1/users", &org.org_admin, body).await;
        said.problem(422, "validationFailed");
        let mut pointers = said.pointers();
        pointers.sort_unstable();
        let all =
            ["/email", "/firstName", "/lastName", "/locale", "/password", "/role", "/status", "/timezone"];
        assert_eq!(pointers, all);
        let taken = person(&ROOT.to_uppercase(), "viewer");
        app.post("/v1/users", &org.org_admin, taken).await.problem(409, "emailTaken");
        app
    });
}

/// Who may create whom: the caller, the role, whether an organization is named, and the answer.
const MAKING: &[(&str, &str, bool, u16, &str)] = &[
    ("superAdmin", "superAdmin", false, 201, ""),
    ("superAdmin", "admin", false, 201, ""),
    ("superAdmin", "orgAdmin", true, 201, ""),
    ("superAdmin", "viewer", false, 422, "organizationRequired"),
    ("superAdmin", "admin", true, 422, "validationFailed"),
    ("admin", "superAdmin", false, 403, "forbidden"),
    ("admin", "admin", false, 403, "forbidden"),
    ("admin", "dispatcher", true, 201, ""),
    ("admin", "dispatcher", false, 422, "organizationRequired"),
    ("orgAdmin", "orgAdmin", false, 201, ""),
    ("orgAdmin", "viewer", true, 201, ""),
    ("orgAdmin", "admin", false, 403, "forbidden"),
    ("orgAdmin", "superAdmin", true, 403, "forbidden"),
    ("dispatcher", "viewer", false, 403, "forbidden"),
    ("viewer", "viewer", false, 403, "forbidden"),
    ("system", "viewer", false, 403, "forbidden"),
];

#[test]
fn who_may_make_whom() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let admin = operator(&app, Role::Admin).await;
        let (_, program) = app.system_user(&org.org_admin, &["users:read"]).await;
        for (number, (caller, role, names, status, code)) in MAKING.iter().enumerate() {
            let token = match *caller {
                "superAdmin" => &app.root,
                "admin" => &admin,
                "orgAdmin" => &org.org_admin,
                "dispatcher" => &org.dispatcher,
                "viewer" => &org.viewer,
                _ => &program,
            };
            let mut body = person(&format!("new-{number}@example.org"), role);
            if *names {
                body["organizationId"] = json!(org.id);
            }
            let said = app.post("/v1/users", token, body).await;
            assert_eq!(said.status, *status, "{caller} makes {role}: {}", said.body);
            if code.is_empty() {
                assert_eq!(
                    said.body.get("organizationId").is_some(),
                    !matches!(*role, "superAdmin" | "admin")
                );
            } else {
                said.problem(*status, code);
            }
        }
        let other = app.org("other").await;
        let mut foreign = person("foreign@example.org", "viewer");
        foreign["organizationId"] = json!(other.id);
        app.post("/v1/users", &org.org_admin, foreign).await.problem(404, "notFound");
        app
    });
}

#[test]
fn lists_are_searched_filtered_and_sorted() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        for (name, role) in [("zoe", "viewer"), ("yan", "dispatcher")] {
            let mut body = person(&format!("{name}@example.org"), role);
            body["lastName"] = json!(name);
            app.post("/v1/users", &org.org_admin, body).await.ok(201);
        }
        let get = async |query: &str, token: &str| {
            emails(&app.get(&format!("/v1/users?{query}"), token).await.ok(200))
        };
        assert_eq!(get("q=ZO", &org.org_admin).await, ["zoe@example.org"]);
        assert_eq!(get("q=ada&sort=lastName", &org.dispatcher).await, ["yan@example.org", "zoe@example.org"]);
        assert_eq!(get("status=invited&role=viewer", &org.org_admin).await, ["zoe@example.org"]);
        assert_eq!(get("status=active", &org.org_admin).await.len(), 3);
        assert_eq!(get(&format!("organizationId={}", org.id), &app.root).await.len(), 6);
        assert_eq!(get("", &app.root).await, [ROOT], "the operators");
        let (_, reader) = app.system_user(&org.org_admin, &["users:read"]).await;
        assert_eq!(get("", &reader).await.len(), 6);
        let (_, blind) = app.system_user(&org.org_admin, &["drivers:read"]).await;
        app.get("/v1/users", &blind).await.problem(403, "forbidden");
        app.get("/v1/users", &org.viewer).await.problem(403, "forbidden");
        app.get("/v1/users?sort=password", &org.org_admin).await.problem(400, "unknownSortKey");
        app
    });
}

async fn own_path(app: &App, token: &str) -> String {
    format!("/v1/users/{}", text(&app.get("/v1/auth/me", token).await.ok(200)["id"]))
}

#[test]
fn each_sees_whom_it_may() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let (viewer, foreign) = (own_path(&app, &own.viewer).await, own_path(&app, &other.viewer).await);
        let root = own_path(&app, &app.root).await;
        for token in [&own.org_admin, &own.viewer, &app.root] {
            app.get(&viewer, token).await.ok(200);
        }
        app.get(&viewer, &own.dispatcher).await.problem(403, "forbidden"); // it lists, and sees itself
        let named = format!("{viewer}?organizationId={}", own.id);
        app.get(&named, &app.root).await.ok(200);
        app.get(&named, &own.viewer).await.ok(200);
        app.get(&format!("{viewer}?organizationId={}", other.id), &app.root).await.problem(404, "notFound");
        app.get(&format!("{viewer}?organizationId={}", other.id), &own.viewer).await.problem(404, "notFound");
        app.get(&own_path(&app, &own.dispatcher).await, &own.viewer).await.problem(403, "forbidden");
        let missing = "/v1/users/00000000-0000-7000-8000-000000000000";
        for path in [foreign.as_str(), root.as_str(), missing, "/v1/users/nonsense"] {
            app.get(path, &own.org_admin).await.problem(404, "notFound");
            app.put(path, &own.org_admin, json!({})).await.problem(404, "notFound");
        }
        app.get(missing, &app.root).await.problem(404, "notFound");
        let admin = operator(&app, Role::Admin).await;
        app.get(&root, &admin).await.ok(200);
        app.put(&root, &admin, json!({ "firstName": "Not so" })).await.problem(403, "forbidden");
        let (_, reader) = app.system_user(&own.org_admin, &["users:read"]).await;
        app.get(&viewer, &reader).await.ok(200);
        app.put(&viewer, &reader, json!({})).await.problem(403, "forbidden");
        app
    });
}

#[test]
fn an_invitation_is_sent_again_and_the_one_before_is_over() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let made = app.post("/v1/users", &org.org_admin, person("ada@example.org", "viewer")).await.ok(201);
        let again = format!("/v1/users/{}/invitation", text(&made["id"]));
        let first = app.link("ada@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.post(&again, &org.dispatcher, json!(null)).await.problem(403, "forbidden");
        assert_eq!(app.post(&again, &org.org_admin, json!(null)).await.ok(200), made);
        let second = app.link("ada@example.org", 2).await.replace("/invite/", "/v1/auth/accept-invite/");
        let password = json!({ "password": PASSWORD });
        app.post(&first, "", password.clone()).await.problem(410, "linkExpired");
        app.post(&second, "", password).await.ok(200);
        app.post(&again, &org.org_admin, json!(null)).await.problem(409, "invalidTransition");
        let missing = "/v1/users/00000000-0000-7000-8000-000000000000/invitation";
        app.post(missing, &org.org_admin, json!(null)).await.problem(404, "notFound");
        app
    });
}

#[test]
fn whoever_is_made_before_the_organization_is_active_is_invited_when_it_is() {
    with_app(async |app| {
        let made =
            app.post("/v1/organizations", &app.root, crate::harness::organization("early")).await.ok(201);
        let org = Org {
            id: text(&made["id"]),
            org_admin: String::new(),
            dispatcher: String::new(),
            viewer: String::new(),
        };
        let mut body = person("early-bird@example.org", "viewer");
        body["organizationId"] = json!(org.id);
        let user = app.post("/v1/users", &app.root, body).await.ok(201);
        let again = format!("/v1/users/{}/invitation", text(&user["id"]));
        app.post(&again, &app.root, json!(null)).await.problem(409, "invalidTransition");
        assert!(app.mail.all("early-bird@example.org").is_empty());
        app.put(&format!("/v1/organizations/activate/{}", org.id), &app.root, json!({})).await.ok(200);
        app.link("early-bird@example.org", 1).await;
        app.link("early-admin@example.org", 1).await;
        app
    });
}
