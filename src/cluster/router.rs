//! The outermost layer of a node's applications: a request of an organization that is served here gets its shard's context, any
//! other is handed on to the owner.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpResponse};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::for_nodes;
use super::from_node;
use super::relay::Relay;
use super::shards::{OWNER_WITHIN, ShardLocation, Shards};
use super::whose::{Finder, Whose};
use crate::config::Settings;
use crate::connections::Peer;
use crate::context::Context;
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::http::{foreign_pages, health};
use crate::readiness::Readiness;
use crate::store::shard::Shard;

/// Pause between two looks for the owner.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the routers of all threads share.
#[derive(Clone)]
pub struct RouterParts {
    /// Where the shards are.
    pub shards: Shards,
    /// Finds whose a request is.
    pub finder: Arc<Finder>,
    /// Whether the node can do its work.
    pub readiness: Readiness,
    /// Where other nodes reach this one.
    pub node: SocketAddr,
    /// Ends what is handed on when the node stops.
    pub stopping: CancellationToken,
    /// The settings.
    pub settings: Arc<Settings>,
}

/// Hands requests to where their organizations are; one for each thread.
pub struct Router {
    pub(super) parts: RouterParts,
    pub(super) relay: Relay,
    /// What requests of the shards served here find.
    contexts: RefCell<HashMap<Shard, (u64, Rc<Extensions>)>>,
}

impl RouterParts {
    /// Where other nodes reach the owner of a shard, which may be this one; `None` while that is not known.
    pub(super) fn owner(&self, shard: Shard) -> Option<SocketAddr> {
        self.address(&self.shards.location(shard))
    }

    fn address(&self, location: &ShardLocation) -> Option<SocketAddr> {
        match location {
            ShardLocation::Here(_) => Some(self.node),
            ShardLocation::At(owner) => Some(*owner),
            ShardLocation::Unknown => None,
        }
    }

    /// Where a shard is; waits for an owner until then.
    async fn location(&self, shard: Shard, until: Instant) -> ShardLocation {
        loop {
            match self.shards.location(shard) {
                ShardLocation::Unknown if Instant::now() < until => sleep(LOOK_EVERY).await,
                found => return found,
            }
        }
    }

    /// The router of the calling thread.
    #[must_use]
    pub fn router(&self) -> Rc<Router> {
        let relay = Relay::new(self.shards.clone(), self.stopping.clone());
        Rc::new(Router { parts: self.clone(), relay, contexts: RefCell::default() })
    }
}

/// Where a request goes.
pub(super) enum Destination {
    Here(Served),
    To(SocketAddr),
}

/// A shard that is served here, for one request.
pub(super) struct Served {
    /// What the request finds.
    found: Rc<Extensions>,
    /// Until it is dropped, whoever gives the shard back waits for the request.
    _in_progress: TaskTrackerToken,
}

impl Served {
    /// What something finds that is no request: nobody waits for its end.
    pub(super) fn into_found(self) -> Rc<Extensions> {
        self.found
    }
}

impl Router {
    /// The node's settings.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.parts.settings)
    }

    /// Completes once the node stops.
    pub async fn stopping(&self) {
        self.parts.stopping.cancelled().await;
    }

    /// Where a shard's requests go; waits for an owner for a while.
    pub(super) async fn destination(&self, shard: Shard) -> Option<Destination> {
        let until = Instant::now() + OWNER_WITHIN;
        loop {
            match self.parts.location(shard, until).await {
                ShardLocation::Here(time) => {
                    // None: it was left just now.
                    let in_progress = self.parts.shards.begin_request(shard, time);
                    if let Some((found, _in_progress)) = self.found(shard, time).zip(in_progress) {
                        return Some(Destination::Here(Served { found, _in_progress }));
                    }
                }
                ShardLocation::At(owner) => return Some(Destination::To(owner)),
                ShardLocation::Unknown => return None,
            }
        }
    }

    /// What requests find of a shard, on this thread.
    fn found(&self, shard: Shard, time: u64) -> Option<Rc<Extensions>> {
        let mut contexts = self.contexts.borrow_mut();
        if let Some((known, found)) = contexts.get(&shard)
            && *known == time
        {
            return Some(Rc::clone(found));
        }
        // Those that are not served here any more go with it.
        contexts.retain(|shard, (known, _)| matches!(self.parts.shards.location(*shard), ShardLocation::Here(time) if time == *known));
        let context = self.parts.shards.context(shard)?;
        // The vehicles of this thread's connections live on it.
        context.live.lend_thread();
        let mut found = Extensions::new();
        found.insert(Data::new(context));
        let found = Rc::new(found);
        contexts.insert(shard, (time, Rc::clone(&found)));
        Some(found)
    }

    /// A shard for what every node answers alike: one that is served here, if there is one.
    fn any_shard(&self) -> Shard {
        let is_here = |shard: &Shard| matches!(self.parts.shards.location(*shard), ShardLocation::Here(_));
        Shard::all().find(is_here).unwrap_or(Shard::FIRST)
    }

    /// Accepts a socket whose first message says whose it is, and joins it to the owner, which may be this node.
    fn socket_by_ticket(&self, request: ServiceRequest) -> ServiceResponse<BoxBody> {
        if let Err(problem) = foreign_pages::refuse(&self.parts.settings, request.headers()) {
            return refused(request, &problem);
        }
        let parts = self.parts.clone();
        self.relay.socket_by_ticket(request, async move |whose: Whose| {
            let until = Instant::now() + OWNER_WITHIN;
            parts.address(&parts.location(whose.shard(), until).await)
        })
    }

    /// Why this node cannot do its work, if it cannot.
    fn trouble(&self) -> Option<String> {
        self.parts.shards.trouble(&self.parts.readiness)
    }
}

