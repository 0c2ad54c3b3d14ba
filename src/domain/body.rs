//! Request bodies. A member is declared once, with `body!`: its name, type, check, default and description make the
//! struct, the reader that collects every problem, the schema with its bounds, and what a POST may leave out.

use std::marker::PhantomData;

use serde::Serialize;
use serde_json::{Map, Value, json};
use waypost_actors::model::OrganizationId;

use super::field::FieldError;
use super::members::{Members, id};
use super::merge::{all_problems, merged, writable};

/// The content of a JSON object. Declared with `body!`.
pub trait Body: Sized {
    /// Members that a PUT replaces whole; others that are objects are merged.
    const WHOLE: &'static [&'static str] = &[];
    /// Members of the resource that a client may send back with a PUT but not change.
    const READ_ONLY: &'static [&'static str] = &[];
    /// Members of the resource that the server derives, and that a client may send back as they were.
    const DERIVED: &'static [&'static str] = &[];

    /// Values of members that a POST leaves out.
    fn defaults() -> Map<String, Value>;

    /// Reads it from complete members: those of a body, merged with defaults or with what is stored.
    fn read(members: &mut Members<'_>) -> Option<Self>;
}

/// A body that is validated only once its sender is known, so that a caller without the right gets no validation
/// errors.
#[derive(Debug)]
pub struct Params<B> {
    json: Value,
    defaults: Map<String, Value>,
    body: PhantomData<B>,
}

impl<B> From<Value> for Params<B> {
    fn from(json: Value) -> Self {
        Self { json, defaults: Map::new(), body: PhantomData }
    }
}

impl<B: Body> Params<B> {
    /// Rewrites the body into an equivalent form.
    #[must_use]
    pub fn reworded(mut self, reword: impl FnOnce(&mut Value)) -> Self {
        reword(&mut self.json);
        self
    }

    /// Sets the value of a member that a POST leaves out, if that depends on the caller.
    #[must_use]
    pub fn or(mut self, member: &str, default: impl Serialize) -> Self {
        self.defaults.insert(member.to_owned(), json!(default));
        self
    }

    /// A member as it was sent; null counts as absent.
    #[must_use]
    pub fn sent(&self, member: &str) -> Option<&Value> {
        self.json.get(member).filter(|value| !value.is_null())
    }

