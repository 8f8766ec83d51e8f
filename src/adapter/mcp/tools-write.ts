/** Tools that change something. */
import { itemKinds } from "../../core/item/kind.ts";
import * as z from "zod";
import { once } from "../../core/cache.ts";
import { present } from "../../core/present.ts";
import * as field from "../../call/field.ts";
import { keyed, needOwn, needScope, needWorkspace, sessionOf } from "./access.ts";
import { cutText, link, resultCharsMax, uriOf } from "./output.ts";
import { key, tool } from "./tool.ts";
import { sessionName, showMemory, standing } from "./tools-read.ts";

const Text = z.string();
const Count = z.int().nonnegative();
const appended = once(() => ({ session: Text, seq: Count, duplicate: z.boolean() }));
/** What a session may use. Longer times are for the library: a model has no use for them. */
const budget = once(() =>
  field.Budget().pick({ usd: true, tokens: true, steps: true, turns: true, toolCalls: true }),
);

export const sessionOpen = tool("session_open", {
  title: "Open a session",
  description:
    "Opens a durable session with one objective; or with `from`, one that starts with the handoff of " +
    "another. It runs nothing: give it input with session_ask.",
  scopes: ["write"],
  hints: {},
  untrusted: false,
  input: () => ({
    objective: field.Objective.optional().describe("its task; with from, by default the predecessor's"),
    from: sessionName().optional().describe("the session whose work it continues, with its handoff"),
    name: field.Name.optional().describe("a short name for lists"),
    agent: field.AgentName.optional().describe("the agent that it runs as"),
    model: field.ModelName.optional().describe("the model, as provider/model"),
    instructions: field.Instructions.optional().describe("instructions for its model"),
    labels: field.Labels.optional().describe("labels, by key"),
    memory: z.boolean().optional().describe("whether it starts with memory; by default true"),
    budget: budget().optional().describe("what it may use"),
    key: key(),
  }),
  output: () => ({ session: Text }),
  async run(access, args) {
    needWorkspace(access);
    const { key: _key, budget: limits, ...rest } = args;
    if (args.from !== undefined) await needOwn(access, await sessionOf(access, args.from));
    const { engine } = keyed(access, "session_open", args);
    const options = present({ ...rest, budget: limits && present(limits) });
    // The engine reports a missing objective.
    const session = await engine.open(options as { readonly objective: string });
    return {
      data: { session: session.id },
      links: [link(uriOf.session(session.id), "the session")],
    };
  },
});

export const sessionInput = tool("session_input", {
  title: "Queue input for a session",
  description:
    "Puts an input into a session's inbox and returns at once: for its next turn, or with mode steer for " +
    "the turn in progress. A worker, or the next session_ask, processes it.",
  scopes: ["write"],
  // A worker that runs the session acts on it.
  hints: { destructiveHint: true, openWorldHint: true },
  untrusted: false,
  input: () => ({
    session: sessionName(),
    text: z.string().min(1).describe("the input"),
    mode: field.Mode.optional().describe("queue: for the next turn; steer: for the turn in progress"),
    key: key(),
  }),
  output: appended,
  async run(access, { session: name, text, mode, key: given }) {
    const { engine, own } = keyed(access, "session_input", { key: given }, { takesKey: true });
    const session = await sessionOf(access, name, engine);
    const { seq, duplicate } = await session.input(text, { ...present({ mode }), ...own });
    return { data: { session: session.id, seq, duplicate } };
  },
});

export const sessionFork = tool("session_fork", {
  title: "Fork a session",
  description:
    "Makes a session that shares another's history up to a position, and continues on its own. The " +
    "original stays as it is.",
  scopes: ["write"],
  hints: {},
  untrusted: false,
  input: () => ({
    session: sessionName(),
    at: field.Place.optional().describe("a position, or a checkpoint's name; by default the last position"),
    objective: field.Objective.optional().describe("the fork's objective; by default the parent's"),
    name: field.Name.optional().describe("a short name for lists"),
    key: key(),
  }),
  output: () => ({ session: Text, parent: Text }),
  async run(access, args) {
    needWorkspace(access);
    const { engine } = keyed(access, "session_fork", args);
    const parent = await sessionOf(access, args.session, engine);
    await needOwn(access, parent);
    const { objective, name, at } = args;
    const atSeq = at === undefined ? undefined : (await parent.load(at)).seq;
    const fork = await parent.fork(present({ atSeq, objective, name }));
    return {
      data: { session: fork.id, parent: parent.id },
      links: [link(uriOf.session(fork.id), "the fork")],
    };
  },
});

export const sessionRecord = tool("session_record", {
  title: "Record an item",
  description:
    "Records a fact, decision, task or other item in a session under a name. It outlives every compaction " +
    "and goes into handoffs. The same name again replaces the value; the log keeps the old one.",
  scopes: ["write"],
  hints: { idempotentHint: true },
  untrusted: false,
  input: () => ({
    session: sessionName(),
    kind: field.ItemKind.describe(`${itemKinds.join(", ")}, or a kind that the agent declares`),
    name: field.Key.describe("the item's name"),
    value: field.Value.describe("any JSON"),
    because: field.Reason.optional().describe("the rationale"),
    status: field.ItemStatus.optional().describe("of a task, hypothesis or decision"),
    key: key(),
  }),
  output: appended,
  async run(access, { session: name, kind, name: item, value, because, status, key: given }) {
    const { engine, own } = keyed(access, "session_record", { key: given }, { takesKey: true });
    const session = await sessionOf(access, name, engine);
    const options = { ...present({ because, status }), ...own };
    const { seq, duplicate } = await session.record(kind, item, value, options);
    return { data: { session: session.id, seq, duplicate } };
  },
});

