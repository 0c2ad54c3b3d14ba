//! THE route table: every path the server answers, its access rules and its handler.

use std::sync::LazyLock;

use crate::rate_limit::Class;
use actix_web::guard;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use serde_json::Value;
use utoipa::OpenApi;

use super::access::{known_or_stranger, signed_in};
use super::fallback::Paths;
use super::openapi::{self, Description};
use super::route::{Access, FILE_BYTES, GEOFENCE_BYTES, IMPORT_BYTES, Route, SMALL_BYTES};
use super::{
    alerts, api_keys, assignments, audit, auth, background, changes, driver_files, drivers, event_stream,
    events, fuel, fuel_periods, geofence_events, geofence_import, geofences, health, inputs, limit, links,
    organizations, pages, pending_trackers, position_history, positions, shares, sockets, system_users,
    trackers, trips, users, vehicles, visits, web_page, webhooks,
};
use crate::auth::Action;
use crate::ingest::adapters::MAX_BODY_BYTES;
use crate::ingest::protocol::MAX_FRAME_BYTES;

macro_rules! routes {
    (
        described { $($access:ident $(($action:ident))? $method:literal $path:literal $(<= $bytes:ident)? $($handler:ident)::+;)+ }
        inputs { $($in_method:literal $in_path:literal $($input:ident)::+;)+ }
        pages { $($page_method:literal $page_path:literal $($page:ident)::+;)+ }
    ) => {
        /// Every route. Fixed words come before `{id}`. Inputs speak other programs' protocols, so they are not described.
        pub static TABLE: LazyLock<Vec<Route>> = LazyLock::new(|| vec![
            $(Route {
                method: $method,
                path: $path,
                access: Access::$access $((Action::$action))?,
                body_bytes: [$($bytes,)? SMALL_BYTES][0],
                mount: |resource| resource.to($($handler)::+),
            },)+
            $(Route {
                method: $in_method,
                path: $in_path,
                access: Access::Tracker,
                body_bytes: MAX_BODY_BYTES,
                mount: |resource| resource.to($($input)::+),
            },)+
            $(Route {
                method: $page_method,
                path: $page_path,
                access: Access::Open,
                body_bytes: SMALL_BYTES,
                mount: |resource| resource.to($($page)::+),
            },)+
        ]);

        #[derive(OpenApi)]
        #[openapi(paths($($($handler)::+),+))]
        struct Described;
    };
}

