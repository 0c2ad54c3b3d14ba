//! Enumerations that the interface and the store spell as words.

/// Declares an enumeration with its words: `Variant = "word"`.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:tt),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// Every word with its value.
            pub const WORDS: &[(&str, Self)] = &[$(($text, Self::$variant)),+];

            /// The word the interface and the store use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(word: String) -> Result<Self, String> {
                let found = Self::WORDS.iter().find(|(known, _)| *known == word);
                found.map(|(_, value)| *value).ok_or_else(|| format!("{word:?} is no {}", stringify!($name)))
            }
        }
    };
}

pub(crate) use words;
