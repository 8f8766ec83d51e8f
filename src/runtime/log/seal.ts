/**
 * From a decision to stored drafts: validated against the catalog and the limits, serialized, redacted,
 * salted, hashed. Everything reaches a store through here, so that no secret does.
 */
import { makeCache } from "../../core/cache.ts";
import type { Command, Facts } from "../../core/command.ts";
import type { z } from "zod";
import { entryOf, isForeign } from "../../core/catalog.ts";
import { bodyHashOf, contentHashOf, headerField } from "../../core/chain.ts";
import { decide } from "../../core/decide.ts";
import type { DraftEvent, Refusal } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { Draft, DraftContent } from "../../store/port.ts";
import type { Redactor } from "../../core/secret/redactor.ts";
import { checkHolder, checkMeant, learnNamed, vocabulary } from "./redact.ts";
import type { World } from "../world.ts";
import { blobField } from "../read/content.ts";

/** Drafts ready for a store, and the blobs that must be stored before them. */
export interface SealedDrafts {
  readonly drafts: readonly Draft[];
  readonly blobs: readonly { readonly hash: string; readonly bytes: Uint8Array }[];
  /** The events as they are stored: without secrets. */
  readonly events: readonly DraftEvent[];
  /** True when secrets were removed. */
  readonly redacted: boolean;
}

/**
 * Decides and seals. When a secret was removed from a content, decides again on a command without it, so that
 * the digests and sizes in bodies match what is stored.
 */
export function decideSealed(
  world: World,
  state: State,
  command: Command,
  options: { readonly facts: Facts; readonly key: string | null },
): SealedDrafts | { readonly refusal: Refusal } {
  const { facts, key } = options;
  const decision = decide(state, command, facts);
  if (!decision.ok) return decision;
  const sealed = seal(world, decision.drafts, { actor: facts.actor, key });
  if (!sealed.redacted || world.redactor === undefined) return sealed;
  const again = decide(state, world.redactor.json(command), facts);
  return again.ok ? seal(world, again.drafts, { actor: facts.actor, key }) : again;
}

/** A caller's key in the form that a record carries. */
export const recordKey = ({ digest }: Pick<World, "digest">, tenant: string, key: string): string =>
  digest("", `${tenant}\n${key}`).slice(0, 32);

export function seal(
  world: World,
  events: readonly DraftEvent[],
  options: { readonly actor: string; readonly key: string | null },
): SealedDrafts {
  const blobs: { hash: string; bytes: Uint8Array }[] = [];
  const stored: DraftEvent[] = [];
  for (const { type, content } of events) {
    if (type === "resource.bound") learnNamed(world, (content as { secrets?: unknown } | undefined)?.secrets);
  }
  const drafts = events.map((given, place): Draft => {
    const before = blobs.length;
    const v = checkShape(given);
    const { event, text } = withoutSecrets(world, given);
    stored.push(event);
    const body = textOf(`${event.type} body`, event.body, limit.bodyBytesMax);
    if (event.type === "lease.taken") checkHolder(world, (event.body as { readonly holder: string }).holder);
    if (world.redactor !== undefined) checkBody(world.redactor, event.type, body.text);
    const content = text === null ? null : sealContent(world, event, text, blobs);
    return {
      type: event.type,
      v,
      actor: checkActor(event.actor ?? options.actor),
      turn: event.turn ?? null,
      cause: event.cause ?? null,
      key: place === 0 ? options.key : null,
      body: body.text,
      bodyHash: bodyHashOf(world.digest, body.text),
      content,
      blobs: blobsOf(event, blobs.slice(before)),
    };
  });
  const redacted = stored.some((event, place) => event !== events[place]);
  return { drafts: identifiable(world, drafts), blobs, events: stored, redacted };
}

