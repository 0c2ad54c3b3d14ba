//! What the letters say.

use crate::auth::link::Purpose;
use crate::domain::link::Notice;

/// A letter, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) subject: String,
    pub(super) body: String,
    /// The address its reader is to open; a notice has none.
    pub(super) link: Option<String>,
}

/// The page of a link, below the public address.
#[must_use]
pub fn path(purpose: Purpose, token: &str) -> String {
    let page = match purpose {
        Purpose::Setup => "setup",
        Purpose::SignIn => "#sign-in",
        Purpose::VerifySystemUser => "verify",
        Purpose::ActivateOrganization => "activate",
        Purpose::Invite => "invite",
        Purpose::ResetPassword | Purpose::ResetSystemPassword => "reset",
    };
    format!("/{page}/{token}")
}

/// Writes a letter.
pub(super) fn write(purpose: Purpose, greeting: &str, about: &str, public_url: &str, token: &str) -> Letter {
    let (greeting, about) = (one_line(greeting), one_line(about));
    let link = format!("{public_url}{}", path(purpose, token));
    let (subject, before, after) = match purpose {
        Purpose::VerifySystemUser => (
            "Confirm your e-mail address".to_owned(),
            "Somebody, you most likely, made a Waypost system user with this address. To confirm it, open"
                .to_owned(),
            "If it was not you, do nothing: an address that is not confirmed cannot be used.",
        ),
        Purpose::ActivateOrganization => (
            format!("Activate {about} on Waypost"),
            format!(
                "The organization {about} was created on Waypost with this contact address. To activate it, open"
            ),
            "If you know nothing of it, do nothing: it stays inactive.",
        ),
        Purpose::Invite => (
            format!("You are invited to {}", if about.is_empty() { "Waypost" } else { &about }),
            format!(
                "You were invited to work with {} on Waypost. To choose your password, open",
                if about.is_empty() { "your colleagues" } else { &about }
            ),
            "If you did not expect this, do nothing.",
        ),
        Purpose::ResetPassword | Purpose::ResetSystemPassword | Purpose::Setup | Purpose::SignIn => {
            let whose = if purpose == Purpose::ResetSystemPassword { " of your system user" } else { "" };
            (
                "Choose a new password".to_owned(),
                format!(
                    "Somebody, you most likely, asked for a new password{whose} on Waypost. To choose one, open"
                ),
                "If it was not you, do nothing: the old password goes on working.",
            )
        }
    };
    let hello = hello(&greeting);
    let body = format!(
        "{hello}\n\n{before}\n\n{link}\n\nThe link works once, for 24 hours; a newer one takes its place. {after}\n"
    );
    Letter { subject, body, link: Some(link) }
}

/// Writes a letter that tells something and asks for nothing. `about`: the new address, as far as it is told.
pub(super) fn write_notice(notice: Notice, greeting: &str, about: &str) -> Letter {
    let (hello, about) = (hello(&one_line(greeting)), one_line(about));
    let (subject, told) = match notice {
        Notice::AddressChanged => (
            "Your Waypost account has another address",
            format!(
                "The e-mail address of your Waypost account was changed to {about}. From now on you sign in with that \
                 one, and links that were sent to this address work no more.\n\nIf that was not wanted, tell your \
                 administrator at once: whoever reads the new address can choose a new password."
            ),
        ),
    };
    Letter { subject: subject.to_owned(), body: format!("{hello}\n\n{told}\n"), link: None }
}

fn hello(greeting: &str) -> String {
    if greeting.is_empty() { "Hello,".to_owned() } else { format!("Hello {greeting},") }
}

/// An address so that its owner knows it and nobody else learns it: the first letter and the host.
#[must_use]
pub fn masked(address: &str) -> String {
    let (name, host) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = name.chars().take(1).collect();
    format!("{first}…@{host}")
}

/// Names come from strangers: none of them begins a line of its own.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_names_its_reader_its_matter_and_its_page() {
        let letter = write(Purpose::Invite, "Ada", "North\n\nBuses", "https://fleet.example.org", "wpi_x");
        let link = letter.link.unwrap();
        assert_eq!(link, "https://fleet.example.org/invite/wpi_x");
        assert_eq!(letter.subject, "You are invited to North Buses");
        assert!(letter.body.starts_with("Hello Ada,\n") && letter.body.contains(&link));
    }

    #[test]
    fn every_kind_of_letter_has_a_page_of_its_own_words() {
        let kinds = [
            Purpose::VerifySystemUser,
            Purpose::ActivateOrganization,
            Purpose::Invite,
            Purpose::ResetPassword,
        ];
        let letters = kinds.map(|purpose| write(purpose, "", "Fleet", "http://x", "t"));
        let links: std::collections::HashSet<&str> =
            letters.iter().map(|letter| letter.link.as_deref().unwrap()).collect();
        assert_eq!(links.len(), kinds.len());
        assert!(letters.iter().all(|letter| letter.body.starts_with("Hello,\n")));
    }

    #[test]
    fn a_notice_names_the_new_address_to_those_who_know_it() {
        let letter = write_notice(Notice::AddressChanged, "Ada", &masked("ada.new@example.org"));
        assert!(
            letter.body.contains("changed to a…@example.org.") && letter.link.is_none(),
            "{}",
            letter.body
        );
    }
}
