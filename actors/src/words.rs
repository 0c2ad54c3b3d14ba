//! Enumerations whose values are words, in JSON and in the store.

/// A word that an enumeration does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no {of}")]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The enumeration.
    pub of: &'static str,
}

/// Declares an enumeration with its words: `Variant = "word"`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:tt),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        $(#[$meta])*
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every word with its value.
            pub const WORDS: &[(&str, Self)] = &[$(($text, Self::$variant)),+];

            /// The word the interface and the store use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value of a word, if it is one.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::words::UnknownWord;

            fn try_from(word: String) -> Result<Self, Self::Error> {
                Self::from_word(&word).ok_or($crate::words::UnknownWord { word, of: stringify!($name) })
            }
        }
    };
}
