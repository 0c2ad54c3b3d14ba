//! A small client of /v1: signs in, asks, and says what a problem body says.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use awc::http::header::ACCEPT_ENCODING;
use awc::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Creating a fence answers once all vehicles are settled against it; a page of events is 200 records.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
const LARGEST_ANSWER: usize = 64 << 20;

/// Signed in at a server.
pub struct Api {
    client: awc::Client,
    base: String,
    email: String,
    password: String,
    token: RefCell<String>,
    reconnect_for: Duration,
}

impl Api {
    /// Signs in.
    pub async fn sign_in(server: &str, email: &str, password: &str, reconnect_for: Duration) -> Result<Self> {
        if !server.starts_with("http://") {
            bail!("{server}: simulate speaks plain http:// only");
        }
        let api = Self {
            client: awc::Client::builder().timeout(ANSWER_WITHIN).finish(),
            base: server.trim_end_matches('/').to_owned(),
            email: email.to_owned(),
            password: password.to_owned(),
            token: RefCell::default(),
            reconnect_for,
        };
        api.renew().await?;
        Ok(api)
    }

    /// The same server's address for sockets.
    #[must_use]
    pub fn socket_url(&self, path: &str) -> String {
        format!("{}{path}", self.base.replacen("http", "ws", 1))
    }

    /// The access token as it is now.
    #[must_use]
    pub fn token(&self) -> String {
        self.token.borrow().clone()
    }

    /// Signs in again.
    pub async fn renew(&self) -> Result<()> {
        let body = json!({ "email": self.email, "password": self.password });
        let answer = self.once(Method::POST, "/v1/auth/login", Some(&body)).await?.accepted("sign-in")?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let token = answer["accessToken"].as_str().context("the sign-in answers without an accessToken")?;
        token.clone_into(&mut self.token.borrow_mut());
        Ok(())
    }

    /// GET, through restarts of the server too.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>> {
        let begun = Instant::now();
        loop {
            let answer = self.signed(Method::GET, path, None::<&()>).await;
            let passing = match &answer {
                Ok(answer) => answer.status.is_server_error(),
                Err(_) => true,
            };
            if !passing || begun.elapsed() > self.reconnect_for {
                return answer?.accepted(path);
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// POST or PUT with a JSON body.
    pub async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.signed(method.clone(), path, Some(body)).await?;
        let body = answer.accepted(&format!("{method} {path}"))?;
        serde_json::from_slice(&body).with_context(|| format!("{method} {path} answers no JSON"))
    }

    /// DELETE.
    pub async fn remove(&self, path: &str) -> Result<()> {
        self.signed(Method::DELETE, path, None::<&()>).await?.accepted(path).map(drop)
    }

    /// POST as somebody else.
    pub async fn send_as(&self, token: &str, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.once_as(token, Method::POST, path, Some(body)).await?;
        serde_json::from_slice(&answer.accepted(path)?).with_context(|| format!("{path} answers no JSON"))
    }

    /// Asks; signs in again where the token has run out.
    async fn signed(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        let answer = self.once(method.clone(), path, body).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        self.renew().await?;
        self.once(method, path, body).await
    }

    async fn once(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        self.once_as(&self.token(), method, path, body).await
    }

    async fn once_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Answer> {
        let url = format!("{}{path}", self.base);
        let request = self.client.request(method, &url);
        let request = request.insert_header((ACCEPT_ENCODING, "identity")).bearer_auth(token);
        let sent = match body {
            Some(body) => request.send_json(body),
            None => request.send(),
        };
        // The error of awc is not Sync.
        let mut answer = sent.await.map_err(|error| anyhow!("{url}: {error}"))?;
        let body = answer.body().limit(LARGEST_ANSWER).await.map_err(|error| anyhow!("{url}: {error}"))?;
        Ok(Answer { status: answer.status(), body: body.to_vec() })
    }
}

struct Answer {
    status: StatusCode,
    body: Vec<u8>,
}

impl Answer {
    /// The body of a success; else the problem in words.
    fn accepted(self, what: &str) -> Result<Vec<u8>> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let problem: String = String::from_utf8_lossy(&self.body).chars().take(2000).collect();
        bail!("{what}: {} {problem}", self.status)
    }
}
