//! What a request says of whose it is, by its path and its credential. Nothing of it is checked, and nothing looked up.

use std::borrow::Cow;

use actix_web::HttpRequest;
use actix_web::http::Method;
use percent_encoding::percent_decode_str;
use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use crate::auth::{API_KEY_PREFIX, claimed_holder, secret, ticket_organization};
use crate::http::report_token;
use crate::http::request::bearer;
use crate::http::sockets::offered_token;
use crate::store::session::HolderId;
use crate::store::whose::Kind;

/// What a request says of whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It is about no organization, and every node answers it alike.
    Here,
    /// It is about no organization.
    Nobody,
    /// Its organization.
    Organization(OrganizationId),
    /// It has a secret, here by its hash.
    Secret(Kind, secret::Hash),
    /// It is of somebody who is signed in.
    Holder(HolderId),
    /// Its body has a refresh token.
    RefreshToken,
    /// It opens a socket whose first message says.
    FirstMessage,
}

/// The pages behind the links of letters.
const LINK_PAGES: [&str; 5] = ["verify", "activate", "invite", "address", "reset"];
/// The routes of the same, below `/v1/auth`.
const LINK_ROUTES: [&str; 4] = ["reset-password", "accept-invite", "confirm-address", "sign-in-link"];

/// Reads a request that has no route yet.
pub(super) fn claim(request: &HttpRequest) -> Claim {
    if request.method() == Method::OPTIONS {
        return Claim::Here;
    }
    let path = segments(request.path());
    let path: Vec<&str> = path.iter().map(Cow::as_ref).collect();
    match path.as_slice() {
        ["in", behind @ ..] => match report_token::find_behind(request, behind.first().copied()) {
            Some(found) => of_token(&found.token),
            None => Claim::Nobody,
        },
        ["s", token, "vehicles"] => of_secret(Kind::Share, token),
        ["setup", _] => Claim::Nobody,
        [page, token] if LINK_PAGES.contains(page) => of_secret(Kind::Link, token),
        ["v1", "auth", route, token] if LINK_ROUTES.contains(route) => of_secret(Kind::Link, token),
        ["v1", "system-users" | "organizations", "verify-email", token] => of_secret(Kind::Link, token),
        ["v1", "auth", "refresh" | "logout"] => Claim::RefreshToken,
        // Counted by the client's address, which would have a count at each node to whose shards it has a credential.
        ["v1", "auth", "login" | "forgot-password"]
        | ["v1", "system-users", "login" | "resend-verification"]
        | ["v1", "organizations", "resend-activation"]
            if request.method() == Method::POST =>
        {
            Claim::Nobody
        }
        ["v1", "ws", "tracker"] => {
            bearer(request).or_else(|| offered_token(request)).map_or(Claim::Nobody, of_token)
        }
        ["v1", "ws", "live"] => bearer(request).map_or(Claim::FirstMessage, of_token),
        ["v1", "events", "stream"] => bearer(request).map_or_else(|| by_ticket(request), of_token),
        ["v1", ..] => bearer(request).map_or(Claim::Nobody, of_token),
        _ => Claim::Here,
    }
}

/// The organization that an operator names by the query or the path.
pub(super) fn named(request: &HttpRequest) -> Option<OrganizationId> {
    let in_query = in_query(request, "organizationId").and_then(|id| Uuid::try_parse(&id).ok());
    let path = segments(request.path());
    let path: Vec<&str> = path.iter().map(Cow::as_ref).collect();
    let in_path = match path.as_slice() {
        ["v1", "organizations", "organization" | "activate", id] => Uuid::try_parse(id).ok(),
        _ => None,
    };
    in_path.or(in_query).map(OrganizationId)
}

