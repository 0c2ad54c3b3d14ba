//! A server that lives as long as this test binary: its directory, its watchdog, and cleaning up after killed runs.
//!
//! A small shell is the server's parent and reads a pipe that only this process holds. However this
//! process ends, `kill -9` too, the pipe closes, and the shell stops the server and removes its directory.
//! Should the shell be killed as well, the next run finds the directory's lock free and clears it away.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::programs::{User, unprivileged_user};

/// How the directories of all runs begin.
const PREFIX: &str = "waypost-tests-";
/// How long a server may take to start on a busy machine.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// Arguments: directory, signal, then the server's own command line. A frozen server is thawed so that it receives
/// the signal.
const WATCHDOG: &str = r#"
directory=$1 signal=$2
shift 2
exec 3<&0
"$@" >"$directory/log" 2>&1 </dev/null 3<&- &
server=$!
echo "$server" >"$directory/pid"
(
    read -r _ <&3
    : >"$directory/stopping"
    kill -s "$signal" "$server"
    kill -s CONT "$server" $(cat "/proc/$server/task/$server/children" 2>/dev/null)
) 2>/dev/null &
reader=$!
exec 3<&-
wait "$server"
[ -e "$directory/stopping" ] || kill "$reader"
[ ! -e "$directory/stopping" ] || rm -rf "$directory"
"#;

/// A directory of this run, owned by the user its server runs as.
pub(crate) struct Nest {
    pub(crate) path: PathBuf,
    user: Option<User>,
    /// Held while this process lives; once released, it shows the next run that the directory is left over.
    _lock: File,
}

/// How a server is started, the first time and again.
pub(crate) struct Launch {
    /// The name of the signal that ends it.
    pub(crate) stop: &'static str,
    pub(crate) command: Vec<OsString>,
    /// What its log contains once it is ready.
    pub(crate) ready: &'static str,
}

/// A running server. Ends with the process, or when dropped.
pub(crate) struct Service {
    pub(crate) nest: Nest,
    launch: Launch,
    watchdog: Child,
    /// The pipe that the watchdog reads. Apart from the child, whose `wait` would close it.
    leash: Option<ChildStdin>,
}

impl Nest {
    /// Makes an empty directory for a server of this kind, and clears what killed runs left.
    pub(crate) fn new(kind: &str) -> std::io::Result<Self> {
        let parent = traversable_folder();
        sweep(&parent);
        Self::new_in(&parent, kind)
    }

    /// As [`Self::new`], in memory where the machine has plenty of it.
    pub(crate) fn in_memory(kind: &str) -> std::io::Result<Self> {
        let Some(folder) = memory_folder() else { return Self::new(kind) };
        sweep(folder);
        Self::new_in(folder, kind)
    }

    /// Makes an empty directory for a server of this kind in a folder.
    pub(crate) fn new_in(parent: &Path, kind: &str) -> std::io::Result<Self> {
        let path = parent.join(format!("{PREFIX}{kind}-{}", random_hex()));
        fs::create_dir(&path)?;
        // Locked before it gets the name a sweep looks for.
        let lock = File::create(path.join("lock.new"))?;
        lock.lock()?;
        fs::rename(path.join("lock.new"), path.join("lock"))?;
        let nest = Self { user: unprivileged_user(&path), path, _lock: lock };
        fs::set_permissions(&nest.path, fs::Permissions::from_mode(0o700))?;
        nest.give(&nest.path)?;
        Ok(nest)
    }

    /// A program as the nest's user, in the nest, with nothing of our environment but the search path.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").current_dir(&self.path);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
        }
        command
    }

    /// Writes a file that the nest's user may read.
    pub(crate) fn write(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        let path = self.path.join(name);
        fs::write(&path, text)?;
        self.give(&path)?;
        Ok(path)
    }

    fn give(&self, path: &Path) -> std::io::Result<()> {
        self.user.map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid)))
    }
}

impl Service {
    /// Starts a server and waits until its log shows that it is ready.
    ///
    /// If the server ended instead, returns its log as the error.
    pub(crate) fn start(nest: Nest, launch: Launch) -> Result<Self, String> {
        let (watchdog, leash) = watch_over(&nest, &launch)?;
        let mut service = Self { nest, launch, watchdog, leash };
        service.wait_until_ready()?;
        Ok(service)
    }

