//! The texts of letters.

use crate::auth::link::Purpose;
use crate::domain::link::Notice;

/// A letter, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) subject: String,
    pub(super) body: String,
    /// The link its reader is to open; a notice has none.
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
        Purpose::ConfirmAddress => "address",
    };
    format!("/{page}/{token}")
}

/// The variable parts of a letter. All but `until` may come from strangers.
#[derive(Clone, Copy, Default)]
pub(super) struct LetterContent<'a> {
    /// How the letter addresses its reader; empty = no name.
    pub(super) greeting: &'a str,
    /// The organization's name, or the id of a system user.
    pub(super) about: &'a str,
    /// The verified address of the system user that created the organization.
    pub(super) creator: Option<&'a str>,
    /// When its link expires.
    pub(super) until: &'a str,
}

/// Writes a letter. Nothing from a stranger gets into its subject, and no name that looks like a link into its text.
pub(super) fn write(purpose: Purpose, content: LetterContent<'_>, public_url: &str, token: &str) -> Letter {
    let (greeting, about) = (plain(content.greeting), plain(content.about));
    let link = format!("{public_url}{}", path(purpose, token));
    let (subject, before, after) = match purpose {
        Purpose::VerifySystemUser => {
            let which = if about.is_empty() {
                "a Waypost system user".to_owned()
            } else {
                format!("the Waypost system user {about}")
            };
            (
                "Confirm your e-mail address",
                format!("Somebody, you most likely, made {which} with this address. To confirm it, open"),
                "It confirms this system user with its password, and no other that was made with this address: yours has the \
                 id that you were answered. If it was not you, do nothing: an address that is not confirmed cannot be used."
                    .to_owned(),
            )
        }
        Purpose::ActivateOrganization => {
            let which = if about.is_empty() {
                "An organization".to_owned()
            } else {
                format!("The organization {about}")
            };
            let creator = content.creator.map(|creator| {
                format!(
                    " It was created by the system user {creator}, which may read and change everything in it from \
                     then on, unless you choose on that page to activate it without."
                )
            });
            (
                "Activate an organization on Waypost",
                format!("{which} was created on Waypost with this contact address. To activate it, open"),
                format!(
                    "If you know nothing of it, do nothing: it stays inactive.{}",
                    creator.unwrap_or_default()
                ),
            )
        }
        Purpose::Invite => (
            "You are invited to Waypost",
            format!(
                "You were invited to work with {} on Waypost. To choose your password, open",
                if about.is_empty() { "your colleagues" } else { &about }
            ),
            "If you did not expect this, do nothing.".to_owned(),
        ),
        Purpose::ConfirmAddress => (
            "Confirm your new e-mail address",
            "This address is to be the one of a Waypost account. To confirm that, open".to_owned(),
            "If you know nothing of it, do nothing: the account keeps the address it has.".to_owned(),
        ),
        Purpose::ResetPassword | Purpose::ResetSystemPassword | Purpose::Setup | Purpose::SignIn => {
            let whose = if purpose == Purpose::ResetSystemPassword { " of your system user" } else { "" };
            (
                "Choose a new password",
                format!(
                    "Somebody, you most likely, asked for a new password{whose} on Waypost. To choose one, open"
                ),
                "If it was not you, do nothing: the old password goes on working.".to_owned(),
            )
        }
    };
    let hello = hello(&greeting);
    let body = format!(
        "{hello}\n\n{before}\n\n{link}\n\nThe link works once, until {}; a newer one takes its place. {after}\n",
        content.until
    );
    Letter { subject: subject.to_owned(), body, link: Some(link) }
}

/// Writes a letter without a link. `about`: the new address, masked as far as the reader may see it.
pub(super) fn write_notice(notice: Notice, greeting: &str, about: &str) -> Letter {
    let (hello, about) = (hello(&plain(greeting)), one_line(about));
    let (subject, told) = match notice {
        Notice::AddressChanged => (
            "Your Waypost account is to have another address",
            format!(
                "The e-mail address of your Waypost account is to be {about}. A link was sent there; once it is opened, \
                 you sign in with that one, and links that were sent to this address work no more.\n\nIf that is not \
                 wanted, tell your administrator at once: whoever reads the new address can choose a new password."
            ),
        ),
        Notice::SignUpAgain => (
            "You have a Waypost account already",
            "Somebody, perhaps you, signed up on Waypost with this address. It has an account already, so nothing was \
             made. Sign in with it, or ask for a new password where you sign in.\n\nIf it was not you, do nothing."
                .to_owned(),
        ),
        Notice::WebhookDisabled => (
            "A Waypost webhook was disabled",
            format!(
                "The webhook of your organization {about}. What happens from now on is not sent there.\n\nOnce its receiver \
                 works again, enable it (PUT /v1/webhooks/{{id}} with \"enabled\": true) and have it send what it missed \
                 (POST /v1/webhooks/{{id}}/resend)."
            ),
        ),
    };
    Letter { subject: subject.to_owned(), body: format!("{hello}\n\n{told}\n"), link: None }
}

