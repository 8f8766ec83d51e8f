/**
 * Templates: set, listed, fired. A firing and the session that it opens are one append, decided on the
 * workspace's log, so that each cause opens one session whichever worker notices it.
 */
import { readRecords } from "../read/record-pages.ts";
import type { OpenOptions } from "../../core/session/commands.ts";
import { resolve } from "node:path";
import type { StoredRecord } from "../../core/chain.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { emptyState } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import {
  foldTemplate,
  mayFire,
  templateFired,
  templateSet,
  templateTypes,
  type TemplateCause,
  type TemplateRef,
} from "../../core/trigger/template.ts";
import {
  checkMissed,
  checkTrigger,
  checkTriggerName,
  storedTrigger,
  type TriggerSpec,
} from "../../core/trigger/trigger.ts";
import type { Part } from "../../store/port.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { absolute, prepareOpening } from "../branch/bootstrap.ts";
import { readContent } from "../read/content.ts";
import type { Deps, EngineState } from "../deps.ts";
import { makeWorkspaceHeadReader } from "../read/known-heads.ts";
import { checkOpen } from "../options.ts";
import { decideSealed, recordKey, seal } from "../log/seal.ts";
import { indexEntry } from "../log/session-index.ts";
import { refused } from "../log/writer-errors.ts";
import { writeOnce, writeWorkspace, writtenBefore } from "../log/workspace-log.ts";
import { causeKey, timesToFire, timeText } from "./fire.ts";
import type { Cause } from "./source.ts";
import { isTimeSpec } from "./times.ts";
import { prepareTrigger, type TriggerOptions } from "./triggers.ts";

/** Options of `engine.trigger`: the session to open when it fires. */
export interface TemplateOptions extends TriggerOptions {
  /** Options of each opened session. Relative paths are resolved when the template is set. */
  readonly open: OpenOptions & { readonly objective: string };
}

/** The current state of a template. */
export interface TriggerTemplate extends Omit<TemplateRef, "fired"> {
  /** Null when it was erased, or a newer program wrote it: then it does not fire. */
  readonly spec: TriggerSpec | null;
  readonly open: TemplateOptions["open"] | null;
  readonly fired: { readonly at: number; readonly opened: string | null } | null;
}

type Refs = ReadonlyMap<string, TemplateRef>;
export interface FoldedTemplates {
  readonly refs: Refs;
  readonly headSeq: number;
  readonly headHash: string;
  readonly times: number;
}

/** The templates at the head of the workspace's log. An engine keeps them, and reads only new records. */
export async function foldedTemplates({ store, writer, shared }: TemplateDeps): Promise<FoldedTemplates> {
  const { workspace } = writer ?? { workspace: makeWorkspaceHeadReader(store) };
  const { seq: headSeq, hash: headHash, times } = await workspace.read();
  const last = shared?.templates;
  const before = last?.times === times ? last : undefined;
  if (before?.headSeq === headSeq) return before;
  const refs = new Map(before?.refs);
  const range = [(before?.headSeq ?? 0) + 1, headSeq] as const;
  for await (const record of readRecords(store, store.workspace, range, { types: [...templateTypes] }))
    foldTemplate(refs, { ...record, body: JSON.parse(record.body) as unknown });
  const folded = { refs, headSeq, headHash, times };
  // Two may read at once; the later state stays.
  const other = shared?.templates;
  if (shared && (other?.times !== times || other.headSeq <= headSeq)) shared.templates = folded;
  return folded;
}

/** Another store, such as the destination of a move, has no state of the engine. */
type TemplateDeps = Pick<Deps, "store"> &
  Partial<Pick<Deps, "writer">> & { readonly shared?: Pick<EngineState, "templates"> };

/** The template, and the token of a webhook, which is shown only once. */
export interface SetTemplate {
  readonly template: TriggerTemplate;
  readonly token: string | null;
}

