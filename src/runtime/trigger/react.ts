/**
 * Changed sources: documents and bindings that are watched without a trigger of their own (core/trigger,
 * `reactions`). A change is marked, or its diff goes into the context, or it wakes the session as well. The
 * watch is a trigger, so each change counts once, whoever sees it.
 */
import { basename, resolve } from "node:path";
import type { CommandOf } from "../../core/command.ts";
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { unifiedDiff } from "../../core/text/text-diff.ts";
import type { ReloadedDocument } from "../../core/trigger/commands.ts";
import type { Reaction, TriggerSpec } from "../../core/trigger/trigger.ts";
import { ifMissing, loadDocument } from "../branch/load-document.ts";
import { changedBefore } from "../log/request-scope.ts";
import type { Change } from "../log/writer.ts";
import { readBindings } from "../read/bindings.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { specOf } from "./fire.ts";
import type { Cause } from "./source.ts";
import { prepareTrigger } from "./triggers.ts";

/** A document that the session stands on. */
interface KnownDocument {
  readonly kind: "agents-md" | "file";
  readonly path: string;
  readonly digest: string;
  readonly text: string;
}

type Reacted = Pick<CommandOf<"fire">, "react" | "documents" | "note" | "text">;

/** What the firing of a trigger does besides; empty for one that is no watch of a source. */
export async function reactionTo(
  deps: Deps,
  session: SessionId,
  { name, setSeq }: { readonly name: string; readonly setSeq: number },
  { text }: Cause,
): Promise<Partial<Reacted>> {
  const state = await deps.writer.current(session);
  const trigger = state.standing.triggers.get(name);
  if (trigger?.seq !== setSeq || (trigger.kind !== "file" && trigger.kind !== "resource")) return {};
  const spec = await specOf(deps, session, trigger);
  if ((spec?.kind !== "file" && spec?.kind !== "resource") || spec.onChange === undefined) return {};
  const react = spec.onChange;
  const known = (await documentsOf(deps, session, state)).filter(({ path }) => path === spec.path);
  const words = text.replace(/^Trigger "[^"]*" fired: /, "");
  if (known.length === 0)
    return { react, note: `${words}\nRead again what you use of it.`, text: "A source changed." };
  const documents = await reloaded(deps, known);
  const isGone = documents === null;
  // It was only touched, or is again as it was read.
  if (documents?.length === 0) return { react: "reload" };
  const note = isGone ? `${spec.path ?? "a document"} is gone; what it said may hold no more` : undefined;
  return {
    react,
    text: "A document changed.",
    ...present({ documents: documents ?? undefined, note }),
  };
}

/** Those that say something else now; null if one cannot be read any more. */
async function reloaded(
  deps: Deps,
  known: readonly KnownDocument[],
): Promise<readonly ReloadedDocument[] | null> {
  const documents: ReloadedDocument[] = [];
  for (const { kind, path, digest, text } of known) {
    const now = await loadDocument(deps, kind, path).catch(ifMissing);
    if (now === null) return null;
    if (now.digest === digest) continue;
    documents.push({ ...now, supersedes: digest, diff: unifiedDiff(text, now.text).join("\n") });
  }
  return documents;
}

async function documentsOf(deps: Deps, session: SessionId, { mind }: State): Promise<KnownDocument[]> {
  const documents: KnownDocument[] = [];
  for (const [digest, { kind, seq }] of mind.documents.entries()) {
    if (kind !== "agents-md" && kind !== "file") continue;
    const content = (await readContent(deps.store, session, seq)) as
      | { readonly path?: string; readonly text: string }
      | undefined;
    if (content?.path !== undefined) documents.push({ kind, path: content.path, digest, text: content.text });
  }
  return documents;
}

/** Options of `session.onChange`. */
export interface OnChangeOptions {
  /** How long the source must be unchanged before it counts; by default 300. */
  readonly debounceMs?: number;
}

/** The name of the trigger that watches a source. */
export const watchName = (deps: Pick<Deps, "world">, source: string): string =>
  source.length <= 100
    ? `change ${source}`
    : `change ${basename(source).slice(-60)} ${deps.world.digest("", source).slice(0, 8)}`;

