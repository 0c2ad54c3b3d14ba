//! A small client of /v1: signs in, sends requests, and turns problem bodies into errors.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use awc::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::http::{Answer, Http};

/// Creating a fence is answered once all vehicles are settled against it; a page of events is 200 records.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// How often a request is sent to a server that says it is too busy for it.
const TRIES: u32 = 10;
/// The longest pause, even if the server names a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
        let answer = self.insist(&self.token(), Method::POST, "/v1/auth/login", Some(&body)).await?;
        let answer = accepted(answer, "sign-in")?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let token = answer["accessToken"].as_str().context("the sign-in answers without an accessToken")?;
        token.clone_into(&mut self.token.borrow_mut());
        Ok(())
    }

    /// GET, even through restarts of the server.
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

    /// POST with another token.
    pub async fn send_as(&self, token: &str, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.insist(token, Method::POST, path, Some(body)).await?;
        serde_json::from_slice(&accepted(answer, path)?).with_context(|| format!("{path} answers no JSON"))
    }

    /// Sends a request; signs in again if the token has expired.
    async fn signed(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        let answer = self.insist(&self.token(), method.clone(), path, body).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        self.renew().await?;
        self.insist(&self.token(), method, path, body).await
    }

    /// Sends a request, and repeats it after a pause while the server is too busy, in which case it has not acted
    /// on it.
    async fn insist(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Answer> {
        for _ in 1..TRIES {
            let answer = self.ask_as(token, method.clone(), path, body).await?;
            let Some(pause) = pause_of_busy(&answer) else { return Ok(answer) };
            sleep(pause).await;
        }
        self.ask_as(token, method, path, body).await
    }

    /// Sends a request once, as the signed-in account; returns whatever the answer was.
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
        // The first request signs in, so there is no token yet.
        let headers = if token.is_empty() { &headers[..1] } else { &headers[..] };
        self.http.send(method, path, headers, body).await
    }
}

/// How long a server that is too busy asks the client to wait.
fn pause_of_busy(answer: &Answer) -> Option<Duration> {
    if answer.status != 503 || answer.json()["code"] != "busy" {
        return None;
    }
    let seconds = answer.header("retry-after")?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// The body of a success; otherwise the problem as an error.
fn accepted(answer: Answer, what: &str) -> Result<Vec<u8>> {
    if (200..300).contains(&answer.status) {
        return Ok(answer.bytes);
    }
    let problem: String = String::from_utf8_lossy(&answer.bytes).chars().take(2000).collect();
    let status = StatusCode::from_u16(answer.status)?;
    bail!("{what}: {status} {problem}")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const BUSY: (&str, &str) = ("503 Service Unavailable\r\nretry-after: 0", r#"{"code":"busy"}"#);
    const AWAY: (&str, &str) = ("503 Service Unavailable\r\nretry-after: 0", r#"{"code":"unavailable"}"#);
    const SIGNED_IN: (&str, &str) = ("200 OK", r#"{"accessToken":"t"}"#);

    /// Signs in at a server that gives these answers, the last one for ever; returns whether it let us in, and how
    /// often it was asked.
    async fn signed_in(answers: &'static [(&str, &str)]) -> (bool, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let server = tokio::task::spawn_local(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"}") && connection.read_buf(&mut request).await.unwrap() > 0 {}
                let (head, body) = answers[count.get().min(answers.len() - 1)];
                count.set(count.get() + 1);
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let result = Api::sign_in(&url, "a@example.org", "a password", Duration::ZERO).await;
        server.abort();
        (result.is_ok(), asked.get())
    }

    #[actix_rt::test]
    async fn a_busy_server_is_asked_again_but_not_for_ever() {
        assert_eq!(signed_in(&[BUSY, BUSY, SIGNED_IN]).await, (true, 3));
        assert_eq!(signed_in(&[BUSY]).await, (false, TRIES as usize));
        assert_eq!(signed_in(&[AWAY]).await, (false, 1));
    }
}
