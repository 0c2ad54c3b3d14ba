//! The pages behind the links of our letters. Each has a button that makes the POST, so that mail scanners that open
//! links do not use them up.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};

use super::answer::Answer;
use super::pages::{form_fields, goes_on, is_own_page, page};
use super::request::{PathToken, Shared};
use crate::auth::AuthError;
use crate::auth::link::{LinkStatus, Purpose, Redeemed};
use crate::domain::account::password_fault;
use crate::ops::error::OpError;
use crate::ops::{activation, request_context};

/// A page with a form.
pub(super) struct Form {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    pub(super) button: &'static str,
    pub(super) has_password: bool,
}

const VERIFY: Form = Form {
    title: "Confirm your e-mail address",
    text: "Confirm that this address is yours.",
    button: "Confirm",
    has_password: false,
};
const ACTIVATE: Form = Form {
    title: "Activate your organization",
    text: "Confirm that this address is yours. It activates the organization.",
    button: "Activate",
    has_password: false,
};
const ADDRESS: Form = Form {
    title: "Confirm your new e-mail address",
    text: "Confirm that this address is yours. You sign in with it from then on.",
    button: "Confirm",
    has_password: false,
};
const INVITE: Form = Form {
    title: "Welcome to Waypost",
    text: "You were invited. Choose the password you will sign in with.",
    button: "Accept",
    has_password: true,
};
const RESET: Form = Form {
    title: "Choose a new password",
    text: "The old password, and whoever is signed in with it, is refused from then on.",
    button: "Change it",
    has_password: true,
};

impl Form {
    fn show(&self, status: StatusCode, fault: Option<&str>) -> HttpResponse {
        let fault = fault.map(|fault| format!("<p class=\"error\">{fault}</p>")).unwrap_or_default();
        let password = if self.has_password {
            "<label>Password, at least 12 characters<input name=\"password\" type=\"password\" required \
             minlength=\"12\" autocomplete=\"new-password\"></label>"
        } else {
            ""
        };
        let body = format!(
            "<p>{}</p>{fault}<form method=\"post\">{password}<button>{}</button></form>",
            self.text, self.button
        );
        page(HttpResponseBuilder::new(status), self.title, &body)
    }
}

/// The form of a link, or why it does not work.
pub(super) async fn form(context: &Shared, token: &str, purpose: Purpose, form: &Form) -> Answer {
    Ok(match context.auth.link_status(token, purpose).await? {
        LinkStatus::Good(_) => form.show(StatusCode::OK, None),
        LinkStatus::Used(_) if !form.has_password => done("Done before", "This link did its work already."),
        LinkStatus::Used(_) => over(StatusCode::GONE, "It was used before."),
        LinkStatus::Expired => over(StatusCode::GONE, "It is older than a day, or a newer one was sent."),
        LinkStatus::Unknown => over(StatusCode::NOT_FOUND, "It is not whole, or not of this server."),
    })
}

/// The page after a successful submission.
pub(super) fn done(title: &str, text: &str) -> HttpResponse {
    page(HttpResponse::Ok(), title, &format!("<p>{text} <a href=\"/\">Go on</a>.</p>"))
}

fn over(status: StatusCode, why: &str) -> HttpResponse {
    let body = format!("<p>{why} Ask for a new one where you asked for this one.</p>");
    page(HttpResponseBuilder::new(status), "This link does not work", &body)
}

/// The page that says why a submission had no effect.
pub(super) fn refused(error: AuthError) -> Answer {
    match error {
        AuthError::NotFound => Ok(over(StatusCode::NOT_FOUND, "It is not whole, or not of this server.")),
        AuthError::LinkUsed => Ok(over(StatusCode::GONE, "It was used before.")),
        AuthError::LinkExpired => {
            Ok(over(StatusCode::GONE, "It is older than a day, or a newer one was sent."))
        }
        error => Err(error.into()),
    }
}

/// The password of a form, or the form again with the problem.
async fn password(
    request: &HttpRequest,
    payload: web::Payload,
    form: &Form,
) -> Result<Result<String, HttpResponse>, super::problem::Problem> {
    let [password] = form_fields(request, payload, ["password"]).await?;
    Ok(match password_fault(&password) {
        None => Ok(password),
        Some(fault) => {
            Err(form.show(StatusCode::UNPROCESSABLE_ENTITY, Some(&format!("The password {fault}."))))
        }
    })
}

/// The form that verifies a system user's address.
pub async fn verify_form(context: Shared, PathToken(token): PathToken) -> Answer {
    form(&context, &token, Purpose::VerifySystemUser, &VERIFY).await
}