/** Watches a document or a binding; `ignore` ends it. */
export async function setOnChange(
  deps: Deps,
  session: SessionId,
  source: string,
  react: Reaction | "ignore",
  options: OnChangeOptions,
): Promise<Change> {
  const { writer, actor, world } = deps;
  const done = await changedBefore(deps, session);
  if (done !== null) return done;
  const state = await writer.current(session);
  const name = watchName(deps, source);
  if (react === "ignore") return writer.change(session, { do: "untrigger", name }, { actor });
  const known = await findDocument(deps, session, state, source);
  const bindings = await readBindings(deps, session, state);
  const bound = bindings.find((one) => one.name === source);
  if (known === null && bound === undefined)
    throw new SkeinError(
      "not-found",
      `onChange: source: expected a document or binding, got ${quote(source)}`,
      {
        hint: '"skein deps ID" lists the documents, "skein state ID" the bindings',
      },
    );
  const watched = present({ onChange: react, debounceMs: options.debounceMs });
  const spec: TriggerSpec =
    bound?.kind === "database"
      ? { kind: "resource", binding: bound.name, ...watched }
      : { kind: "file", path: known?.path ?? bound?.path ?? source, ...watched };
  const own = known === null ? bindings : [{ kind: "file" as const, name: source, path: known.path }];
  const { setting } = await prepareTrigger(deps, {
    name,
    spec,
    where: `onChange ${quote(source)}`,
    bindings: own,
    session,
    owner: session,
  });
  // What changed between the reading and the watching counts too.
  const now = known === null ? null : await loadDocument(deps, known.kind, known.path).catch(ifMissing);
  const isSame = known === null || now?.digest === known.digest;
  const { digest, ...rest } = setting;
  const first = isSame ? present({ digest }) : { digest: world.digest("", `${known.digest} as it was read`) };
  const kept = known === null ? rest.spec : { ...(rest.spec as object), path: known.path };
  return writer.change(session, { do: "trigger", ...rest, spec: kept, ...first }, { actor });
}

/** By its path, or the end of it. */
async function findDocument(
  deps: Deps,
  session: SessionId,
  state: State,
  source: string,
): Promise<KnownDocument | null> {
  const documents = await documentsOf(deps, session, state);
  const whole = resolve(source);
  const exact = documents.find(({ path }) => path === whole || path === source);
  if (exact !== undefined) return exact;
  const [ending, ...more] = documents.filter(({ path }) => path.endsWith(`/${source}`));
  if (more.length > 0)
    throw new SkeinError("invalid", `onChange: source: ${quote(source)} names ${more.length + 1} documents`, {
      hint: "use the whole path",
    });
  return ending ?? null;
}

/** Loads changed documents again, as a person asks: one by its path, or all. */
export async function reloadDocuments(
  deps: Deps,
  session: SessionId,
  source: string | undefined,
): Promise<Change> {
  const { writer, actor } = deps;
  const done = await changedBefore(deps, session);
  if (done !== null) return done;
  const state = await writer.current(session);
  const named = source === undefined ? null : await findDocument(deps, session, state, source);
  if (source !== undefined && named === null)
    throw new SkeinError(
      "not-found",
      `reload: source: expected a document of the session, got ${quote(source)}`,
      {
        hint: '"skein deps ID" lists the documents',
      },
    );
  const documents = await reloaded(deps, named === null ? await documentsOf(deps, session, state) : [named]);
  if (documents === null || documents.length === 0)
    throw new SkeinError("refused", "reload: no document of the session has changed", {
      hint: '"skein deps ID" compares them',
    });
  const paths = new Set(documents.map(({ path }) => path));
  const fresh: string[] = [];
  for (const name of state.standing.stale.keys()) {
    const trigger = state.standing.triggers.get(name);
    const spec = trigger === undefined ? null : await specOf(deps, session, trigger);
    if (spec?.kind === "file" && paths.has(spec.path)) fresh.push(name);
  }
  return writer.change(session, { do: "reload", documents, fresh }, { actor });
}
