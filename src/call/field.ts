/** The fields that several calls share. Objects are strict: a misspelled field is refused. */
import { Evidence, ItemKind, ItemStatus } from "../core/item/events.ts";
import {
  AgentName,
  ContentBlock,
  Key,
  LabelKey,
  LabelValue,
  Millis,
  ModelName,
  Reason,
  Seq,
} from "../core/schema.ts";
import * as z from "zod";
import { once } from "../core/cache.ts";
import { AcceptCheck, CheckName } from "../core/check/check.ts";
import { namePattern } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { instructionNames } from "../core/session/instruction-names.ts";
import { isStorableUsd, storableUsdHint } from "../core/text/money.ts";
import { missedRules, triggerSchemas } from "../core/trigger/trigger.ts";

export { AgentName, CheckName, Evidence, ItemKind, ItemStatus, Key, ModelName, Reason, Seq };

/** A session's id, or a unique suffix. */
export const SessionName = z.string().regex(namePattern, "expected a session id or a unique suffix of one");
/** A moment, in milliseconds since 1970. */
export const Moment = Millis.meta({ format: "unix-ms" });
/** A length of time in milliseconds. */
export const Span = Millis.meta({ format: "duration-ms" });
/** A position; the command line also accepts the name of a checkpoint. */
export const Position = Seq.meta({ format: "position" });
export const Path = z.string().min(1).max(4_096);
export const Name = z.string().min(1, "expected a text, got an empty one").max(limit.nameCharsMax);
export const Objective = z.string().max(limit.objectiveCharsMax);
export const Instructions = z.string().max(limit.instructionsCharsMax);
export const Labels = z.record(LabelKey, LabelValue);
export const Scope = z.enum(["agent", "user", "workspace"]);
/** Any JSON. */
export const Value = z.unknown();
/** A position, or the name of a checkpoint. */
export const Place = z.union([Seq, Key], {
  error: "expected a position, a time with a zone or the name of a checkpoint",
});

/** Parameters that mean the same everywhere. */
export const reason = Reason.describe("the reason; it is kept in the log").exactOptional();
export const because = Reason.describe("the rationale; it is kept in the log").exactOptional();
export const dryRun = z.boolean().describe("only report what would happen").exactOptional();

const Amount = z.int().nonnegative();

export const Budget = once(() =>
  z.strictObject({
    usd: z
      .number()
      .nonnegative()
      .max(Number.MAX_SAFE_INTEGER / 1e9)
      .refine(isStorableUsd, storableUsdHint)
      .describe("at most this many dollars")
      .exactOptional(),
    tokens: Amount.describe("at most this many tokens").exactOptional(),
    steps: Amount.describe("at most this many steps").exactOptional(),
    turns: Amount.describe("at most this many turns").exactOptional(),
    toolCalls: Amount.describe("at most this many tool calls").exactOptional(),
    wallMs: Span.describe("at most this much active time, such as 30m").exactOptional(),
  }),
);

/** A resource that a session may use. Names of secrets, never their values. */
export const bindingFields = once(() => ({
  kind: z.enum(["file", "directory", "database", "mcp", "shell", "tool"]).describe("the kind of resource"),
  name: Key.describe("by default the path, the URL or the kind").exactOptional(),
  mode: z.enum(["read", "write"]).describe("the access; by default read").exactOptional(),
  path: Path.describe(
    "of a file, a directory or an SQLite file; of a shell, its working directory",
  ).exactOptional(),
  url: z.string().max(2_048).describe("of a PostgreSQL database or an MCP server").exactOptional(),
  command: z
    .array(z.string())
    .max(1_000)
    .describe("the command that starts an MCP server, word by word")
    .exactOptional(),
  secrets: z
    .array(z.string())
    .max(limit.secretsMax)
    .describe("the name of a secret that it needs, never its value")
    .exactOptional(),
  options: Value.describe("further settings of the resource").exactOptional(),
  sandbox: z.boolean().describe("run the commands of a shell in a sandbox (bubblewrap)").exactOptional(),
  network: z.boolean().describe("allow network access in a sandboxed shell").exactOptional(),
}));
export const Binding = once(() => z.strictObject(bindingFields()));

