//! Pages of other origins: off unless the setting names them, preflights before authorization, refusals readable,
//! credentials never.

use serde_json::json;
use waypost::config::AllowedOrigin;

use crate::harness::App;

const PAGE: &str = "https://console.example.org";
const PREFLIGHT: [(&str, &str); 2] =
    [("access-control-request-method", "PUT"), ("access-control-request-headers", "authorization,if-match")];

async fn allowing(origins: &[&str]) -> App {
    App::start_with(|settings| {
        settings.allowed_origins = origins.iter().map(|text| AllowedOrigin::new(text).unwrap()).collect();
    })
    .await
}

/// The origin that an answer says may read it.
async fn granted(app: &App, method: &str, path: &str, origin: &str) -> (u16, Option<String>) {
    let mut headers = vec![("origin", origin)];
    if method == "OPTIONS" {
        headers.extend(PREFLIGHT);
    }
    let said = app.send(method, path, &headers, "").await;
    assert_eq!(said.header("access-control-allow-credentials"), None);
    (said.status, said.header("access-control-allow-origin").map(str::to_owned))
}

#[test]
fn named_origins_may_call_and_read_every_answer() {
    actix_rt::System::new().block_on(async {
        let app = allowing(&[PAGE]).await;
        let page = || Some(PAGE.to_owned());
        let fence = "/v1/geofences/018f0000-0000-7000-8000-000000000000";
        assert_eq!(granted(&app, "OPTIONS", fence, PAGE).await, (204, page()));
        assert_eq!(granted(&app, "OPTIONS", "/v1/auth/login", PAGE).await, (204, page()));
        let said = app.send("OPTIONS", fence, &[("origin", PAGE), PREFLIGHT[0], PREFLIGHT[1]], "").await;
        for (name, word) in
            [("access-control-allow-methods", "PUT"), ("access-control-allow-headers", "if-match")]
        {
            assert!(said.header(name).unwrap().contains(word), "{name}");
        }
        assert_eq!(said.header("access-control-max-age"), Some("3600"));
        // Refusals too: of a layer, of the route, of a path that is none, of one that is too long.
        let long = format!("/v1/vehicles?q={}", "x".repeat(17_000));
        for (method, path, status) in [
            ("GET", "/v1/vehicles", 401),
            ("GET", "/v1/auth/me", 401),
            ("GET", "/v1/nothing", 404),
            ("GET", long.as_str(), 414),
        ] {
            assert_eq!(granted(&app, method, path, PAGE).await, (status, page()), "{method} {path}");
        }
        let said = app.send("GET", "/v1/vehicles", &[("origin", PAGE)], "").await;
        assert!(said.header("access-control-expose-headers").unwrap().contains("etag"));
        // Others hear nothing, nor does anybody of what is not the interface.
        for origin in ["https://evil.example.org", "https://console.example.org.evil.org", "null"] {
            assert_eq!(granted(&app, "OPTIONS", fence, origin).await.1, None, "{origin}");
            assert_eq!(granted(&app, "GET", "/v1/vehicles", origin).await, (401, None), "{origin}");
        }
        assert_eq!(granted(&app, "GET", "/setup/x", PAGE).await.1, None);
        let said = app.send("GET", "/v1/vehicles", &[], "").await;
        assert!(said.header("vary").unwrap().contains("origin"), "a cache keeps pages apart");
        // An OPTIONS that is no preflight asks which methods there are, as ever.
        let said = app.send("OPTIONS", fence, &[("origin", PAGE)], "").await;
        assert!(said.header("allow").unwrap().contains("PUT"));
        app.stop().await;
    });
}

#[test]
fn without_the_setting_nobody_may_and_a_star_is_everybody() {
    actix_rt::System::new().block_on(async {
        let app = allowing(&[]).await;
        assert_eq!(granted(&app, "OPTIONS", "/v1/vehicles", PAGE).await.1, None);
        assert_eq!(granted(&app, "GET", "/v1/vehicles", PAGE).await, (401, None));
        app.stop().await;
        let app = allowing(&["*"]).await;
        let everybody = Some("*".to_owned());
        for origin in [PAGE, "null"] {
            assert_eq!(granted(&app, "OPTIONS", "/v1/vehicles", origin).await, (204, everybody.clone()));
        }
        let said = app.post("/v1/auth/login", "", json!({})).await;
        assert_eq!(said.header("access-control-allow-origin"), Some("*"));
        app.stop().await;
        for bad in ["https://console.example.org/", "console.example.org", "https://", "**"] {
            assert!(AllowedOrigin::new(bad).is_err(), "{bad}");
        }
    });
}
