//! Drivers: people of the whole platform, and what an organization may know of one.
//!
//! Whoever holds the lock keeps a driver: reads, edits, lists and deletes it. While nobody does, its
//! creator keeps it. Others see at most a [`DriverStub`]; [`Seen`] says which, so that nothing can show a
//! whole driver by mistake.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp};

use super::day::{Day, day};
use super::field::FieldError;
use super::fold::{compact, folded};
use super::license::{License, LicenseStatus, read_license};
use super::members::{Members, email, id, one_of, text};
use super::words::words;

/// Documents of one driver at most.
const MAX_DOCUMENTS: usize = 50;

words!(
    /// Whether a driver drives.
    DriverStatus {
        /// They do.
        Active = "active",
        /// Not for now.
        Inactive = "inactive",
        /// They may not.
        Suspended = "suspended",
    }
);

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Day>,
    /// Its last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Day>,
    /// Whatever else, 1 to 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What may be said of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverIn {
    /// Given name, 1 to 100 characters.
    pub first_name: String,
    /// Family name, 1 to 100 characters.
    pub last_name: String,
    /// Where to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Where to call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// What the keeper calls them, 1 to 40 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub employee_code: Option<String>,
    /// When they were born.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_of_birth: Option<Day>,
    /// Their driving licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<License>,
    /// Their papers, at most 50. Sending the list replaces it; one without an id is new.
    #[schema(required = false)]
    pub documents: Vec<Document>,
    /// Whether they drive.
    #[schema(required = false)]
    pub status: DriverStatus,
}

/// Which organization holds a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lock {
    /// Whether one does.
    pub locked: bool,
    /// Which: the reader's own, others see a stub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_at: Option<Timestamp>,
    /// What for, 1 to 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A driver, as its keeper knows it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    /// Which.
    pub id: DriverId,
    /// What was said of them.
    #[serde(flatten)]
    pub said: DriverIn,
    /// Which organization holds them.
    pub lock: Lock,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A driver, as those see it who do not keep it: enough to tell one person from another, no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverStub {
    /// Which; what lock takes.
    pub id: DriverId,
    /// Always true: most of it is not shown.
    pub masked: bool,
    /// The first letter of the given name.
    pub first_name: String,
    /// The first letter of the family name.
    pub last_name: String,
    /// Where the licence is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<LicenseStub>,
    /// Whether an organization holds them; never which.
    pub lock: LockStub,
}

/// A licence in a stub. The number is not in it: who searched knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LicenseStub {
    /// ISO 3166-1 alpha-2.
    pub country: String,
}

/// A lock in a stub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LockStub {
    /// Whether an organization holds them.
    pub locked: bool,
}

/// A driver, as far as an organization may see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// To its keeper.
    Whole(Box<Driver>),
    /// To others who may know that it is there.
    Masked(DriverStub),
}

impl Lock {
    /// Nobody holds them.
    pub const NONE: Self = Self { locked: false, organization_id: None, locked_at: None, reason: None };
}

impl Driver {
    /// What is shown to those who do not keep it.
    #[must_use]
    pub fn stub(&self) -> DriverStub {
        DriverStub {
            id: self.id,
            masked: true,
            first_name: masked(&self.said.first_name),
            last_name: masked(&self.said.last_name),
            license: self
                .said
                .license
                .as_ref()
                .map(|license| LicenseStub { country: license.country.clone() }),
            lock: LockStub { locked: self.lock.locked },
        }
    }
}

/// The first letter, then always the same: not even the length tells more.
fn masked(name: &str) -> String {
    name.chars().take(1).chain("***".chars()).collect()
}

impl Default for DriverIn {
    fn default() -> Self {
        Self {
            first_name: String::new(),
            last_name: String::new(),
            email: None,
            phone: None,
            employee_code: None,
            date_of_birth: None,
            license: None,
            documents: Vec::new(),
            status: DriverStatus::Active,
        }
    }
}

