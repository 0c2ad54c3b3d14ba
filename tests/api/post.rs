//! The ways letters leave by themselves: over SMTP to a stub on loopback, and into a folder.

use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use waypost::config::{Secret, Settings};
use waypost_test_support::eventually;

use crate::harness::{App, PASSWORD};

const PATIENCE: Duration = Duration::from_secs(20);

/// How the stub treats a letter.
#[derive(Clone, Copy)]
enum Mood {
    Take,
    NotNow,
    NotFromYou,
    Never,
    Hang,
}

/// What happened to a letter at the stub.
#[derive(Debug, PartialEq)]
enum Heard {
    Taken(String),
    PutOff,
    Refused,
    Hung,
}

/// An SMTP server that answers as instructed; in the end it takes every letter.
struct Stub {
    url: String,
    heard: UnboundedReceiver<Heard>,
}

impl Stub {
    async fn start(moods: &[Mood]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let moods = Arc::new(Mutex::new(moods.iter().copied().collect::<VecDeque<_>>()));
        let (tell, heard) = unbounded_channel();
        actix_rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                actix_rt::spawn(serve(stream, Arc::clone(&moods), tell.clone()));
            }
        });
        Self { url, heard }
    }

    async fn next(&mut self) -> Heard {
        tokio::time::timeout(PATIENCE, self.heard.recv()).await.expect("the stub hears something").unwrap()
    }

    async fn taken(&mut self) -> String {
        match self.next().await {
            Heard::Taken(letter) => letter,
            other => panic!("not taken: {other:?}"),
        }
    }
}

/// Serves a connection until its client leaves.
async fn serve(stream: TcpStream, moods: Arc<Mutex<VecDeque<Mood>>>, tell: UnboundedSender<Heard>) {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    writing.write_all(b"220 stub\r\n").await.unwrap();
    while let Ok(Some(line)) = lines.next_line().await {
        let word = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
        let answer = match word.as_str() {
            "MAIL" => {
                let mood = moods.lock().unwrap().pop_front().unwrap_or(Mood::Take);
                let (answer, heard) = match mood {
                    Mood::Take => ("250 go on", None),
                    Mood::NotNow => ("451 4.3.2 not now", Some(Heard::PutOff)),
                    Mood::NotFromYou => ("553 5.1.8 who sends this", Some(Heard::PutOff)),
                    Mood::Never => ("550 5.1.1 never", Some(Heard::Refused)),
                    Mood::Hang => ("", Some(Heard::Hung)),
                };
                if let Some(heard) = heard {
                    tell.send(heard).ok();
                }
                answer
            }
            "DATA" => {
                writing.write_all(b"354 say it\r\n").await.unwrap();
                let mut letter = String::new();
                while let Ok(Some(line)) = lines.next_line().await
                    && line != "."
                {
                    letter.push_str(&line);
                    letter.push('\n');
                }
                tell.send(Heard::Taken(letter)).ok();
                "250 taken"
            }
            "QUIT" => "221 bye",
            _ => "250 fine",
        };
        // A server that says nothing hangs: the client ends the connection.
        if !answer.is_empty() && writing.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn sign_up(app: &App, name: &str) {
    let body = json!({ "name": name, "email": format!("{name}@example.org"), "password": PASSWORD });
    app.post("/v1/system-users", "", body).await.ok(201);
}

/// Verifies by the link of a letter.
async fn follow(app: &App, letter: &str) {
    let letter = letter.replace("=\r\n", "").replace("=\n", ""); // quoted-printable breaks long lines
    let link = letter.split_whitespace().find(|word| word.contains("/verify/")).expect("a link");
    let token = link.rsplit('/').next().unwrap();
    app.post(&format!("/v1/system-users/verify-email/{token}"), "", json!(null)).await.ok(200);
}

fn header<'a>(letter: &'a str, name: &str) -> &'a str {
    let found = letter.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("{name} in {letter}"))
}