/** The event without secrets in its content, and that content as JSON; unchanged when it held none. */
function withoutSecrets(
  world: World,
  event: DraftEvent,
): { readonly event: DraftEvent; readonly text: string | null } {
  if (event.content === undefined) return { event, text: null };
  checkJson(event.type, event.content);
  const text = JSON.stringify(event.content);
  const clean = world.redactor === undefined ? text : cleanText(world.redactor, event, text);
  if (clean === text) return { event, text };
  if (world.redactor !== undefined) checkMeaning(world.redactor, event);
  const safe = { ...event, content: JSON.parse(clean) as unknown };
  checkShape(safe);
  return { event: safe, text: clean };
}

/** The part of these events that rules calls, messages or sessions. */
const heldTo: Readonly<Record<string, { readonly what: string; readonly part: string }>> = {
  "policy.set": { what: "a policy", part: "policy" },
  "contract.declared": { what: "a contract", part: "schema" },
  "permission.set": { what: "the pattern of a permission", part: "pattern" },
  "trigger.set": { what: "a trigger", part: "spec" },
};

/** Without the secret it would silently mean something else: it is refused. */
function checkMeaning(redactor: Redactor, { type, content }: DraftEvent): void {
  const held = heldTo[type];
  if (held === undefined) return;
  checkMeant(redactor, held.what, (content as Readonly<Record<string, unknown>>)[held.part]);
}

/** The key of an item names its value as a field does: `db_password` holds no plain word. */
function cleanText(redactor: Redactor, event: DraftEvent, text: string): string {
  const clean = redactor.jsonText(text);
  const { key } = (event.body ?? {}) as { readonly key?: unknown };
  const { value } = (event.content ?? {}) as { readonly value?: unknown };
  if (typeof key !== "string" || typeof value !== "string") return clean;
  const content = JSON.parse(clean) as { readonly value: string };
  const field = { [key]: content.value };
  const safe = redactor.json(field);
  return safe === field ? clean : JSON.stringify({ ...content, value: Object.values(safe)[0] });
}

/** The engine fills their bodies, not a caller: no run fails because a host is named like a secret. */
const ofProgram = /^(?:lease|model|turn|zone)\./;

/** They name existing things: a secret that got in early can be lifted, and its session deleted. */
const undoing: ReadonlySet<string> = new Set([
  "hold.lifted",
  "item.retracted",
  "memory.forgotten",
  "resource.unbound",
  "trigger.removed",
]);

/**
 * Bodies are never erased, and their names are searched: a secret in one is refused, and so is an
 * unmistakable token.
 */
function checkBody(redactor: Redactor, type: string, text: string): void {
  if (undoing.has(type)) return;
  const secretOf = (one: string): string | null => redactor.registeredIn(one) ?? redactor.sureIn(one);
  if (ofProgram.test(type) || secretOf(text) === null) return;
  // Checks only what a caller gave: a word of the catalog may be anyone's password.
  const given = leavesOf(JSON.parse(text)).filter((leaf) => !vocabulary().has(leaf));
  const name = given.map(secretOf).find((found) => found !== null);
  if (name === undefined) return;
  throw new SkeinError("invalid", `${type}: a key contains the secret ${name}`, {
    hint: "keys, names, labels and topics are not redacted; put the secret into a value",
  });
}

/**
 * The blob that holds the content, and those that its blocks name. Foreign events (`x.`) define their own
 * blocks.
 */
function blobsOf(event: DraftEvent, kept: readonly { readonly hash: string }[]): readonly string[] {
  const { blocks } = (isForeign(event.type) ? {} : (event.content ?? {})) as {
    readonly blocks?: readonly { readonly blob?: unknown }[];
  };
  const named = blocks?.some(({ blob }) => blob !== undefined) === true ? blocks : [];
  if (kept.length === 0 && named.length === 0) return none;
  const hashes = named.flatMap(({ blob }) => (typeof blob === "string" ? [blob] : []));
  return [...new Set([...kept.map(({ hash }) => hash), ...hashes])];
}

const none: readonly string[] = [];

/**
 * A writer that lost the answer must recognize its own record: by a content's salted hash, or else by a key.
 */
function identifiable(world: World, drafts: readonly Draft[]): readonly Draft[] {
  const first = drafts[0];
  if (first === undefined || first.key !== null || first.content !== null) return drafts;
  return [{ ...first, key: world.salt() }, ...drafts.slice(1)];
}

