//! THE table of error codes. A code is a promise: clients switch on it, `/problems/{code}` explains it.

use actix_web::http::StatusCode;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The code, as clients see it.
    pub code: &'static str,
    /// Its HTTP status.
    pub status: u16,
    /// A title of one line.
    pub title: &'static str,
    /// The cause and the remedy.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($variant:ident $code:literal $status:literal $title:literal $explanation:literal;)+) => {
        /// An error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $explanation] $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code's row.
            #[must_use]
            pub const fn row(self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        code: $code, status: $status, title: $title, explanation: $explanation,
                    },)+
                }
            }
        }
    };
}

codes! {
    MalformedRequest "malformedRequest" 400 "The request cannot be read"
        "The request is not valid HTTP for this server: a broken header, path or body encoding.";
    MalformedJson "malformedJson" 400 "The body is not JSON"
        "The body cannot be parsed as JSON; the detail names line and column. Nesting is limited to 32 levels.";
    UnknownParameter "unknownParameter" 400 "Unknown query parameter"
        "A query parameter is not known to this route. Nothing is ignored silently; errors[] names the nearest known one.";
    InvalidParameter "invalidParameter" 400 "Invalid query parameter"
        "A query parameter cannot be read; errors[] says what it must be.";
    UnknownSortKey "unknownSortKey" 400 "Unknown sort key"
        "The list cannot be sorted by this key; the detail names the keys that are allowed.";
    InvalidCursor "invalidCursor" 400 "Invalid cursor"
        "The cursor was not made by this server for this list and organization. Start again without it.";
    CursorExpired "cursorExpired" 410 "Cursor expired"
        "The log is not kept as far back as this cursor. Read the lists anew, then go on from the end of the log.";
    Unauthenticated "unauthenticated" 401 "Not signed in"
        "The request carries no access token or key, or one that is expired, revoked or not ours. Sign in, refresh the token, or have an orgAdmin make a new key.";
    InvalidCredentials "invalidCredentials" 401 "Wrong e-mail or password"
        "No active account has this e-mail and password. The answer is the same whether the account exists or not.";
    InvalidToken "invalidToken" 401 "Token not accepted"
        "The refresh token, link or tracker token is unknown, expired, used or revoked. A used refresh token that comes again revokes its whole session.";
    Forbidden "forbidden" 403 "Not allowed"
        "You are signed in, but your role or your scopes do not allow this; the detail names the roles and the scope that do.";
    OrganizationInactive "organizationInactive" 403 "The organization is not active"
        "The organization is not activated yet, or was deactivated. Its users and trackers are refused; its data is kept.";
    NoOrganization "noOrganization" 403 "Belongs to no organization yet"
        "A system user that signed up by itself belongs to no organization and can only create one; it is bound to it once it is active.";
    EmailNotVerified "emailNotVerified" 403 "The e-mail address is not verified"
        "E-mail and password, or the key, are right, but the system user's address is not verified yet. Open the link in the mail, or ask for a new one at resend-verification.";
    SignUpClosed "signUpClosed" 403 "Sign-up is closed"
        "This server lets nobody sign up by themselves (setting signUp). Ask an operator, or an orgAdmin of your organization.";
    TrackerDisabled "trackerDisabled" 403 "The tracker is disabled"
        "The tracker's token is right, but the tracker is disabled. An orgAdmin can set its status to active.";
    OriginNotAllowed "originNotAllowed" 403 "Another site's page"
        "The browser says that a page of another site opens the live feed. Name its origin in the setting allowedOrigins if it may.";
    SubscriptionInactive "subscriptionInactive" 403 "The subscription has ended"
        "The organization's subscription is canceled or its period is over. Reading and tracking go on, nothing can be changed until an operator renews it.";
    PlanLimitReached "planLimitReached" 403 "The plan's limit is reached"
        "The organization's subscription allows no more of these. Delete some, or have the limit raised.";
    NotFound "notFound" 404 "Not found"
        "There is no such thing, or it is not yours: both answer alike. A malformed id and an unknown path are also answered so.";
    MethodNotAllowed "methodNotAllowed" 405 "Method not allowed"
        "The path exists, but not for this method; the Allow header lists those that work.";
    NotAcceptable "notAcceptable" 406 "Nothing acceptable to send"
        "None of the encodings or media types that the client accepts can be sent; the detail names those that can.";
    RequestTimeout "requestTimeout" 408 "The body came too slowly"
        "A body must come at 4 KiB a second or more, on average, after a grace of ten seconds, and be whole within a minute. Send it again, over a better line or in smaller parts.";
    SlugTaken "slugTaken" 409 "The slug is taken"
        "Another organization has this slug.";
    EmailTaken "emailTaken" 409 "The e-mail address is taken"
        "Another account has this e-mail address; addresses are unique on the whole platform.";
    PlateTaken "plateTaken" 409 "The plate is taken"
        "Another vehicle of the organization has this plate (compared without case, spaces and hyphens).";
    VinTaken "vinTaken" 409 "The VIN is taken"
        "Another vehicle of the organization has this VIN.";
    UniqueIdTaken "uniqueIdTaken" 409 "The tracker's unique id is taken"
        "Another tracker has this unique id; they are unique on the whole platform.";
    LicenseTaken "licenseTaken" 409 "The driving licence is taken"
        "Another driver of the platform has a licence of this number and country (compared in capitals without separators). The answer is the same whoever keeps that driver; GET /v1/drivers/search finds those that may be found.";
    CardTaken "cardTaken" 409 "The card is another driver's"
        "Another driver of the organization has this card (compared in capitals without separators). Take it out of that driver's cards first.";
    DriverLocked "driverLocked" 409 "Another organization holds the driver"
        "One organization at a time holds a driver; only it assigns and unlocks them and changes who they are. Try again once it has unlocked them.";
    DriverNotHeld "driverNotHeld" 409 "Your organization does not hold the driver"
        "Nobody holds the driver, and another organization made them. POST /v1/drivers/{id}/lock first, then try again.";
    DriverAssignedElsewhere "driverAssignedElsewhere" 409 "The driver drives for another organization"
        "A driver cannot be locked while another organization has an open assignment of theirs. Try again once it has ended.";
    DriverNotActive "driverNotActive" 409 "The driver is not active"
        "Only a driver whose status is active can be given a vehicle. Set the driver's status to active first.";
    LicenseExpired "licenseExpired" 409 "The driver's licence is expired"
        "The organization's setting assignment.blockOnExpiredLicense forbids it. Enter the renewed licence, or change the setting.";
    OpenVehicleLimitReached "openVehicleLimitReached" 409 "The driver drives as many vehicles as allowed"
        "The organization's setting assignment.maxOpenVehiclesPerDriver allows no more. End another assignment of the driver, or change the setting.";
    VehicleNotActive "vehicleNotActive" 409 "The vehicle is not active"
        "Only a vehicle whose status is active can be assigned. Set the vehicle's status to active first.";
    VehicleAlreadyAssigned "vehicleAlreadyAssigned" 409 "Another driver drives the vehicle"
        "A vehicle has one driver at a time; the detail names who has it. Send force: true to end that assignment and begin this one at the same instant.";
    AssignmentOverlaps "assignmentOverlaps" 409 "The vehicle's history does not allow this time"
        "startedAt lies before the end of an earlier assignment of the vehicle, or before the start of the one it would replace, or a corrected assignment would overlap another one. A vehicle has one driver at a time; the detail names the time that is taken.";
    AssignedByCard "assignedByCard" 409 "A card made the assignment"
        "The assignment follows what the vehicle reports and whose the card is. Assign the vehicle by hand instead: that goes before what cards say.";
    KeyLimitReached "keyLimitReached" 409 "The system user has ten keys"
        "A system user has ten keys at most, expired ones included. Delete one that is no longer needed first.";
    WebhookLimitReached "webhookLimitReached" 409 "The organization has fifty webhooks"
        "An organization has fifty webhooks at most, disabled ones included. Delete one that is no longer needed first.";
    ShareLimitReached "shareLimitReached" 409 "The organization has two hundred links"
        "An organization has two hundred links to vehicles at most whose time is not over. Revoke one that is no longer needed first.";
    FileLimitReached "fileLimitReached" 409 "The organization's files are too large together"
        "The files of an organization's documents have 1 GiB together at most. Remove some that are no longer needed first.";
    InvalidTransition "invalidTransition" 409 "Not possible in this state"
        "The resource is in a state from which this change is not possible; the detail names both states.";
    LastOrgAdmin "lastOrgAdmin" 409 "The organization's last orgAdmin"
        "Nobody else administers the organization: its last orgAdmin cannot be demoted or disabled. Make another one first, who has accepted the invitation.";
    LastSuperAdmin "lastSuperAdmin" 409 "The platform's last superAdmin"
        "Nobody else administers the platform: its last superAdmin cannot be demoted or disabled. Make another one first, who has accepted the invitation.";
    AlreadySetUp "alreadySetUp" 409 "Already set up"
        "There is a superAdmin already; a setup link makes only the first one.";
    IdempotencyKeyInUse "idempotencyKeyInUse" 409 "The first request is under way"
        "A request with this Idempotency-Key is being handled. Repeat it after Retry-After seconds: it then gets the first one's answer.";
    LinkExpired "linkExpired" 410 "The link is too old"
        "A link of a mail works for 24 hours, and only until a newer one is sent. Ask for a new one.";
    LinkUsed "linkUsed" 410 "The link was used"
        "The link did its work before. To choose another password, ask for a new link at forgot-password.";
    ShareOver "shareOver" 410 "The link shows nothing any more"
        "The time of a link to vehicles is over, they have arrived, or its organization is not active. Ask whoever sent it for a new one.";
    PreconditionFailed "preconditionFailed" 412 "Changed in the meantime"
        "If-Match does not name the resource's present ETag: somebody changed it. Read it again and repeat.";
    PayloadTooLarge "payloadTooLarge" 413 "The body is too large"
        "The body, as it comes or unpacked, is larger than the route accepts: 64 KiB, positions 256 KiB, a report at /in 4 MiB, a geofence 4 MiB, a file of a document 10 MiB, an import 16 MiB; or it has more than 100,000 values.";
    UriTooLong "uriTooLong" 414 "The address is too long"
        "Path and query together may have 16 KiB. Name fewer things in one request.";
    UnsupportedMediaType "unsupportedMediaType" 415 "The body's media type is not supported"
        "Send application/json (geofences: application/geo+json too), plain or with Content-Encoding gzip; geofences and imports take br and zstd too. The file of a document is a PDF, JPEG or PNG, told by its content.";
    ValidationFailed "validationFailed" 422 "The request has invalid members"
        "The body is JSON, but not what the route takes. errors[] lists every problem with a JSON pointer to it.";
    IdempotencyKeyReused "idempotencyKeyReused" 422 "The key belongs to another request"
        "This Idempotency-Key came within the last 24 hours with another method, path or body. Use a new key for a new request.";
    OrganizationRequired "organizationRequired" 422 "Name an organization"
        "Platform operators belong to no organization and name the one they act in: organizationId in the body of a POST, or in the query.";
    TooManyRequests "tooManyRequests" 429 "Too many requests"
        "The rate limit named in RateLimit-Policy is used up. Wait as long as Retry-After says; RateLimit tells what is left.";
    TooManyAttempts "tooManyAttempts" 429 "Too many attempts"
        "Five sign-ins in a row failed for this address. Wait as long as Retry-After says.";
    Internal "internal" 500 "Unexpected error"
        "The server made a mistake. It is in its log under the requestId.";
    HttpVersion "httpVersion" 505 "HTTP/1.1 or newer is needed"
        "An answer of unknown length has an end that HTTP/1.0 cannot tell from a broken one. Use HTTP/1.1; in front of a proxy, have it speak 1.1 to the server (nginx: proxy_http_version 1.1).";
    Unavailable "unavailable" 503 "Temporarily not available"
        "The database or the live core cannot be reached, or the server is stopping. Repeat the request after Retry-After seconds.";
    Busy "busy" 503 "Too busy"
        "Too many sign-ins are waiting to be checked, large bodies to be worked on, changes to take effect, geofences to be tried out, or tickets of the live feed to be used; or an app reports at /in more often than it may, or too slowly. Nothing was done. Repeat the request after Retry-After seconds.";
}

impl Code {
    /// The code as clients see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().code
    }

    /// Its HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).expect("a row's status is a valid one, a test reads them all")
    }

    /// The code of a word, if it is one.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == word)
    }

    /// The code for a refusal of the framework's own.
    #[must_use]
    pub fn from_status(status: StatusCode) -> Self {
        match status.as_u16() {
            404 => Self::NotFound,
            405 => Self::MethodNotAllowed,
            406 => Self::NotAcceptable,
            408 => Self::RequestTimeout,
            413 => Self::PayloadTooLarge,
            414 => Self::UriTooLong,
            415 => Self::UnsupportedMediaType,
            503 => Self::Unavailable,
            400..=499 => Self::MalformedRequest,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_one_word_with_an_error_status_and_an_explanation() {
        let mut seen = std::collections::HashSet::new();
        for code in Code::ALL {
            let row = code.row();
            assert!(seen.insert(row.code), "{} twice", row.code);
            assert!(row.code.chars().all(|c| c.is_ascii_alphabetic()), "{}", row.code);
            assert!((400..600).contains(&code.status().as_u16()));
            assert!(row.explanation.len() > 20 && row.title.len() > 4, "{}", row.code);
            assert_eq!(Code::from_word(row.code), Some(*code));
        }
    }
}
