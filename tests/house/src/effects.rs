//! Everything that can be set has an effect: each setting of the server is read outside of `config`, and each
//! member that an organization, a person or a vehicle sets is used where this table says.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;
use syn::{Fields, Item};

use crate::source::Source;

const SERVER_SETTINGS: &str = "src/config/settings.rs";
const SETTINGS: &str = "src/domain/organization_settings.rs";

/// A member, a file, and the code in it that reads the member.
type Effect = (&'static str, &'static str, &'static str);

/// The types whose members are set, and for each member a file in which it has its effect and the code that reads
/// it there. Without a file: a member that nothing uses yet, and the code that would.
const EFFECTS: &[(&str, &str, &[Effect])] = &[
    (
        SETTINGS,
        "Settings",
        &[
            ("timezone", "web/src/state/conventions.ts", "settings?.timezone"),
            ("locale", "web/src/state/conventions.ts", "settings?.locale"),
            ("units", "web/src/state/conventions.ts", "settings?.units"),
            ("geofence_defaults", "src/ops/geofences.rs", "settings.geofence_defaults"),
            ("stale_after_seconds", "src/store/organization.rs", "self.stale_after_seconds"),
            ("offline_after_seconds", "src/store/organization.rs", "self.offline_after_seconds"),
            ("assignment", "src/ops/assignments.rs", "settings.assignment"),
            ("retention", "src/store/retention.rs", "settings.retention"),
        ],
    ),
    (
        SETTINGS,
        "AssignmentSettings",
        &[
            ("block_on_expired_license", "src/ops/assignments.rs", "block_on_expired_license"),
            ("max_open_vehicles_per_driver", "src/ops/assignments.rs", "max_open_vehicles_per_driver"),
        ],
    ),
    (
        SETTINGS,
        "Retention",
        &[
            ("positions_days", "src/store/retention.rs", "retention.positions_days"),
            ("fuel_days", "src/store/retention.rs", "retention.fuel_days"),
            ("events_days", "src/store/retention.rs", "retention.events_days"),
        ],
    ),
    (
        SETTINGS,
        "Subscription",
        &[
            ("plan", "web/src/views/organization/OrganizationView.tsx", "words.plans[plan]"),
            ("status", "src/auth/holder.rs", "subscription.is_running(now)"),
            ("period_start", "src/domain/organization_settings.rs", "end <= start"),
            ("period_end", "src/auth/holder.rs", "subscription.is_running(now)"),
            ("limits", "src/ops/own_organization.rs", "subscription.limits"),
        ],
    ),
    (
        SETTINGS,
        "Limits",
        &[
            ("vehicles", "src/ops/own_organization.rs", "limits.vehicles"),
            ("drivers", "src/ops/own_organization.rs", "limits.drivers"),
            ("users", "src/ops/own_organization.rs", "limits.users"),
            ("geofences", "src/ops/own_organization.rs", "limits.geofences"),
        ],
    ),
    (
        "src/domain/user.rs",
        "UserIn",
        &[
            ("email", "src/store/account.rs", "email_key"),
            ("first_name", "src/ops/letters.rs", "first_name"),
            ("last_name", "web/src/views/users/UsersView.tsx", "lastName"),
            ("phone", "web/src/views/users/UsersView.tsx", "/phone"),
            ("role", "src/auth/caller.rs", "action.allows(*role)"),
            ("locale", "web/src/state/conventions.ts", "me.value?.locale"),
            ("timezone", "web/src/state/conventions.ts", "me.value?.timezone"),
        ],
    ),
    (
        "src/domain/vehicle.rs",
        "Tracking",
        &[
            ("tracker_id", "src/ops/vehicles.rs", "tracker_id"),
            ("interval_seconds", "src/domain/vehicle.rs", "seconds(self.interval_seconds)"),
            ("stopped_interval_seconds", "src/domain/vehicle.rs", "seconds(self.stopped_interval_seconds)"),
            ("max_speed_kmh", "actors/src/tracking/motion.rs", "max_speed_kmh"),
            ("max_accuracy_meters", "actors/src/tracking/timeline.rs", "limits.max_accuracy_meters"),
            ("overspeed_kmh", "actors/src/tracking/overspeed.rs", "limits.overspeed_kmh"),
        ],
    ),
];

/// What is wrong with the table, given the texts of all files by path.
pub(crate) fn without_effect(sources: &[Source], files: &[(String, String)]) -> Vec<String> {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut wrong = Vec::new();
    for (path, name, effects) in EFFECTS {
        let declared = members(sources, path, name);
        let named: BTreeSet<String> = effects.iter().map(|(member, ..)| (*member).to_owned()).collect();
        wrong.extend(declared.difference(&named).map(|member| format!("{name}.{member}: what reads it?")));
        wrong.extend(
            named.difference(&declared).map(|member| format!("{name}.{member} is no member any more")),
        );
        for (member, file, reads) in *effects {
            let is_read = texts.get(file).is_some_and(|text| text.contains(reads));
            let is_new = file.is_empty() && is_used(sources, path, reads);
            match file.is_empty() {
                false if !is_read => wrong.push(format!("{name}.{member}: {file} does not say {reads}")),
                true if is_new => wrong.push(format!("{name}.{member} is read: say where")),
                _ => {}
            }
        }
    }
    wrong
}

/// The settings of the server that nothing outside `config` reads.
pub(crate) fn unread_settings(sources: &[Source]) -> Vec<String> {
    let product: Vec<&Source> = sources.iter().filter(|source| source.path.starts_with("src/")).collect();
    let is_read = |name: &str| {
        product.iter().any(|source| match source.path.as_str() {
            // what makes other modules' options of them
            SERVER_SETTINGS => has_word(&source.text, &format!("self.{name}")),
            path => !path.starts_with("src/config/") && has_word(&source.text, &format!("settings.{name}")),
        })
    };
    let mut names = settings(sources);
    names.retain(|name| !is_read(name));
    names
}

/// The names in the table of settings, which `settings!` makes: each row is `name: type = default, explanation;`.
fn settings(sources: &[Source]) -> Vec<String> {
    let table = items(sources, SERVER_SETTINGS).into_iter().find_map(|item| match item {
        Item::Macro(item) if item.mac.path.is_ident("settings") => Some(item.mac.tokens),
        _ => None,
    });
    let tokens: Vec<TokenTree> = table.expect("settings are declared in a table").into_iter().collect();
    let rows = tokens.split(|token| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';'));
    rows.filter_map(|row| row.first()).map(ToString::to_string).collect()
}

