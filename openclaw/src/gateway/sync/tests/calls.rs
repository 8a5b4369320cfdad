//! Tests the calls over a connection.

use super::*;

#[tokio::test]
async fn the_store_is_read_from_the_gateways_reply() {
    let (link, mut client) = linked().await;
    let talk = answer_get(&mut client, "h", store_with(&["/usr/bin/a"]));
    let (snapshot, ()) = join!(fetch(&link, Some("ws://h")), talk);
    let snapshot = snapshot.unwrap();
    assert_eq!((snapshot.gateway.as_deref(), &*snapshot.hash), (Some("ws://h"), "h"));
    assert_eq!(patterns(&snapshot), ["/usr/bin/a"]);
}

#[tokio::test]
async fn a_malformed_reply_is_not_stored() {
    let (link, mut client) = linked().await;
    for wrong in [
        json!(null),
        json!({}),
        json!({ "hash": "h" }),
        json!({ "hash": 1, "file": { "version": 1 } }),
        json!({ "hash": "h", "file": [] }),
        json!({ "hash": "h", "file": { "version": 2 } }),
        json!({ "hash": "h", "file": { "version": 1, "agents": [] } }),
        json!({ "hash": "h", "file": { "version": 1, "agents": { "main": 1 } } }),
    ] {
        let talk = async {
            let (id, _) = called(&mut client, "exec.approvals.get").await;
            client.answer(&id, wrong.clone()).await;
        };
        let (outcome, ()) = join!(fetch(&link, None), talk);
        assert!(
            matches!(outcome, Err(SyncError::Malformed(_) | SyncError::Store(_))),
            "{wrong}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn without_the_scope_it_is_not_called() {
    let (link, mut client) = linked_as(hello()).await;
    let why = fetch(&link, None).await.unwrap_err();
    assert!(matches!(why, SyncError::NoAdmin), "{why}");
    assert!(matches!(add(&link, None, "main", &always("/x"), 1).await, Err(SyncError::NoAdmin)));
    drop(link);
    client.gone().await;
}

#[tokio::test]
async fn an_entry_is_added_to_what_is_there_now() {
    let (link, mut client) = linked().await;
    let talk = async {
        // Another client changes the store in between, twice.
        answer_get(&mut client, "h1", store_with(&["/usr/bin/a"])).await;
        refuse_set(&mut client).await;
        answer_get(&mut client, "h2", store_with(&["/usr/bin/b"])).await;
        refuse_set(&mut client).await;
        let mut file = store_with(&["/usr/bin/c"]);
        file["agents"]["other"] = json!({ "security": "deny", "kept": [1] });
        file["kept"] = json!("as it is");
        answer_get(&mut client, "h3", file.clone()).await;
        let (id, params) = called(&mut client, "exec.approvals.set").await;
        assert_eq!(params["baseHash"], "h3");
        let mut added = params["file"]["agents"]["main"]["allowlist"][1].clone();
        let uuid = added["id"].take();
        assert_eq!(uuid.as_str().map(str::len), Some(36));
        let expected = json!({ "id": null, "pattern": "/usr/bin/new", "argPattern": "sha256:cwd-argv:v1:00",
                               "source": "allow-always", "lastUsedAt": 7 });
        assert_eq!(added, expected);
        let mut rest = params["file"].clone();
        rest["agents"]["main"]["allowlist"].as_array_mut().unwrap().truncate(1);
        assert_eq!(rest, file);
        client.answer(&id, get_answer("h4", params["file"].clone())).await;
    };
    let entry = always("/usr/bin/new");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    let added = added.unwrap();
    assert_eq!(
        (&*added.hash, patterns(&added)),
        ("h4", vec!["/usr/bin/c".to_owned(), "/usr/bin/new".to_owned()])
    );
}

#[tokio::test]
async fn an_entry_that_is_there_is_not_added_again() {
    let (link, mut client) = linked().await;
    let mut file = store_with(&[]);
    file["agents"]["main"]["allowlist"] = json!([{ "pattern": "/x", "argPattern": "sha256:cwd-argv:v1:00", "source": "allow-always", "id": "1" }]);
    let entry = always("/x");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), answer_get(&mut client, "h", file));
    assert_eq!(added.unwrap().hash, "h");
    drop(link);
    client.gone().await;
}

#[tokio::test]
async fn an_update_that_always_conflicts_is_given_up() {
    let (link, mut client) = linked().await;
    let talk = async {
        for _ in 0..5 {
            answer_get(&mut client, "h", store_with(&[])).await;
            refuse_set(&mut client).await;
        }
    };
    let entry = always("/x");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    assert!(matches!(added, Err(SyncError::Contended)));
    // A refusal for another reason is final.
    let talk = async {
        answer_get(&mut client, "h", store_with(&[])).await;
        let (id, _) = called(&mut client, "exec.approvals.set").await;
        client.refuse(&id, json!({ "code": "INVALID_REQUEST", "message": "unexpected property 'x'" })).await;
    };
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    assert!(matches!(added, Err(SyncError::Call(CallError::Refused(_)))));
    drop(link);
    client.gone().await;
}
