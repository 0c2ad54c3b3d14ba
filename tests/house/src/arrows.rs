//! Which module may know which. The table is the "Direction" of ARCHITECTURE.md.

use crate::Violation;
use crate::source::Source;

/// Modules below `from`, those below `except` left out, never name anything below `never`.
struct Arrow {
    from: &'static str,
    except: &'static [&'static str],
    never: &'static [&'static str],
    why: &'static str,
}

const ARROWS: &[Arrow] = &[
    Arrow {
        from: "waypost",
        except: &["waypost::store"],
        never: &["sqlx", "redis"],
        why: "only store/ speaks SQL or Redis",
    },
    Arrow {
        from: "waypost",
        except: &["waypost::app", "waypost::cli", "waypost::main"],
        never: &["waypost::app"],
        why: "nothing imports the composition root",
    },
    Arrow {
        from: "waypost",
        except: &["waypost::cli", "waypost::main"],
        never: &["waypost::cli"],
        why: "the server does not know its command line",
    },
    Arrow {
        from: "waypost",
        except: &["waypost::cli"],
        never: &["waypost_client", "tokio_tungstenite", "indicatif", "quick_xml"],
        why: "the server does not know its clients; only the program runs one",
    },
    Arrow {
        from: "waypost",
        except: &["waypost::cli", "waypost::webhooks::client"],
        never: &["awc"],
        why: "webhooks alone send requests to strangers, through a guard",
    },
    Arrow {
        from: "waypost::webhooks",
        except: &[],
        never: &["actix_web", "waypost::http", "waypost::ops", "waypost::ingest"],
        why: "deliveries are given what they may show and how a webhook is disabled",
    },
    Arrow {
        from: "waypost::mqtt_out",
        except: &[],
        never: &["actix_web", "waypost::http", "waypost::ops"],
        why: "what is published is given how a position and a change are shown",
    },
    Arrow {
        from: "waypost_client",
        except: &[],
        never: &[
            "waypost",
            "actix",
            "actix_web",
            "sqlx",
            "redis",
            "waypost_actors::tracking",
            "waypost_actors::fuel",
            "waypost_actors::ports",
            "waypost_actors::actor",
            "waypost_actors::live",
        ],
        why: "a client knows the documented protocols, the words of model/ and what a shape holds",
    },
    Arrow {
        from: "waypost::http",
        except: &[],
        never: &["waypost::store"],
        why: "a handler calls ops/, which holds the permission and the transaction",
    },
    Arrow {
        from: "waypost::ops",
        except: &[],
        never: &["actix_web", "actix_http", "waypost::http", "waypost::ingest", "waypost::feed"],
        why: "a use case is the same over any transport",
    },
    Arrow {
        from: "waypost::ingest",
        except: &[],
        never: &["waypost::store", "waypost::ops"],
        why: "the hot path knows auth/ and the live core only",
    },
    Arrow {
        from: "waypost::feed",
        except: &[],
        never: &["waypost::store", "waypost::ops"],
        why: "the hot path knows auth/ and the live core only; old events come through a port",
    },
    Arrow {
        from: "waypost::auth",
        except: &[],
        never: &["waypost::http", "waypost::ops", "waypost::ingest", "waypost::feed"],
        why: "auth/ is below everything that asks it",
    },
    Arrow {
        from: "waypost::mail",
        except: &[],
        never: &["actix_web", "waypost::http", "waypost::ops", "waypost::ingest", "waypost::feed"],
        why: "mail/ works an outbox off; use cases put letters into it",
    },
    Arrow {
        from: "waypost::store",
        except: &[],
        never: &[
            "actix",
            "actix_web",
            "actix_http",
            "waypost::http",
            "waypost::ops",
            "waypost::ingest",
            "waypost::feed",
            "waypost::auth",
            "waypost::mail",
            "waypost_actors::live",
        ],
        why: "store/ knows no use case and no transport",
    },
    Arrow {
        from: "waypost::domain",
        except: &[],
        never: &[
            "waypost::http",
            "waypost::ops",
            "waypost::store",
            "waypost::auth",
            "waypost::ingest",
            "waypost::feed",
            "waypost::mail",
            "waypost::config",
            "waypost_actors::live",
        ],
        why: "domain/ is pure vocabulary and rules",
    },
    Arrow {
        from: "waypost_actors",
        except: &["waypost_actors::actor", "waypost_actors::live"],
        never: &["actix", "actix_rt"],
        why: "only actor/ and live.rs speak actix",
    },
    Arrow {
        from: "waypost_actors",
        except: &[],
        never: &["actix_web", "actix_http", "awc", "sqlx", "redis", "waypost"],
        why: "the live core knows neither HTTP nor SQL nor the server",
    },
    Arrow {
        from: "waypost_actors::model",
        except: &[],
        never: &[
            "waypost_actors::geofence",
            "waypost_actors::fuel",
            "waypost_actors::tracking",
            "waypost_actors::ports",
            "waypost_actors::actor",
            "waypost_actors::live",
        ],
        why: "model/ is the bottom",
    },
    Arrow {
        from: "waypost_actors::fuel",
        except: &[],
        never: &[
            "waypost_actors::geofence",
            "waypost_actors::tracking",
            "waypost_actors::ports",
            "waypost_actors::actor",
            "waypost_actors::live",
        ],
        why: "fuel/ knows model/ only",
    },
    Arrow {
        from: "waypost_actors::geofence",
        except: &[],
        never: &[
            "waypost_actors::tracking",
            "waypost_actors::ports",
            "waypost_actors::actor",
            "waypost_actors::live",
        ],
        why: "geofence/ knows model/ only",
    },
    Arrow {
        from: "waypost_actors::tracking",
        except: &[],
        never: &["waypost_actors::ports", "waypost_actors::actor", "waypost_actors::live"],
        why: "tracking/ knows geofence/ and model/ only",
    },
    Arrow {
        from: "waypost_actors::ports",
        except: &[],
        never: &["waypost_actors::actor", "waypost_actors::live"],
        why: "a port does not know who calls it",
    },
    Arrow {
        from: "waypost::auth::scope",
        except: &[],
        never: &[
            "waypost::http",
            "waypost::ops",
            "waypost::store",
            "waypost::config",
            "waypost_actors::live",
        ],
        why: "anybody may name a scope, so it names ids only",
    },
];