impl DriverIn {
    /// Reads one whose members are all there (defaults or present values merged with a body), ids of
    /// documents too. Nobody is born after `today`.
    pub fn read(body: &Value, today: Day) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let first_name = members.required("firstName", text(1..=100));
        let last_name = members.required("lastName", text(1..=100));
        let email = members.optional("email", email);
        let phone = members.optional("phone", text(3..=40));
        let employee_code = members.optional("employeeCode", text(1..=40));
        let date_of_birth = members.optional("dateOfBirth", day);
        if date_of_birth.is_some_and(|born| born > today) {
            members.problem("dateOfBirth", "range", "must not be in the future");
        }
        let license = members.object("license", read_license);
        let documents = members.any("documents").map_or_else(|| Ok(Vec::new()), read_documents);
        let documents = documents.map_err(|problems| members.extend(problems)).ok();
        let status = members.required("status", one_of(DriverStatus::WORDS));
        members.finish(|| {
            Some(Self {
                first_name: first_name?,
                last_name: last_name?,
                email,
                phone,
                employee_code,
                date_of_birth,
                license: license.flatten(),
                documents: documents?,
                status: status?,
            })
        })
    }

    /// How the licence stands on a day.
    #[must_use]
    pub fn license_status(&self, today: Day) -> LicenseStatus {
        self.license.as_ref().map_or(LicenseStatus::Missing, |license| license.status(today))
    }

    /// What a search looks through.
    #[must_use]
    pub fn search_key(&self) -> String {
        let number = self.license.as_ref().map(|license| &license.number);
        let number = number.map(|number| format!("{number} {}", compact(number)));
        let name = Some(format!("{} {}", self.first_name, self.last_name));
        let parts = [name, self.email.clone(), self.phone.clone(), self.employee_code.clone(), number];
        folded(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

fn read_documents(value: &Value) -> Result<Vec<Document>, Vec<FieldError>> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_driver_reads_back() {
        let today = Day::parse("2026-05-01").unwrap();
        let body = json!({ "firstName": "Ana", "lastName": "Ruiz", "dateOfBirth": "1990-01-31", "status": "active",
            "license": { "number": "AB-12 3", "country": "ES", "categories": ["B", "CE"], "expiresAt": "2030-01-01" },
            "documents": [{ "id": Uuid::nil(), "type": "hazmat", "expiresAt": "2027-01-01" }] });
        let said = DriverIn::read(&body, today).unwrap();
        assert_eq!(json!(said), body);
        assert_eq!(said.search_key(), "ana ruiz ab-12 3 ab123");
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let today = Day::parse("2026-05-01").unwrap();
        let body = json!({ "firstName": "", "email": "nobody", "dateOfBirth": "2026-05-02", "status": "gone",
            "license": { "number": "--", "country": "es", "categories": ["B", "B"], "issuedAt": "2026-01-01",
                "expiresAt": "2025-01-01" },
            "documents": [{ "id": "x", "type": "toy", "issuedAt": "yesterday" }] });
        let problems = DriverIn::read(&body, today).unwrap_err();
        let mut found: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "/dateOfBirth",
                "/documents/0/id",
                "/documents/0/issuedAt",
                "/documents/0/type",
                "/email",
                "/firstName",
                "/lastName",
                "/license/categories/1",
                "/license/country",
                "/license/expiresAt",
                "/license/number",
                "/status",
            ]
        );
    }

    #[test]
    fn a_stub_tells_initials_and_no_lengths() {
        let said = DriverIn { first_name: "Élodie".into(), last_name: "Ng".into(), ..DriverIn::default() };
        let (id, at) = (DriverId(Uuid::nil()), Timestamp::default());
        let stub = Driver { id, said, lock: Lock::NONE, created_at: at, updated_at: at }.stub();
        let shown = json!({ "id": id, "masked": true, "firstName": "É***", "lastName": "N***",
            "lock": { "locked": false } });
        assert_eq!(json!(stub), shown);
    }
}
