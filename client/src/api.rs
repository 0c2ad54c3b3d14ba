//! A small client of /v1: signs in, asks, and says what a problem body says.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use awc::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::http::{Answer, Http};

/// Creating a fence answers once all vehicles are settled against it; a page of events is 200 records.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// Signed in at a server.
pub struct Api {
    http: Http,
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
            http: Http::new(server, ANSWER_WITHIN),
            email: email.to_owned(),
            password: password.to_owned(),
            token: RefCell::default(),
            reconnect_for,
        };
        api.renew().await?;
        Ok(api)
    }

    /// The server's `http://…`.
    #[must_use]
    pub fn server(&self) -> &str {
        self.http.server()
    }

    /// The access token as it is now.
    #[must_use]
    pub fn token(&self) -> String {
        self.token.borrow().clone()
    }

    /// Signs in again.
    pub async fn renew(&self) -> Result<()> {
        let body = json!({ "email": self.email, "password": self.password });
        let answer = accepted(self.ask(Method::POST, "/v1/auth/login", Some(&body)).await?, "sign-in")?;
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
                Ok(answer) => answer.status >= 500,
                Err(_) => true,
            };
            if !passing || begun.elapsed() > self.reconnect_for {
                return accepted(answer?, path);
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// POST or PUT with a JSON body.
    pub async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.signed(method.clone(), path, Some(body)).await?;
        let body = accepted(answer, &format!("{method} {path}"))?;
        serde_json::from_slice(&body).with_context(|| format!("{method} {path} answers no JSON"))
    }

    /// DELETE.
    pub async fn remove(&self, path: &str) -> Result<()> {
        accepted(self.signed(Method::DELETE, path, None::<&()>).await?, path).map(drop)
    }

    /// POST as somebody else.
    pub async fn send_as(&self, token: &str, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.ask_as(token, Method::POST, path, Some(body)).await?;
        serde_json::from_slice(&accepted(answer, path)?).with_context(|| format!("{path} answers no JSON"))
    }

    /// Asks; signs in again where the token has run out.
    async fn signed(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        let answer = self.ask(method.clone(), path, body).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        self.renew().await?;
        self.ask(method, path, body).await
    }

    /// Asks once, as who is signed in; answers whatever was said.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        self.ask_as(&self.token(), method, path, body).await
    }

    async fn ask_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Answer> {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        let body = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        // The first request signs in, and nobody has yet.
        let headers = if token.is_empty() { &headers[..1] } else { &headers[..] };
        self.http.send(method, path, headers, body).await
    }
}

/// The body of a success; else the problem in words.
fn accepted(answer: Answer, what: &str) -> Result<Vec<u8>> {
    if (200..300).contains(&answer.status) {
        return Ok(answer.bytes);
    }
    let problem: String = String::from_utf8_lossy(&answer.bytes).chars().take(2000).collect();
    let status = StatusCode::from_u16(answer.status)?;
    bail!("{what}: {status} {problem}")
}
