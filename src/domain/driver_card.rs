//! Cards of drivers: what a reader in a vehicle says who drives by. How they are written and how they are compared.

use serde_json::Value;

use super::field::FieldError;
use super::fold::compact;
use super::members::text;

/// Cards of one driver at most.
const MAX_CARDS: usize = 10;

/// The form in which cards are compared: in capitals, letters and digits only. Empty: no card.
#[must_use]
pub fn card_key(card: &str) -> String {
    compact(card)
}

/// Reads a list of cards, each there once.
pub(super) fn read_cards(value: &Value) -> Result<Vec<String>, Vec<FieldError>> {
    let place = "/cards";
    let Some(items) = value.as_array() else {
        return Err(vec![FieldError::new(place, "type", "must be a list of texts")]);
    };
    if items.len() > MAX_CARDS {
        let detail = format!("must have at most {MAX_CARDS} items");
        return Err(vec![FieldError::new(place, "length", detail)]);
    }
    let (mut cards, mut problems): (Vec<String>, Vec<FieldError>) = (Vec::new(), Vec::new());
    for (i, item) in items.iter().enumerate() {
        let mut problem =
            |code, detail: String| problems.push(FieldError::new(format!("{place}/{i}"), code, detail));
        match text(1..=64)(item) {
            Err((code, must)) => problem(code, format!("must be {must}")),
            Ok(card) if card_key(&card).is_empty() => {
                problem("format", "must have at least one letter or digit".to_owned());
            }
            Ok(card) if cards.iter().any(|known| card_key(known) == card_key(&card)) => {
                problem("value", "is there already".to_owned());
            }
            Ok(card) => cards.push(card),
        }
    }
    if problems.is_empty() { Ok(cards) } else { Err(problems) }
}