/** Sets a template, or replaces the one of this name. Prepares the session once, to validate it. */
export async function setTemplate(
  deps: Deps,
  name: string,
  given: TriggerSpec,
  options: TemplateOptions,
): Promise<SetTemplate> {
  checkTriggerName(name);
  const where = `trigger ${quote(name)}`;
  const missed = checkMissed(options.missed, where);
  const spec = checkTrigger(given, where);
  if (spec.kind === "message") {
    throw new SkeinError("invalid", `${where}: kind: "message" requires an existing session`, {
      hint: "set the trigger on a session",
    });
  }
  const open = openingOf(options.open, where);
  // Its time may have passed since, and what it watches or opens may be missing.
  const done = spec.kind === "webhook" ? null : await writtenBefore(deps);
  if (done !== null) return { template: await templateIn(deps, done), token: null };
  const { bind = [] } = await prepareOpening(deps, open);
  const wanted = { name, spec, where, bindings: bind, session: null, owner: deps.store.workspace };
  for (let times = 1; ; times++) {
    const { setting, token } = await prepareTrigger(deps, wanted);
    const event = templateSet({ ...setting, ...(missed === undefined ? {} : { missed }) }, open);
    const before = await writeTemplate(asTheNth(deps, times), name, event);
    const { refs } = await foldedTemplates(deps);
    if (before === null) return { template: await templateOf(deps, name), token };
    const isThere = refs.get(name)?.seq === before.seq;
    // A removed or replaced one is not set again. Otherwise a new token replaces the lost one.
    const isLast = !isThere && (await writtenBefore(asTheNth(deps, times + 1))) === null;
    if (token === null || isLast) return { template: await templateIn(deps, before), token: null };
  }
}

/** The same call under the key by which it sets a webhook for the nth time, each with another token. */
function asTheNth(deps: Deps, times: number): Deps {
  const { once, world } = deps;
  if (once === undefined || times === 1) return deps;
  return { ...deps, once: recordKey(world, deps.tenant, `${once}/${times}`) };
}

/** The earlier record of this very call, if any. */
async function writeTemplate(deps: Deps, name: string, event: DraftEvent): Promise<StoredRecord | null> {
  const text = JSON.stringify(event.content);
  const startSeq = (await foldedTemplates(deps)).headSeq;
  return writeOnce(deps, async (headSeq) => {
    const { refs } = await foldedTemplates(deps);
    const before = refs.get(name);
    if (before === undefined && refs.size >= limit.templatesMax) {
      throw new SkeinError("refused", `a workspace has at most ${limit.templatesMax} templates`, {
        hint: "remove one first",
      });
    }
    // After a lost answer: this very call wrote it.
    const isOwn = before !== undefined && before.seq > startSeq && before.seq <= headSeq;
    if (isOwn && JSON.stringify(await readContent(deps.store, deps.store.workspace, before.seq)) === text)
      return [];
    return [event];
  });
}

/** The validated options, with absolute paths. */
function openingOf(open: TemplateOptions["open"], where: string): TemplateOptions["open"] {
  if (typeof open !== "object" || open === null) {
    throw new SkeinError("invalid", `${where}: open: missing`, {
      hint: 'for example { open: { objective: "Read the news" } }',
    });
  }
  checkOpen(open);
  const { bind, files } = open;
  // An older program would open its sessions with the shell and without the sandbox.
  if (bind?.some(({ sandbox }) => sandbox === true) === true) {
    throw new SkeinError("invalid", `${where}: bind: a template cannot have a sandboxed shell`, {
      hint: "open a session with the sandbox, and set the trigger on it",
    });
  }
  return {
    ...open,
    ...(bind === undefined ? {} : { bind: bind.map(absolute) }),
    ...(files === undefined ? {} : { files: files.map((file) => resolve(file)) }),
  };
}

export async function removeTemplate(deps: Deps, name: string): Promise<void> {
  let asked = false;
  await writeOnce(deps, async () => {
    const { refs } = await foldedTemplates(deps);
    if (refs.has(name)) {
      asked = true;
      return [{ type: "trigger.removed", body: { name } }];
    }
    // After a lost answer: this very call removed it.
    if (asked) return [];
    throw noTemplate(name, refs);
  });
}

function noTemplate(name: string, refs: Refs): SkeinError {
  const near = nearest(name, [...refs.keys()]);
  return new SkeinError("not-found", `there is no template ${quote(name)}`, {
    hint: near === undefined ? '"skein trigger list" lists the templates' : `did you mean ${quote(near)}?`,
  });
}

