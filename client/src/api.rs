//! A small client of /v1: signs in, sends requests, and turns problem bodies into errors.

use std::cell::RefCell;
use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use awc::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

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
        let request = Request::new(Method::POST, "/v1/auth/login", Some(&body))?;
        let answer = accepted(self.insist(&self.token(), &request).await?, "sign-in")?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let token = answer["accessToken"].as_str().context("the sign-in answers without an accessToken")?;
        token.clone_into(&mut self.token.borrow_mut());
        Ok(())
    }

    /// GET, even through restarts of the server.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.persist(&Request::new(Method::GET, path, None::<&()>)?).await
    }

    /// POST or PUT with a JSON body, even through restarts of the server. What it had done already it does not do again.
    pub async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Value> {
        let mut request = Request::new(method, path, Some(body))?;
        request.key = (request.method == Method::POST).then(|| Uuid::new_v4().to_string());
        let said = self.persist(&request).await?;
        serde_json::from_slice(&said).with_context(|| format!("{request} answers no JSON"))
    }

    /// DELETE.
    pub async fn remove(&self, path: &str) -> Result<()> {
        accepted(self.signed(&Request::new(Method::DELETE, path, None::<&()>)?).await?, path).map(drop)
    }

    /// POST with another token.
    pub async fn send_as(&self, token: &str, path: &str, body: &impl Serialize) -> Result<Value> {
        let answer = self.insist(token, &Request::new(Method::POST, path, Some(body))?).await?;
        serde_json::from_slice(&accepted(answer, path)?).with_context(|| format!("{path} answers no JSON"))
    }

    /// Sends a request until it is answered, for as long as the server may be away; the body of a success.
    async fn persist(&self, request: &Request<'_>) -> Result<Vec<u8>> {
        let begun = Instant::now();
        loop {
            let answer = self.signed(request).await;
            let passing = match &answer {
                // What broke off may still be under way, at the server of a cluster that has the organization.
                Ok(answer) => {
                    answer.status >= 500
                        || answer.status == 409 && answer.json()["code"] == "idempotencyKeyInUse"
                }
                Err(_) => true,
            };
            if !passing || begun.elapsed() > self.reconnect_for {
                return accepted(answer?, &request.to_string());
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Sends a request; signs in again if the token has expired.
    async fn signed(&self, request: &Request<'_>) -> Result<Answer> {
        let answer = self.insist(&self.token(), request).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        self.renew().await?;
        self.insist(&self.token(), request).await
    }

    /// Sends a request, and repeats it after a pause while the server is too busy, in which case it has not acted
    /// on it.
    async fn insist(&self, token: &str, request: &Request<'_>) -> Result<Answer> {
        for _ in 1..TRIES {
            let answer = self.ask_as(token, request).await?;
            let Some(pause) = pause_of_busy(&answer) else { return Ok(answer) };
            sleep(pause).await;
        }
        self.ask_as(token, request).await
    }

    /// Sends a request once, as the signed-in account; returns whatever the answer was.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        self.ask_as(&self.token(), &Request::new(method, path, body)?).await
    }

    async fn ask_as(&self, token: &str, request: &Request<'_>) -> Result<Answer> {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("content-type", "application/json")];
        // The first request signs in, so there is no token yet.
        if !token.is_empty() {
            headers.push(("authorization", &bearer));
        }
        if let Some(key) = &request.key {
            headers.push(("idempotency-key", key));
        }
        self.http.send(request.method.clone(), request.path, &headers, request.body.clone()).await
    }
}

/// A request that can be sent again.
struct Request<'a> {
    method: Method,
    path: &'a str,
    body: Vec<u8>,
    /// Under which the server answers a repetition as it did the first time.
    key: Option<String>,
}

impl<'a> Request<'a> {
    fn new(method: Method, path: &'a str, body: Option<&impl Serialize>) -> Result<Self> {
        let body = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        Ok(Self { method, path, body, key: None })
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.method, self.path)
    }
}

/// How long a server that is too busy, or asked too often, asks the client to wait.
fn pause_of_busy(answer: &Answer) -> Option<Duration> {
    let is_busy = answer.status == 503 && answer.json()["code"] == "busy";
    if !is_busy && answer.status != 429 {
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
    use std::rc::Rc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const BUSY: (&str, &str) = ("503 Service Unavailable\r\nretry-after: 0", r#"{"code":"busy"}"#);
    const AWAY: (&str, &str) = ("503 Service Unavailable\r\nretry-after: 0", r#"{"code":"unavailable"}"#);
    const UNDER_WAY: (&str, &str) = ("409 Conflict\r\nretry-after: 1", r#"{"code":"idempotencyKeyInUse"}"#);
    const SIGNED_IN: (&str, &str) = ("200 OK", r#"{"accessToken":"t"}"#);

    const CUT: (&str, &str) = ("", "");
    const CUT_SHORT: (&str, &str) = ("201 Created\r\ncontent-length: 10", r#"{"id":"#);

    /// A server that gives these answers, the last one for ever, and what it is asked.
    async fn answering(answers: &'static [(&str, &str)]) -> (String, Rc<RefCell<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Rc::new(RefCell::new(Vec::new()));
        let requests = Rc::clone(&asked);
        tokio::task::spawn_local(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"}") && connection.read_buf(&mut request).await.unwrap() > 0 {}
                let (head, body) = answers[requests.borrow().len().min(answers.len() - 1)];
                requests.borrow_mut().push(String::from_utf8(request).unwrap());
                let length = match head.contains("content-length") {
                    true => String::new(),
                    false => format!("content-length: {}\r\n", body.len()),
                };
                if !head.is_empty() {
                    let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n{length}\r\n{body}");
                    connection.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        (url, asked)
    }

    /// Signs in; returns whether the server let us in, and how often it was asked.
    async fn signed_in(answers: &'static [(&str, &str)]) -> (bool, usize) {
        let (url, asked) = answering(answers).await;
        let result = Api::sign_in(&url, "a@example.org", "a password", Duration::ZERO).await;
        (result.is_ok(), asked.borrow().len())
    }

    #[actix_rt::test]
    async fn what_broke_off_is_sent_again_under_its_key() {
        let (url, asked) =
            answering(&[SIGNED_IN, CUT, AWAY, UNDER_WAY, CUT_SHORT, ("201 Created", r#"{"id":"a"}"#)]).await;
        let api = Api::sign_in(&url, "a@example.org", "a password", LONGEST_PAUSE).await.unwrap();
        let made = api.send(Method::POST, "/v1/geofences", &json!({})).await.unwrap();
        assert_eq!(made, json!({ "id": "a" }));
        let asked = asked.borrow();
        let key = |request: &String| {
            request.lines().find_map(|line| line.strip_prefix("idempotency-key: ").map(str::to_owned))
        };
        let keys: Vec<_> = asked.iter().map(key).collect();
        assert_eq!((keys.len(), &keys[0]), (6, &None));
        assert!(keys[1].is_some() && keys[1..].iter().all(|key| *key == keys[1]), "{keys:?}");
    }

    #[actix_rt::test]
    async fn a_busy_server_is_asked_again_but_not_for_ever() {
        assert_eq!(signed_in(&[BUSY, BUSY, SIGNED_IN]).await, (true, 3));
        assert_eq!(signed_in(&[BUSY]).await, (false, TRIES as usize));
        assert_eq!(signed_in(&[AWAY]).await, (false, 1));
    }
}
