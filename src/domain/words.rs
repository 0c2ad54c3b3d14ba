//! Enumerations spelled as words in the interface and in the store.

/// Declares an enum of words as the live core's macro does, with a schema for the OpenAPI document.
macro_rules! words {
    ($($declared:tt)+) => {
        waypost_actors::words!(#[derive(utoipa::ToSchema)] $($declared)+);
    };
}

pub(crate) use words;
