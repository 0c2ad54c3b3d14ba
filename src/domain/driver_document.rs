//! Papers of a driver, as one organization has them on record.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::day::{Day, day};
use super::field::FieldError;
use super::members::{Members, id, one_of, text};
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

/// A document of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Which. The server gives it; sent back, the document stays the same one.
    #[schema(required = false)]
    pub id: Uuid,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: DocumentType,
    /// Its number, 1 to 64 characters.
    #[schema(min_length = 1, max_length = 64)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Day>,
    /// Its last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Day>,
    /// Whatever else, 1 to 500 characters.
    #[schema(min_length = 1, max_length = 500)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

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
    let id = members.required("id", id);
    let kind = members.required("type", one_of(DocumentType::WORDS));
    let number = members.optional("number", text(1..=64));
    let issued_at = members.optional("issuedAt", day);
    let expires_at = members.optional("expiresAt", day);
    if matches!((issued_at, expires_at), (Some(issued), Some(expires)) if expires < issued) {
        members.problem("expiresAt", "range", "must not be before issuedAt");
    }
    let note = members.optional("note", text(1..=500));
    members.finish(|| Some(Document { id: id?, kind: kind?, number, issued_at, expires_at, note }))
}
