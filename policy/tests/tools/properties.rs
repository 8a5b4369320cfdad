//! What has to hold for every configuration.

use guard_policy::tools::{
    EffectiveTools, Inventory, Release, SeenWarnings, Sender, Subagent, ToolContext, ToolSettings, effective,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

const ENTRIES: &[&str] = &[
    "*",
    "read",
    "WRITE",
    "bash",
    "apply-patch",
    "exec",
    "cron",
    "update_plan",
    "gateway",
    "nodes",
    "browser",
    "canvas",
    "sessions_*",
    "web_*",
    "*_generate",
    "group:fs",
    "group:runtime",
    "group:openclaw",
    "Group:Sessions",
    "group:plugins",
    "my-plugin",
    "my_tool",
    "nonsense",
    "",
    "message",
    "session_status",
    "subagents",
    "image",
];

fn list() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(ENTRIES, 0..5)
}

/// A place with lists, each of which may be absent.
fn lists() -> impl Strategy<Value = Map<String, Value>> {
    let one = || prop::option::weighted(0.5, list());
    (one(), one(), one()).prop_map(|(allow, also, deny)| {
        let all = [("allow", allow), ("alsoAllow", also), ("deny", deny)];
        all.into_iter().filter_map(|(key, list)| Some((key.to_owned(), json!(list?)))).collect()
    })
}

fn profiled() -> impl Strategy<Value = Map<String, Value>> {
    let profile = prop::option::weighted(0.4, select(&["minimal", "coding", "messaging", "full", "odd"][..]));
    (lists(), profile).prop_map(|(mut lists, profile)| {
        lists.extend(profile.map(|profile| ("profile".to_owned(), json!(profile))));
        lists
    })
}

fn scope() -> impl Strategy<Value = Map<String, Value>> {
    let maybe = || prop::option::weighted(0.3, profiled());
    let senders = prop::option::weighted(0.3, (lists(), lists()));
    let sandbox = prop::option::weighted(0.3, lists());
    (profiled(), maybe(), maybe(), senders, sandbox).prop_map(
        |(mut scope, provider, model, senders, sandbox)| {
            let by = [("openai", provider), ("openai/gpt", model)];
            let by: Map<_, _> =
                by.into_iter().filter_map(|(key, lists)| Some((key.to_owned(), lists?.into()))).collect();
            scope.insert("byProvider".to_owned(), by.into());
            scope.extend(
                senders.map(|(one, all)| ("toolsBySender".to_owned(), json!({ "id:1": one, "*": all }))),
            );
            scope.extend(sandbox.map(|lists| ("sandbox".to_owned(), json!({ "tools": lists }))));
            scope
        },
    )
}

fn config() -> impl Strategy<Value = Value> {
    let mode = select(&["off", "non-main", "all"][..]);
    (scope(), prop::option::weighted(0.6, scope()), lists(), lists(), mode, 0..4u32).prop_map(
        |(mut tools, agent, subagents, group, mode, depth)| {
            tools.insert("subagents".to_owned(), json!({ "tools": subagents }));
            let agents: Map<_, _> =
                agent.map(|tools| ("main".to_owned(), json!({ "tools": tools }))).into_iter().collect();
            json!({
                "tools": tools,
                "agents": {
                    "defaults": { "sandbox": { "mode": mode }, "subagents": { "maxSpawnDepth": depth } },
                    "entries": agents,
                },
                "channels": { "telegram": { "groups": { "7": { "tools": group } } } },
            })
        },
    )
}

fn context() -> impl Strategy<Value = ToolContext> {
    let id = prop::option::of(select(&["1", "2"][..]));
    let names = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let runtime = prop::option::weighted(0.2, list()).prop_map(move |list| list.map(names));
    (id, any::<Option<bool>>(), any::<bool>(), any::<bool>(), runtime).prop_map(
        |(id, is_owner, is_group, has_provider, runtime_allow)| ToolContext {
            provider: has_provider.then(|| "OpenAI".to_owned()),
            model: has_provider.then(|| "gpt".to_owned()),
            channel: Some("telegram".to_owned()),
            session_key: is_group.then(|| "agent:main:telegram:group:7".to_owned()),
            sender: Sender { id: id.map(str::to_owned), is_owner, ..Sender::default() },
            runtime_allow,
            ..ToolContext::default()
        },
    )
}

fn release() -> impl Strategy<Value = Release> {
    select(&Release::ALL[..])
}

fn inventory(release: Release) -> Inventory {
    let mut inventory = Inventory::of_release(release);
    inventory.add_plugin_tool("my_tool", "my-plugin");
    inventory.add_plugin_tool("slack_post", "slack");
    inventory
}

fn tools(release: Release, config: &Value, context: &ToolContext) -> EffectiveTools {
    let settings = ToolSettings::from_config(config).unwrap();
    effective(&settings, context, &inventory(release), &mut SeenWarnings::default()).unwrap()
}

fn has(tools: &EffectiveTools, name: &str) -> bool {
    tools.allowed.iter().any(|tool| tool == name)
}