/// Verifies a system user's address.
pub async fn redeem_verify(context: Shared, PathToken(token): PathToken) -> Answer {
    let redeemed = context.auth.verify_system_user(&token, request_context::request_id()).await;
    context.live.number_changes();
    match redeemed {
        Ok(Redeemed::Now(_)) => Ok(done("Thank you", "The address is confirmed.")),
        Ok(Redeemed::Before(_)) => Ok(done("Done before", "The address is confirmed already.")),
        Err(error) => refused(error),
    }
}

/// The form that confirms a person's new address.
pub async fn address_form(context: Shared, PathToken(token): PathToken) -> Answer {
    form(&context, &token, Purpose::ConfirmAddress, &ADDRESS).await
}

/// Confirms a person's new address.
pub async fn redeem_address(context: Shared, PathToken(token): PathToken) -> Answer {
    let redeemed = context.auth.confirm_address(&token, request_context::request_id()).await;
    context.live.number_changes();
    match redeemed {
        Ok(Redeemed::Now(_)) => Ok(done("Thank you", "Sign in with this address from now on.")),
        Ok(Redeemed::Before(_)) => Ok(done("Done before", "The address is confirmed already.")),
        Err(error) => refused(error),
    }
}

/// The form that activates an organization. If a system user created it, the reader of the letter decides whether
/// that system user may work in it.
pub async fn activate_form(context: Shared, PathToken(token): PathToken) -> Answer {
    let LinkStatus::Good(id) = context.auth.link_status(&token, Purpose::ActivateOrganization).await? else {
        return form(&context, &token, Purpose::ActivateOrganization, &ACTIVATE).await;
    };
    let Some(creator) = activation::creator(&context, id).await? else {
        return Ok(ACTIVATE.show(StatusCode::OK, None));
    };
    let body = format!(
        "<p>{}</p><p>It was created by the system user <strong>{}</strong>. Let in, that may read and change everything \
         in the organization, its users included. If you do not know this address, leave it out.</p>\
         <form method=\"post\"><p><button name=\"founder\" value=\"letIn\">Activate, and let it in</button></p>\
         <p><button name=\"founder\" value=\"leaveOut\">Activate without it</button></p></form>",
        ACTIVATE.text,
        escaped(&creator)
    );
    Ok(page(HttpResponse::Ok(), ACTIVATE.title, &body))
}

/// Escapes a text from outside for use in a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Activates an organization.
pub async fn redeem_activate(
    context: Shared,
    PathToken(token): PathToken,
    request: HttpRequest,
    payload: web::Payload,
) -> Answer {
    let [creator] = form_fields(&request, payload, ["founder"]).await?;
    // Only an explicit "letIn" lets it in; a page loaded before the question existed does not send that.
    match activation::verify_email(&context, &token, creator == "letIn").await {
        Ok(verified) if verified.already_verified => {
            Ok(done("Done before", "The address is confirmed already."))
        }
        Ok(_) => {
            let text = "The address is confirmed. A letter is on its way to whoever administers the organization \
                 (you, if you signed up), if it was not sent before: its link asks for a password, and signs in.";
            Ok(done("Thank you", text))
        }
        Err(OpError::Auth(error)) => refused(error),
        Err(error) => Err(error.into()),
    }
}

/// The form that accepts an invitation.
pub async fn invite_form(context: Shared, PathToken(token): PathToken) -> Answer {
    form(&context, &token, Purpose::Invite, &INVITE).await
}

/// Accepts an invitation.
pub async fn redeem_invite(
    context: Shared,
    PathToken(token): PathToken,
    request: HttpRequest,
    payload: web::Payload,
) -> Answer {
    let password = match password(&request, payload, &INVITE).await? {
        Ok(password) => password,
        Err(again) => return Ok(again),
    };
    let redeemed = context.auth.accept_invite_by_link(&token, password, &request_context::peer()).await;
    context.live.number_changes();
    match redeemed {
        Ok(link) if is_own_page(&request) => Ok(goes_on(&link)),
        Ok(_) => Ok(done("Welcome", "Your password is set. Sign in with it.")),
        Err(error) => refused(error),
    }
}

/// The form that sets a new password.
pub async fn reset_form(context: Shared, PathToken(token): PathToken) -> Answer {
    form(&context, &token, Purpose::ResetPassword, &RESET).await
}

/// Sets a new password.
pub async fn redeem_reset(
    context: Shared,
    PathToken(token): PathToken,
    request: HttpRequest,
    payload: web::Payload,
) -> Answer {
    let password = match password(&request, payload, &RESET).await? {
        Ok(password) => password,
        Err(again) => return Ok(again),
    };
    match context.auth.reset_password(&token, password, &request_context::peer()).await {
        Ok(Some(account)) if is_own_page(&request) => Ok(goes_on(&context.auth.sign_in_link(account).await?)),
        Ok(_) => Ok(done("Done", "The new password counts from now on.")),
        Err(error) => refused(error),
    }
}
