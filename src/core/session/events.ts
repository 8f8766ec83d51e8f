/** Events of a session: its life, its lease, where it lives and what it starts with. */
import { ifGiven, after, because, lineText } from "../summary-text.ts";
import { count } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { utcText } from "../text/utc.ts";
import { otherSession, otherWorkspace, sha, reason } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import { limit } from "../limit.ts";
import {
  AgentName,
  Count,
  Has,
  Json,
  Key,
  LabelKey,
  LabelValue,
  MayReason,
  Millis,
  ModelName,
  Name,
  Objective,
  Position,
  ProjectRef,
  Seq,
  SessionRef,
  Sha256,
  WorkspaceRef,
} from "../schema.ts";
import * as z from "zod";

const Priority = z.int().min(0).max(limit.priorityMax);

const none = z.looseObject({});

const suspensions = {
  person: "Suspended by a person",
  budget: "Suspended by the budget",
  approval: "Waiting for approval",
  unknown: "Suspended, the outcome of a call is unknown",
  error: "Suspended after an error",
  tool: "Waiting for the result of an external call",
  zone: "Suspended by its agent's policy for this zone of the context",
} as const;

const documentNames = { "agents-md": "AGENTS.md", file: "a file", handoff: "a handoff" } as const;

export const sessionEvents = {
  "session.opened": event({
    meaning: "A session begins: one objective, and the agent and model that work on it.",
    erased: "The objective and name of the session are erased; everything else remains.",
    body: z.looseObject({
      workspace: WorkspaceRef,
      agent: AgentName.optional(),
      model: ModelName.optional(),
      priority: Priority,
      labels: z.record(LabelKey, LabelValue).optional(),
      /** The session that opened this one, and the position in its log. */
      parent: Position.optional(),
      /** The number of ancestors by `parent`; absent for a session that a person opened. */
      depth: Count.optional(),
      /** The session closes at the end of the first turn after which it waits for nothing. */
      closesWhenDone: z.boolean().optional(),
      /** The session whose work this one continues. */
      from: SessionRef.optional(),
      /** The first session of the chain that this one continues by `clear` or `rollover`. Since 0.5. */
      first: SessionRef.optional(),
      /** The project it belongs to. Since 0.5. */
      project: ProjectRef.optional(),
      /** The session in which its task came up, and the position there. Since 0.5. */
      split: Position.optional(),
      expiresAfterIdleMs: Millis.optional(),
      has: Has,
    }),
    content: z.looseObject({
      objective: Objective,
      name: Name.optional(),
      instructions: z.string().optional(),
      constraints: z.array(z.string()).optional(),
      /** The instruction files that it loads; absent: the first that each folder has. Since 0.5. */
      instructionFiles: z.array(z.string()).optional(),
    }),
    summary: (_, content) => `Opened${after(content?.objective)}`,
    sample: {
      body: {
        workspace: otherWorkspace,
        agent: "payroll",
        model: "acme/large-2",
        priority: 3,
        labels: { team: "finance", "env/stage": "Test 1" },
        parent: { session: otherSession, seq: 4 },
        from: otherSession,
        expiresAfterIdleMs: 86_400_000,
        has: ["objective", "name"],
      },
      content: {
        objective: "November payroll run",
        name: "payroll",
        instructions: "Be exact.",
        constraints: ["never pay twice"],
      },
    },
  }),
  "session.renamed": event({
    meaning: "The session has another name.",
    erased: "It was renamed; the name is erased.",
    body: none,
    content: z.looseObject({ name: Name }),
    summary: (_, content) => `Renamed${after(content?.name)}`,
    sample: { body: {}, content: { name: "payroll, second try" } },
  }),
  "session.labeled": bare({
    meaning: "Labels were set or removed.",
    body: z.looseObject({
      set: z.record(LabelKey, LabelValue).optional(),
      remove: z.array(LabelKey).optional(),
    }),
    summary: ({ set = {}, remove = [] }) =>
      "Labels: " +
      ([...Object.entries(set).map((pair) => pair.join("=")), ...remove.map((key) => `-${key}`)].join(" ") ||
        "none"),
    sample: { body: { set: { owner: "ann" }, remove: ["team"] } },
  }),
  "session.prioritized": bare({
    meaning: "The session is more or less urgent; 0 is the most.",
    body: z.looseObject({ priority: Priority }),
    summary: ({ priority }) => `Priority ${priority}`,
    sample: { body: { priority: 0 } },
  }),
  "session.activated": event({
    meaning: "A suspended or sleeping session may continue.",
    erased: "It was activated; the reason is erased.",
    body: none,
    content: MayReason,
    summary: (_, content) => `Activated${because(content)}`,
    sample: { body: {}, content: reason },
  }),
  "session.suspended": event({
    // An earlier program does not know the causes of version 2, and refuses it.
    v: 2,
    written: (_, body) => (["tool", "zone"].includes(String((body as { by?: unknown }).by)) ? 2 : 1),
    meaning: "The session is suspended until it is activated; the body names the cause.",
    erased: "It was suspended for the cause in the body; the text is erased.",
    body: z.looseObject({
      by: z.enum(["person", "budget", "approval", "unknown", "error", "tool", "zone"]),
      /** The calls or events it waits for. */
      on: z.array(Seq).max(100).optional(),
      /**
       * The log was rolled back: the store had acknowledged records up to `toSeq`, and no longer holds them.
       * Records before `fromSeq` still exist; without it the end is unknown.
       */
      tail: z.looseObject({ fromSeq: Seq.optional(), toSeq: Seq }).optional(),
      /** The budget that is exhausted is that of this project. */
      project: ProjectRef.optional(),
      /** Imported from a bundle without a trusted signature; it waits for a person's review. */
      imported: z.boolean().optional(),
    }),
    content: MayReason,
    summary: ({ by }, content) => `${suspensions[by]}${because(content)}`,
    sample: { body: { by: "approval", on: [3, 5] }, content: reason },
  }),
  "session.slept": event({
    meaning:
      "The session sleeps, from now or from the end of its turn, until a trigger or a person wakes it.",
    erased: "It went to sleep; the reason is erased.",
    body: z.looseObject({ untilMs: Millis.optional(), triggers: z.array(Key).max(32).optional() }),
    content: MayReason,
    summary: ({ untilMs, triggers = [] }, content) =>
      "Sleeping" +
      ifGiven(untilMs, (ms) => ` until ${utcText(ms)}`) +
      (triggers.length === 0 ? "" : `, triggers ${triggers.join(", ")}`) +
      because(content),
    sample: { body: { untilMs: 1_800_000_000_000, triggers: ["nightly"] }, content: reason },
  }),
  "session.woken": event({
    meaning: "A sleeping session is open again; the body names what woke it.",
    erased: "It was woken by what the body names; the text is erased.",
    body: z.looseObject({
      by: z.enum(["person", "time", "trigger", "message", "session"]),
      trigger: Key.optional(),
    }),
    content: MayReason,
    summary: ({ by, trigger }, content) =>
      `Woken by ${trigger === undefined ? by : `${by} ${trigger}`}${because(content)}`,
    sample: { body: { by: "trigger", trigger: "nightly" }, content: reason },
  }),
  "session.interrupted": event({
    meaning: "An interrupt was requested: the turn in progress must end now.",
    erased: "It was interrupted; the reason is erased.",
    body: none,
    content: MayReason,
    summary: (_, content) => `Interrupted${because(content)}`,
    sample: { body: {}, content: reason },
  }),
  "session.closed": event({
    meaning: "The session is over: completed, cancelled, failed or expired.",
    erased: "It was closed with this outcome; the reason is erased.",
    body: z.looseObject({ outcome: z.enum(["completed", "cancelled", "failed", "expired"]) }),
    content: MayReason,
    summary: ({ outcome }, content) => `Closed as ${outcome}${because(content)}`,
    sample: { body: { outcome: "completed" }, content: reason },
  }),
  "session.continued": event({
    meaning:
      "The work continues in another session: inputs, messages and webhooks sent here arrive there. In the " +
      "first session of a chain again for each later one.",
    erased: "The work went on there; the reason is erased.",
    body: z.looseObject({ to: SessionRef }),
    content: MayReason,
    summary: ({ to }, content) => `Continued in ${shortId(to)}${because(content)}`,
    sample: { body: { to: otherSession }, content: reason },
  }),
  "session.split": event({
    meaning: "Another task got a session of its own, with these items and inputs.",
    erased: "Another task got a session of its own; its objective and the reason are erased.",
    body: z.looseObject({
      to: SessionRef,
      /** `KIND/KEY` each. */
      items: z.array(z.string()),
      /** Their positions. */
      inputs: z.array(Seq),
    }),
    content: z.looseObject({ objective: Objective, reason: z.string().optional() }).optional(),
    summary: ({ to }, content) =>
      `Split off ${shortId(to)}${ifGiven(content?.objective, (goal) => `: ${lineText(goal)}`)}`,
    sample: {
      body: { to: otherSession, items: ["decision/store"], inputs: [7] },
      content: { objective: "Plan the trip" },
    },
  }),
  "session.reopened": event({
    meaning: "A closed or archived session is open again.",
    erased: "It was reopened; the reason is erased.",
    body: none,
    content: MayReason,
    summary: (_, content) => `Reopened${because(content)}`,
    sample: { body: {}, content: reason },
  }),
  "session.archived": event({
    meaning: "A closed session is packed and read-only.",
    erased: "It was archived; the reason is erased.",
    body: none,
    content: MayReason,
    summary: (_, content) => `Archived${because(content)}`,
    sample: { body: {}, content: reason },
  }),
  "session.migrated": event({
    meaning: "The session continues with another model.",
    erased: "It was migrated between these models; the list of what was left out is erased.",
    body: z.looseObject({ from: ModelName.optional(), to: ModelName }),
    content: z.looseObject({ left: z.array(z.string()) }).optional(),
    summary: ({ from, to }) =>
      from === undefined ? `Model set to ${to}` : `Model changed from ${from} to ${to}`,
    sample: {
      body: { from: "acme/large-2", to: "other/small:1" },
      content: { left: ["reasoning"] },
    },
  }),
  "session.moved": event({
    meaning: "The session moved to another store; no record follows here.",
    erased: "It was moved; the destination is erased.",
    body: z.looseObject({
      move: Key,
      /** The only target workspace; absent if unknown. */
      to: WorkspaceRef.optional(),
    }),
    content: z.looseObject({ to: z.string() }).optional(),
    summary: (_, content) => `Moved to another store${after(content?.to)}`,
    sample: { body: { move: "move-1" }, content: { to: "another machine" } },
  }),
  "session.arrived": event({
    meaning: "A moved session continues here.",
    erased: "It arrived by that move; the source is erased.",
    body: z.looseObject({
      move: Key,
      /** No trusted key signed its bundle. */
      untrusted: z.boolean().optional(),
    }),
    content: z.looseObject({ from: z.string() }).optional(),
    summary: (_, content) => `Arrived from another store${after(content?.from)}`,
    sample: { body: { move: "move-1" }, content: { from: "a machine" } },
  }),
  "lease.taken": bare({
    meaning: "A runner took the lease of the session; its epoch is the position of this record.",
    body: z.looseObject({ holder: Key, leaseMs: Millis }),
    summary: ({ holder }) => `Lease taken by ${holder}`,
    sample: { body: { holder: "runner-1", leaseMs: 15_000 } },
  }),
  "lease.released": bare({
    meaning: "The runner released the lease.",
    body: z.looseObject({ epoch: Seq }),
    summary: ({ epoch }) => `Lease of epoch ${epoch} released`,
    sample: { body: { epoch: 2 } },
  }),
  "agent.pinned": event({
    meaning: "The session works under this version of an agent.",
    erased: "The agent's name and version are known; its text must be read from the workspace.",
    body: z.looseObject({ agent: AgentName, version: Count, digest: Sha256 }),
    content: z.looseObject({ definition: Json }),
    summary: ({ agent, version }) => `Runs as agent ${agent}@${version}`,
    sample: {
      body: { agent: "payroll", version: 2, digest: sha },
      content: { definition: { instructions: "Be exact.", model: "acme/large-2" } },
    },
  }),
  "document.loaded": event({
    meaning: "A document was loaded: AGENTS.md, an initial file, a handoff.",
    erased: "A document of this kind and size was loaded; its path and text are erased.",
    body: z.looseObject({
      kind: z.enum(["agents-md", "file", "handoff"]),
      digest: Sha256,
      bytes: Count,
      /** The digest of the document that it takes the place of. Since 0.5. */
      supersedes: Sha256.optional(),
      /** The input of another session that it is a copy of. Since 0.5. */
      origin: Position.optional(),
    }),
    content: z.looseObject({
      path: z.string().optional(),
      text: z.string(),
      /** How it differs from the one before, as a unified diff. */
      diff: z.string().optional(),
    }),
    summary: ({ kind, bytes, supersedes }, content) =>
      `Loaded ${supersedes === undefined ? "" : "again "}${documentNames[kind]} of ${count(bytes)} bytes` +
      after(content?.path),
    sample: {
      body: { kind: "agents-md", digest: sha, bytes: 12 },
      content: { path: "AGENTS.md", text: "Use the WAL." },
    },
  }),
} satisfies Record<string, CatalogEntry>;
