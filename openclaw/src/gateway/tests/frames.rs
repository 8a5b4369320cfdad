//! Tests the frames of a connection.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::gateway::frames::{Frame, GatewayEvent, Refused, read, request};
use crate::gateway::hello::{Hello, Run};

const TRANSCRIPTS: [(&str, &str); 2] = [
    ("gateway-2026.9.6.jsonl", include_str!("../../../../policy/tests/data/gateway-2026.9.6.jsonl")),
    ("gateway-2026.7.35.jsonl", include_str!("../../../../policy/tests/data/gateway-2026.7.35.jsonl")),
];
const HELLOS: [(&str, &str); 2] = [
    ("2026.9.6", include_str!("../../../../policy/tests/data/gateway-2026.9.6.hello-ok.json")),
    ("2026.7.35", include_str!("../../../../policy/tests/data/gateway-2026.7.35.hello-ok.json")),
];

/// The recorded frames of real gateways are parsed correctly.
#[test]
fn recorded_frames_are_read() {
    for (name, transcript) in TRANSCRIPTS {
        let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let heard: Vec<Value> = lines.filter(|line| line["dir"] == "recv").collect();
        let mut right = 0;
        for line in &heard {
            let frame = &line["frame"];
            let expected = match frame["type"].as_str().unwrap() {
                "event" => Frame::Event(GatewayEvent {
                    event: frame["event"].as_str().unwrap().to_owned(),
                    payload: frame["payload"].clone(),
                }),
                "res" => {
                    let error = &frame["error"];
                    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
                    let refused = Refused {
                        code: text("code"),
                        message: text("message"),
                        details: error["details"].clone(),
                    };
                    let answer =
                        if frame["ok"] == true { Ok(frame["payload"].clone()) } else { Err(refused) };
                    Frame::Answer { id: frame["id"].as_str().unwrap().to_owned(), answer }
                }
                other => panic!("{other}"),
            };
            assert_eq!(read(&frame.to_string()).unwrap(), expected, "{frame}");
            right += 1;
        }
        println!("{name}: {right} of {}", heard.len());
        assert!(right > 40, "{right}");
    }
}

/// Requests are the same as those recorded of another client.
#[test]
fn requests_are_written_as_recorded() {
    for (name, transcript) in TRANSCRIPTS {
        let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let sent: Vec<Value> = lines.filter(|line| line["dir"] == "send").collect();
        for line in &sent {
            let frame = &line["frame"];
            let (id, method) = (frame["id"].as_str().unwrap(), frame["method"].as_str().unwrap());
            let written: Value = serde_json::from_str(&request(id, method, &frame["params"])).unwrap();
            assert_eq!(&written, frame);
        }
        println!("{name}: {} of {0} requests", sent.len());
    }
}

#[test]
fn recorded_greetings_are_read() {
    let now = 1_795_225_540_000;
    for (release, text) in HELLOS {
        let Ok(Frame::Answer { answer: Ok(payload), .. }) = read(text) else { panic!("{release}") };
        let (hello, issued) = Hello::read(payload, now).unwrap();
        assert_eq!((hello.protocol, hello.version.as_str()), (4, release));
        assert!(hello.grants("operator.approvals") && !hello.grants("operator.admin"));
        assert_eq!((hello.tick.as_secs(), hello.max_payload), (30, 26_214_400));
        assert_eq!(issued.device_token, None);
        match (release, &hello.run) {
            ("2026.9.6", Run::Boot(_)) => {}
            ("2026.7.35", Run::Since(since)) => assert!((1..now).contains(since), "{since}"),
            (_, run) => panic!("{run:?}"),
        }
        assert!(hello.run.is_same(&hello.run.clone()));
    }
    let boot = |id: &str| Run::Boot(id.to_owned());
    assert!(!boot("a").is_same(&boot("b")) && !boot("a").is_same(&Run::Since(1)));
    assert!(Run::Since(5_000).is_same(&Run::Since(6_000)) && !Run::Since(5_000).is_same(&Run::Since(9_000)));
    assert!(!Run::Unknown.is_same(&Run::Unknown));
}