export const permissionRules = ["allow", "ask", "deny", "none"] as const;
/** A rule for the calls of a tool. */
export const permissionFields = once(() => ({
  tool: z.string().min(1).max(128).describe("the tool's name; * stands for any run of characters"),
  effect: z
    .enum(["unsafe"])
    .describe("makes the rule a default, for tools of this effect that no other rule matches")
    .exactOptional(),
  rule: z.enum(permissionRules).describe("the decision; none removes the rule"),
  name: Key.describe("of the rule; by default the tool's name").exactOptional(),
  pattern: Value.describe("only for calls with such arguments").exactOptional(),
  reason,
}));
export const Permission = once(() => z.strictObject(permissionFields()));

export const Missed = z.enum(missedRules);
export const Trigger = once(() =>
  z.discriminatedUnion("kind", [
    triggerSchemas.at,
    triggerSchemas.every,
    triggerSchemas.cron,
    triggerSchemas.file,
    triggerSchemas.git,
    triggerSchemas.webhook,
    triggerSchemas.message,
    triggerSchemas.session,
    triggerSchemas.query,
    triggerSchemas.resource,
  ]),
);

const woken = once(() => ({ name: Key.exactOptional(), missed: Missed.exactOptional() }));
export const Wake = once(() =>
  z.discriminatedUnion("kind", [
    triggerSchemas.at.extend(woken()),
    triggerSchemas.every.extend(woken()),
    triggerSchemas.cron.extend(woken()),
    triggerSchemas.file.extend(woken()),
    triggerSchemas.git.extend(woken()),
    triggerSchemas.webhook.extend(woken()),
    triggerSchemas.message.extend(woken()),
    triggerSchemas.session.extend(woken()),
    triggerSchemas.query.extend(woken()),
    triggerSchemas.resource.extend(woken()),
  ]),
);

const Sessions = once(() => z.array(SessionName).min(1).max(limit.awaitedMax));
const After = once(() =>
  z.union([
    Sessions(),
    z.strictObject({
      sessions: Sessions(),
      give: z.enum(["handoff", "facts", "nothing"]).exactOptional(),
    }),
  ]),
);

/** Accept checks: texts, as in plans, or objects. */
export const Checks = once(() =>
  z
    .array(
      z.union([
        z
          .string()
          .min(1)
          .max(limit.acceptCharsMax + 300),
        AcceptCheck(),
      ]),
    )
    .max(limit.acceptsMax),
);

/** Settings of the model of one session; null takes back a change. */
export const modelSettings = once(() => ({
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .describe("the sampling temperature, from 0 to 2; null is the agent's")
    .exactOptional(),
  reasoning: z
    .enum(["none", "low", "medium", "high"])
    .nullable()
    .describe("the reasoning effort of the model; null is the agent's")
    .exactOptional(),
  outputTokensMax: z
    .int()
    .positive()
    .nullable()
    .describe("at most this many tokens in one answer; null is the agent's")
    .exactOptional(),
}));

/** What a session starts with. `objective` may be left out with `from`. */
export const openFields = once(() => ({
  objective: Objective.describe(
    "the task of the session; with from, by default its predecessor's",
  ).exactOptional(),
  name: Name.describe("a short name for lists").exactOptional(),
  agent: AgentName.describe("the agent that it runs as; by default none").exactOptional(),
  model: ModelName.describe(
    "the model, as provider/model; by default the agent's or the configured one",
  ).exactOptional(),
  instructions: Instructions.describe("instructions for the model, besides the agent's").exactOptional(),
  constraints: z.array(z.string()).max(1_000).describe("rules that the session must keep to").exactOptional(),
  labels: Labels.describe("labels, by key").exactOptional(),
  priority: z
    .int()
    .min(0)
    .max(limit.priorityMax)
    .describe("0 is the most urgent, 9 the least; by default 5")
    .exactOptional(),
  expiresAfterIdleMs: Span.describe("close it after this much time without activity").exactOptional(),
  bind: z.array(Binding()).max(limit.bindingsMax).describe("resources that it may use").exactOptional(),
  files: z.array(Path).max(1_000).describe("files whose contents it starts with").exactOptional(),
  instructionFiles: z
    .array(z.enum(instructionNames))
    .max(instructionNames.length)
    .describe("the instruction files to load from bound directories; by default the first of each folder")
    .exactOptional(),
  grant: z
    .array(Permission())
    .max(limit.permissionsMax)
    .describe("rules for the calls of its tools")
    .exactOptional(),
  budget: Budget().describe("its limits").exactOptional(),
  from: SessionName.describe("the session whose work it continues, with its handoff").exactOptional(),
  project: SessionName.describe(
    "the project it belongs to; with from, by default its predecessor's",
  ).exactOptional(),
  handoffs: z
    .array(SessionName)
    .max(limit.awaitedMax)
    .describe("further sessions whose handoffs it starts with")
    .exactOptional(),
  memory: z
    .boolean()
    .describe("whether it starts with memory of the workspace; by default true")
    .exactOptional(),
  wake: z.array(Wake()).max(limit.triggersMax).describe("triggers that wake it").exactOptional(),
  after: After().describe("sessions that must end before it starts").exactOptional(),
  accept: Checks()
    .describe("what must pass before it can be closed as completed, such as command: npm test")
    .exactOptional(),
}));

