//! Files of drivers' documents: what they may be, told by their first bytes, never by what a client calls them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

use super::members::Read;
use super::words::words;

/// Bytes of all files of one organization, together: 1 GiB.
pub const MAX_TOGETHER_BYTES: i64 = 1 << 30;

words!(
    /// What a file is.
    FileType {
        /// A PDF.
        Pdf = "application/pdf",
        /// A JPEG picture.
        Jpeg = "image/jpeg",
        /// A PNG picture.
        Png = "image/png",
    }
);

/// The file of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentFile {
    /// What it is, by its content.
    pub media_type: FileType,
    /// Its size.
    pub bytes: i64,
    /// When it was uploaded.
    pub uploaded_at: Timestamp,
}

impl FileType {
    /// What some content is, by its beginning; `None`: nothing that is kept.
    #[must_use]
    pub fn of(content: &[u8]) -> Option<Self> {
        let begins: [(&[u8], Self); 3] =
            [(b"%PDF-", Self::Pdf), (b"\xff\xd8\xff", Self::Jpeg), (b"\x89PNG\r\n\x1a\n", Self::Png)];
        begins.into_iter().find(|(beginning, _)| content.starts_with(beginning)).map(|(_, is)| is)
    }

    /// The end of the name that it is downloaded under.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }
}

pub(super) fn file(value: &Value) -> Read<DocumentFile> {
    serde_json::from_value(value.clone()).map_err(|_| ("type", "the file as the server told it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_begins_like() {
        for (content, is) in [
            (&b"%PDF-1.7\n"[..], Some(FileType::Pdf)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some(FileType::Jpeg)),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Some(FileType::Png)),
            (b"\x89PNG\n", None),
            (b"<html>%PDF-1.7", None),
            (b"GIF89a", None),
            (b"%PDF", None),
            (b"", None),
        ] {
            assert_eq!(FileType::of(content), is, "{content:?}");
        }
    }
}
