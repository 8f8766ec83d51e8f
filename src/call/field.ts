/** What callers may give: the fields that several operations share. Strict, so that a misspelling is told. */
import { ItemKind } from "../core/item/events.ts";
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
import { namePattern } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { isStorableUsd, storableUsdHint } from "../core/text/money.ts";
import { missedRules, triggerSchemas } from "../core/trigger/trigger.ts";

export { AgentName, ItemKind, Key, Millis, ModelName, Reason, Seq };

/** A session's id, or any ending that only one session has. */
export const SessionName = z.string().regex(namePattern, "that is no session id, and no ending of one");
export const Path = z.string().min(1).max(4_096);
export const Name = z.string().max(limit.nameCharsMax);
export const Objective = z.string().max(limit.objectiveCharsMax);
export const Instructions = z.string().max(limit.instructionsCharsMax);
export const Labels = z.record(LabelKey, LabelValue);
export const Because = Reason;
export const Scope = z.enum(["agent", "user", "workspace"]);
export const TaskStatus = z.enum(["open", "done", "dropped"]);
/** Any JSON. */
export const Value = z.unknown();
/** A position, or the name of a checkpoint. */
export const Place = z.union([Seq, Key]);

const Amount = z.int().nonnegative();

export const Budget = z.strictObject({
  usd: z
    .number()
    .nonnegative()
    .max(Number.MAX_SAFE_INTEGER / 1e9)
    .refine(isStorableUsd, storableUsdHint)
    .exactOptional(),
  tokens: Amount.exactOptional(),
  steps: Amount.exactOptional(),
  turns: Amount.exactOptional(),
  toolCalls: Amount.exactOptional(),
  wallMs: Amount.exactOptional(),
});

/** A resource that a session may use. Names of secrets, never their values. */
export const bindingFields = {
  kind: z.enum(["file", "directory", "database", "mcp", "shell", "tool"]),
  name: Key.exactOptional(),
  mode: z.enum(["read", "write"]).exactOptional(),
  path: Path.exactOptional(),
  url: z.string().max(2_048).exactOptional(),
  command: z.array(z.string()).max(1_000).exactOptional(),
  secrets: z.array(z.string()).max(limit.secretsMax).exactOptional(),
  options: Value.exactOptional(),
  sandbox: z.boolean().exactOptional(),
  network: z.boolean().exactOptional(),
};
export const Binding = z.strictObject(bindingFields);

/** What becomes of calls of a tool. */
export const permissionFields = {
  tool: z.string().min(1).max(128),
  effect: z.enum(["unsafe"]).exactOptional(),
  rule: z.enum(["allow", "ask", "deny", "none"]),
  name: Key.exactOptional(),
  pattern: Value.exactOptional(),
  reason: Reason.exactOptional(),
};
const Permission = z.strictObject(permissionFields);

export const Missed = z.enum(missedRules);
export const Trigger = z.discriminatedUnion("kind", [
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
]);

const woken = { name: Key.exactOptional(), missed: Missed.exactOptional() };
const Wake = z.discriminatedUnion("kind", [
  triggerSchemas.at.extend(woken),
  triggerSchemas.every.extend(woken),
  triggerSchemas.cron.extend(woken),
  triggerSchemas.file.extend(woken),
  triggerSchemas.git.extend(woken),
  triggerSchemas.webhook.extend(woken),
  triggerSchemas.message.extend(woken),
  triggerSchemas.session.extend(woken),
  triggerSchemas.query.extend(woken),
  triggerSchemas.resource.extend(woken),
]);

const Sessions = z.array(SessionName).min(1).max(limit.awaitedMax);
const After = z.union([
  Sessions,
  z.strictObject({
    sessions: Sessions,
    give: z.enum(["handoff", "facts", "nothing"]).exactOptional(),
  }),
]);

/** What a session starts with. `objective` may be left out where `from` is given. */
export const openFields = {
  objective: Objective.exactOptional(),
  name: Name.exactOptional(),
  agent: AgentName.exactOptional(),
  model: ModelName.exactOptional(),
  instructions: Instructions.exactOptional(),
  constraints: z.array(z.string()).max(1_000).exactOptional(),
  labels: Labels.exactOptional(),
  priority: z.int().min(0).max(limit.priorityMax).exactOptional(),
  expiresAfterIdleMs: Millis.exactOptional(),
  bind: z.array(Binding).max(limit.bindingsMax).exactOptional(),
  files: z.array(Path).max(1_000).exactOptional(),
  grant: z.array(Permission).max(limit.permissionsMax).exactOptional(),
  budget: Budget.exactOptional(),
  from: SessionName.exactOptional(),
  handoffs: z.array(SessionName).max(limit.awaitedMax).exactOptional(),
  memory: z.boolean().exactOptional(),
  wake: z.array(Wake).max(limit.triggersMax).exactOptional(),
  after: After.exactOptional(),
};

/** A text, or blocks of text, images and files; bytes are kept first, and named by their hash. */
export const Input = z.union([z.string(), z.array(ContentBlock).min(1).max(1_000)]);
export const Mode = z.enum(["queue", "steer"]);

const From = z.enum(["user", "trigger", "system"]);
export const AppendRecord = z.union([
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
]);

const Ticket = z.strictObject({
  id: z.string().min(1).max(limit.ticketIdCharsMax),
  title: z.string().min(1).max(limit.ticketTitleCharsMax),
  text: Instructions,
  after: z.array(z.string()).max(limit.ticketsMax),
  agent: AgentName.exactOptional(),
  labels: z.record(z.string(), z.string()).exactOptional(),
  budget: Budget.exactOptional(),
  done: z.literal(true).exactOptional(),
  line: z.int().nonnegative(),
});

/** A plan as `parsePlan` gives it. */
export const Plan = z.strictObject({
  name: z.string().min(1).max(limit.ticketIdCharsMax),
  tickets: z.array(Ticket).min(1).max(limit.ticketsMax),
});

const Take = z.enum(["ours", "theirs", "both"]);
export const MergeAnswer = z.union([
  Take,
  z.strictObject({ take: Take, because: Because.exactOptional() }),
  z.strictObject({
    take: z.literal("value").exactOptional(),
    value: Value,
    because: Because.exactOptional(),
    status: TaskStatus.exactOptional(),
  }),
]);

export const DiffPlace = z.union([
  Place,
  z.strictObject({ session: SessionName, at: Place.exactOptional() }),
]);