/** A text, or blocks of text, images and files; bytes are uploaded first, and named by their hash. */
export const Input = once(() => z.union([z.string(), z.array(ContentBlock).min(1).max(1_000)]));
export const Mode = z.enum(["queue", "steer"]);

const From = z.enum(["user", "trigger", "system"]);
export const AppendRecord = once(() =>
  z.union([
    z.strictObject({
      type: z.literal("input.received"),
      text: z.string(),
      from: From.exactOptional(),
      topic: Key.exactOptional(),
    }),
    z.strictObject({
      type: z.literal("input.received"),
      blocks: z.array(ContentBlock),
      from: From.exactOptional(),
      mode: Mode.exactOptional(),
    }),
    z.strictObject({
      type: z.templateLiteral(["x.", z.string()]),
      body: Value.exactOptional(),
      content: Value.exactOptional(),
    }),
  ]),
);

const Ticket = once(() =>
  z.strictObject({
    id: z.string().min(1).max(limit.ticketIdCharsMax),
    title: z.string().min(1).max(limit.ticketTitleCharsMax),
    text: Instructions,
    after: z.array(z.string()).max(limit.ticketsMax),
    agent: AgentName.exactOptional(),
    labels: z.record(z.string(), z.string()).exactOptional(),
    budget: Budget().exactOptional(),
    accept: z.array(AcceptCheck()).max(limit.acceptsMax).exactOptional(),
    done: z.literal(true).exactOptional(),
    line: z.int().nonnegative(),
  }),
);

/** A ticket for the plan of a project. */
export const TicketSpec = once(() =>
  z.strictObject({
    id: z
      .string()
      .min(1)
      .max(limit.ticketIdCharsMax)
      .describe("a short name, unique in the plan, such as login"),
    title: z.string().min(1).max(limit.ticketTitleCharsMax).describe("the task in a line"),
    text: Instructions.describe("the task in full").exactOptional(),
    after: z
      .array(z.string())
      .max(limit.ticketAfterMax)
      .describe("ids of tickets that must be done before")
      .exactOptional(),
    agent: z.string().max(limit.keyCharsMax).describe("the agent, as name or name@version").exactOptional(),
    labels: Labels.describe("labels of its session").exactOptional(),
    budget: Budget().describe("the limits of its session").exactOptional(),
    accept: Checks().describe("what must pass before it is done").exactOptional(),
    done: z.boolean().describe("checked off: nothing runs for it").exactOptional(),
  }),
);

/** A plan from `parsePlan`. */
export const Plan = once(() =>
  z.strictObject({
    name: z.string().min(1).max(limit.ticketIdCharsMax),
    tickets: z.array(Ticket()).min(1).max(limit.ticketsMax),
    project: z.string().exactOptional(),
    agent: z.string().exactOptional(),
  }),
);

const Take = z.enum(["ours", "theirs", "both"]);
export const MergeAnswer = once(() =>
  z.union([
    Take,
    z.strictObject({ take: Take, because: Reason.exactOptional() }),
    z.strictObject({
      take: z.literal("value").exactOptional(),
      value: Value,
      because: Reason.exactOptional(),
      status: ItemStatus.exactOptional(),
    }),
  ]),
);

export const DiffPlace = once(() =>
  z.union([Place, z.strictObject({ session: SessionName, at: Place.exactOptional() })]),
);

/** The formats of `session.exportTranscript`: tools that open the file, and the messages of an API. */
export const exportFormats = [
  "claude-code",
  "codex",
  "opencode",
  "pi",
  "ai-sdk",
  "openai",
  "anthropic",
] as const;
