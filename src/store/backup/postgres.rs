//! A PostgreSQL database, by `pg_dump` and `pg_restore`. Their data goes through this process, so that they end with it.
//!
//! Owns how they are called: passwords go by the environment, never on a command line, which every user can see.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use percent_encoding::percent_decode_str;
use sqlx::{Connection, PgConnection};
use tokio::task::spawn_blocking;
use url::Url;
use url::form_urlencoded::Serializer;

use super::error::BackupError;
use super::files;
use super::manifest::{Copied, Digested, Manifest};
use crate::store::lock::try_acquire;
use crate::store::open::{Location, OpenError, connect_postgres, newest_migration, place};
use crate::store::private;
use crate::store::sql::{On, SqlError};
use crate::store::transfer::marks::{is_half, put_half, remove_half};
use crate::store::transfer::{schema, sums_of_postgres};

/// How long the programs wait for PostgreSQL's first answer, in seconds.
const CONNECT_WITHIN: &str = "15";
/// Parameters of a URL that mean the same to the server's connections and to the programs, which refuse those that they
/// do not know.
const UNDERSTOOD: [&str; 9] =
    ["sslrootcert", "sslcert", "sslkey", "host", "hostaddr", "port", "dbname", "user", "application_name"];

pub(super) async fn back_up(url: &str, to: &Path) -> Result<Copied, BackupError> {
    let mut conn = patient(url).await?;
    if is_half(&mut conn).await? {
        return Err(OpenError::HalfTransferred.into());
    }
    // The dump and the sums are of one moment, and of the same tables: the locks of `pg_dump` end with it.
    schema::begin_moment(&mut conn).await?;
    let snapshot: String = sqlx::query_scalar("select pg_export_snapshot()").fetch_one(&mut conn).await?;
    let migration = newest_migration(On::PgConn(&mut conn)).await?;
    let mut dump = program("pg_dump", url)?;
    dump.args(["--format=custom", "--no-owner", "--no-acl", "--lock-wait-timeout=30s"]);
    dump.arg(format!("--snapshot={snapshot}")).stdin(Stdio::null()).stdout(Stdio::piped());
    let path = to.to_owned();
    let file = blocking(move || dumped(dump, &path)).await?;
    let held = sums_of_postgres(&mut conn).await?;
    conn.close().await?;
    // Reads all of the archive, down to its last row.
    let mut read = Command::new("pg_restore");
    read.arg("--file=/dev/null").arg(to).stdin(Stdio::null()).stdout(Stdio::null());
    blocking(move || Running::start("pg_restore", read)?.ended()).await?;
    Ok(Copied { migration, held, file })
}

pub(super) async fn restore(from: &Path, url: &str, manifest: &Manifest) -> Result<(), BackupError> {
    let place = place(url)?;
    if files::digest(from)?.sha256 != manifest.sha256 {
        return Err(BackupError::Damaged(from.to_owned()));
    }
    let Some(_lock) = try_acquire(&Location::Postgres(url.to_owned())).await? else {
        return Err(BackupError::InUse(place));
    };
    let mut conn = patient(url).await?;
    match schema::any_table(&mut conn).await? {
        // A restore that was killed after the commit of `pg_restore` has only to be compared.
        Some(_) if is_half(&mut conn).await? => {}
        Some(table) => {
            let next = "make a new one with createdb, and name it with --database-url";
            return Err(BackupError::NotEmpty { place, what: format!("it has a table {table}"), next });
        }
        None => {
            put_half(&mut conn).await?;
            let mut load = program("pg_restore", url)?;
            // If this process is killed, its input ends early, and the transaction comes to nothing.
            load.args(["--single-transaction", "--exit-on-error", "--no-owner", "--no-acl"]);
            load.stdin(Stdio::piped()).stdout(Stdio::null());
            let path = from.to_owned();
            blocking(move || loaded(load, &path)).await?;
        }
    }
    if let Some(table) = manifest.first_difference(&sums_of_postgres(&mut conn).await?) {
        return Err(BackupError::NotRestored(table));
    }
    remove_half(&mut conn).await?;
    // Otherwise plans would be guesses until autovacuum runs; a failure does no harm.
    sqlx::raw_sql("analyze").execute(&mut conn).await.ok();
    conn.close().await?;
    Ok(())
}

/// A session whose statements may take as long as the data takes.
async fn patient(url: &str) -> Result<PgConnection, BackupError> {
    let mut conn = connect_postgres(url).await?;
    let text = "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set timezone = 'UTC'";
    sqlx::raw_sql(text).execute(&mut conn).await?;
    Ok(conn)
}