fn child(parent: &ToolContext, depth: u32) -> ToolContext {
    ToolContext { subagent: Some(Subagent { depth, ..Subagent::default() }), ..parent.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every tool is either left, or removed by exactly one step; nothing else appears.
    #[test]
    fn a_step_never_adds(release in release(), config in config(), context in context()) {
        let inventory = inventory(release);
        let answer = tools(release, &config, &context);
        let mut all: Vec<String> = answer.allowed.clone();
        all.extend(answer.steps.iter().flat_map(|step| &step.removed).map(|removal| removal.tool.clone()));
        all.sort();
        let mut known: Vec<_> = inventory.names().map(str::to_owned).collect();
        known.sort();
        prop_assert_eq!(all, known);
    }

    /// A denial in any place counts, whatever that place and others allow.
    #[test]
    fn deny_wins_over_every_allow(
        release in release(), mut config in config(), context in context(),
        place in select(&["/tools", "/agents/entries/main/tools", "/tools/byProvider/openai~1gpt", "/channels/telegram/groups/7/tools"][..]),
        tool in select(&["read", "exec", "browser", "message", "apply_patch"][..]),
    ) {
        let Some(lists) = config.pointer_mut(place) else { return Ok(()) };
        lists["deny"] = json!([tool]);
        lists["allow"] = json!(["*", tool]);
        let answer = tools(release, &config, &context);
        let counts = match place {
            "/tools" | "/agents/entries/main/tools" => true,
            "/channels/telegram/groups/7/tools" => context.session_key.is_some(),
            _ => context.provider.is_some(),
        };
        prop_assert!(!counts || !has(&answer, tool));
    }

    #[test]
    fn a_sub_agent_never_has_what_its_parent_lacks(
        release in release(), config in config(), context in context(), depth in 0..4u32,
    ) {
        let parent = if depth == 0 { context.clone() } else { child(&context, depth) };
        let (parent, child) = (tools(release, &config, &parent), tools(release, &config, &child(&context, depth + 1)));
        for tool in &child.allowed {
            prop_assert!(has(&parent, tool), "{tool}");
        }
    }

    /// Also where the configuration names another agent for the child: what it inherits bounds it, but for tools that OpenClaw
    /// allows with another's name (`write`, `canvas`).
    #[test]
    fn what_is_inherited_bounds_a_sub_agent(release in release(), config in config(), parent in config(), context in context()) {
        let parent = tools(release, &parent, &context);
        // A parent without tools starts nothing; an empty list would be no list.
        prop_assume!(!parent.allowed.is_empty());
        let inherited = Subagent { depth: 1, inherited_allow: parent.allowed.clone(), inherited_deny: Vec::new() };
        let child = tools(release, &config, &ToolContext { subagent: Some(inherited), ..context });
        let comes_with = |tool: &str| match tool {
            "apply_patch" => has(&parent, "write"),
            "show_widget" => has(&parent, "canvas"),
            _ => false,
        };
        for tool in &child.allowed {
            prop_assert!(has(&parent, tool) || comes_with(tool), "{tool}");
        }
    }

    #[test]
    fn another_than_the_owner_never_has_the_owners_tools(
        release in release(), config in config(), context in context(), depth in prop::option::of(1..3u32),
    ) {
        let mut context = depth.map_or(context.clone(), |depth| child(&context, depth));
        context.sender.is_owner = Some(false);
        let answer = tools(release, &config, &context);
        for tool in release.catalogue().owner_only {
            prop_assert!(!has(&answer, tool), "{tool}");
        }
    }

    /// The order of questions does not matter, only which warnings were given.
    #[test]
    fn warnings_are_given_once(release in release(), config in config(), context in context()) {
        let settings = ToolSettings::from_config(&config).unwrap();
        let inventory = inventory(release);
        let mut seen = SeenWarnings::default();
        let first = effective(&settings, &context, &inventory, &mut seen).unwrap();
        let second = effective(&settings, &context, &inventory, &mut seen).unwrap();
        prop_assert_eq!(first.allowed, second.allowed);
        prop_assert!(second.warnings.is_empty());
    }

    #[test]
    fn no_configuration_panics(text in r#"\PC{0,40}"#, key in "[a-z:*/@]{0,12}") {
        let config = json!({
            "tools": { "allow": [text], "byProvider": { &key: { "deny": [&key] } }, "toolsBySender": { &key: {} } },
            "agents": { "list": [{ "id": text }] },
        });
        let settings = ToolSettings::from_config(&config).unwrap();
        let context = ToolContext {
            agent: None,
            session_key: Some(key.clone()),
            spawned_by: Some(text.clone()),
            provider: Some(key.clone()),
            model: Some(text.clone()),
            sender: Sender { id: Some(text.clone()), username: Some(key), ..Sender::default() },
            ..ToolContext::default()
        };
        let _ = effective(&settings, &context, &Inventory::of_release(Release::default()), &mut SeenWarnings::default());
    }
}