    /// Whether the resource is sent back whole, as it was read but for an edit. Since when its present version holds is then no wish.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.sent("updatedAt").is_some()
    }

    /// The organization that the body names.
    pub fn organization(&self) -> Result<Option<OrganizationId>, Vec<FieldError>> {
        let read = self.sent("organizationId").map(id).transpose();
        read.map_err(|(code, must)| vec![FieldError::new("/organizationId", code, format!("must be {must}"))])
    }

    /// Reads a POST.
    pub fn made(self) -> Result<B, Vec<FieldError>> {
        self.made_if(|_| ())
    }

    /// Reads a POST, unless `check` finds further problems.
    pub fn made_if(self, check: impl FnOnce(&mut Members<'_>)) -> Result<B, Vec<FieldError>> {
        let mut defaults = B::defaults();
        defaults.extend(self.defaults);
        read(&merged(defaults.into(), &self.json, B::WHOLE), check)
    }

    /// Reads a PUT of `resource`; `attributes` is the part of it that may be changed. Absent members stay, null clears.
    pub fn changed(
        self,
        resource: &impl Serialize,
        attributes: &impl Serialize,
    ) -> Result<B, Vec<FieldError>> {
        self.changed_if(resource, attributes, |_| ())
    }

    /// Reads a PUT as [`Params::changed`] does, unless `check` finds further problems.
    pub fn changed_if(
        self,
        resource: &impl Serialize,
        attributes: &impl Serialize,
        check: impl FnOnce(&mut Members<'_>),
    ) -> Result<B, Vec<FieldError>> {
        let (json, problems) = writable(self.json, &json!(resource), B::READ_ONLY, B::DERIVED);
        all_problems(problems, read(&merged(json!(attributes), &json, B::WHOLE), check))
    }
}

fn read<B: Body>(json: &Value, check: impl FnOnce(&mut Members<'_>)) -> Result<B, Vec<FieldError>> {
    let mut members = Members::of(json);
    check(&mut members);
    let read = B::read(&mut members);
    members.finish(|| read)
}

/// Declares a body. A member is `name "jsonName": presence Type, check, or default;`, after its description. A
/// default holds in a POST.
///
/// Presence: `required`; `optional`, shown if present; `nullable`, shown as null; `given`, which may be absent but
/// not null; `patch`, whose absence differs from null. Check: `text`, `whole` or `number` with bounds, `word`, `by` a
/// reader of `domain::members` with what the schema says of it, `deep`, a reader that gives the pointers itself, or
/// `part`, a reader of the members of an object. `..name: Type;` takes the members of another body.
macro_rules! body {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident { $($members:tt)* } $($constant:ident: $value:expr;)*) => {
        body!(@next [{$(#[$meta])* $visibility struct $name} {$($constant: $value;)*}] [] [] [] $($members)*);
    };

    // A check: how a value is read, and its bounds in the schema.
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: $presence:ident $type:ty, text($least:tt..=$most:tt) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name $presence $type,
            ($crate::domain::members::text($least..=$most)) {min_length = $least, max_length = $most} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: $presence:ident $type:ty, whole($least:tt..=$most:tt) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name $presence $type,
            ($crate::domain::members::whole($least..=$most)) {minimum = $least, maximum = $most} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: $presence:ident $type:ty, number($least:tt..=$most:tt) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name $presence $type,
            ($crate::domain::members::number(f64::from($least)..=f64::from($most))) {minimum = $least, maximum = $most}
            [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: $presence:ident $type:ty, word $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name $presence $type,
            ($crate::domain::members::one_of(<$type>::WORDS)) {} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: $presence:ident $type:ty, by($reader:expr $(, $($schema:tt)+)?) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name $presence $type, ($reader) {$($($schema)+)?} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: required $type:ty, deep($reader:expr $(, $($schema:tt)+)?) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name deep $type, ($reader) {$($($schema)+)?} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: required $type:ty, part($reader:expr $(, $($schema:tt)+)?) $(, or $default:expr)?; $($rest:tt)*) => {
        body!(@member $a $b $c $d $(#[$meta])* $field $name part $type, ($reader) {$($($schema)+)?} [$($default)?] $($rest)*);
    };
    (@next $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt: optional $type:ty, part($reader:expr); $($rest:tt)*) => {
        body!(@optional object $a $b $c $d $(#[$meta])* $field $name $type, ($reader) {} $($rest)*);
    };
    (@next $a:tt [$($fields:tt)*] [$($reads:tt)*] [$($defaults:tt)*] $(#[$meta:meta])* ..$field:ident: $type:ty; $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[serde(flatten)] pub $field: $type }]
            [$($reads)* { $field "" flattened (<$type as $crate::domain::body::Body>::read) }]
            [$($defaults)* { flattened $type }] $($rest)*);
    };

    // A member, by its presence. A member is required only if it has no default.
    (@member $a:tt $b:tt $c:tt $d:tt
        $(#[$meta:meta])* $field:ident $name:tt optional $type:ty, $check:tt $schema:tt [] $($rest:tt)*) => {
        body!(@optional optional $a $b $c $d $(#[$meta])* $field $name $type, $check $schema $($rest)*);
    };
    (@optional $method:ident $a:tt [$($fields:tt)*] [$($reads:tt)*] $d:tt
        $(#[$meta:meta])* $field:ident $name:tt $type:ty, $check:tt {$($schema:tt)*} $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema($($schema)*)]
                #[serde(rename = $name, skip_serializing_if = "Option::is_none")] pub $field: Option<$type> }]
            [$($reads)* { $field $name $method $check }] $d $($rest)*);
    };
    (@member $a:tt [$($fields:tt)*] [$($reads:tt)*] $d:tt
        $(#[$meta:meta])* $field:ident $name:tt given $type:ty, $check:tt {$($($schema:tt)+)?} [] $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema(value_type = $type, required = false $(, $($schema)+)?)]
                #[serde(rename = $name, skip_serializing_if = "Option::is_none")] pub $field: Option<$type> }]
            [$($reads)* { $field $name given $check }] $d $($rest)*);
    };
    (@member $a:tt [$($fields:tt)*] [$($reads:tt)*] $d:tt
        $(#[$meta:meta])* $field:ident $name:tt patch $type:ty, $check:tt {$($schema:tt)*} [] $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema(value_type = Option<$type>)]
                #[serde(rename = $name)] pub $field: $crate::domain::members::Patch<Option<$type>> }]
            [$($reads)* { $field $name change $check }] $d $($rest)*);
    };
    (@member $a:tt [$($fields:tt)*] [$($reads:tt)*] [$($defaults:tt)*]
        $(#[$meta:meta])* $field:ident $name:tt nullable $type:ty, $check:tt {$($schema:tt)*} [$($default:expr)?] $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema($($schema)*)] #[serde(rename = $name)] pub $field: Option<$type> }]
            [$($reads)* { $field $name optional $check }] [$($defaults)* $({ $name $default })?] $($rest)*);
    };
    (@member $a:tt [$($fields:tt)*] [$($reads:tt)*] $d:tt
        $(#[$meta:meta])* $field:ident $name:tt $presence:ident $type:ty, $check:tt {$($schema:tt)*} [] $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema($($schema)*)] #[serde(rename = $name)] pub $field: $type }]
            [$($reads)* { $field $name $presence $check }] $d $($rest)*);
    };
    (@member $a:tt [$($fields:tt)*] [$($reads:tt)*] [$($defaults:tt)*]
        $(#[$meta:meta])* $field:ident $name:tt $presence:ident $type:ty, $check:tt {$($($schema:tt)+)?} [$default:expr] $($rest:tt)*) => {
        body!(@next $a [$($fields)* { $(#[$meta])* #[schema(required = false $(, $($schema)+)?)] #[serde(rename = $name)] pub $field: $type }]
            [$($reads)* { $field $name $presence $check }] [$($defaults)* { $name $default }] $($rest)*);
    };

    // All members are known.
    (@next [{$($head:tt)*} {$($constant:ident: $value:expr;)*}] [$({$($field:tt)*})*]
        [$({ $read:ident $key:tt $presence:ident $check:tt })*] [$($default:tt)*]) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, utoipa::ToSchema)]
        $($head)* { $($($field)*,)* }

        body!(@impl [$($head)*] {
            $(const $constant: &'static [&'static str] = $value;)*

            fn defaults() -> serde_json::Map<String, serde_json::Value> {
                std::iter::empty()$(.chain(body!(@default $default)))*.collect()
            }

            fn read(members: &mut $crate::domain::members::Members<'_>) -> Option<Self> {
                $(let $read = body!(@read members $presence $key $check);)*
                Some(Self { $($read: body!(@value $presence $read)),* })
            }
        });
    };
    (@impl [$(#[$meta:meta])* $visibility:vis struct $name:ident] {$($items:tt)*}) => {
        impl $crate::domain::body::Body for $name { $($items)* }
    };
    (@default { flattened $type:ty }) => { <$type as $crate::domain::body::Body>::defaults() };
    (@default { $name:tt $default:expr }) => { [($name.to_owned(), serde_json::json!($default))] };
    (@read $members:ident flattened $key:tt ($check:expr)) => { $check($members) };
    (@read $members:ident $presence:ident $key:tt ($check:expr)) => { $members.$presence($key, $check) };
    (@value optional $read:ident) => { $read };
    (@value change $read:ident) => { $read };
    (@value given $read:ident) => { $read };
    (@value object $read:ident) => { $read.flatten() };
    (@value $presence:ident $read:ident) => { $read? };
}

pub(crate) use body;
