//! Drivers: people of the whole platform, and what each organization knows of them.
//!
//! A person (names, date of birth, licence) belongs to the platform. A profile (contact details, papers, notes)
//! belongs to the organization that wrote it, and no other organization ever reads it. The organization that holds
//! the lock keeps the driver; without a lock, the one that created the driver does. Only the keeper sees and edits
//! the whole person. An organization without a profile sees a [`DriverStub`] at most. [`VisibleDriver`] keeps the two apart,
//! so that no code can show a driver by mistake.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp};

use super::body::body;
use super::day::{Day, day};
use super::driver_card::read_cards;
use super::driver_document::{Document, read_documents};
use super::fold::folded;
use super::license::{License, LicenseStatus, read_license};
use super::members::{Members, email, flag, id};
use super::words::words;

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

body!(
    /// Who somebody is, the same for every organization.
    #[derive(Default)]
    pub struct Person {
        /// Given name, 1 to 100 characters.
        first_name "firstName": required String, text(1..=100);
        /// Family name, 1 to 100 characters.
        last_name "lastName": required String, text(1..=100);
        /// When they were born. Shown to the keeper only.
        date_of_birth "dateOfBirth": optional Day, by(day);
        /// Their driving licence. Shown to the keeper only.
        license "license": optional License, part(read_license);
    }
);

body!(
    /// What one organization has on record of a driver; no other organization sees it.
    pub struct Profile {
        /// Where to write.
        email "email": optional String, by(email, format = Email, max_length = 254);
        /// Where to call, 3 to 40 characters.
        phone "phone": optional String, text(3..=40);
        /// What the organization calls them, 1 to 40 characters.
        employee_code "employeeCode": optional String, text(1..=40);
        /// Whatever else, 1 to 2000 characters.
        notes "notes": optional String, text(1..=2000);
        /// Their papers, at most 50. Sending the list replaces it; one without an id is new.
        documents "documents": required Vec<Document>, deep(read_documents, max_items = 50), or Vec::<Document>::new();
        /// What readers in vehicles know them by (`driverCard`): at most 10 cards, each of 1 to 64 characters. Compared in capitals,
        /// without separators; a card is one driver's in the organization. While a vehicle reports one, the driver is assigned
        /// to it, if active and locked. Sending the list replaces it.
        cards "cards": required Vec<String>, deep(read_cards, max_items = 10), or Vec::<String>::new();
        /// Whether they drive.
        status "status": required DriverStatus, word, or DriverStatus::Active;
    }
);

body!(
    /// The attributes of a driver that a client sets.
    pub struct DriverIn {
        /// Who they are.
        ..person: Person;
        /// What the organization has on record of them.
        ..profile: Profile;
    }
    READ_ONLY: &["id", "lock", "createdAt", "updatedAt", "deletedAt"];
    DERIVED: &["masked", "kept", "licenseStatus", "currentVehicles"];
);

body!(
    /// A new driver.
    pub struct CreateDriver {
        /// Who enters them; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// Whether the organization holds them from the start (default); `false` offers them to any organization that knows
        /// the licence.
        lock "lock": optional bool, by(flag);
        /// Their attributes.
        ..driver: DriverIn;
    }
);

body!(
    /// A wish to hold a driver.
    pub struct LockIn {
        /// For whom; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// What for, 1 to 500 characters.
        reason "reason": optional String, text(1..=500);
    }
);

body!(
    /// A wish to give a driver free.
    pub struct UnlockIn {
        /// Who holds them; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
    }
);

/// Which organization holds a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lock {
    /// Whether one does.
    pub locked: bool,
    /// Which; told to itself only, like the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<OrganizationId>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_at: Option<Timestamp>,
    /// What for, 1 to 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A driver, as an organization with a profile knows it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    /// Which.
    pub id: DriverId,
    /// Their attributes.
    #[serde(flatten)]
    pub attributes: DriverIn,
    /// Whether the organization keeps the driver: it holds the lock, or made a driver whom nobody holds. Else it cannot
    /// assign the driver or change who they are, and does not see date of birth and licence.
    pub kept: bool,
    /// Whether an organization holds them.
    pub lock: Lock,
    /// When the organization's profile was made.
    pub created_at: Timestamp,
    /// When person, lock or profile last changed.
    pub updated_at: Timestamp,
    /// When the organization's profile was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

/// A driver, as those see it who have no profile: enough to tell one person from another, no more.
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