#[test]
fn malformed_hellos_are_refused() {
    let whole = crate::gateway::testing::hello();
    assert!(Hello::read(whole.clone(), 0).is_ok());
    let with = |path: &str, value: Value| {
        let mut hello = whole.clone();
        *hello.pointer_mut(path).unwrap() = value;
        Hello::read(hello, 0)
    };
    for (path, value) in [
        ("/type", json!("hello")),
        ("/protocol", json!(5)),
        ("/protocol", json!(2)),
        ("/protocol", json!("4")),
        ("/auth/scopes", json!("operator.approvals")),
        ("/auth/scopes", json!([1])),
        ("/policy/tickIntervalMs", json!(-1)),
    ] {
        assert!(with(path, value.clone()).is_err(), "{path} {value}");
    }
    for payload in [json!(null), json!([]), json!({}), json!("hello-ok"), json!({"type": "hello-ok"})] {
        assert!(Hello::read(payload.clone(), 0).is_err(), "{payload}");
    }
    let granted = |value| with("/auth/scopes", value).unwrap().0.scopes;
    assert_eq!((granted(json!([])), granted(json!(null))), (vec![], vec![]));
    // Without an upper bound, a dead gateway would never be noticed.
    let tick = |value| with("/policy/tickIntervalMs", value).unwrap().0.tick.as_millis();
    assert_eq!((tick(json!(u64::MAX)), tick(json!(0)), tick(json!(null))), (120_000, 1_000, 30_000));
}

#[test]
fn malformed_frames_are_rejected() {
    let deep = format!(
        "{{\"type\":\"event\",\"event\":\"x\",\"payload\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for text in [
        "",
        " ",
        "null",
        "1",
        "[]",
        "{}",
        "\"res\"",
        "[\"res\",\"1\",true,{}]",
        "{\"type\":1}",
        "{\"type\":null}",
        "{\"type\":\"res\"}",
        "{\"type\":\"res\",\"id\":1,\"ok\":true}",
        "{\"type\":\"res\",\"id\":\"1\"}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":1}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":\"true\"}",
        "{\"type\":\"res\",\"id\":\"1\",\"id\":\"2\",\"ok\":true}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":false,\"ok\":true}",
        "{\"type\":\"res\",\"type\":\"res\",\"id\":\"1\",\"ok\":true}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":false,\"error\":\"x\"}",
        "{\"type\":\"event\"}",
        "{\"type\":\"event\",\"event\":{}}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":true} x",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":true",
        &deep,
    ] {
        assert!(read(text).is_err(), "{}", &text[..text.len().min(80)]);
    }
    let bare = Refused::default();
    let refused = |text: &str| match read(text) {
        Ok(Frame::Answer { answer: Err(refused), .. }) => refused,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused("{\"type\":\"res\",\"id\":\"1\",\"ok\":false}"), bare);
    // A refusal with a payload is still a refusal.
    let both = "{\"type\":\"res\",\"id\":\"1\",\"ok\":false,\"payload\":{\"decision\":\"allow-once\"}}";
    assert_eq!(refused(both), bare);
    assert_eq!(bare.to_string(), "it gives no reason");
    assert_eq!(read("{\"type\":\"x\",\"id\":1}").unwrap(), Frame::Other);
}

#[test]
fn a_refusal_does_nothing_to_a_terminal() {
    let refused = Refused {
        code: "A\x1b[31m".into(),
        message: "b\n\u{202e}c".into(),
        details: json!({"code": "\u{9b}x"}),
    };
    let text = refused.to_string();
    assert!(!text.contains(|character: char| character.is_control() || character == '\u{202e}'), "{text}");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_not(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn a_frame_with_a_hole_is_read_or_not(at in 0_usize..400, character in any::<char>()) {
        let frame = json!({"type": "res", "id": "7", "ok": false, "payload": {"decision": "deny"},
            "error": {"code": "X", "message": "y", "details": {"code": "Z"}}}).to_string();
        let mut characters: Vec<char> = frame.chars().collect();
        let at = at % characters.len();
        characters[at] = character;
        let text: String = characters.into_iter().collect();
        let is_yes = matches!(read(&text), Ok(Frame::Answer { answer: Ok(_), .. }));
        prop_assert!(!is_yes, "{text}");
    }

    #[test]
    fn every_answer_frame_is_read_as_written(id in any::<String>(), payload in values(), more in values()) {
        let text = json!({"type": "res", "id": id, "ok": true, "payload": payload, "more": more}).to_string();
        prop_assert_eq!(read(&text).unwrap(), Frame::Answer { id, answer: Ok(payload) });
    }

    #[test]
    fn every_event_frame_is_read_as_written(event in any::<String>(), payload in values(), seq in any::<u64>()) {
        let text = json!({"seq": seq, "payload": payload, "event": event, "type": "event"}).to_string();
        prop_assert_eq!(read(&text).unwrap(), Frame::Event(GatewayEvent { event, payload }));
    }

    #[test]
    fn every_request_is_written_as_a_frame(id in any::<String>(), method in any::<String>(), params in values()) {
        let written: Value = serde_json::from_str(&request(&id, &method, &params)).unwrap();
        prop_assert_eq!(written, json!({"type": "req", "id": id, "method": method, "params": params}));
    }
}
