//! THE route table: every path the server answers, who may call it, and its handler.

use std::sync::LazyLock;

use crate::rate_limit::Class;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{Resource, guard};
use utoipa::OpenApi;

use super::request::{known_or_stranger, signed_in};
use super::{
    assignments, audit, auth, background, dispatcher, drivers, fuel, fuel_periods, geofence_events,
    geofence_import, geofences, health, limit, links, organizations, pages, position_history, positions,
    sockets, system_users, trackers, users, vehicles, visits,
};

/// Who may call a route. What a signed-in caller may do there is `auth::permission`'s to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Anybody; whoever carries an access token is known by it, and refused when it is not in force.
    Either,
    /// Whoever carries an access token in force.
    SignedIn,
    /// A tracker, by its own token; the handler looks at it.
    Tracker,
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with `{names}`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    mount: fn(Resource) -> Resource,
}

macro_rules! routes {
    (
        described { $($access:ident $method:literal $path:literal $($handler:ident)::+;)+ }
        pages { $($page_method:literal $page_path:literal $($page:ident)::+;)+ }
    ) => {
        /// Every route. Words that are no ids come before `{id}`.
        pub static TABLE: LazyLock<Vec<Route>> = LazyLock::new(|| vec![
            $(Route {
                method: $method,
                path: $path,
                access: Access::$access,
                mount: |resource| resource.to($($handler)::+),
            },)+
            $(Route {
                method: $page_method,
                path: $page_path,
                access: Access::Open,
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
        Open     "POST"   "/v1/auth/login"                 auth::login;
        Open     "POST"   "/v1/auth/refresh"               auth::refresh;
        Open     "POST"   "/v1/auth/logout"                auth::logout;
        SignedIn "GET"    "/v1/auth/me"                    auth::me;
        SignedIn "POST"   "/v1/auth/ws-ticket"             auth::create_ws_ticket;
        Open     "POST"   "/v1/auth/sign-in-link/{token}"  auth::redeem_sign_in_link;

        Open     "POST"   "/v1/auth/forgot-password"        auth::forgot_password;
        Open     "POST"   "/v1/auth/reset-password/{token}" auth::reset_password;
        Open     "POST"   "/v1/auth/accept-invite/{token}"  auth::accept_invite;

        Either   "POST"   "/v1/system-users"                      system_users::create_system_user;
        SignedIn "GET"    "/v1/system-users"                      system_users::list_system_users;
        Open     "POST"   "/v1/system-users/verify-email/{token}" system_users::verify_system_user;
        Open     "POST"   "/v1/system-users/resend-verification"  system_users::resend_verification;
        Open     "POST"   "/v1/system-users/login"                system_users::login_system_user;
        SignedIn "GET"    "/v1/system-users/{id}"                 system_users::find_system_user;
        SignedIn "PUT"    "/v1/system-users/{id}"                 system_users::update_system_user;
        SignedIn "DELETE" "/v1/system-users/{id}"                 system_users::delete_system_user;

        SignedIn "GET"    "/v1/organizations"                   organizations::list_organizations;
        Either   "POST"   "/v1/organizations"                   organizations::create_organization;
        SignedIn "GET"    "/v1/organizations/all"               organizations::list_all_organizations;
        SignedIn "GET"    "/v1/organizations/email-activation-requests"
            organizations::list_activation_requests;
        Open     "POST"   "/v1/organizations/verify-email/{token}" organizations::verify_organization_email;
        Open     "POST"   "/v1/organizations/resend-activation" organizations::resend_activation;
        SignedIn "PUT"    "/v1/organizations/activate/{id}"     organizations::activate_organization;
        SignedIn "GET"    "/v1/organizations/organization/{id}" organizations::find_organization;
        SignedIn "PUT"    "/v1/organizations/organization/{id}" organizations::update_organization;
        SignedIn "DELETE" "/v1/organizations/organization/{id}" organizations::delete_organization;

        SignedIn "GET"    "/v1/users"                 users::list_users;
        SignedIn "POST"   "/v1/users"                 users::create_user;
        SignedIn "GET"    "/v1/users/{id}"            users::find_user;
        SignedIn "PUT"    "/v1/users/{id}"            users::update_user;
        SignedIn "POST"   "/v1/users/{id}/invitation" users::invite_user_again;

        SignedIn "GET"    "/v1/drivers"             drivers::list_drivers;
        SignedIn "POST"   "/v1/drivers"             drivers::create_driver;
        SignedIn "GET"    "/v1/drivers/search"      drivers::search_drivers;
        SignedIn "GET"    "/v1/drivers/{id}"        drivers::find_driver;
        SignedIn "PUT"    "/v1/drivers/{id}"        drivers::update_driver;
        SignedIn "DELETE" "/v1/drivers/{id}"        drivers::delete_driver;
        SignedIn "POST"   "/v1/drivers/{id}/lock"   drivers::lock_driver;
        SignedIn "POST"   "/v1/drivers/{id}/unlock" drivers::unlock_driver;
        SignedIn "POST"   "/v1/drivers/{driverId}/assign-vehicle" assignments::assign_vehicle;
        SignedIn "GET"    "/v1/drivers/{driverId}/vehicles"       assignments::list_vehicles_of_driver;
        SignedIn "DELETE" "/v1/drivers/{driverId}/vehicles/{vehicleId}" assignments::unassign_vehicle;

        SignedIn "GET"    "/v1/vehicles"            vehicles::list_vehicles;
        SignedIn "POST"   "/v1/vehicles"            vehicles::create_vehicle;
        SignedIn "GET"    "/v1/vehicles/unassigned-active" vehicles::list_unassigned_vehicles;
        SignedIn "GET"    "/v1/vehicles/{id}"       vehicles::find_vehicle;
        SignedIn "PUT"    "/v1/vehicles/{id}"       vehicles::update_vehicle;
        SignedIn "DELETE" "/v1/vehicles/{id}"       vehicles::delete_vehicle;

        SignedIn "GET"    "/v1/vehicles/{id}/positions" position_history::list_positions;

        SignedIn "GET"    "/v1/trackers"            trackers::list_trackers;
        SignedIn "POST"   "/v1/trackers"            trackers::create_tracker;
        SignedIn "GET"    "/v1/trackers/{id}"       trackers::find_tracker;
        SignedIn "PUT"    "/v1/trackers/{id}"       trackers::update_tracker;
        SignedIn "DELETE" "/v1/trackers/{id}"       trackers::delete_tracker;
        SignedIn "POST"   "/v1/trackers/{id}/token" trackers::rotate_tracker_token;

        SignedIn "GET"    "/v1/geofences"           geofences::list_geofences;
        SignedIn "POST"   "/v1/geofences"           geofences::create_geofence;
        SignedIn "POST"   "/v1/geofences/import"    geofence_import::import;
        SignedIn "GET"    "/v1/geofences/{id}"      geofences::find_geofence;
        SignedIn "PUT"    "/v1/geofences/{id}"      geofences::update_geofence;
        SignedIn "DELETE" "/v1/geofences/{id}"      geofences::delete_geofence;

        SignedIn "GET" "/v1/fuel"             fuel::list_fuel;
        SignedIn "GET" "/v1/fuel/events"      fuel::list_fuel_events;
        SignedIn "GET" "/v1/fuel/chart"       fuel_periods::fuel_chart;
        SignedIn "GET" "/v1/fuel/consumption" fuel_periods::fuel_consumption;
        SignedIn "GET" "/v1/fuel/raw-data"    fuel_periods::fuel_raw_data;
        SignedIn "GET" "/v1/fuel/{id}"        fuel::find_fuel;

        SignedIn "GET" "/v1/geofence-events"                     geofence_events::list_events;
        SignedIn "GET" "/v1/geofence-events/vehicle/{vehicleId}" geofence_events::list_events_of_vehicle;
        SignedIn "GET" "/v1/geofence-events/geofence/{geofenceId}/vehicles"
            geofence_events::list_vehicles_inside;
        SignedIn "GET" "/v1/geofence-events/{id}"                geofence_events::find_event;

        SignedIn "GET" "/v1/visits"      visits::list_visits;
        SignedIn "GET" "/v1/visits/{id}" visits::find_visit;
        SignedIn "GET" "/v1/audit" audit::list_audit;

        Tracker "POST" "/v1/positions"  positions::create_positions;
        Tracker "GET"  "/v1/ws/tracker" sockets::tracker_socket;
        // Open: a browser signs in by its first message.
        Open    "GET"  "/v1/ws/live"    sockets::live_socket;

        Open "GET" "/healthz"      health::healthz;
        Open "GET" "/readyz"       health::readyz;
        Open "GET" "/openapi.json" pages::openapi_json;
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
        "GET"  "/reset/{token}"    links::reset_form;
        "POST" "/reset/{token}"    links::redeem_reset;
        "GET"  "/docs"             pages::docs;
        "GET"  "/docs/{file}"      pages::docs_file;
        "GET"  "/"                 dispatcher::index;
        "GET"  "/assets/{file}"    dispatcher::asset;
        "GET"  "/map.json"         background::background;
        "GET"  "/map.pmtiles"      background::pmtiles;
        "GET"  "/{file}"           dispatcher::file;
    }
}

/// The description of the described routes.
#[must_use]
pub fn described() -> utoipa::openapi::OpenApi {
    Described::openapi()
}

/// Mounts every route.
pub(super) fn mount(config: &mut ServiceConfig) {
    for route in TABLE.iter() {
        let method = actix_web::http::Method::from_bytes(route.method.as_bytes())
            .expect("the table's methods are words of HTTP");
        let resource = (route.mount)(web::resource(route.path).guard(guard::Method(method)));
        match (route.access, limit::class_of_open(route)) {
            (Access::SignedIn, _) => config.service(resource.wrap(from_fn(signed_in))),
            (Access::Tracker, _) => config.service(resource.wrap(from_fn(limit::ingest))),
            (Access::Either, _) => config.service(resource.wrap(from_fn(known_or_stranger))),
            (Access::Open, Some(Class::SignIn)) => config.service(resource.wrap(from_fn(limit::sign_ins))),
            (Access::Open, Some(_)) => config.service(resource.wrap(from_fn(limit::strangers))),
            (Access::Open, None) => config.service(resource),
        };
    }
}