/// A driver in the form an organization may see.
#[derive(Clone, Debug, PartialEq)]
pub enum VisibleDriver {
    /// For an organization with a profile.
    Own(Box<Driver>),
    /// Of an organization without a profile that may know the driver exists.
    Masked(DriverStub),
}

impl Lock {
    /// No organization holds the driver.
    pub const NONE: Self = Self { locked: false, organization_id: None, locked_at: None, reason: None };
}

impl DriverStub {
    /// The stub of a person, for organizations without a profile.
    #[must_use]
    pub fn of(id: DriverId, person: &Person, locked: bool) -> Self {
        let license = person.license.as_ref();
        Self {
            id,
            masked: true,
            first_name: masked(&person.first_name),
            last_name: masked(&person.last_name),
            license: license.map(|license| LicenseStub { country: license.country.clone() }),
            lock: LockStub { locked },
        }
    }
}

/// The first letter and a constant, so that not even the length is revealed.
fn masked(name: &str) -> String {
    name.chars().take(1).chain("***".chars()).collect()
}

impl Default for Profile {
    fn default() -> Self {
        let status = DriverStatus::Active;
        Self {
            email: None,
            phone: None,
            employee_code: None,
            notes: None,
            documents: Vec::new(),
            cards: Vec::new(),
            status,
        }
    }
}

/// Refuses a date of birth after today.
pub fn born_by(today: Day) -> impl FnOnce(&mut Members<'_>) {
    move |driver| {
        let born = driver.value("dateOfBirth").and_then(|born| day(born).ok());
        if born.is_some_and(|born| born > today) {
            driver.problem("dateOfBirth", "range", "must not be in the future");
        }
    }
}

impl Person {
    /// The status of the licence on a day.
    #[must_use]
    pub fn license_status(&self, today: Day) -> LicenseStatus {
        self.license.as_ref().map_or(LicenseStatus::Missing, |license| license.status(today))
    }

    /// Reduces a person to what every organization with a profile sees.
    #[must_use]
    pub fn named(self) -> Self {
        Self { date_of_birth: None, license: None, ..self }
    }

    /// The text that any organization with a profile searches.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {}", self.first_name, self.last_name))
    }
}

impl Profile {
    /// The text that the profile's own organization searches.
    #[must_use]
    pub fn search_key(&self) -> String {
        let parts = [&self.email, &self.phone, &self.employee_code];
        folded(&parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::super::body::Params;
    use super::*;

    #[test]
    fn a_driver_reads_back() {
        let today = Day::parse("2026-05-01").unwrap();
        let body = json!({ "firstName": "Ana", "lastName": "Ruiz", "dateOfBirth": "1990-01-31", "status": "active",
            "phone": "+49 1", "employeeCode": "E7", "notes": "n",
            "license": { "number": "AB-12 3", "country": "ES", "categories": ["B", "CE"], "expiresAt": "2030-01-01" },
            "documents": [{ "id": Uuid::nil(), "type": "hazmat", "expiresAt": "2027-01-01" }],
            "cards": ["01-ab", "02 CD"] });
        let attributes = Params::<DriverIn>::from(body.clone()).made_if(born_by(today)).unwrap();
        assert_eq!(json!(attributes), body);
        assert_eq!(
            (attributes.person.search_key(), attributes.profile.search_key()),
            ("ana ruiz".into(), "+49 1 e7".into())
        );
        let named = json!({ "firstName": "Ana", "lastName": "Ruiz" });
        assert_eq!(json!(attributes.person.named()), named);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let today = Day::parse("2026-05-01").unwrap();
        let body = json!({ "firstName": "", "email": "nobody", "dateOfBirth": "2026-05-02", "status": "gone",
            "license": { "number": "--", "country": "es", "categories": ["B", "B"], "issuedAt": "2026-01-01",
                "expiresAt": "2025-01-01" },
            "documents": [{ "id": "x", "type": "toy", "issuedAt": "yesterday" }], "cards": ["1A", "", "-", "1-a"] });
        let problems = Params::<DriverIn>::from(body).made_if(born_by(today)).unwrap_err();
        let mut found: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "/cards/1",
                "/cards/2",
                "/cards/3",
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
        let person = Person { first_name: "Élodie".into(), last_name: "Ng".into(), ..Person::default() };
        let id = DriverId(Uuid::nil());
        let shown = json!({ "id": id, "masked": true, "firstName": "É***", "lastName": "N***",
            "lock": { "locked": false } });
        assert_eq!(json!(DriverStub::of(id, &person, false)), shown);
    }
}