    /// Starts it again where it was, after it has ended.
    pub(crate) fn start_again(&mut self) -> Result<(), String> {
        // With its server gone nothing keeps the shell from ending.
        self.watchdog.wait().map_err(|error| error.to_string())?;
        let log = self.nest.path.join("log");
        // The old log would pass for the new server's.
        fs::remove_file(&log).map_err(|error| error.to_string())?;
        (self.watchdog, self.leash) = watch_over(&self.nest, &self.launch)?;
        self.wait_until_ready()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.watchdog.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Sends a signal, by its name, to the server and to the processes it has started.
    pub(crate) fn signal_all(&self, signal: &str) {
        let server = self.pid();
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
        let children = children.unwrap_or_default();
        // The server first: it must not notice what becomes of its children.
        let all = std::iter::once(server.as_str()).chain(children.split_whitespace());
        send(signal, all);
    }

    /// Sends a signal, by its name, to the server alone.
    pub(crate) fn signal(&self, signal: &str) {
        send(signal, std::iter::once(self.pid().as_str()));
    }

    /// The process that is the parent of the server's processes.
    pub(crate) fn process_id(&self) -> u32 {
        self.watchdog.id()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        self.watchdog.wait().expect("the shell is ours to wait for");
    }

    fn pid(&self) -> String {
        let pid = fs::read_to_string(self.nest.path.join("pid"));
        pid.expect("the shell has written its server's id").trim().to_owned()
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let end = Instant::now() + START_DEADLINE;
        loop {
            let log = fs::read_to_string(self.nest.path.join("log")).unwrap_or_default();
            if log.contains(self.launch.ready) {
                return Ok(());
            }
            if self.has_ended() || Instant::now() > end {
                return Err(log);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.leash.take());
        // The watchdog stops its server and removes the directory; if its server is gone, it has done so already.
        let _ = self.watchdog.wait();
        let _ = fs::remove_dir_all(&self.nest.path);
    }
}

/// Starts a server under a shell that stops it when we are gone.
fn watch_over(nest: &Nest, launch: &Launch) -> Result<(Child, Option<ChildStdin>), String> {
    let mut watchdog = nest
        .command("sh")
        .args(["-c", WATCHDOG, "watchdog"])
        .args([nest.path.as_os_str(), OsStr::new(launch.stop)])
        .args(&launch.command)
        // A pipe of ours: closed when we are gone.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Out of reach of the terminal's Ctrl-C, so that it can clean up after us.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("no shell: {error}"))?;
    let leash = watchdog.stdin.take();
    Ok((watchdog, leash))
}

/// Sends a signal by its name; to a process that is gone it does nothing.
pub(crate) fn send<'a>(signal: &str, processes: impl Iterator<Item = &'a str>) {
    let sent = Command::new("kill").args(["-s", signal]).args(processes).stderr(Stdio::null()).status();
    sent.expect("a Unix system has kill");
}

/// A folder that is removed once this process has ended, however it ends; for what is kept between tests.
///
/// # Panics
/// It cannot be made.
#[must_use]
pub fn scratch(kind: &str) -> PathBuf {
    static LEASHES: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let path = std::env::temp_dir().join(format!("{PREFIX}{kind}-{}", random_hex()));
    fs::create_dir(&path).expect("the folder for temporary files can be written");
    let mut reader = Command::new("sh");
    // Whatever a test has mounted there goes first.
    let script = "read -r _; umount -l \"$1\" 2>/dev/null; rm -rf \"$1\"";
    reader.args(["-c", script, "reader"]).arg(&path).process_group(0);
    let reader = reader.stdin(Stdio::piped()).spawn().expect("a Unix system has a shell");
    LEASHES.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
    path
}

/// A port on loopback that was unused a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// 128 random bits: a name, or a password that lives for one run.
pub(crate) fn random_hex() -> String {
    let mut bytes = [0_u8; 16];
    let mut source = File::open("/dev/urandom").expect("a Unix system has a source of randomness");
    source.read_exact(&mut bytes).expect("a source of randomness does not end");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder in which another user can reach a directory of ours: the system's folder for temporary files, unless a
/// folder on the way to it is closed (`TMPDIR` below root's home, for example).
fn traversable_folder() -> PathBuf {
    let open = |folder: &&PathBuf| {
        folder.ancestors().all(|part| fs::metadata(part).is_ok_and(|found| found.mode() & 0o001 != 0))
    };
    let folders = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    folders.iter().find(open).unwrap_or(&folders[0]).clone()
}

/// Linux's folder in memory, if it and the machine have enough room for the databases of a test binary: of the tests'
/// processor time, a tenth is the disk's file system making and removing the files of small databases.
fn memory_folder() -> Option<&'static Path> {
    const ROOM_BYTES: u64 = 4 << 30;
    const MEMORY_KB: u64 = 10 << 20;
    let folder = Path::new("/dev/shm");
    let found = rustix::fs::statvfs(folder).ok()?;
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available_kb: u64 = available.trim().trim_end_matches(" kB").parse().ok()?;
    (found.f_bavail * found.f_frsize >= ROOM_BYTES && available_kb >= MEMORY_KB).then_some(folder)
}

/// Clears directories whose process is gone and whose watchdog was killed with it.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        // Another user's: not ours to open or clear.
        let Ok(lock) = File::open(entry.path().join("lock")) else { continue };
        if lock.try_lock().is_ok() {
            // A PostgreSQL whose directory is gone stops by itself; a Redis has to be shut down.
            crate::redis::shut_down(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
