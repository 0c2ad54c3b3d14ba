//! The form of a request, by which its adapter is found.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::fields::Fields;
use super::parsed::Request;

/// The form of a request.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    /// A JSON object.
    Object(Members),
    /// A JSON list, by its first member.
    List(Members),
    /// Names and values, in the query or in the body. None of them is about a position if they only name the sender.
    Fields(Fields<'a>),
}

/// Which telling members an object has.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Members {
    /// OwnTracks.
    #[serde(rename = "_type")]
    pub(super) kind: Option<IgnoredAny>,
    /// Overland.
    pub(super) locations: Option<IgnoredAny>,
    /// Traccar.
    pub(super) position: Option<IgnoredAny>,
    /// Traccar.
    pub(super) device: Option<IgnoredAny>,
    /// flespi.
    pub(super) ident: Option<IgnoredAny>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let first = request.body.iter().find(|byte| !byte.is_ascii_whitespace());
        match first {
            Some(b'{') => Self::Object(serde_json::from_slice(&request.body).unwrap_or_default()),
            Some(b'[') => {
                let list: Vec<Members> = serde_json::from_slice(&request.body).unwrap_or_default();
                Self::List(list.into_iter().next().unwrap_or_default())
            }
            _ => Self::Fields(Fields::of(request)),
        }
    }
}
