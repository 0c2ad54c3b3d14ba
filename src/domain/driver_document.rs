//! Papers of a driver, as recorded by one organization.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::body::{Body, body};
use super::day::{Day, day};
use super::driver_file::{self, DocumentFile};
use super::field::FieldError;
use super::members::{Members, id};
use super::words::words;

/// Documents of one driver at most.
const MAX_DOCUMENTS: usize = 50;

words!(
    /// What a document is.
    DocumentType {
        /// A driving licence.
        License = "license",
        /// A doctor's word.
        MedicalCertificate = "medicalCertificate",
        /// A passport or identity card.
        Identity = "identity",
        /// A contract of work.
        Contract = "contract",
        /// A training passed.
        Training = "training",
        /// A permit for dangerous goods.
        Hazmat = "hazmat",
        /// Anything else.
        Other = "other",
    }
);

body!(
    /// A document of a driver.
    #[derive(Deserialize)]
    pub struct Document {
        /// Which. The server gives it; sent back, the document stays the same one.
        id "id": required Uuid, by(id, required = false);
        /// What it is.
        kind "type": required DocumentType, word;
        /// Its number, 1 to 64 characters.
        number "number": optional String, text(1..=64);
        /// Since when.
        issued_at "issuedAt": optional Day, by(day);
        /// Its last day.
        expires_at "expiresAt": optional Day, by(day);
        /// Whatever else, 1 to 500 characters.
        note "note": optional String, text(1..=500);
        /// Its file, which `PUT /v1/drivers/{id}/documents/{documentId}/file` uploads.
        file "file": optional DocumentFile, by(driver_file::file, read_only);
    }
);

pub(super) fn read_documents(value: &Value) -> Result<Vec<Document>, Vec<FieldError>> {
    let place = "/documents";
    let Some(items) = value.as_array() else {
        return Err(vec![FieldError::new(place, "type", "must be a list")]);
    };
    if items.len() > MAX_DOCUMENTS {
        let detail = format!("must have at most {MAX_DOCUMENTS} items");
        return Err(vec![FieldError::new(place, "length", detail)]);
    }
    let mut problems = Vec::new();
    let mut documents = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        match read_document(item, format!("{place}/{i}")) {
            Ok(document) => documents.push(document),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(documents) } else { Err(problems) }
}

fn read_document(item: &Value, place: String) -> Result<Document, Vec<FieldError>> {
    let mut members = Members::at(item, place);
    let read = Document::read(&mut members);
    let date = |name| members.value(name).and_then(|value| day(value).ok());
    if date("expiresAt").zip(date("issuedAt")).is_some_and(|(expires, issued)| expires < issued) {
        members.problem("expiresAt", "range", "must not be before issuedAt");
    }
    members.finish(|| read)
}