/** The version to write, after body and content were validated against the catalog. */
function checkShape({ type, body, content }: DraftEvent): number {
  const entry = entryOf(type);
  if (entry === undefined) {
    if (isForeign(type)) return 1;
    throw new SkeinError("invalid", `append: type: unknown event type "${type}"`, {
      hint: "see docs/event-catalog.md",
    });
  }
  checkPart(`${type} body`, entry.body, body);
  checkPart(type, entry.content, content);
  return entry.written?.(content, body) ?? entry.v;
}

function checkPart(what: string, schema: z.ZodType, value: unknown): void {
  const checked = schema.safeParse(value);
  if (checked.success) return;
  const issue = checked.error.issues[0];
  const inner = issue?.code === "invalid_key" ? issue.issues[0] : issue;
  const path = issue === undefined || issue.path.length === 0 ? "" : ` at "${issue.path.join(".")}"`;
  throw new SkeinError("invalid", `${what}${path}: ${inner?.message ?? "does not match the event catalog"}`, {
    hint: "see docs/event-catalog.md for its fields",
    cause: checked.error,
  });
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...leavesOf(one)]);
}

function textOf(
  what: string,
  value: unknown,
  bytesMax: number,
): { readonly text: string; readonly bytes: number } {
  checkJson(what, value);
  return fitting(what, JSON.stringify(value), bytesMax);
}

function fitting(
  what: string,
  text: string,
  bytesMax: number,
): { readonly text: string; readonly bytes: number } {
  // A getter may have returned another value than the validated one.
  if (text.includes("\\u") && /\\u(?:0000|d[89a-f])/.test(text)) checkJson(what, JSON.parse(text));
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMax) {
    throw new SkeinError("invalid", `${what}: expected at most ${bytesMax} bytes, got ${bytes}`, {
      hint: "shorten it, or split it over several records",
    });
  }
  return { text, bytes };
}

function sealContent(
  world: World,
  event: DraftEvent,
  json: string,
  blobs: { hash: string; bytes: Uint8Array }[],
): DraftContent {
  if (typeof event.content === "object" && event.content !== null && blobField in event.content) {
    throw new SkeinError("invalid", `${event.type}: "${blobField}" is reserved for blob references`);
  }
  const isDocument = event.type === "document.loaded";
  const bytesMax = isDocument ? limit.documentContentBytesMax : limit.contentBytesMax;
  const whole = fitting(event.type, json, bytesMax);
  const { text, bytes } =
    whole.bytes <= limit.contentInlineBytesMax ? whole : reference(world, whole.text, blobs);
  const salt = world.salt();
  return { text, bytes, salt, hash: contentHashOf(world.digest, salt, text) };
}

function reference(world: World, text: string, blobs: { hash: string; bytes: Uint8Array }[]) {
  const bytes = Buffer.from(text);
  const hash = world.hashBytes(bytes);
  blobs.push({ hash, bytes });
  const short = JSON.stringify({ [blobField]: { sha256: hash, bytes: bytes.length } });
  return { text: short, bytes: Buffer.byteLength(short) };
}

const actorForms = [
  /^user:prn_[0-9a-z]{26}$/,
  /^agent:[a-z0-9][a-z0-9._-]{0,63}@\d{1,9}$/,
  /^tool:[A-Za-z0-9_.:/-]{1,128}$/,
  /^session:ses_[0-9a-z]{26}$/,
  /^system$/,
];

/** Pure cache of actors whose form was validated: few act, and often. */
const checkedActors = makeCache<string, true>(500);

export function checkActor(actor: string): string {
  if (checkedActors.get(actor) === true) return actor;
  if (headerField.test(actor) && actorForms.some((form) => form.test(actor))) {
    checkedActors.set(actor, true);
    return actor;
  }
  throw new SkeinError("invalid", `actor: expected an actor, got ${JSON.stringify(actor)}`, {
    hint: 'for example "user:prn_…", "agent:name@1", "tool:name" or "system"',
  });
}