fn over(url: &str) -> impl FnOnce(&mut Settings) {
    let url = Secret::new(url.to_owned());
    move |settings| {
        settings.smtp_url = Some(url);
        settings.mail_timeout = Duration::from_millis(500);
    }
}

#[test]
fn a_letter_is_handed_over_once_whatever_the_server_does_before() {
    actix_rt::System::new().block_on(async {
        let mut stub = Stub::start(&[Mood::NotNow, Mood::Hang, Mood::NotFromYou, Mood::Take]).await;
        let app = App::start_with_post(over(&stub.url)).await;
        sign_up(&app, "robot").await;
        assert_eq!(stub.next().await, Heard::PutOff);
        app.pass(31);
        app.context.mail.wake();
        // Comes only after the wait for the silent server has ended.
        assert_eq!(stub.next().await, Heard::Hung);
        app.pass(61);
        app.context.mail.wake();
        // Refused for good, but not for its recipient's sake.
        assert_eq!(stub.next().await, Heard::PutOff);
        app.pass(601);
        app.context.mail.wake();
        let letter = stub.taken().await;
        assert_eq!(header(&letter, "To"), "robot@example.org");
        assert_eq!(header(&letter, "Auto-Submitted"), "auto-generated");
        assert!(header(&letter, "Message-ID").starts_with('<'));
        follow(&app, &letter).await;
        app.pass(7200);
        sign_up(&app, "other").await;
        assert_eq!(header(&stub.taken().await, "To"), "other@example.org");
        app.stop().await;
    });
}

#[test]
fn what_a_server_refuses_for_good_is_not_tried_again() {
    actix_rt::System::new().block_on(async {
        let mut stub = Stub::start(&[Mood::Never]).await;
        let app = App::start_with_post(over(&stub.url)).await;
        sign_up(&app, "robot").await;
        assert_eq!(stub.next().await, Heard::Refused);
        app.pass(24 * 3600);
        sign_up(&app, "other").await;
        assert_eq!(header(&stub.taken().await, "To"), "other@example.org");
        app.stop().await;
    });
}

#[test]
fn a_letter_that_waits_when_the_server_stops_leaves_after_its_next_start() {
    actix_rt::System::new().block_on(async {
        let mut stub = Stub::start(&[Mood::NotNow]).await;
        let directory = tempfile::tempdir().unwrap();
        let url = stub.url.clone();
        let start = async || {
            App::start_with_post(|settings| {
                over(&url)(settings);
                settings.data_dir = directory.path().to_owned();
                settings.database_url = None;
            })
            .await
        };
        let first = start().await;
        sign_up(&first, "robot").await;
        assert_eq!(stub.next().await, Heard::PutOff);
        first.stop().await;
        let second = start().await;
        second.pass(31);
        second.context.mail.wake();
        let letter = stub.taken().await;
        assert_eq!(header(&letter, "To"), "robot@example.org");
        follow(&second, &letter).await;
        second.stop().await;
    });
}

#[test]
fn without_a_mail_server_letters_are_files() {
    actix_rt::System::new().block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let app = App::start_with_post(|settings| settings.data_dir = data.clone()).await;
        sign_up(&app, "robot").await;
        let folder = data.join("mail");
        let letter = eventually(PATIENCE, || async {
            let entry = std::fs::read_dir(&folder).ok()?.next()?.ok()?;
            let is_letter = entry.path().extension().is_some_and(|kind| kind == "eml");
            let text = std::fs::read_to_string(entry.path()).ok()?;
            is_letter.then_some((text, entry.path()))
        })
        .await;
        let (letter, file) = letter;
        assert_eq!(header(&letter, "To"), "robot@example.org");
        // The link is complete on a line of its own: it works when it is copied from the file.
        let link = letter.lines().find(|line| line.contains("/verify/")).unwrap();
        let token = link.strip_prefix(&format!("{}/verify/", app.url)).expect("nothing before the link");
        app.post(&format!("/v1/system-users/verify-email/{token}"), "", json!(null)).await.ok(200);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700), "only the server's user reads links");
        assert_eq!(mode(&data), 0o700);
        app.stop().await;
    });
}