/// What is declared in a file.
fn items(sources: &[Source], path: &str) -> Vec<Item> {
    let declaring = sources.iter().filter(|source| source.path == path);
    let files = declaring.map(|source| syn::parse_file(&source.text).expect("it was parsed before"));
    files.flat_map(|file| file.items).collect()
}

fn members(sources: &[Source], path: &str, name: &str) -> BTreeSet<String> {
    let items = items(sources, path);
    let found = items.iter().filter_map(|item| match item {
        Item::Struct(item) if item.ident == name => Some(&item.fields),
        _ => None,
    });
    let fields = found.flat_map(Fields::iter).filter_map(|field| field.ident.as_ref());
    fields.map(ToString::to_string).chain(items.iter().flat_map(|item| members_of_body(item, name))).collect()
}

/// The members of a `body!` of this name: each is an identifier before its name in JSON.
fn members_of_body(item: &Item, name: &str) -> Vec<String> {
    let Item::Macro(item) = item else { return Vec::new() };
    let tokens: Vec<TokenTree> = item.mac.tokens.clone().into_iter().collect();
    let declared = tokens.windows(2).find_map(|pair| match pair {
        [TokenTree::Ident(found), TokenTree::Group(members)] if found == name => Some(members.stream()),
        _ => None,
    });
    let members: Vec<TokenTree> = declared.into_iter().flatten().collect();
    let named =
        members.windows(2).filter(|pair| matches!(pair, [TokenTree::Ident(_), TokenTree::Literal(_)]));
    named.map(|pair| pair[0].to_string()).collect()
}

/// Whether the product has some code outside of the file that declares a member.
fn is_used(sources: &[Source], declared: &str, code: &str) -> bool {
    let product = |source: &&Source| source.module.is_some() && source.path != declared;
    sources.iter().filter(product).any(|source| has_word(&source.text, code))
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let after = text[at + word.len()..].chars().next();
        !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn a_setting_that_nothing_reads_is_told() {
    let table = "settings! { log: String = \"info\", \"a; b\"; workers: Option<usize> = \"\", \"c\"; }";
    let reader = "fn a() { start(&settings.log); }";
    let sources = [Source::parse(SERVER_SETTINGS, table), Source::parse("src/app.rs", reader)];
    assert_eq!(unread_settings(&sources), ["workers"]);
}

#[test]
fn a_name_that_goes_on_is_another_one() {
    assert!(has_word("a(settings.log)", "settings.log") && !has_word("settings.log_format", "settings.log"));
}
