//! What is reached over the network: the mail server, Redis, and the server's own ports.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use super::report::Report;
use waypost::config::{AdminListen, Settings};
use waypost::mail::Transport;
use waypost::store::checkup::redis_version;

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
    port("listen", settings.listen, is_served, report);
    match settings.admin_listen {
        AdminListen::At(address) => port("adminListen", address, is_served, report),
        AdminListen::Auto if settings.listen.port() != 0 => {
            let address = (Ipv4Addr::LOCALHOST, settings.listen.port().wrapping_add(1));
            port("adminListen", address.into(), is_served, report);
        }
        AdminListen::Auto | AdminListen::Off => {}
    }
    for listener in &settings.device_listeners {
        port("deviceListeners", listener.address, is_served, report);
    }
}

fn port(name: &str, address: SocketAddr, is_served: bool, report: &mut Report) {
    const ABOUT: &str = "ports";
    let Err(error) = TcpListener::bind(address) else {
        report.good(ABOUT, format!("{address} is free ({name})"));
        return;
    };
    match error.kind() {
        ErrorKind::AddrInUse if is_served => {
            report.good(ABOUT, format!("{address} is taken, and a server has this store ({name})"));
        }
        ErrorKind::AddrInUse => report.wrong(
            ABOUT,
            format!("{address} is taken by another program ({name})"),
            "find it with `ss -ltnp`, or name another address",
        ),
        ErrorKind::PermissionDenied => report.wrong(
            ABOUT,
            format!("this user may not listen on {address} ({name})"),
            "name a port from 1024, with a proxy in front (docs/proxy.md)",
        ),
        _ => report.wrong(ABOUT, format!("{address} ({name}): {error}"), "name an address of this machine"),
    }
}