/// May be named everywhere, even by files that may not know the folder around it: it proves that a caller may ask.
const OPEN: [&str; 1] = ["waypost::auth::scope"];

/// Folders without clock, randomness, input or output.
const PURE: [&str; 5] = [
    "waypost_actors::model",
    "waypost_actors::geofence",
    "waypost_actors::fuel",
    "waypost_actors::tracking",
    "waypost::domain",
];
const NEVER_IN_PURE: [&str; 17] = [
    "actix",
    "actix_rt",
    "actix_web",
    "tokio",
    "futures_util",
    "rand",
    "sqlx",
    "redis",
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tracing",
];
/// Calls that read the clock or draw a random number, whatever they are called on.
const NEVER_CALLED_IN_PURE: [&str; 4] = ["now", "now_utc", "now_v7", "new_v4"];

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn is_below_any(path: &str, parents: &[&str]) -> bool {
    parents.iter().any(|parent| is_below(path, parent))
}

/// Paths in a file that its place forbids.
pub(crate) fn wrong_arrows(source: &Source) -> Vec<Violation> {
    let module = source.module_path();
    let mut violations = Vec::new();
    for arrow in ARROWS.iter().filter(|arrow| is_below(&module, arrow.from)) {
        if is_below_any(&module, arrow.except) {
            continue;
        }
        for (path, line) in &source.references {
            let path = path.join("::");
            if is_below_any(&path, arrow.never) && !is_below_any(&path, &OPEN) {
                let what = format!("{module} names {path}: {}", arrow.why);
                violations.push(Violation { path: source.path.clone(), line: *line, what });
            }
        }
    }
    violations
}