routes! {
    described {
        Open     "POST" "/v1/auth/login"                auth::login;
        Open     "POST" "/v1/auth/refresh"              auth::refresh;
        Open     "POST" "/v1/auth/logout"               auth::logout;
        SignedIn "GET"  "/v1/auth/me"                   auth::me;
        SignedIn "POST" "/v1/auth/ws-ticket"            auth::create_ws_ticket;
        Open     "POST" "/v1/auth/sign-in-link/{token}" auth::redeem_sign_in_link;

        Open "POST" "/v1/auth/forgot-password"        auth::forgot_password;
        Open "POST" "/v1/auth/reset-password/{token}" auth::reset_password;
        Open "POST" "/v1/auth/accept-invite/{token}"  auth::accept_invite;
        Open "POST" "/v1/auth/confirm-address/{token}" auth::confirm_address;

        Either(WriteSystemUsers) "POST" "/v1/system-users"                     system_users::create_system_user;
        May(ListSystemUsers)  "GET"    "/v1/system-users"                      system_users::list_system_users;
        Open                  "POST"   "/v1/system-users/verify-email/{token}" system_users::verify_system_user;
        Open                  "POST"   "/v1/system-users/resend-verification"  system_users::resend_verification;
        Open                  "POST"   "/v1/system-users/login"                system_users::login_system_user;
        May(ReadSystemUser)   "GET"    "/v1/system-users/{id}"                 system_users::find_system_user;
        May(WriteSystemUsers) "PUT"    "/v1/system-users/{id}"                 system_users::update_system_user;
        May(WriteSystemUsers) "DELETE" "/v1/system-users/{id}"                 system_users::delete_system_user;

        May(ReadApiKeys)  "GET"    "/v1/system-users/{id}/keys"         api_keys::list_api_keys;
        May(WriteApiKeys) "POST"   "/v1/system-users/{id}/keys"         api_keys::create_api_key;
        May(RevokeApiKeys) "DELETE" "/v1/system-users/{id}/keys/{keyId}" api_keys::delete_api_key;

        May(ReadOrganization)       "GET"    "/v1/organizations"                      organizations::list_organizations;
        Either(CreateOrganization)  "POST"   "/v1/organizations"                      organizations::create_organization;
        May(ListAllOrganizations)   "GET"    "/v1/organizations/all"                  organizations::list_all_organizations;
        May(ReadActivationRequests) "GET"    "/v1/organizations/email-activation-requests"
            organizations::list_activation_requests;
        Open                        "POST"   "/v1/organizations/verify-email/{token}" organizations::verify_organization_email;
        Open                        "POST"   "/v1/organizations/resend-activation"    organizations::resend_activation;
        May(ActivateOrganization)   "PUT"    "/v1/organizations/activate/{id}"        organizations::activate_organization;
        May(ReadOrganization)       "GET"    "/v1/organizations/organization/{id}"    organizations::find_organization;
        May(UpdateOrganization)     "PUT"    "/v1/organizations/organization/{id}"    organizations::update_organization;
        May(DeleteOrganization)     "DELETE" "/v1/organizations/organization/{id}"    organizations::delete_organization;

        May(ListUsers)  "GET"  "/v1/users"                 users::list_users;
        May(WriteUsers) "POST" "/v1/users"                 users::create_user;
        SignedIn        "GET"  "/v1/users/{id}"            users::find_user;
        OneselfOr(WriteUsers) "PUT" "/v1/users/{id}"       users::update_user;
        OneselfOr(WriteUsers) "POST" "/v1/users/{id}/invitation" users::invite_user_again;

        May(ReadDrivers)   "GET"    "/v1/drivers"                                 drivers::list_drivers;
        May(WriteDrivers)  "POST"   "/v1/drivers"                                 drivers::create_driver;
        May(ReadDrivers)   "GET"    "/v1/drivers/search"                          drivers::search_drivers;
        May(ReadDrivers)   "GET"    "/v1/drivers/{id}"                            drivers::find_driver;
        May(WriteDrivers)  "PUT"    "/v1/drivers/{id}"                            drivers::update_driver;
        May(WriteDrivers)  "DELETE" "/v1/drivers/{id}"                            drivers::delete_driver;
        May(LockDrivers)   "POST"   "/v1/drivers/{id}/lock"                       drivers::lock_driver;
        May(LockDrivers)   "POST"   "/v1/drivers/{id}/unlock"                     drivers::unlock_driver;
        May(WriteDrivers)  "PUT"    "/v1/drivers/{id}/documents/{documentId}/file" <= FILE_BYTES
            driver_files::put_document_file;
        May(ReadDrivers)   "GET"    "/v1/drivers/{id}/documents/{documentId}/file" driver_files::get_document_file;
        May(WriteDrivers)  "DELETE" "/v1/drivers/{id}/documents/{documentId}/file" driver_files::delete_document_file;
        May(AssignDrivers) "POST"   "/v1/drivers/{driverId}/assign-vehicle"       assignments::assign_vehicle;
        May(ReadDrivers)   "GET"    "/v1/drivers/{driverId}/vehicles"             assignments::list_vehicles_of_driver;
        May(AssignDrivers) "DELETE" "/v1/drivers/{driverId}/vehicles/{vehicleId}" assignments::unassign_vehicle;
        May(WriteDrivers)  "PUT"    "/v1/drivers/{driverId}/vehicles/{vehicleId}/assignments/{assignmentId}"
            assignments::correct_assignment;
        May(WriteDrivers)  "DELETE" "/v1/drivers/{driverId}/vehicles/{vehicleId}/assignments/{assignmentId}"
            assignments::remove_assignment;

        May(ReadVehicles)  "GET"    "/v1/vehicles"                   vehicles::list_vehicles;
        May(WriteVehicles) "POST"   "/v1/vehicles"                   vehicles::create_vehicle;
        May(ReadVehicles)  "GET"    "/v1/vehicles/unassigned-active" vehicles::list_unassigned_vehicles;
        May(ReadVehicles)  "GET"    "/v1/vehicles/{id}"              vehicles::find_vehicle;
        May(WriteVehicles) "PUT"    "/v1/vehicles/{id}"              vehicles::update_vehicle;
        May(WriteVehicles) "DELETE" "/v1/vehicles/{id}"              vehicles::delete_vehicle;

        May(ReadPositions) "GET" "/v1/vehicles/{id}/positions" position_history::list_positions;
        May(ReadDrivers)   "GET" "/v1/vehicles/{id}/drivers"   assignments::list_drivers_of_vehicle;

        May(ReadWebhooks)  "GET"    "/v1/webhooks"            webhooks::list_webhooks;
        May(WriteWebhooks) "POST"   "/v1/webhooks"            webhooks::create_webhook;
        May(ReadWebhooks)  "GET"    "/v1/webhooks/{id}"       webhooks::find_webhook;
        May(WriteWebhooks) "PUT"    "/v1/webhooks/{id}"       webhooks::update_webhook;
        May(WriteWebhooks) "DELETE" "/v1/webhooks/{id}"       webhooks::delete_webhook;
        May(WriteWebhooks) "POST"   "/v1/webhooks/{id}/secret" webhooks::rotate_webhook_secret;
        May(WriteWebhooks) "POST"   "/v1/webhooks/{id}/test"  webhooks::test_webhook;
        May(WriteWebhooks) "POST"   "/v1/webhooks/{id}/resend" webhooks::resend_webhook;
        May(ReadWebhooks)  "GET"    "/v1/webhooks/{id}/attempts" webhooks::list_webhook_attempts;
        May(WriteWebhooks) "POST"   "/v1/webhooks/{id}/attempts/{attemptId}/resend" webhooks::resend_webhook_attempt;
        May(ReadTrackers)  "GET"    "/v1/trackers"            trackers::list_trackers;
        May(WriteTrackers) "POST"   "/v1/trackers"            trackers::create_tracker;
        May(ReadTrackers)  "GET"    "/v1/trackers/{id}"       trackers::find_tracker;
        May(WriteTrackers) "PUT"    "/v1/trackers/{id}"       trackers::update_tracker;
        May(WriteTrackers) "DELETE" "/v1/trackers/{id}"       trackers::delete_tracker;
        May(WriteTrackers) "POST"   "/v1/trackers/{id}/token" trackers::rotate_tracker_token;
        May(ReadPositions) "GET"    "/v1/trackers/{id}/reports" trackers::list_tracker_reports;
        May(ReadTrackers)  "GET"    "/v1/pending-trackers"    pending_trackers::list_pending_trackers;
        May(WriteTrackers) "DELETE" "/v1/pending-trackers/{id}" pending_trackers::dismiss_pending_tracker;

        May(ReadGeofences)  "GET"    "/v1/geofences"                        geofences::list_geofences;
        May(WriteGeofences) "POST"   "/v1/geofences" <= GEOFENCE_BYTES      geofences::create_geofence;
        May(WriteGeofences) "POST"   "/v1/geofences/import" <= IMPORT_BYTES geofence_import::import;
        May(TryGeofences)   "POST"   "/v1/geofences/dry-run" <= GEOFENCE_BYTES geofences::dry_run;
        May(ReadGeofences)  "GET"    "/v1/geofences/{id}"                   geofences::find_geofence;
        May(WriteGeofences) "PUT"    "/v1/geofences/{id}" <= GEOFENCE_BYTES geofences::update_geofence;
        May(WriteGeofences) "DELETE" "/v1/geofences/{id}"                   geofences::delete_geofence;

        May(ReadFuel) "GET" "/v1/fuel"             fuel::list_fuel;
        May(ReadFuel) "GET" "/v1/fuel/events"      fuel::list_fuel_events;
        May(ReadFuel) "GET" "/v1/fuel/events/{eventId}" fuel::find_fuel_event;
        May(HandleAlerts) "PUT" "/v1/fuel/events/{eventId}/verdict" fuel::judge_fuel_event;
        May(ReadFuel) "GET" "/v1/fuel/chart"       fuel_periods::fuel_chart;
        May(ReadFuel) "GET" "/v1/fuel/consumption" fuel_periods::fuel_consumption;
        May(ReadFuel) "GET" "/v1/fuel/raw-data"    fuel_periods::fuel_raw_data;
        May(ReadFuel) "GET" "/v1/fuel/{id}"        fuel::find_fuel;

        May(ReadEvents) "GET" "/v1/events" events::list_events;

        // Open, because a browser sends a ticket, and any status but 200 ends clients for good.
        Open "GET" "/v1/events/stream" event_stream::stream_events;

        May(ReadChanges) "GET" "/v1/changes" changes::list_changes;

        May(ReadEvents) "GET" "/v1/geofence-events"                     geofence_events::list_events;
        May(ReadEvents) "GET" "/v1/geofence-events/vehicle/{vehicleId}" geofence_events::list_events_of_vehicle;
        May(ReadEvents) "GET" "/v1/geofence-events/geofence/{geofenceId}/vehicles"
            geofence_events::list_vehicles_inside;
        May(ReadEvents) "GET" "/v1/geofence-events/{id}"                geofence_events::find_event;

        May(ReadEvents) "GET" "/v1/visits"      visits::list_visits;
        May(ReadEvents) "GET" "/v1/visits/{id}" visits::find_visit;

        May(ReadEvents) "GET" "/v1/trips" trips::list_trips;
        May(ReadEvents) "GET" "/v1/stops" trips::list_stops;

        May(ReadEvents)   "GET"  "/v1/alerts"                  alerts::list_alerts;
        May(ReadEvents)   "GET"  "/v1/alerts/{id}"             alerts::find_alert;
        May(HandleAlerts) "POST" "/v1/alerts/{id}/acknowledge" alerts::acknowledge_alert;
        May(HandleAlerts) "POST" "/v1/alerts/{id}/snooze"      alerts::snooze_alert;

        May(ReadShares)   "GET"    "/v1/shares"      shares::list_shares;
        May(WriteShares)  "POST"   "/v1/shares"      shares::create_share;
        May(RevokeShares) "DELETE" "/v1/shares/{id}" shares::delete_share;
        Open "GET" "/s/{token}/vehicles" shares::list_shown_vehicles;

        May(ReadAudit)  "GET" "/v1/audit"       audit::list_audit;

        May(ReadLivePositions) "GET" "/v1/positions" positions::list_newest_positions;

        Tracker "POST" "/v1/positions" <= MAX_FRAME_BYTES positions::create_positions;
        Tracker "GET"  "/v1/ws/tracker"                   sockets::tracker_socket;
        // Open, because browsers sign in by their first message.
        Open    "GET"  "/v1/ws/live"                      sockets::live_socket;

        Open "GET" "/healthz"      health::healthz;
        Open "GET" "/readyz"       health::readyz;
        Open "GET" "/openapi.json" pages::openapi_json;
    }
    inputs {
        "GET"  "/in"                   inputs::report;
        "POST" "/in"                   inputs::report;
        "GET"  "/in/{token}"           inputs::report;
        "POST" "/in/{token}"           inputs::report;
        "GET"  "/in/{token}/{rest:.*}" inputs::report;
        "POST" "/in/{token}/{rest:.*}" inputs::report;
    }
    pages {
        "GET"  "/problems"         pages::problem_list;
        "GET"  "/problems/{code}"  pages::problem_page;
        "GET"  "/setup/{token}"    pages::setup_form;
        "POST" "/setup/{token}"    pages::redeem_setup;
        "GET"  "/verify/{token}"   links::verify_form;
        "POST" "/verify/{token}"   links::redeem_verify;
        "GET"  "/activate/{token}" links::activate_form;
        "POST" "/activate/{token}" links::redeem_activate;
        "GET"  "/invite/{token}"   links::invite_form;
        "POST" "/invite/{token}"   links::redeem_invite;
        "GET"  "/address/{token}"  links::address_form;
        "POST" "/address/{token}"  links::redeem_address;
        "GET"  "/reset/{token}"    links::reset_form;
        "POST" "/reset/{token}"    links::redeem_reset;
        "GET"  "/s/{token}"        web_page::share;
        "GET"  "/docs"             web_page::docs;
        "GET"  "/"                 web_page::index;
        "GET"  "/assets/{file}"    web_page::asset;
        "GET"  "/map.json"         background::background;
        "GET"  "/map.pmtiles"      background::pmtiles;
        "GET"  "/{file}"           web_page::file;
    }
}