/** All of them, by name. */
export async function listTemplates(deps: Deps): Promise<TriggerTemplate[]> {
  const { refs } = await foldedTemplates(deps);
  const all = [...refs.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(all.map((ref) => withContent(deps, ref)));
}

async function templateOf(deps: Deps, name: string): Promise<TriggerTemplate> {
  const { refs } = await foldedTemplates(deps);
  const ref = refs.get(name);
  if (ref === undefined) throw noTemplate(name, refs);
  return withContent(deps, ref);
}

/** The current template if this record set it, or else the one that it set. */
async function templateIn(deps: Deps, record: StoredRecord): Promise<TriggerTemplate> {
  const set = new Map<string, TemplateRef>();
  foldTemplate(set, { ...record, body: JSON.parse(record.body) as unknown });
  const [first] = set.values();
  if (first === undefined) throw new Error("invariant: a template was set by this record");
  const now = (await foldedTemplates(deps)).refs.get(first.name);
  return withContent(deps, now?.seq === first.seq ? now : first);
}

/** A template with its current content in the store. */
export async function withContent(
  { store }: Pick<Deps, "store">,
  ref: TemplateRef,
): Promise<TriggerTemplate> {
  const content = (await readContent(store, store.workspace, ref.seq)) as
    | { readonly spec?: unknown; readonly open?: TemplateOptions["open"] }
    | undefined;
  return {
    ...ref,
    spec: content === undefined ? null : storedTrigger(content.spec),
    open: content?.open ?? null,
  };
}

/** Fires a template by hand. Returns the session that it opened; once for each key of a caller. */
export async function fireTemplateNow(deps: Deps, name: string, text?: string): Promise<SessionId> {
  const before = await madeBefore(deps);
  if (before !== null) return before;
  const template = await templateOf(deps, name);
  const input = text ?? `Trigger "${name}" was fired by hand.`;
  const occurrence = Buffer.from(deps.world.random(16)).toString("hex");
  const digest = template.lastCause ?? deps.world.digest("", occurrence);
  const opened = await fireTemplate(deps, template, { digest, once: occurrence, text: input });
  if (opened !== null) return opened;
  throw new SkeinError("conflict", `the template ${quote(name)} was changed in the meantime`);
}

type Firing = Cause & { readonly dueMs?: number; readonly nextMs?: number };

/** Opens a session for a cause, unless one was already opened for it: then null. */
export async function fireTemplate(
  deps: Deps,
  { name, seq: setSeq, open, actor }: Pick<TriggerTemplate, "name" | "seq" | "open" | "actor">,
  { once, text, ...cause }: Firing,
): Promise<SessionId | null> {
  const { store, world, writer } = deps;
  if (open === null) return null;
  // On behalf of the person who set it, with that person's memory.
  const opening = await prepareOpening({ ...deps, actor }, open);
  const session = await freshSessionId(deps);
  const key = once === undefined ? null : keyOf(deps, { name, setSeq }, once);
  const command = { do: "open", workspace: store.workspace, ...opening, firstInput: text } as const;
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = decideSealed(world, emptyState, command, { facts, key: null });
  if ("refusal" in sealed) throw refused(sealed.refusal);
  const index = await indexEntry(store, session, emptyState, sealed.events);
  const begun: Part = { session, expect: "absent", drafts: sealed.drafts, index };
  for (let tries = 0, lost = 0; tries < limit.conflictRetriesMax; tries++) {
    const { refs, headSeq, headHash } = await foldedTemplates(deps);
    // After a lost or late answer: this very call opened it.
    const isOpened = async (): Promise<boolean> => tries > 0 && (await store.head(session)) !== undefined;
    if (await isOpened()) return session;
    const template = refs.get(name);
    const wanted: TemplateCause = { ...cause, name, setSeq };
    const isDone = key !== null && (await store.keyed(store.workspace, key)) !== undefined;
    if (isDone || !mayFire(template, wanted)) return (await isOpened()) ? session : null;
    const fired = seal(world, [templateFired(template, wanted, session)], { actor: "system", key });
    const firing: Part = {
      session: store.workspace,
      expect: { seq: headSeq, hash: headHash },
      drafts: fired.drafts,
    };
    try {
      for (const { hash, bytes } of [...sealed.blobs, ...fired.blobs]) await store.putBlob(hash, [bytes]);
      await writer.commit([firing, begun]);
      return session;
    } catch (error) {
      if (!(error instanceof SkeinError)) throw error;
      if (error.code === "unknown" && lost < limit.unknownRetriesMax) {
        await world.sleep(Math.min(10 * 2 ** lost, 1_000));
        lost += 1;
      } else if (error.code !== "conflict") throw error;
    }
  }
  throw new SkeinError("conflict", "the workspace changes too often; retries exhausted");
}

const keyOf = (deps: Deps, trigger: Parameters<typeof causeKey>[1], once: string): string =>
  deps.world.digest("", causeKey(deps, trigger, once)).slice(0, 32);

/** The session that a template opened for an occurrence; undefined when it opened none. */
export async function openedFor(
  deps: Deps,
  { name, seq }: Pick<TriggerTemplate, "name" | "seq">,
  once: string,
): Promise<SessionId | undefined> {
  const { store } = deps;
  const at = await store.keyed(store.workspace, keyOf(deps, { name, setSeq: seq }, once));
  if (at === undefined) return undefined;
  const [record] = await store.read(store.workspace, { fromSeq: at, toSeq: at, limit: 1, contents: false });
  return record === undefined ? undefined : (JSON.parse(record.body) as { opened?: SessionId }).opened;
}

/** Retries with exponential backoff what cannot be opened now. */
export interface RetryDelays {
  readonly failed: Map<number, { readonly times: number; readonly untilMs: number }>;
}

const pauseMs = 1_000;
const pauseMsMax = 300_000;

/** Fires due templates. Resolves to when one is due next; null when none is. */
export async function fireDueTemplates(
  deps: Deps,
  { failed }: RetryDelays,
  trouble: (text: string) => void,
): Promise<number | null> {
  const { store } = deps;
  let next = Infinity;
  for (;;) {
    const { refs } = await foldedTemplates(deps);
    const timed = [...refs.values()].filter(({ nextMs }) => nextMs !== null);
    const wait = ({ seq, nextMs }: TemplateRef): number =>
      Math.max(nextMs ?? Infinity, failed.get(seq)?.untilMs ?? 0);
    const due = timed.find((ref) => wait(ref) <= store.now());
    next = Math.min(Infinity, ...timed.map(wait));
    if (due === undefined) return next === Infinity ? null : next;
    try {
      await fireTime(deps, due);
      failed.delete(due.seq);
    } catch (error) {
      const times = (failed.get(due.seq)?.times ?? 0) + 1;
      const untilMs = store.now() + Math.min(pauseMsMax, pauseMs * 2 ** (times - 1));
      failed.set(due.seq, { times, untilMs });
      const why = errorText(error);
      if (times === 1) trouble(`template ${quote(due.name)} opened nothing: ${why}`);
    }
  }
}

async function fireTime(deps: Deps, ref: TemplateRef): Promise<void> {
  const { name, seq, nextMs: dueMs, missed } = ref;
  const { spec, open } = await withContent(deps, ref);
  if (dueMs === null) return;
  if (spec === null || open === null || !isTimeSpec(spec))
    return passOver(deps, ref, { count: 1, nextMs: null });
  const decided = timesToFire(spec, missed, dueMs, deps.store.now());
  const { at, count, nextMs } = decided;
  if (decided.skip) return passOver(deps, ref, { count, nextMs });
  const cause = {
    digest: deps.world.digest("", `${name}\n${at}`),
    dueMs,
    ...(nextMs === null ? {} : { nextMs }),
    ...(count > 1 ? { count } : {}),
    text: timeText(name, spec, { at, count }),
  };
  await fireTemplate(deps, { name, seq, open, actor: ref.actor }, cause);
}

async function passOver(
  deps: Deps,
  { name, seq, nextMs: dueMs }: TemplateRef,
  { count, nextMs }: { readonly count: number; readonly nextMs: number | null },
): Promise<void> {
  await writeWorkspace({ ...deps, actor: "system" }, async () => {
    const now = (await foldedTemplates(deps)).refs.get(name);
    if (now?.seq !== seq || now.nextMs !== dueMs || dueMs === null) return [];
    const next = nextMs === null ? {} : { nextMs };
    return [{ type: "trigger.skipped", body: { name, dueMs, count, ...next } }];
  });
}