export const sessionHandoff = tool("session_handoff", {
  title: "Write a handoff",
  description:
    "Writes the document that the next session or agent starts from: decisions, open tasks, files, what " +
    "failed. The session's log keeps it; until the session has new content, the same one is returned.",
  scopes: ["read", "write"],
  hints: { idempotentHint: true },
  untrusted: true,
  input: () => ({
    session: sessionName(),
    tokensMax: z.int().min(1).max(4_000).optional().describe("at most this many tokens"),
    key: key(),
  }),
  output: () => ({ session: Text, text: Text, tokens: Count, toSeq: Count, truncated: z.boolean() }),
  async run(access, args) {
    const { engine } = keyed(access, "session_handoff", args);
    const session = await sessionOf(access, args.session, engine);
    const handoff = await session.handoff(present({ tokensMax: args.tokensMax }));
    const text = cutText(handoff.text, resultCharsMax);
    const truncated = text !== handoff.text;
    const { seq, tokens, toSeq } = handoff;
    return {
      data: { session: session.id, text, seq, tokens, toSeq, truncated },
      links: truncated ? [link(uriOf.handoff(session.id), "the whole handoff", "text/markdown")] : [],
    };
  },
});

export const sessionAnswer = tool("session_answer", {
  title: "Answer calls that wait",
  description:
    "Answers tool calls of a session that wait for an approval: allow or deny them, or say with text how " +
    "an unknown call ended. session_read lists them. Allowing takes the scope operate. It runs nothing: " +
    "session_ask without text continues the turn.",
  scopes: ["write"],
  // What it allows may be anything.
  hints: { destructiveHint: true, openWorldHint: true },
  untrusted: false,
  input: () => ({
    session: sessionName(),
    allow: z.boolean().describe("true allows the calls, false denies them"),
    calls: z.array(z.string().max(128)).min(1).max(100).optional().describe("only these calls, by id"),
    reason: field.Reason.optional().describe("the reason; the log keeps it"),
    text: z.string().optional().describe("a text for the model"),
    key: key(),
  }),
  output: () => ({ session: Text, seq: Count }),
  async run(access, args) {
    const { allow, calls, reason, text } = args;
    if (allow) needScope(access, "operate", "allowing a call");
    const { engine } = keyed(access, "session_answer", args);
    const session = await sessionOf(access, args.session, engine);
    const { seq } = await session.answer({ allow, ...present({ calls, reason, text }) });
    return { data: { session: session.id, seq } };
  },
});

export const sessionInterrupt = tool("session_interrupt", {
  title: "Interrupt a session",
  description: "Ends the turn in progress, in whatever process it runs. The session stays open.",
  scopes: ["write"],
  hints: { destructiveHint: true, idempotentHint: true },
  untrusted: false,
  input: () => ({
    session: sessionName(),
    reason: field.Reason.optional().describe("the reason; the log keeps it"),
    key: key(),
  }),
  output: () => ({ session: Text, seq: Count, status: Text }),
  async run(access, args) {
    const { engine } = keyed(access, "session_interrupt", args);
    const session = await sessionOf(access, args.session, engine);
    const { seq } = await session.interrupt(present({ reason: args.reason }));
    const { status } = await standing(session);
    return { data: { session: session.id, seq, status } };
  },
});

export const remember = tool("remember", {
  title: "Remember",
  description:
    "Proposes an entry of memory, which sessions opened later start with: a preference, a house rule, a " +
    "fact. It waits until a person approves it. The same scope, kind and name again replaces the value.",
  scopes: ["write"],
  hints: { idempotentHint: true },
  untrusted: false,
  input: () => ({
    kind: field.ItemKind.describe(`${itemKinds.join(", ")}, or a kind that the agent declares`),
    name: field.Key.describe("the entry's name"),
    value: field.Value.describe("any JSON"),
    because: field.Reason.optional().describe("the rationale"),
    scope: field.Scope.optional().describe("whose sessions start with it; by default workspace"),
    owner: z.string().max(64).optional().describe("the agent's name, or a principal"),
    key: key(),
  }),
  output: () => ({ scope: Text, kind: Text, name: Text, proposal: Count, pending: z.boolean() }),
  async run(access, args) {
    needWorkspace(access);
    const { name, value, kind, because, owner, scope = "workspace" } = args;
    const { engine } = keyed(access, "remember", args);
    const entry = await engine.remember({
      scope,
      kind,
      key: name,
      value,
      // A model says so, and perhaps what it has read.
      propose: true,
      ...present({ because, owner }),
    });
    return { data: { ...showMemory(entry).entry, proposal: entry.seq, pending: true } };
  },
});
