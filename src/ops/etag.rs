//! ETags: a digest of the resource itself, then one of derived members and the content coding, each part after a dot.
//!
//! `If-Match` compares the resource alone, so that a change of derived members refuses no request; `If-None-Match`
//! compares everything but the coding.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::error::OpError;

/// The state of the resource that a client's `If-Match` expects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    /// No expectation: the client did not send the header.
    #[default]
    Unsaid,
    /// Any state, as long as the resource exists.
    Any,
    /// One of these.
    OneOf(Vec<String>),
}

/// The ETag of a resource, with its quotes.
pub fn of(resource: &impl Serialize) -> String {
    let json = serde_json::to_vec(resource).expect("resources are texts, numbers, lists and objects");
    format!("\"{}\"", BASE64.encode(&Sha256::digest(json)[..12]))
}

/// The ETag of a resource that is shown with derived members, which may change without it.
pub fn shown(resource: &impl Serialize, shown: &impl Serialize) -> String {
    let (resource, shown) = (of(resource), of(shown));
    if resource == shown {
        return resource;
    }
    with_part(&resource, shown.trim_matches('"')).unwrap_or(resource)
}

/// A strong ETag with a part appended.
#[must_use]
pub fn with_part(tag: &str, part: &str) -> Option<String> {
    Some(format!("{}.{part}\"", tag.strip_suffix('"').filter(|tag| tag.starts_with('"'))?))
}

/// Whether two ETags are of the same representation, regardless of its coding.
#[must_use]
pub fn is_same(given: &str, own: &str) -> bool {
    let unpacked = |tag| {
        let tag = opaque(tag);
        PACKINGS.iter().find_map(|packing| tag.strip_suffix(packing)?.strip_suffix('.')).unwrap_or(tag)
    };
    unpacked(given) == unpacked(own)
}

const PACKINGS: [&str; 4] = ["gzip", "br", "zstd", "deflate"];

/// The text between the quotes. A proxy that compresses answers weakens their tags.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

impl IfMatch {
    /// Refuses whatever the client expects, of a resource that is deleted.
    pub fn check_gone(&self) -> Result<(), OpError> {
        if *self == Self::Unsaid { Ok(()) } else { Err(OpError::Precondition) }
    }

    /// Refuses a resource that differs from what the client expects.
    pub fn check(&self, resource: &impl Serialize) -> Result<(), OpError> {
        match self {
            Self::Unsaid | Self::Any => Ok(()),
            Self::OneOf(tags) => {
                let current = of(resource);
                let is_current = |tag: &String| opaque(tag).split('.').next() == Some(opaque(&current));
                if tags.iter().any(is_current) { Ok(()) } else { Err(OpError::Precondition) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_guarded_by_the_resource_and_a_read_by_all_that_is_shown() {
        let (resource, tag) = ("as it is", shown(&"as it is", &1));
        let packed = with_part(&tag, "gzip").unwrap();
        let weak = format!("W/{tag}");
        for known in [&of(&resource), &tag, &packed, &weak, &shown(&resource, &2)] {
            assert!(IfMatch::OneOf(vec![known.clone()]).check(&resource).is_ok(), "{known}");
        }
        for other in [of(&"otherwise"), shown(&"otherwise", &1), "\"\"".to_owned(), String::new()] {
            assert!(IfMatch::OneOf(vec![other.clone()]).check(&resource).is_err(), "{other}");
        }
        assert!(is_same(&packed, &tag) && is_same(&weak, &packed) && is_same(&tag, &tag));
        assert!(!is_same(&shown(&resource, &2), &tag) && !is_same(&of(&resource), &tag));
    }
}
