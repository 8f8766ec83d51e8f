/** Events of the workspace's log: agents, memory, policies, approvals, tokens, webhooks, lists of heads. */
import { ifGiven, after, because, lineText, valueText } from "../summary-text.ts";
import { plural } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { otherSession, sha, reason } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import { ItemKind, ItemStatus } from "../item/events.ts";
import { isFirstVersion } from "../item/kind.ts";
import {
  AgentName,
  Count,
  Json,
  Key,
  LabelKey,
  LabelValue,
  MayReason,
  Millis,
  Position,
  Reason,
  Seq,
  SessionRef,
  Sha256,
  ToolName,
  Word,
} from "../schema.ts";
import * as z from "zod";

const TokenRef = z.string().regex(/^tok_[0-9a-z]{26}$/);

const PrincipalRef = z.string().regex(/^prn_[0-9a-z]{26}$/);

/** A feed position from the store. */
const Place = z.string().max(500);

const Encoded = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/);

const owned = (scope: string, owner: string | undefined): string =>
  owner === undefined ? `the ${scope}` : `${scope} ${owner}`;

/** Version 2 has a kind that version 1 lacks. */
const versionOf = (_: unknown, body: unknown): number => (isFirstVersion(body, undefined) ? 1 : 2);

export const workspaceEvents = {
  "agent.defined": event({
    meaning: "An agent has a new version.",
    erased: "The version existed; its text is erased, so no new session can pin it.",
    body: z.looseObject({ agent: AgentName, version: Count, digest: Sha256 }),
    content: z.looseObject({ definition: Json }),
    summary: ({ agent, version }) => `Agent ${agent}@${version} defined`,
    sample: {
      body: { agent: "payroll", version: 2, digest: sha },
      content: { definition: { instructions: "Be exact." } },
    },
  }),
  "memory.promoted": event({
    v: 2,
    written: versionOf,
    meaning: "An item is remembered for later sessions.",
    erased: "An entry had this key; new sessions no longer carry it.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      /** Of a decision or a hypothesis. */
      status: ItemStatus.optional(),
      origin: Position.optional(),
      /** The author: a rule of the agent, a tool that the model called, or a person. */
      by: z.enum(["rule", "tool", "person"]).optional(),
      /** A person approved it, the actor. */
      approved: z.boolean().optional(),
    }),
    /** The reason is that of the approval. */
    content: z.looseObject({ value: Json, because: z.string().optional(), reason: z.string().optional() }),
    summary: ({ scope, owner, kind, key }, content) =>
      `Remembered ${kind} ${key} for ${owned(scope, owner)}` +
      ifGiven(content, ({ value }) => ` = ${valueText(value)}`) +
      ifGiven(content?.because, (why) => `, because ${lineText(why)}`),
    sample: {
      body: {
        scope: "agent",
        owner: "payroll",
        kind: "fact",
        key: "base-rate",
        origin: { session: otherSession, seq: 7 },
      },
      content: { value: 4.1, because: "asked for" },
    },
  }),
  "memory.forgotten": event({
    v: 2,
    written: versionOf,
    meaning: "New sessions no longer carry the entry under this key.",
    erased: "It was forgotten; the reason is erased.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      by: z.enum(["rule", "tool", "person"]).optional(),
      /** A consolidation forgot it: why, and the entry that stands for it. Since 0.5. */
      consolidated: z.looseObject({ why: Word, kind: ItemKind, key: Key, seq: Seq }).optional(),
    }),
    content: MayReason,
    summary: ({ scope, owner, kind, key, consolidated }, content) =>
      `Forgot ${kind} ${key} of ${owned(scope, owner)}` +
      ifGiven(consolidated, ({ why, kind: of, key: into }) => `, ${why}: ${of} ${into} stands for it`) +
      because(content),
    sample: {
      body: { scope: "agent", owner: "payroll", kind: "fact", key: "base-rate" },
      content: reason,
    },
  }),
  "memory.disputed": bare({
    meaning: "These entries contradict each other; a person should settle it.",
    body: z.looseObject({
      entries: z.array(
        z.looseObject({ scope: Word, owner: Key.optional(), kind: ItemKind, key: Key, seq: Seq }),
      ),
    }),
    summary: ({ entries }) => `Contradiction: ${entries.map(({ kind, key }) => `${kind} ${key}`).join(", ")}`,
    sample: {
      body: {
        entries: [
          { scope: "workspace", kind: "fact", key: "database", seq: 9 },
          { scope: "workspace", kind: "fact", key: "db", seq: 4 },
        ],
      },
    },
  }),
  "memory.consolidated": bare({
    meaning: "Memory was consolidated: this many entries were merged, expired, and marked.",
    body: z.looseObject({ merged: Count, expired: Count, disputed: Count }),
    summary: ({ merged, expired, disputed }) =>
      `Memory consolidated: ${merged} merged, ${expired} expired, ${plural(disputed, "contradiction")}`,
    sample: { body: { merged: 2, expired: 1, disputed: 1 } },
  }),
  "consolidation.scheduled": bare({
    meaning: "Workers consolidate memory this often from now on; without it, no more.",
    body: z.looseObject({ everyMs: Millis.optional() }),
    summary: ({ everyMs }) =>
      everyMs === undefined ? "Consolidation off" : `Consolidation every ${everyMs / 3_600_000} h`,
    sample: { body: { everyMs: 86_400_000 } },
  }),
  "memory.proposed": event({
    meaning: "An item of a turn that took in outside content waits for approval to be remembered.",
    erased: "An entry was proposed under this key; it can only be rejected.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      status: ItemStatus.optional(),
      /** With the session it is one proposal: a newer one replaces it. */
      origin: Position.optional(),
      by: z.enum(["rule", "tool", "person"]).optional(),
      /** The outside content: what it is, the tool that brought it, and its position in the session. */
      doubt: z.looseObject({ why: Word, tool: ToolName.optional(), seq: Seq.optional() }),
    }),
    content: z.looseObject({ value: Json, because: z.string().optional() }),
    summary: ({ scope, owner, kind, key, doubt }, content) =>
      `Proposed ${kind} ${key} for ${owned(scope, owner)}` +
      ifGiven(content, ({ value }) => ` = ${valueText(value)}`) +
      `; it may come from outside: ${doubt.why}${after(doubt.tool)}`,
    sample: {
      body: {
        scope: "agent",
        owner: "payroll",
        kind: "decision",
        key: "vendor",
        origin: { session: otherSession, seq: 9 },
        by: "rule",
        doubt: { why: "tool", tool: "fetch", seq: 6 },
      },
      content: { value: "acme", because: "the page says so" },
    },
  }),
  "memory.rejected": event({
    meaning: "A proposed entry was rejected by a person, or withdrawn because its item is gone.",
    erased: "It was rejected; the reason is erased.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      origin: Position.optional(),
      by: z.enum(["rule", "tool", "person"]).optional(),
    }),
    content: MayReason,
    summary: ({ scope, owner, kind, key, by }, content) =>
      `${by === "rule" ? "Withdrew" : "Rejected"} proposed ${kind} ${key} for ` +
      `${owned(scope, owner)}${because(content)}`,
    sample: {
      body: {
        scope: "agent",
        owner: "payroll",
        kind: "decision",
        key: "vendor",
        origin: { session: otherSession, seq: 9 },
        by: "person",
      },
      content: reason,
    },
  }),
  "policy.set": event({
    meaning: "A policy of the workspace is in force from now on, or is removed.",
    erased: "There was a policy of this name; it has no effect.",
    body: z.looseObject({
      name: Key,
      /** The policy is removed. */
      removed: z.boolean().optional(),
    }),
    content: z.looseObject({ policy: Json }).optional(),
    summary: ({ name, removed }) => `Policy ${name} ${removed === true ? "removed" : "set"}`,
    sample: { body: { name: "retention" }, content: { policy: { days: 90 } } },
  }),
  "approval.saved": event({
    meaning: "This exact command is approved in every session where a rule would ask.",
    erased: "A command was approved under this name; it needs approval again.",
    body: z.looseObject({ name: Key, tool: ToolName }),
    content: z.looseObject({
      /** The exact text, its directory, and its binding. */
      command: z.looseObject({ text: z.string(), directory: z.string(), binding: Json }),
    }),
    summary: ({ name, tool }, content) => `Always allowed ${tool} (${name})${after(content?.command.text)}`,
    sample: {
      body: { name: "approval-1", tool: "shell" },
      content: {
        command: { text: "npm test", directory: "/work", binding: { kind: "shell", name: "shell" } },
      },
    },
  }),
  "approval.revoked": bare({
    meaning: "The command needs approval again.",
    body: z.looseObject({ name: Key }),
    summary: ({ name }) => `Approval ${name} revoked`,
    sample: { body: { name: "approval-1" } },
  }),
  "session.deleted": event({
    meaning: "A session was deleted; its last position and hash remain as evidence.",
    erased: "It was deleted; the reason is erased.",
    body: z.looseObject({ session: SessionRef, headSeq: Count, headHash: Sha256 }),
    content: MayReason,
    summary: ({ session, headSeq }, content) =>
      `Deleted ${shortId(session)} with ${plural(headSeq, "record")}${because(content)}`,
    sample: { body: { session: otherSession, headSeq: 12, headHash: sha }, content: reason },
  }),
  "token.issued": event({
    meaning: "A token was issued: it grants its scopes, and its principal identifies the caller.",
    erased: "The token is valid; its name is erased.",
    body: z.looseObject({
      id: TokenRef,
      /** SHA-256 of the secret's text. The secret itself is not stored. */
      hash: Sha256,
      /** A scope that a program does not know grants nothing there. */
      scopes: z.array(Word).min(1).max(20),
      principal: PrincipalRef,
      /** The token is invalid from this time on. Absent: until it is revoked. */
      expiresAt: Millis.optional(),
      /** The only session that it is valid for; its only scope is `settle`, which older programs ignore. */
      session: SessionRef.optional(),
      /** How many requests a second a server takes with it. Absent: the server's limit. */
      requestsPerSecond: Count.optional(),
    }),
    content: z.looseObject({ name: Key }).optional(),
    summary: ({ scopes }, content) => `Token issued for ${scopes.join(", ")}${after(content?.name)}`,
    sample: {
      body: {
        id: "tok_01hf7yat00000000000000000t",
        hash: sha,
        scopes: ["read", "write"],
        principal: "prn_01hf7yat00000000000000000p",
        expiresAt: 1_700_000_000_000,
      },
      content: { name: "the nightly build" },
    },
  }),
  "token.revoked": event({
    meaning: "The token was revoked.",
    erased: "It was revoked; the reason is erased.",
    body: z.looseObject({ id: TokenRef }),
    content: MayReason,
    summary: ({ id }, content) => `Token ${shortId(id)} revoked${because(content)}`,
    sample: { body: { id: "tok_01hf7yat00000000000000000t" }, content: reason },
  }),
  "hook.set": event({
    meaning: "A webhook sends these events to a URL, from this position of the feed on.",
    erased: "There was a webhook of this name; its URL is erased, so it sends nothing.",
    body: z.looseObject({
      name: Key,
      /** Types of events, or prefixes: `turn.*`, or `*`. */
      events: z
        .array(z.string().regex(/^(\*|[a-z][a-z0-9._-]{0,60}(\.\*)?)$/))
        .min(1)
        .max(50),
      from: Place,
      session: SessionRef.optional(),
      agent: AgentName.optional(),
      labels: z.record(LabelKey, LabelValue).optional(),
      /** The name of the variable that holds the signing secret; never its value. */
      signedBy: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
    }),
    content: z.looseObject({ url: z.string() }),
    summary: ({ name }, content) => `Webhook ${name} set${after(content?.url)}`,
    sample: {
      body: {
        name: "ops",
        events: ["turn.ended", "session.*"],
        from: "12",
        session: otherSession,
        agent: "payroll",
        labels: { team: "web" },
        signedBy: "HOOK_SECRET",
      },
      content: { url: "https://example.com/hook" },
    },
  }),
  "hook.removed": event({
    meaning: "The webhook was removed.",
    erased: "It was removed; the reason is erased.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
    summary: ({ name }, content) => `Webhook ${name} removed${because(content)}`,
    sample: { body: { name: "ops" }, content: reason },
  }),
  "hook.delivered": bare({
    meaning: "The webhook delivered, or gave up on, everything up to this position of the feed.",
    body: z.looseObject({ name: Key, setSeq: Seq, to: Place, count: Count }),
    summary: ({ name, count: sent }) => `Webhook ${name} delivered ${plural(sent, "event")}`,
    sample: { body: { name: "ops", setSeq: 3, to: "40", count: 7 } },
  }),
  "hook.abandoned": bare({
    meaning: "An event could not be delivered within a day; the webhook gave it up.",
    body: z.looseObject({ name: Key, setSeq: Seq, log: z.string().max(64), seq: Seq, attempts: Count }),
    summary: ({ name, log, seq, attempts }) =>
      `Webhook ${name} gave up on ${shortId(log)}@${seq} after ${plural(attempts, "attempt")}`,
    sample: { body: { name: "ops", setSeq: 3, log: otherSession, seq: 12, attempts: 40 } },
  }),
  "heads.listed": event({
    meaning: "The heads of the logs that changed since the last list, or of all logs, were listed.",
    erased: "That many heads were listed under this root; the list is erased.",
    body: z.looseObject({
      count: Count,
      /** A list of all logs: earlier lists need not be read. */
      full: z.boolean().optional(),
      /** The Merkle root of this list. */
      merkle: Sha256,
      /** The root of the previous list, and the root of this list. */
      before: Sha256,
      root: Sha256,
      /** Absent if the process had no key. */
      publicKey: Encoded.optional(),
      signature: Encoded.optional(),
    }),
    content: z.looseObject({ heads: z.array(z.tuple([z.string(), Seq, Sha256])) }),
    summary: ({ count: heads, full }) =>
      `Listed ${full === true ? "all" : "changed"} heads: ${plural(heads, "log")}`,
    sample: {
      body: { count: 1, full: true, merkle: sha, before: sha, root: sha, publicKey: "k", signature: "s" },
      content: { heads: [[otherSession, 12, sha]] },
    },
  }),
  "heads.accepted": event({
    meaning: "A person accepted the logs as they are now, though lists or an anchor name records beyond.",
    erased: "It was accepted; the reason is erased.",
    body: z.looseObject({
      /** Logs that were shorter than listed, different, or missing. */
      count: Count,
      /** The anchor that the workspace's own log no longer reaches. */
      anchor: z.looseObject({ seq: Seq, hash: Sha256 }).optional(),
    }),
    content: z.looseObject({ reason: Reason }),
    summary: ({ count: logs }, content) =>
      `Accepted ${plural(logs, "log")} whose heads differ from the list${because(content)}`,
    sample: { body: { count: 1, anchor: { seq: 9, hash: sha } }, content: reason },
  }),
} satisfies Record<string, CatalogEntry>;