/// Gives a request its context, or hands it on.
pub async fn to_owner(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(router) = request.app_data::<Rc<Router>>().cloned() else {
        return Err(Problem::new(Code::Internal).into());
    };
    if let Some(answer) = of_node(&router, request.path()) {
        return Ok(request.into_response(answer));
    }
    // While its owner is looked for, it is the server that keeps it waiting.
    let _handled = request.request().conn_data::<Arc<Peer>>().map(Peer::handled);
    if from_node::is_from_node(&request) {
        let destination = match from_node::told_shard(&request) {
            Some(shard) => router.destination(shard).await,
            None => None,
        };
        return match destination {
            Some(Destination::Here(found)) => serve_node(request, next, found).await,
            Some(Destination::To(owner)) if from_node::tell_handed_on(request.headers_mut()) => {
                Ok(router.relay.hand_on(request, Whose::Here, owner).await)
            }
            Some(Destination::To(_)) | None => Ok(refused(request, &changing())),
        };
    }
    if for_nodes::is_for_nodes(request.path()) {
        return Ok(refused(request, &Problem::new(Code::NotFound)));
    }
    let whose = match router.parts.finder.organization_of(&mut request).await {
        Ok(Whose::FirstMessage) => return Ok(router.socket_by_ticket(request)),
        Ok(whose) => whose,
        Err(problem) => return Ok(refused(request, &problem)),
    };
    let shard = match whose {
        Whose::Here => router.any_shard(),
        whose => whose.shard(),
    };
    match router.destination(shard).await {
        Some(Destination::Here(found)) => serve(request, next, found).await,
        Some(Destination::To(owner)) => {
            from_node::tell_shard(request.headers_mut(), shard);
            Ok(router.relay.hand_on(request, whose, owner).await)
        }
        None => Ok(refused(request, &changing())),
    }
}

/// Answers another node: as anybody, or what only nodes ask.
async fn serve_node(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    served: Served,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(context) = served.found.get::<Data<Context>>() else {
        return serve(request, next, served).await;
    };
    match for_nodes::answer(request, context).await {
        Ok(answer) => Ok(answer),
        Err(request) => serve(request, next, served).await,
    }
}

/// Lets the application answer, with what it finds of the shard. The request is in progress until the head of its answer is there.
async fn serve(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    served: Served,
) -> Result<ServiceResponse<BoxBody>, Error> {
    request.add_data_container(Rc::clone(&served.found));
    next.call(request).await.map(ServiceResponse::map_into_boxed_body)
}

/// The answer to a question about the node itself.
fn of_node(router: &Router, path: &str) -> Option<HttpResponse> {
    let answer = match path {
        "/healthz" => health::ready(None),
        "/readyz" => health::ready(router.trouble()),
        _ => return None,
    };
    Some(answer.unwrap_or_else(|problem| problem.answer(path, "")))
}

fn changing() -> Problem {
    Problem::new(Code::Unavailable).detail("the server of this organization is changing").retry_after(1)
}

fn refused(request: ServiceRequest, problem: &Problem) -> ServiceResponse<BoxBody> {
    let answer = crate::http::edge::refused(&request, problem);
    request.into_response(answer)
}
