//! Settings that load, and still do not go together or are not what a server on the internet wants.

use std::path::Path;

use super::report::Report;
use crate::cli::demo::refuse_demos;
use waypost::auth::keys::check;
use waypost::auth::{KeyError, MasterKey};
use waypost::config::{AdminListen, Settings, SignUp};
use waypost::store::checkup::Sealed;

const ABOUT: &str = "settings";

pub(super) fn look(settings: &Settings, report: &mut Report) {
    report.good(ABOUT, "they load (`waypost config` lists them)");
    if let Err(error) = refuse_demos(&settings.data_dir) {
        report.wrong(ABOUT, error.to_string(), "");
    }
    addresses(settings, report);
    keys(settings, report);
    for (name, file) in [("mapPmtiles", &settings.map_pmtiles), ("webDir", &settings.web_dir)] {
        if let Some(file) = file.as_deref().filter(|file| !file.exists()) {
            report.wrong(ABOUT, format!("{name}: {} is not there", file.display()), "name one that is");
        }
    }
    if settings.sign_up == SignUp::Open && !settings.listen.ip().is_loopback() {
        report.doubtful(
            ABOUT,
            "strangers may sign up (signUp = open)",
            "signUp = \"closed\", unless they should",
        );
    }
}

fn addresses(settings: &Settings, report: &mut Report) {
    let is_public = !settings.listen.ip().is_loopback();
    match &settings.public_url {
        None if is_public => report.doubtful(
            ABOUT,
            format!("publicUrl is not set: links in letters lead to {}", settings.public_url()),
            "set it to the address under which people reach the server",
        ),
        Some(url) if url.starts_with("http://") && is_public => report.doubtful(
            ABOUT,
            "publicUrl is not https: passwords and positions go in clear",
            "put a proxy with a certificate in front (docs/proxy.md)",
        ),
        _ => {}
    }
    if settings.has_https() && settings.client_address_header.is_none() {
        report.doubtful(
            ABOUT,
            "publicUrl is https, so there is a proxy in front, but clientAddressHeader is not set: all clients have its \
             address, and are limited together",
            "clientAddressHeader = \"X-Forwarded-For\", and a proxy that sets it (docs/proxy.md)",
        );
    }
    if let AdminListen::At(address) = settings.admin_listen
        && !address.ip().is_loopback()
    {
        let what = format!("adminListen is {address}: it asks for no sign-in");
        report.doubtful(ABOUT, what, "let only operators reach it");
    }
}

/// Whether a server with these settings could read what is wrapped in the store.
pub(super) fn sealed(settings: &Settings, sealed: &Sealed, report: &mut Report) {
    let Ok(master) = MasterKey::of(settings) else { return };
    let has_key = settings.master_key.is_some() || settings.master_key_file.is_some();
    let with =
        if has_key { "another key than these settings give" } else { "a key, and these settings give none" };
    match check(&master, &sealed.keys, &sealed.webhooks) {
        Ok(()) if sealed.keys.iter().any(|key| key.wrapped) => {
            report.good(ABOUT, "the signing keys in the store are wrapped, with this master key");
        }
        Ok(()) => {}
        Err(KeyError::Webhooks(count)) => report.wrong(
            ABOUT,
            format!("the secrets of {count} webhooks in the store are wrapped with {with}: nothing is delivered to these"),
            "set that masterKey or masterKeyFile; if it is lost, give these webhooks new secrets",
        ),
        Err(_) => report.wrong(
            ABOUT,
            format!("the signing keys in the store are wrapped with {with}: the server does not start"),
            "set that masterKey or masterKeyFile; if it is lost: waypost keys rotate --at-once",
        ),
    }
}

fn keys(settings: &Settings, report: &mut Report) {
    let has_key = settings.master_key.is_some() || settings.master_key_file.is_some();
    match MasterKey::of(settings) {
        Err(error) => report.wrong(ABOUT, error.to_string(), "openssl rand -base64 32 makes a master key"),
        Ok(_) if !has_key => report.doubtful(
            ABOUT,
            "no masterKey: whoever copies the store or a backup can sign in as anybody",
            "set masterKeyFile, to a file kept apart from the store",
        ),
        Ok(_) => {}
    }
    if let Some(file) = &settings.master_key_file
        && is_open_to_others(file)
    {
        report.wrong(
            ABOUT,
            format!("everybody may read {}", file.display()),
            "chmod 600, then waypost keys rotate",
        );
    }
}

fn is_open_to_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.permissions().mode() & 0o007 != 0)
}