/// One of PostgreSQL's programs, told where the database is: with the parameters of the URL that the server's connections
/// use, by the names that the program knows.
fn program(name: &'static str, url: &str) -> Result<Command, BackupError> {
    let mut url = Url::parse(url).map_err(|_| OpenError::Url)?;
    let mut password = url.password().map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
    if password.is_some() {
        url.set_password(None).map_err(|()| OpenError::Url)?;
    }
    let (mut shown, mut options) = (Serializer::new(String::new()), Vec::new());
    for (name, value) in url.query_pairs() {
        match &*name {
            "password" => password = Some(value.into_owned()),
            "sslmode" | "ssl-mode" => drop(shown.append_pair("sslmode", &value.to_ascii_lowercase())),
            "ssl-root-cert" | "ssl-ca" => drop(shown.append_pair("sslrootcert", &value)),
            "ssl-cert" => drop(shown.append_pair("sslcert", &value)),
            "ssl-key" => drop(shown.append_pair("sslkey", &value)),
            "options" => options.push(value.into_owned()),
            name if UNDERSTOOD.contains(&name) => drop(shown.append_pair(name, &value)),
            name => {
                if let Some(name) = name.strip_prefix("options[").and_then(|name| name.strip_suffix(']')) {
                    let value = value.replace('\\', r"\\").replace(' ', r"\ ");
                    options.push(format!("-c {name}={value}"));
                }
            }
        }
    }
    if !options.is_empty() {
        shown.append_pair("options", &options.join(" "));
    }
    // The programs take a plus sign for itself.
    let shown = shown.finish().replace('+', "%20");
    url.set_query(Some(shown.as_str()).filter(|shown| !shown.is_empty()));
    let mut command = Command::new(name);
    command.arg("--no-password").arg(format!("--dbname={url}")).env("PGCONNECT_TIMEOUT", CONNECT_WITHIN);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    Ok(command)
}

/// A program at work, whose messages are read on a thread of their own, so that it never waits to be heard.
struct Running {
    name: &'static str,
    child: Child,
    said: JoinHandle<String>,
}

impl Running {
    fn start(name: &'static str, mut command: Command) -> Result<Self, BackupError> {
        let failed = |error| BackupError::NoProgram(name, error);
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
        let mut messages = child.stderr.take();
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            // What was read before an error is told.
            let _ = messages.as_mut().map(|messages| messages.read_to_end(&mut said));
            String::from_utf8_lossy(&said).trim().to_owned()
        });
        Ok(Self { name, child, said })
    }

    /// Waits for its end; an error is its own message.
    fn ended(mut self) -> Result<(), BackupError> {
        let status = self.child.wait().map_err(|error| BackupError::NoProgram(self.name, error))?;
        let said = self.said.join().unwrap_or_default();
        let said = if said.is_empty() { status.to_string() } else { said };
        if status.success() { Ok(()) } else { Err(BackupError::Program(self.name, said)) }
    }
}

fn dumped(dump: Command, path: &Path) -> Result<Digested, BackupError> {
    let failed = |error| BackupError::File(path.to_owned(), error);
    private::make_file(path).map_err(failed)?;
    let target = File::create(path).map_err(failed)?;
    let mut running = Running::start("pg_dump", dump)?;
    let out = running.child.stdout.take().ok_or_else(|| failed(ErrorKind::BrokenPipe.into()))?;
    let copied = files::copy(out, &target).and_then(|copied| target.sync_all().map(|()| copied));
    let ended = running.ended();
    // What cannot be written ends the program, too, which then says nothing.
    let copied = copied.map_err(failed)?;
    ended.map(|()| copied)
}

fn loaded(load: Command, path: &Path) -> Result<(), BackupError> {
    let failed = |error| BackupError::File(path.to_owned(), error);
    let source = File::open(path).map_err(failed)?;
    let mut running = Running::start("pg_restore", load)?;
    let to = running.child.stdin.take().ok_or_else(|| failed(ErrorKind::BrokenPipe.into()))?;
    let sent = files::copy(source, to);
    // Its own message says more than a broken pipe.
    running.ended()?;
    sent.map(|_| ()).map_err(failed)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    spawn_blocking(work).await.map_err(|error| SqlError::Io(io::Error::other(error)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_on_the_command_line() {
        for url in [
            "postgres://u:p%40ss%2B@h:5/db?sslmode=disable",
            "postgres://u@h:5/db?sslmode=disable&password=p%40ss%2B",
        ] {
            let command = program("pg_dump", url).unwrap();
            let arguments: Vec<_> =
                command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
            assert_eq!(arguments, ["--no-password", "--dbname=postgres://u@h:5/db?sslmode=disable"]);
            let password =
                command.get_envs().find(|(name, _)| *name == "PGPASSWORD").and_then(|(_, value)| value);
            assert_eq!(password.unwrap(), "p@ss+");
        }
    }

    #[test]
    fn what_the_server_understands_in_a_url_the_programs_do_too() {
        for (url, understood) in [
            ("postgres:///db?host=/run/postgresql&user=u", "postgres:///db?host=%2Frun%2Fpostgresql&user=u"),
            (
                "postgres://h/db?ssl-mode=Verify-Full&ssl-ca=/a.pem&ssl-cert=/b.pem&ssl-key=/c.pem",
                "postgres://h/db?sslmode=verify-full&sslrootcert=%2Fa.pem&sslcert=%2Fb.pem&sslkey=%2Fc.pem",
            ),
            (
                "postgres://h/db?ssl-root-cert=a&schema=public&statement-cache-capacity=0",
                "postgres://h/db?sslrootcert=a",
            ),
            (
                "postgres://h/db?options=-c%20geqo=off&application_name=a+b&options[search_path]=a,%20b",
                "postgres://h/db?application_name=a%20b&options=-c%20geqo%3Doff%20-c%20search_path%3Da%2C%5C%20b",
            ),
        ] {
            let command = program("pg_dump", url).unwrap();
            let argument = command.get_args().last().unwrap().to_string_lossy().into_owned();
            assert_eq!(argument, format!("--dbname={understood}"));
        }
    }
}
