//! Links from the answer to a POST to the operations that take its id.

use serde_json::{Map, Value, json};

/// Links each 201 to the operations that take the id of the created resource.
pub(super) fn add(document: &mut Value) {
    let described = document["paths"].clone();
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, item) in paths {
        let noun = item["post"]["operationId"].as_str().and_then(|name| name.strip_prefix("create_"));
        let Some(noun) = noun.map(str::to_owned) else { continue };
        let Some(created) = item.pointer_mut("/post/responses/201") else { continue };
        let links = links(&described, path, &format!("{noun}Id"));
        if !links.is_empty() {
            created["links"] = Value::Object(links);
        }
    }
}

/// Links to all operations that take the id in their path, or as a parameter of this name.
fn links(paths: &Value, collection: &str, named: &str) -> Map<String, Value> {
    let mut links = Map::new();
    for (path, item) in paths.as_object().into_iter().flatten() {
        if path.matches('{').count() > 1 {
            continue;
        }
        let is_below = path.strip_prefix(collection).is_some_and(|rest| rest.starts_with('/'));
        for operation in item.as_object().into_iter().flatten().map(|(_, operation)| operation) {
            let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
            let takes = |parameter: &&Value| match parameter["in"].as_str() {
                Some("path") => parameter["name"] == named || (is_below && parameter["name"] == "id"),
                _ => parameter["name"] == named,
            };
            let Some(name) = parameters.iter().find(takes).and_then(|parameter| parameter["name"].as_str())
            else {
                continue;
            };
            let mut filled = json!({ name: "$response.body#/id" });
            if parameters.iter().any(|parameter| parameter["name"] == "organizationId") {
                filled["organizationId"] = json!("$response.body#/organizationId");
            }
            let id = operation["operationId"].as_str().unwrap_or_default();
            links.insert(id.to_owned(), json!({ "operationId": id, "parameters": filled }));
        }
    }
    links
}
