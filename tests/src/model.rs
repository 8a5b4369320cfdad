//! A scripted model on the loopback interface. It speaks Anthropic's API to Claude Code, OpenAI's Responses
//! to Codex, and its Chat Completions to aider and OpenClaw.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

/// One step of the model's script.
#[derive(Clone, Debug)]
pub enum Step {
    /// Calls a tool, with this name and input.
    Call(&'static str, Value),
    /// Replies with this text.
    Says(String),
    /// Replies with what its tools returned.
    Quotes,
}

/// Makes a scripted model at this URL the one of every agent in an openclaw.json.
pub fn set_in_openclaw(config: &mut Value, url: &str) {
    let model = json!({"id": "m", "name": "m", "reasoning": false, "input": ["text"], "contextWindow": 100_000, "maxTokens": 4000});
    let provider = json!({"baseUrl": format!("{url}/v1"), "apiKey": "none", "api": "openai-completions", "models": [model]});
    config["models"] = json!({"mode": "merge", "providers": {"scripted": provider}});
    config["agents"] = json!({"defaults": {"model": {"primary": "scripted/m"}, "skipBootstrap": true}});
}

/// A model that listens. Its thread ends with the tests.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// Starts a model that takes these steps, and then replies "all done".
    ///
    /// # Panics
    /// When there is no port for it.
    #[must_use]
    pub fn start(steps: Vec<Step>) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let model = Model { address, heard: Arc::clone(&heard) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (steps, heard) = (steps.clone(), Arc::clone(&heard));
                // A client that has gone needs no reply.
                thread::spawn(move || drop(serve(stream, &steps, &heard)));
            }
        });
        model
    }

    /// `http://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request that it received, as text.
    #[must_use]
    pub fn heard(&self) -> String {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.iter().map(Value::to_string).collect()
    }
}

fn serve(stream: TcpStream, steps: &[Step], heard: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut all = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let (kind, text) = answer(&path, &question, steps, &all);
    all.push(question);
    drop(all);
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn answer(path: &str, question: &Value, steps: &[Step], before: &[Value]) -> (&'static str, String) {
    if path.starts_with("/v1/messages") && question["max_tokens"].is_u64() {
        let results = count(&question["messages"], "tool_result");
        // Requests for titles and the like have no tools.
        let step = steps
            .get(results)
            .filter(|_| question["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
        return (EVENTS, anthropic(results, step, &question["messages"]));
    }
    if path.starts_with("/v1/responses") {
        let results = count(&question["input"], "function_call_output");
        return (EVENTS, responses(results, steps.get(results), &question["input"]));
    }
    if path.starts_with("/v1/chat/completions") {
        return chat(question, steps, before);
    }
    (JSON, "{\"data\": [], \"input_tokens\": 1}".to_owned())
}

/// Counts the parts of a conversation that are of this kind.
fn count(conversation: &Value, kind: &str) -> usize {
    let parts = |message: &Value| match message["content"].as_array() {
        Some(parts) => parts.iter().filter(|part| part["type"] == kind).count(),
        None => 0,
    };
    let messages = conversation.as_array().into_iter().flatten();
    messages.map(|message| usize::from(message["type"] == kind) + parts(message)).sum()
}

fn events(events: &[Value]) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(event).collect()
}

fn reply_text(step: Option<&Step>, conversation: &Value) -> String {
    match step {
        Some(Step::Says(text)) => text.clone(),
        Some(Step::Quotes) => quoted(conversation).join("\n"),
        _ => "all done".to_owned(),
    }
}

/// Returns what the tools returned in a conversation, in order.
fn quoted(conversation: &Value) -> Vec<String> {
    let messages = || conversation.as_array().into_iter().flatten();
    let parts = messages().flat_map(|message| message["content"].as_array().into_iter().flatten());
    let results = parts.filter(|part| part["type"] == "tool_result").map(|part| &part["content"]);
    let outputs = messages().filter(|one| one["type"] == "function_call_output").map(|one| &one["output"]);
    let tools = messages().filter(|one| one["role"] == "tool").map(|one| &one["content"]);
    results.chain(outputs).chain(tools).map(text_of).collect()
}

/// Returns a text, or the joined texts of its parts.
fn text_of(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| parts.collect(), str::to_owned)
}

fn anthropic(number: usize, step: Option<&Step>, conversation: &Value) -> String {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let (block, delta, stop) = match step {
        Some(Step::Call(name, input)) => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        step => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": reply_text(step, conversation)}),
            "end_turn",
        ),
    };
    events(&[
        json!({"type": "message_start", "message": {"id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": "scripted", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ])
}

fn responses(number: usize, step: Option<&Step>, conversation: &Value) -> String {
    let item = match step {
        Some(Step::Call(name, input)) => json!({"type": "function_call", "id": format!("fc_{number}"),
            "call_id": format!("call_{number}"), "name": name, "arguments": input.to_string()}),
        step => json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{"type": "output_text", "text": reply_text(step, conversation)}]}),
    };
    let usage = json!({"input_tokens": 1, "input_tokens_details": null, "output_tokens": 1, "output_tokens_details": null,
        "total_tokens": 2});
    events(&[
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}),
    ])
}

fn chat(question: &Value, steps: &[Step], before: &[Value]) -> (&'static str, String) {
    let is_aside =
        |question: &Value| question["messages"][0]["content"].to_string().contains("commit messages");
    let number = if question["tools"].is_array() {
        question["messages"]
            .as_array()
            .map_or(0, |all| all.iter().filter(|one| one["role"] == "tool").count())
    } else {
        // A program without tools reports a result in its next request.
        before.iter().filter(|question| !is_aside(question)).count()
    };
    let step = steps.get(number).filter(|_| !is_aside(question));
    let (message, finish) = match step {
        Some(Step::Call(name, input)) => {
            let function = json!({"name": name, "arguments": input.to_string()});
            let call =
                json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
        step => (json!({"role": "assistant", "content": reply_text(step, &question["messages"])}), "stop"),
    };
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let whole = |object: &str, choice: Value| json!({"id": "c", "object": object, "created": 1, "model": "scripted", "choices": [choice], "usage": usage});
    if question["stream"] != true {
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return (JSON, whole("chat.completion", choice).to_string());
    }
    let kind = "chat.completion.chunk";
    let parts = [
        whole(kind, json!({"index": 0, "delta": message, "finish_reason": null})),
        whole(kind, json!({"index": 0, "delta": {}, "finish_reason": finish})),
    ];
    let text: String = parts.iter().map(|part| format!("data: {part}\n\n")).collect();
    (EVENTS, text + "data: [DONE]\n\n")
}
