//! Enumerations that the interface and the store spell as words.

/// The same as the live core's, and described in the OpenAPI document.
macro_rules! words {
    ($($declared:tt)+) => {
        waypost_actors::words!(#[derive(utoipa::ToSchema)] $($declared)+);
    };
}

pub(crate) use words;
