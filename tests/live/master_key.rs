//! `waypost keys rotate --new-master-key-file`, by the real program: what the store keeps is wrapped anew, and nobody is
//! signed out.

use std::path::PathBuf;

use serde_json::json;
use waypost::app::Application;
use waypost::auth::MasterKey;
use waypost::clock::Clock;
use waypost_test_support::{TestStore, eventually, for_each_engine};

use crate::doctor::said;
use crate::server::{DEADLINE, Server, settings, text};

for_each_engine!(what_the_store_keeps_is_wrapped_with_another_master_key);

/// The stored secrets of signing keys and of webhooks, whether wrapped or in clear.
async fn stored(store: &TestStore) -> (Vec<(Vec<u8>, bool)>, Vec<u8>) {
    let keys = "select secret, wrapped from signing_key order by created_at";
    let keys = store.db.read().sql(keys).all().await.unwrap();
    let webhook: (Vec<u8>,) = store.db.read().sql("select secret from webhook").one().await.unwrap();
    (keys, webhook.0)
}

async fn what_the_store_keeps_is_wrapped_with_another_master_key(store: TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{name} is a master key of at least 32 characters")).unwrap();
        path
    };
    let (old, new, other) = (file("old"), file("new"), file("other"));
    let with = async |key: &PathBuf| {
        let key = Some(key.clone());
        Server::start_with(&store, |settings| settings.master_key_file = key).await
    };
    let rotate = async |from: &PathBuf, to: &PathBuf| {
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        said(&store, &["keys", "rotate", "--master-key-file", &from, "--new-master-key-file", &to]).await
    };
    let server = with(&old).await;
    let fleet = server.fleet("own").await;
    let webhook = json!({ "url": "https://example.org", "eventTypes": ["*"] });
    let secret = text(&server.post("/v1/webhooks", &fleet.admin, webhook).await.ok(201)["secret"]);
    let before = stored(&store).await;

    // A server has the old one in memory, and would go on with it.
    let (is_done, told) = rotate(&old, &new).await;
    assert!(!is_done && told.contains("stop it first"), "{told}");
    let token = fleet.admin.clone();
    server.stop().await;
    // By a key that does not read what is there nothing is wrapped. A process that another test begins at this moment has the
    // server's lock too, until its program runs.
    let (is_done, told) = eventually(DEADLINE, || async {
        Some(rotate(&other, &new).await).filter(|(_, told)| !told.contains("stop it first"))
    })
    .await;
    assert!(!is_done && told.contains("wrapped with another key"), "{told}");
    assert_eq!(stored(&store).await, before);

    let (is_done, told) = rotate(&old, &new).await;
    assert!(is_done && told.contains("start servers with that one"), "{told}");
    let (keys, sealed) = stored(&store).await;
    assert_eq!(keys.len(), before.0.len() + 1);
    assert!(keys.iter().all(|key| key.1 && !before.0.contains(key)), "each is wrapped anew");
    let unsealed = |key: &PathBuf| MasterKey::read(key).unwrap().unsealed(&sealed);
    let bytes = unsealed(&new).expect("the webhook's secret is wrapped with the new one");
    assert!(secret.ends_with(&base64(&bytes)) && unsealed(&old).is_none());

    let mut by_old = settings(&store);
    by_old.master_key_file = Some(old);
    let refused = Application::build(by_old, Clock::system()).await.err().expect("refused").to_string();
    assert!(refused.contains("wrapped with another key"), "{refused}");
    let server = with(&new).await;
    server.get("/v1/auth/me", &token).await.ok(200);
    server.stop().await;
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}
