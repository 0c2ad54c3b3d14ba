//! A server in the test's own process: started and asked to stop, with accounts that need no letter to be
//! confirmed.

use std::cell::RefCell;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use waypost::app::{Application, Ended};
use waypost::clock::new_id;
use waypost::context::Context;
use waypost::domain::account::{AccountStatus, Role};
use waypost::store::account::{self, NewAccount};
use waypost_actors::model::OrganizationId;
use waypost_client::{Http, Method};

use crate::said::{Said, text};

/// A server that runs until it is asked to stop.
pub struct Running(RefCell<Option<(oneshot::Sender<()>, JoinHandle<Ended>)>>);

impl Running {
    /// Lets it run. It panics, and so does a task that waits for it, if it does not end well.
    #[must_use]
    pub fn start(application: Application) -> Self {
        let (stop, asked) = oneshot::channel();
        let running = actix_rt::spawn(async move {
            let asked = async {
                asked.await.ok();
            };
            application.run(asked).await.expect("the server ends well")
        });
        Self(RefCell::new(Some((stop, running))))
    }

    /// Asks it to stop, and does not wait.
    ///
    /// # Panics
    /// It was already asked to stop.
    pub fn ask_to_stop(&self) -> JoinHandle<Ended> {
        let (stop, running) = self.0.take().expect("asked once");
        stop.send(()).ok();
        running
    }

    /// Waits until it ends by itself; returns why.
    ///
    /// # Panics
    /// It was asked to stop before, or did not end well.
    pub async fn ended(self) -> Ended {
        let (_stop, running) = self.0.take().expect("it was not asked");
        running.await.expect("it ends well")
    }
}

/// Makes an active account without a password.
///
/// # Panics
/// The store does not take it.
pub async fn new_account(context: &Context, role: Role, organization: Option<&str>) -> uuid::Uuid {
    let id = new_id();
    let account = NewAccount {
        id,
        organization_id: organization.map(|id| OrganizationId(id.parse().expect("an id"))),
        email: format!("{id}@example.org"),
        first_name: "Some".into(),
        last_name: "Body".into(),
        role,
        status: AccountStatus::Active,
        password_hash: None,
        created_at: context.clock.now().into(),
    };
    account::insert(context.db.write(), &account).await.expect("an account is stored");
    id
}

/// Signs an account in by a link: its access and refresh tokens.
///
/// # Panics
/// The server does not let it in.
pub async fn sign_in(context: &Context, http: &Http, account: uuid::Uuid) -> (String, String) {
    let link = context.auth.sign_in_link(account).await.expect("a link is made");
    let path = format!("/v1/auth/sign-in-link/{link}");
    let answer = http.send(Method::POST, &path, &[], Vec::new()).await.expect("the server answers");
    let body = Said::from(answer).ok(200);
    (text(&body["accessToken"]), text(&body["refreshToken"]))
}