/// Paths in a file of a pure folder that read a clock, draw a number, or do input or output.
pub(crate) fn impurities(source: &Source) -> Vec<Violation> {
    let module = source.module_path();
    if !is_below_any(&module, &PURE) {
        return Vec::new();
    }
    let impure = |path: &[String]| {
        let called = path.last().is_some_and(|name| NEVER_CALLED_IN_PURE.contains(&name.as_str()));
        called || is_below_any(&path.join("::"), &NEVER_IN_PURE)
    };
    let named = source.references.iter().filter(|(path, _)| impure(path));
    named
        .map(|(path, line)| Violation {
            path: source.path.clone(),
            line: *line,
            what: format!("{module} is pure and names {}", path.join("::")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> Vec<String> {
        let source = Source::parse(path, text);
        wrong_arrows(&source).into_iter().chain(impurities(&source)).map(|violation| violation.what).collect()
    }

    #[test]
    fn a_wrong_arrow_is_told_with_its_place() {
        let source = Source::parse("src/http/users.rs", "use std::fmt;\nuse crate::store::users;");
        let told = wrong_arrows(&source);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].path.as_str(), told[0].line), ("src/http/users.rs", 2));
        assert!(told[0].what.contains("a handler calls ops/"), "{}", told[0].what);
    }

    #[test]
    fn each_wrong_arrow_is_found() {
        let wrong = [
            ("src/http/users.rs", "fn a() { sqlx::query(\"\"); }"),
            ("src/cli/serve.rs", "use redis::Client;"),
            ("src/ops/users.rs", "use actix_web::HttpResponse;"),
            ("src/ops/users.rs", "use crate::http::problem::Problem;"),
            ("src/ingest/socket.rs", "use crate::store::sql::Db;"),
            ("src/ingest/socket.rs", "use crate::{auth, ops::vehicles};"),
            ("src/feed/mod.rs", "use crate::store;"),
            ("src/feed/mod.rs", "use crate::ops;"),
            ("src/auth/login.rs", "use super::super::ops::users;"),
            ("src/store/users.rs", "use crate::auth::Password;"),
            ("src/store/users.rs", "use actix::Addr;"),
            ("src/domain/roles.rs", "use crate::config::Settings;"),
            ("src/telemetry/mod.rs", "use crate::app::App;"),
            ("src/app.rs", "use waypost_client::Api;"),
            ("src/mail/post.rs", "use awc::Client;"),
            ("client/src/api.rs", "use waypost::http::problem::Problem;"),
            ("client/src/simulate/tour.rs", "use waypost_actors::tracking::Engine;"),
            ("src/app.rs", "use crate::cli::serve;"),
            ("actors/src/model/fix.rs", "use crate::geofence::Shape;"),
            ("actors/src/geofence/index.rs", "use crate::tracking::Engine;"),
            ("actors/src/fuel/detect.rs", "use crate::geofence::Shape;"),
            ("actors/src/tracking/mod.rs", "use crate::actor::Vehicle;"),
            ("actors/src/tracking/mod.rs", "use super::ports::TrackStore;"),
            ("actors/src/ports.rs", "use actix::Message;"),
            ("actors/src/ports.rs", "use crate::live::Live;"),
            ("actors/src/actor/cache.rs", "use redis::Cmd;"),
            ("src/auth/scope.rs", "use crate::store::sql::Db;"),
            ("actors/src/live.rs", "use actix_web::web::Data;"),
        ];
        for (path, text) in wrong {
            assert_eq!(broken(path, text).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn right_arrows_are_left_alone() {
        let right = [
            (
                "src/store/users.rs",
                "use crate::auth::scope::OrgScope; use sqlx::FromRow; use waypost_actors::ports::TrackStore;",
            ),
            ("src/http/users.rs", "use actix_web::web; use crate::{auth, ops::users, domain};"),
            ("src/ops/users.rs", "use crate::store::users; use waypost_actors::live::Live;"),
            ("src/ingest/socket.rs", "use actix_http::ws; use crate::auth; use waypost_actors::live::Live;"),
            ("src/cli/serve.rs", "use waypost::{app, store::open::open};"),
            ("src/cli/mod.rs", "use waypost_client::simulate;"),
            ("client/src/simulate/edits.rs", "use waypost_actors::{geofence::Shape, model::Place};"),
            ("actors/src/actor/vehicle.rs", "use actix::Actor; use crate::{ports, tracking};"),
            ("actors/src/live.rs", "use actix::Addr; use crate::actor::Directory;"),
            ("actors/src/tracking/mod.rs", "use std::time::Duration; use crate::{geofence, model};"),
        ];
        for (path, text) in right {
            assert_eq!(broken(path, text), [""; 0], "{path}: {text}");
        }
    }

    #[test]
    fn each_impurity_is_found() {
        let impure = [
            "use tokio::time;",
            "use rand::Rng;",
            "use std::time::Instant;",
            "use std::{fmt, fs};",
            "fn a() { jiff::Timestamp::now(); }",
            "fn a() { Uuid::now_v7(); }",
            "fn a() { std::env::var(\"A\"); }",
        ];
        for text in impure {
            for path in [
                "actors/src/model/a.rs",
                "actors/src/geofence/a.rs",
                "actors/src/fuel/a.rs",
                "actors/src/tracking/a/b.rs",
            ] {
                assert_eq!(broken(path, text).len(), 1, "{path}: {text}");
            }
        }
        assert_eq!(
            broken("actors/src/actor/vehicle.rs", "use tokio::time; use std::time::Instant;"),
            [""; 0]
        );
    }
}