/// The person or system user that a path names, apart from the caller. Of other things operators have to name the
/// organization.
pub(super) fn named_holder(request: &HttpRequest) -> Option<HolderId> {
    let path = segments(request.path());
    let path: Vec<&str> = path.iter().map(Cow::as_ref).collect();
    match path.as_slice() {
        ["v1", "users", id, ..] => Uuid::try_parse(id).ok().map(HolderId::Account),
        ["v1", "system-users", id, ..] => Uuid::try_parse(id).ok().map(HolderId::System),
        _ => None,
    }
}

/// A path's parts, without empty ones.
fn segments(path: &str) -> Vec<Cow<'_, str>> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_str(part).decode_utf8_lossy()).collect()
}

fn in_query(request: &HttpRequest, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(request.query_string().as_bytes());
    pairs.find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

fn by_ticket(request: &HttpRequest) -> Claim {
    let ticket = in_query(request, "ticket").unwrap_or_default();
    ticket_organization(&ticket).map_or(Claim::Nobody, Claim::Organization)
}

/// A credential that is sent with requests: a system user's key, an access token, which has dots, or a tracker's token.
fn of_token(token: &str) -> Claim {
    if token.starts_with(API_KEY_PREFIX) {
        of_secret(Kind::Key, token)
    } else if token.contains('.') {
        claimed_holder(token).map_or(Claim::Nobody, Claim::Holder)
    } else {
        of_secret(Kind::Tracker, token)
    }
}

fn of_secret(kind: Kind, token: &str) -> Claim {
    Claim::Secret(kind, secret::hash(token))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;
    use crate::http::route::Access;
    use crate::http::routes::TABLE;

    const ID: Uuid = Uuid::from_u128(7);

    fn of(path: &str, headers: &[(&'static str, String)]) -> Claim {
        let request = TestRequest::with_uri(path);
        let with = |request: TestRequest, (name, value): &(&'static str, String)| {
            request.insert_header((*name, value.clone()))
        };
        claim(&headers.iter().fold(request, with).to_http_request())
    }

    fn bearing(token: &str) -> [(&'static str, String); 1] {
        [("authorization", format!("Bearer {token}"))]
    }

    fn access_token(kind: &str) -> String {
        let claims = json!({ "iss": "waypost", "aud": "waypost-api", "sub": ID, "kind": kind, "sid": ID, "iat": 1,
            "nbf": 1, "exp": 2, "jti": ID });
        format!("e30.{}.x", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_credential_counts_wherever_the_owner_would_find_it() {
        let tracker = of_secret(Kind::Tracker, "wpt_1");
        let basic = [("authorization", format!("Basic {}", BASE64_STANDARD.encode("any:wpt_1")))];
        for path in ["/in", "/in/owntracks", "//in//owntracks/"] {
            assert_eq!(of(path, &basic), tracker, "{path}");
            assert_eq!(of(&format!("{path}?id=1&token=wpt_1"), &[]), tracker, "{path}");
            assert_eq!(of(path, &bearing("wpt_1")), tracker, "{path}");
        }
        for path in ["/in/wpt_1", "/in/wpt%5F1", "/in/wpt_1/overland?token=wpt_2", "//in/wpt_1"] {
            assert_eq!(of(path, &bearing("wpt_3")), tracker, "{path}");
        }
        let offered = [("sec-websocket-protocol", "waypost.tracker.v1, bearer.wpt_1".to_owned())];
        assert_eq!(of("/v1/ws/tracker", &offered), tracker);
        assert_eq!(of("/v1/positions", &bearing("wpt_1")), tracker);
        assert_eq!(of("/v1/vehicles", &bearing("wpk_1")), of_secret(Kind::Key, "wpk_1"));
        assert_eq!((of("/in", &[]), of("/v1/positions", &[])), (Claim::Nobody, Claim::Nobody));
    }

    #[test]
    fn who_is_signed_in_is_read_from_the_token() {
        for path in ["/v1/vehicles?q=1", "/v1/ws/live", "/v1/ws/tracker", "/in", "/v1/events/stream"] {
            assert_eq!(
                of(path, &bearing(&access_token("account"))),
                Claim::Holder(HolderId::Account(ID)),
                "{path}"
            );
            assert_eq!(
                of(path, &bearing(&access_token("system"))),
                Claim::Holder(HolderId::System(ID)),
                "{path}"
            );
            assert_eq!(of(path, &bearing("a.b.c")), Claim::Nobody, "{path}");
        }
    }

    #[test]
    fn links_and_tickets_count() {
        for path in [
            "/verify/wpv_1",
            "/reset/wpv_1",
            "/v1/auth/accept-invite/wpv_1",
            "/v1/auth/sign-in-link/wpv_1",
            "/v1/organizations/verify-email/wpv_1",
        ] {
            assert_eq!(of(path, &[]), of_secret(Kind::Link, "wpv_1"), "{path}");
        }
        assert_eq!(of("/s/wpf_1/vehicles", &[]), of_secret(Kind::Share, "wpf_1"));
        let ticket = format!("wpw_{}secret", BASE64_URL_SAFE_NO_PAD.encode(ID.as_bytes()));
        let organization = Claim::Organization(OrganizationId(ID));
        assert_eq!(of(&format!("/v1/events/stream?topics=events&ticket={ticket}"), &[]), organization);
        assert_eq!(of("/v1/events/stream?ticket=wpw_1", &[]), Claim::Nobody);
        assert_eq!(of("/v1/ws/live", &[]), Claim::FirstMessage);
    }

    #[test]
    fn what_is_counted_by_address_goes_where_no_other_credential_leads() {
        for route in TABLE.iter().filter(|route| route.access == Access::Open && route.method == "POST") {
            let path = route.path.replace("{token}", "wpv_1");
            let request = TestRequest::post().uri(&path).insert_header(("authorization", "Bearer wpk_1"));
            let found = claim(&request.to_http_request());
            let is_its_own =
                matches!(found, Claim::Nobody | Claim::RefreshToken | Claim::Secret(Kind::Link, _));
            assert!(is_its_own, "{path}: {found:?}");
        }
        let key = of_secret(Kind::Key, "wpk_1");
        assert_eq!(of("/v1/system-users/login", &bearing("wpk_1")), key, "a GET finds a system user");
    }

    #[test]
    fn what_every_node_answers_alike_stays_here() {
        for path in
            ["/", "/healthz", "/readyz", "/openapi.json", "/assets/a.js", "/s/wpf_1", "/docs", "/map.json"]
        {
            assert_eq!(of(path, &bearing("wpk_1")), Claim::Here, "{path}");
        }
        assert_eq!(
            claim(&TestRequest::default().method(Method::OPTIONS).uri("/v1/users").to_http_request()),
            Claim::Here
        );
        for path in ["/v1/auth/login", "/v1/users", "/setup/wps_1"] {
            assert_eq!(of(path, &[]), Claim::Nobody, "{path}");
        }
        assert_eq!(of("/v1/auth/logout", &[]), Claim::RefreshToken);
    }

    #[test]
    fn operators_name_an_organization_or_somebody() {
        let request = |path: &str| TestRequest::with_uri(path).to_http_request();
        for path in [
            "/v1/organizations/organization/{}",
            "/v1/organizations/activate/{}",
            "/v1/users?q=a&organizationId={}",
        ] {
            assert_eq!(
                named(&request(&path.replace("{}", &ID.to_string()))),
                Some(OrganizationId(ID)),
                "{path}"
            );
        }
        assert_eq!(named(&request("/v1/organizations/all?organizationId=x")), None);
        let holder = |path: &str| named_holder(&request(&path.replace("{}", &ID.to_string())));
        assert_eq!(holder("/v1/users/{}/invitation"), Some(HolderId::Account(ID)));
        assert_eq!(holder("/v1/system-users/{}/keys/{}"), Some(HolderId::System(ID)));
        assert_eq!((holder("/v1/vehicles/{}"), holder("/v1/system-users/login")), (None, None));
    }
}
