//! What is reached over the network: the mail server, Redis, and the server's own ports.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use super::report::Report;
use waypost::config::{AdminListen, Settings};
use waypost::mail::Transport;
use waypost::store::checkup::redis_version;

const PORTS: &str = "ports";

pub(super) async fn mail(settings: &Settings, report: &mut Report) {
    const ABOUT: &str = "mail";
    let Some(url) = &settings.smtp_url else {
        let what = format!("no smtpUrl: letters are saved in {}", settings.data_dir.join("mail").display());
        report.doubtful(ABOUT, what, "set smtpUrl, or nobody gets an invitation");
        return;
    };
    match Transport::smtp(url.reveal(), settings.mail_timeout) {
        Err(error) => report.wrong(ABOUT, format!("smtpUrl: {error}"), "smtps://user:password@host"),
        Ok(server) => match server.check().await {
            Ok(()) => report.good(ABOUT, "the SMTP server answers and takes the sign-in"),
            Err(error) => report.wrong(
                ABOUT,
                format!("the SMTP server: {error}"),
                "see to smtpUrl; letters wait meanwhile",
            ),
        },
    }
}

pub(super) async fn redis(settings: &Settings, report: &mut Report) {
    const ABOUT: &str = "redis";
    let Some(url) = &settings.redis_url else {
        report.good(ABOUT, "not used (no redisUrl), and not needed");
        return;
    };
    match redis_version(url.reveal()).await {
        Ok(version) => report.good(ABOUT, format!("Redis {version} answers")),
        Err(error) => report.wrong(
            ABOUT,
            format!("Redis: {error}"),
            "see that it runs and that redisUrl names it and its password; the server works without",
        ),
    }
}

pub(super) async fn ports(settings: &Settings, is_served: bool, report: &mut Report) {
    let listeners = listeners(settings);
    for (index, (name, address)) in listeners.iter().enumerate() {
        let same = listeners[..index].iter().find(|(_, before)| is_same(*before, *address));
        match same {
            Some((other, _)) => report.wrong(
                PORTS,
                format!(
                    "{address} is named twice, by {other} and by {name}: only one of them can listen there"
                ),
                "give each listener a port of its own",
            ),
            None => port(name, *address, is_served, report),
        }
    }
}

/// Where a server with these settings listens, each with its setting.
fn listeners(settings: &Settings) -> Vec<(&'static str, SocketAddr)> {
    let admin = match settings.admin_listen {
        AdminListen::At(address) => Some(address),
        AdminListen::Auto if settings.listen.port() != 0 => {
            Some((Ipv4Addr::LOCALHOST, settings.listen.port().wrapping_add(1)).into())
        }
        AdminListen::Auto | AdminListen::Off => None,
    };
    let devices = settings.device_listeners.iter().map(|listener| ("deviceListeners", listener.address));
    let own =
        [("listen", Some(settings.listen)), ("adminListen", admin), ("nodeListen", settings.node_listen)];
    own.into_iter().filter_map(|(name, address)| Some((name, address?))).chain(devices).collect()
}

/// Whether only one of two listeners can have its address. A listener on all addresses has the port of each.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let has_all =
        |all: SocketAddr, of: SocketAddr| all.ip().is_unspecified() && (all.is_ipv6() || of.is_ipv4());
    let is_one_host = one.ip() == other.ip() || has_all(one, other) || has_all(other, one);
    one.port() != 0 && one.port() == other.port() && is_one_host
}

fn port(name: &str, address: SocketAddr, is_served: bool, report: &mut Report) {
    let Err(error) = TcpListener::bind(address) else {
        report.good(PORTS, format!("{address} is free ({name})"));
        return;
    };
    match error.kind() {
        ErrorKind::AddrInUse if is_served => {
            report.good(PORTS, format!("{address} is taken, and a server has this store ({name})"));
        }
        ErrorKind::AddrInUse => report.wrong(
            PORTS,
            format!("{address} is taken by another program ({name})"),
            "find it with `ss -ltnp`, or name another address",
        ),
        ErrorKind::PermissionDenied => report.wrong(
            PORTS,
            format!("this user may not listen on {address} ({name})"),
            "name a port from 1024, with a proxy in front (docs/proxy.md)",
        ),
        _ => report.wrong(PORTS, format!("{address} ({name}): {error}"), "name an address of this machine"),
    }
}
