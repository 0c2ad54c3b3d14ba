//! What the runs ask of a server over HTTP.

use std::cell::RefCell;
use std::time::Duration;

use awc::Client;
use awc::http::Method;
use serde_json::{Value, json};
use waypost_test_support::{PASSWORD, ROOT, eventually};

use crate::ground::DEADLINE;

/// Signed in as the superAdmin.
pub(crate) struct Api {
    client: Client,
    url: String,
    token: RefCell<String>,
}

impl Api {
    /// Signs in, once the server lets it.
    pub(crate) async fn sign_in(url: &str) -> Self {
        let client = Client::builder().timeout(Duration::from_secs(60)).finish();
        let api = Self { client, url: url.to_owned(), token: RefCell::default() };
        eventually(DEADLINE, || api.renew()).await;
        api
    }

    /// Signs in again.
    pub(crate) async fn renew(&self) -> Result<(), String> {
        let body = json!({ "email": ROOT, "password": PASSWORD });
        let (status, said) = self.ask(Method::POST, "/v1/auth/login", Some(&body)).await?;
        let token = said["accessToken"].as_str().ok_or_else(|| format!("{status}: {said}"))?;
        token.clone_into(&mut self.token.borrow_mut());
        Ok(())
    }

    /// The access token as it is now.
    pub(crate) fn token(&self) -> String {
        self.token.borrow().clone()
    }

    /// `ws://…` for a path.
    pub(crate) fn socket_url(&self, path: &str) -> String {
        format!("{}{path}", self.url.replacen("http", "ws", 1))
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        self.done(Method::POST, path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Value {
        self.done(Method::PUT, path, body).await
    }

    async fn done(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, said) = self.ask(method, path, Some(body)).await.unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {said}");
        said
    }

    /// Asks; answers the status and what was said, or why there was no answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let url = format!("{}{path}", self.url);
        let mut request = self.client.request(method, &url);
        let token = self.token();
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        let sent = match body {
            Some(body) => request.send_json(body).await,
            None => request.send().await,
        };
        let mut answer = sent.map_err(|error| format!("{url}: {error}"))?;
        let body = answer.body().limit(64 << 20).await.map_err(|error| format!("{url}: {error}"))?;
        Ok((answer.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
    }
}
