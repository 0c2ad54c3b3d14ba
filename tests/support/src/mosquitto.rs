//! A private broker (MQTT) that keeps its sessions over a restart: Debian's mosquitto, with its clients for publishing and
//! subscribing.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::programs::{mosquitto, version_of};
use crate::report;
use crate::service::{Launch, Nest, Service, free_port, random_hex};

/// Whom it lets in.
const USER: &str = "fleet";

/// A running broker of the caller's own. Stopped when dropped.
pub struct Mosquitto {
    port: u16,
    tls_port: u16,
    password: String,
    publish: PathBuf,
    subscribe: PathBuf,
    service: Service,
}

/// A subscriber that the broker keeps messages for while it is away. Ends when dropped.
pub struct Subscribed {
    client: Child,
    heard: PathBuf,
}

/// A message that a subscriber was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Whether the broker had kept it from before.
    pub is_retained: bool,
    /// Its topic.
    pub topic: String,
    /// What it says.
    pub payload: String,
}

impl Subscribed {
    /// What it was given so far, in order.
    ///
    /// # Panics
    /// What was written cannot be read.
    #[must_use]
    pub fn heard(&self) -> Vec<Heard> {
        let text = std::fs::read_to_string(&self.heard).expect("it is written here");
        // The last line may be half written.
        let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let heard = lines.filter_map(|line| {
            let (retained, rest) = line.split_once(' ')?;
            let (topic, payload) = rest.split_once(' ')?;
            Some(Heard { is_retained: retained == "1", topic: topic.to_owned(), payload: payload.to_owned() })
        });
        heard.collect()
    }

    /// How many bytes it was given so far; cheaper to ask than what they are.
    ///
    /// # Panics
    /// What was written cannot be found.
    #[must_use]
    pub fn heard_bytes(&self) -> u64 {
        std::fs::metadata(&self.heard).expect("it is written here").len()
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.client.kill().ok();
        self.client.wait().ok();
    }
}

impl Mosquitto {
    /// A broker that is not running yet anywhere else; `None` where it is not installed.
    ///
    /// # Panics
    /// It is installed and does not start.
    #[must_use]
    pub fn own() -> Option<Self> {
        let programs =
            ["mosquitto", "mosquitto_passwd", "mosquitto_pub", "mosquitto_sub", "openssl"].map(mosquitto);
        let [Some(broker), Some(passwords), Some(publish), Some(subscribe), Some(openssl)] = programs else {
            report::missing("mosquitto");
            return None;
        };
        let started = start(&broker, &passwords, &openssl).or_else(|_| start(&broker, &passwords, &openssl));
        let (port, tls_port, password, service) =
            started.unwrap_or_else(|log| panic!("mosquitto does not start:\n{log}"));
        report::say(&format!("mosquitto {}, private, on port {port}", version_of(&broker)));
        Some(Self { port, tls_port, password, publish, subscribe, service })
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `host:port` where it speaks TLS.
    #[must_use]
    pub fn tls_address(&self) -> String {
        format!("localhost:{}", self.tls_port)
    }

    /// The authority that its certificate comes from.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.service.nest.path.join("ca.pem")
    }

    /// `user:password`.
    #[must_use]
    pub fn credentials(&self) -> String {
        format!("{USER}:{}", self.password)
    }

    /// Publishes messages on a topic with QoS 1, each a line, and waits until the broker has them.
    ///
    /// # Panics
    /// It does not take them.
    pub fn publish(&self, topic: &str, messages: &[String]) {
        let port = self.port.to_string();
        let mut command = Command::new(&self.publish);
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-u",
            USER,
            "-P",
            &self.password,
            "-q",
            "1",
            "-t",
            topic,
            "-l",
        ]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it is installed");
        let lines = messages.iter().fold(String::new(), |mut lines, message| {
            writeln!(lines, "{message}").expect("a text takes it");
            lines
        });
        child.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it is ours").success(), "the broker takes no message");
    }

    /// Subscribes with QoS 1 under a name of the subscriber's own.
    ///
    /// # Panics
    /// The client does not start.
    #[must_use]
    pub fn subscribe(&self, name: &str, topic: &str) -> Subscribed {
        let (port, heard) = (self.port.to_string(), self.service.nest.path.join(format!("heard-{name}")));
        let file = std::fs::File::create(&heard).expect("the nest is there");
        let mut command = Command::new(&self.subscribe);
        command.args(["-h", "127.0.0.1", "-p", &port, "-u", USER, "-P", &self.password]);
        command.args(["-q", "1", "-c", "-i", name, "-t", topic, "-F", "%r %t %p"]);
        let client = command.stdout(file).stderr(Stdio::null()).spawn().expect("it is installed");
        Subscribed { client, heard }
    }

    /// Stops the broker, which saves its sessions, and starts it again where it was.
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self) {
        self.stop();
        self.start();
    }

    /// Stops the broker, which saves its sessions.
    pub fn stop(&mut self) {
        self.service.signal("TERM");
        self.service.wait();
    }

    /// Starts the broker again where it was.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(&mut self) {
        self.service.start_again().unwrap_or_else(|log| panic!("mosquitto does not start again:\n{log}"));
    }
}

fn start(broker: &Path, passwords: &Path, openssl: &Path) -> Result<(u16, u16, String, Service), String> {
    let text = |error: std::io::Error| error.to_string();
    let nest = Nest::new("mosquitto").map_err(text)?;
    let (port, tls_port, password) = (free_port(), free_port(), random_hex());
    let run = |program: &Path, arguments: &[&str]| {
        let done = nest.command(program).args(arguments).stderr(Stdio::null()).status();
        match done.is_ok_and(|done| done.success()) {
            true => Ok(()),
            false => Err(format!("{} {arguments:?} fails", program.display())),
        }
    };
    run(passwords, &["-b", "-c", "passwords", USER, &password])?;
    certificate(&nest, |arguments| run(openssl, arguments))?;
    let place = nest.path.display();
    let settings = format!(
        "per_listener_settings false\nlistener {port} 127.0.0.1\nallow_anonymous false\npassword_file {place}/passwords\n\
         persistence true\npersistence_location {place}/\nautosave_on_changes true\nautosave_interval 1\n\
         max_queued_messages 0\n\
         listener {tls_port} 127.0.0.1\ncertfile {place}/cert.pem\nkeyfile {place}/key.pem\n"
    );
    let settings = nest.write("mosquitto.conf", &settings).map_err(text)?;
    let command = vec![broker.as_os_str().to_owned(), OsString::from("-c"), settings.into_os_string()];
    let service = Service::start(nest, Launch { stop: "TERM", command, ready: " running" })?;
    Ok((port, tls_port, password, service))
}

/// An authority of the broker's own, and a certificate of it for localhost.
fn certificate(nest: &Nest, openssl: impl Fn(&[&str]) -> Result<(), String>) -> Result<(), String> {
    nest.write("san", "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
        .map_err(|e| e.to_string())?;
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let authority = ["-x509", "-days", "2", "-subj", "/CN=tests", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(&[&["req"], &key[..], &authority].concat())?;
    openssl(
        &[&["req"], &key[..], &["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request.pem"]]
            .concat(),
    )?;
    let signed =
        ["x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(&[&signed[..], &["-days", "2", "-extfile", "san", "-out", "cert.pem"]].concat())
}
