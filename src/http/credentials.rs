//! Credentials of people and programs in request bodies.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::members::{Members, Read, email};
use crate::ops::error::OpError;

/// What signing in takes.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoginIn {
    /// The account's address.
    #[schema(min_length = 1, max_length = 1024)]
    pub email: String,
    /// Its password.
    #[schema(format = Password, min_length = 1, max_length = 1024)]
    pub password: String,
}

/// An address to write to.
#[derive(Debug, Serialize, ToSchema)]
pub struct EmailIn {
    /// The address; blanks around it do no harm.
    #[schema(pattern = r"^\s*[^\s@]+@[^\s@]+\s*$", max_length = 1024)]
    pub email: String,
}

/// E-mail and password of a body.
pub(super) fn credentials(body: &Value) -> Result<(String, String), OpError> {
    let mut members = Members::of(body);
    let (email, password) = (members.required("email", any_text), members.required("password", any_text));
    Ok(members.finish(|| Some((email?, password?)))?)
}

/// The address of a body that has nothing else.
pub(super) fn address(body: &Value) -> Result<String, OpError> {
    let mut members = Members::of(body);
    let address = members.required("email", email);
    Ok(members.finish(|| address)?)
}

/// A text, untrimmed: a password may begin with a space.
pub(super) fn any_text(value: &Value) -> Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?;
    if (1..=1024).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(("length", "1 to 1024 bytes long".to_owned()))
    }
}