fn hello(greeting: &str) -> String {
    if greeting.is_empty() { "Hello,".to_owned() } else { format!("Hello {greeting},") }
}

/// Masks an address to its first letter and the host, so that only its owner recognizes it.
#[must_use]
pub fn masked(address: &str) -> String {
    let (name, host) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = name.chars().take(1).collect();
    format!("{first}…@{host}")
}

/// Joins a name from a stranger into one line, so that it cannot add lines to a letter.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name on one line; empty if a mail program could take a part of it for a link. Browsers treat the full stops of
/// Chinese and Japanese as dots too (UTS 46).
fn plain(name: &str) -> String {
    let name = one_line(name);
    let is_linked = |word: &str| {
        let dots = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
        let dotted = word.trim_end_matches(dots).split_once(dots);
        word.contains(['/', ':', '@', '\\']) || dotted.is_some_and(|(_, rest)| !rest.is_empty())
    };
    if name.split(' ').any(is_linked) { String::new() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_names_its_reader_its_matter_and_its_page() {
        let content = LetterContent {
            greeting: "Ada",
            about: "North\n\nBuses Ltd. & Co.",
            creator: None,
            until: "then",
        };
        let letter = write(Purpose::Invite, content, "https://fleet.example.org", "wpi_x");
        let link = letter.link.unwrap();
        assert_eq!(link, "https://fleet.example.org/invite/wpi_x");
        assert!(letter.body.contains("work with North Buses Ltd. & Co. on Waypost"), "{}", letter.body);
        assert!(letter.body.starts_with("Hello Ada,\n") && letter.body.contains(&link));
        assert!(letter.body.contains("The link works once, until then;"), "{}", letter.body);
    }

    #[test]
    fn every_kind_of_letter_has_a_page_of_its_own_words() {
        let kinds = [
            Purpose::VerifySystemUser,
            Purpose::ActivateOrganization,
            Purpose::Invite,
            Purpose::ResetPassword,
        ];
        let letters = kinds.map(|purpose| write(purpose, LetterContent::default(), "http://x", "t"));
        let links: std::collections::HashSet<&str> =
            letters.iter().map(|letter| letter.link.as_deref().unwrap()).collect();
        assert_eq!(links.len(), kinds.len());
        assert!(letters.iter().all(|letter| letter.body.starts_with("Hello,\n")));
    }

    #[test]
    fn strangers_put_no_words_into_subjects_and_no_links_into_letters() {
        for name in
            ["http://evil.test/click", "Click evil.test now", "a@evil.test", "www.evil.test.", "evil。test"]
        {
            let content =
                LetterContent { greeting: name, about: name, creator: Some("robot@example.org"), until: "" };
            for purpose in [Purpose::Invite, Purpose::ActivateOrganization] {
                let letter = write(purpose, content, "https://fleet.example.org", "wpa_x");
                assert!(!letter.body.contains("evil") && !letter.subject.contains("evil"), "{}", letter.body);
            }
        }
        let content = LetterContent {
            greeting: "Ada",
            about: "Click here now",
            creator: Some("robot@example.org"),
            until: "",
        };
        let letter = write(Purpose::ActivateOrganization, content, "https://fleet.example.org", "wpa_x");
        assert!(!letter.subject.contains("Click"));
        assert!(
            letter.body.contains("robot@example.org, which may read and change everything"),
            "{}",
            letter.body
        );
    }

    #[test]
    fn a_verification_names_the_sign_up_that_it_confirms() {
        let id = "01a1faea-5ddc-7008-8434-f2bff1d0b5a1";
        let content = LetterContent { about: id, ..LetterContent::default() };
        let letter = write(Purpose::VerifySystemUser, content, "https://fleet.example.org", "wpv_x");
        assert!(letter.body.contains(&format!("made the Waypost system user {id} with")), "{}", letter.body);
    }

    #[test]
    fn a_notice_names_the_new_address_to_those_who_know_it() {
        let letter = write_notice(Notice::AddressChanged, "Ada", &masked("ada.new@example.org"));
        assert!(letter.body.contains("is to be a…@example.org.") && letter.link.is_none(), "{}", letter.body);
    }
}