/// The table's paths, for requests without a route.
static PATHS: LazyLock<Paths> = LazyLock::new(|| Paths::of(&TABLE));

/// The description of the described routes, OpenAPI 3.1.
#[must_use]
pub fn document() -> Value {
    openapi::document(Described::openapi(), &TABLE)
}

/// The description as served.
pub static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::of(&document()));

/// Mounts every route, with what handlers need of the table.
pub(super) fn mount(config: &mut ServiceConfig) {
    config.app_data::<&'static Paths>(&PATHS);
    config.app_data::<&'static LazyLock<Description>>(&DESCRIPTION);
    // Routes are tried in order, so the most requested ones come first.
    let (trackers, others): (Vec<&Route>, Vec<&Route>) =
        TABLE.iter().partition(|route| matches!(route.access, Access::Tracker));
    for route in trackers.into_iter().chain(others) {
        let method = actix_web::http::Method::from_bytes(route.method.as_bytes())
            .expect("the table's methods are words of HTTP");
        // For layers and bodies that depend on the route.
        let resource = web::resource(route.path).guard(guard::Method(method)).app_data(*route);
        let resource = (route.mount)(resource);
        match (route.access, limit::class_of_open(route)) {
            (Access::SignedIn | Access::May(_) | Access::OneselfOr(_), _) => {
                config.service(resource.wrap(from_fn(signed_in)))
            }
            (Access::Tracker, _) => config.service(resource.wrap(from_fn(limit::ingest))),
            (Access::Either(_), _) => config.service(resource.wrap(from_fn(known_or_stranger))),
            (Access::Open, Some(Class::SignIn)) => config.service(resource.wrap(from_fn(limit::sign_ins))),
            (Access::Open, Some(_)) => config.service(resource.wrap(from_fn(limit::strangers))),
            (Access::Open, None) => config.service(resource),
        };
    }
}
