/**
 * What a session of a project starts with: the project's objective, instructions and constraints, and its
 * items beside what it remembers.
 */
import { roughTokens } from "../../core/context/token-count.ts";
import { SkeinError } from "../../core/error.ts";
import { isProjectId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { kindRank } from "../../core/item/kind.ts";
import { limit } from "../../core/limit.ts";
import { memoryLine, type CarriedEntry } from "../../core/memory/choice.ts";
import { present } from "../../core/present.ts";
import type { LoadedDocument, OpenOptions } from "../../core/session/commands.ts";
import type { Deps } from "../deps.ts";
import { shortId } from "../../core/text/short-id.ts";
import { safeText } from "../log/redact.ts";
import { findProject } from "../project/project-reader.ts";
import { assertTakesSessions } from "../project/project-status.ts";
import { copyError } from "../project/change.ts";
import { itemsOf, journalOf, openingOf } from "../project/projects.ts";
import { projectEntry } from "../context/project-news.ts";
import { carriedFor, type CarryAsked } from "./memory-selection.ts";

/** The project that a session is opened in, with its texts before those of the session. */
export async function projectStart(
  deps: Deps,
  { project: named, instructions, constraints = [] }: OpenOptions,
): Promise<Pick<OpenOptions, "project" | "instructions" | "constraints" | "agent">> {
  if (named === undefined) return {};
  const project = await findProject(deps.projects, named);
  await deps.projects.read(project);
  if ((await deps.store.head(project))?.copy === true) throw copyError(project);
  await assertTakesSessions(deps, project, "open");
  const opened = await openingOf(deps, project);
  const goal = opened === undefined ? undefined : `This session is part of a project: ${opened.objective}`;
  const texts = [goal, opened?.instructions, instructions].filter((text) => text !== undefined);
  const rules = [...(opened?.constraints ?? []), ...constraints];
  const { agent } = (await deps.projects.read(project)).state.plan;
  return {
    project,
    ...present({ agent: agent ?? undefined }),
    ...(texts.length === 0 ? {} : { instructions: texts.join("\n\n") }),
    ...(rules.length === 0 ? {} : { constraints: [...new Set(rules)] }),
  };
}

/** Throws where the project names the agents that may work on it, and this is none of them. */
export async function assertAgent(
  deps: Deps,
  project: string | null | undefined,
  agent: string | undefined,
): Promise<void> {
  if (project === null || project === undefined || !isProjectId(project)) return;
  if ((await deps.store.head(project)) === undefined) return;
  const { agents } = (await deps.projects.read(project)).state.plan;
  const isNamed = agents.some((one) => one.replace(/@\d+$/, "") === agent);
  if (agents.length === 0 || isNamed) return;
  throw new SkeinError(
    "refused",
    `open: agent: the project works with ${agents.join(", ")}, got ${agent ?? "no agent"}`,
    { hint: '"skein project set ID --agents NAME" adds one' },
  );
}

/** The end of the project's journal as a document, the newest entry first; none if it is empty. */
export async function journalDocument(
  deps: Deps,
  project: string | undefined,
): Promise<readonly LoadedDocument[]> {
  if (project === undefined || !isProjectId(project)) return [];
  if ((await deps.store.head(project)) === undefined) return [];
  const { seq } = await deps.projects.read(project);
  const notes = await journalOf(deps.store, project, seq);
  const lines: string[] = [];
  let left: number = limit.journalTokensMax;
  for (const { at, text, session } of notes.toReversed()) {
    if (text === null) continue;
    const by = session === null ? "" : ` (${shortId(session)})`;
    const line = `- ${new Date(at).toISOString()}${by}: ${text.replaceAll("\n", "\n  ")}`;
    left -= roughTokens(line);
    if (left < 0) break;
    lines.push(line);
  }
  if (lines.length === 0) return [];
  const text = safeText(
    deps.world,
    `The journal of the project, the newest entry first:\n\n${lines.join("\n")}\n`,
  );
  const bytes = Buffer.byteLength(text);
  return [{ kind: "file", path: journalPath(project), text, digest: deps.world.digest("", text), bytes }];
}

/** It stands for no file. */
export const journalPath = (project: string): string => `journal of ${project}`;

/** What it remembers, and the items of its project before that. */
export async function carriedInProject(
  deps: Deps,
  { project, ...asked }: CarryAsked & { readonly project: string | null | undefined },
): Promise<CarriedMemory | null> {
  const { items: own, upTo: projectUpTo } = await projectEntries(deps, project);
  const carried = await carriedFor(deps, asked);
  if (own.length === 0) return carried;
  const tokens = own.reduce((sum, entry) => sum + roughTokens(memoryLine(entry)), 0);
  return {
    ...carried,
    projectUpTo,
    items: [...own, ...(carried?.items ?? [])],
    tokens: tokens + (carried?.tokens ?? 0),
  };
}

/** The items that fit, the most important kinds first, the newest first in each. */
async function projectEntries(
  deps: Deps,
  project: string | null | undefined,
): Promise<{ readonly items: readonly CarriedEntry[]; readonly upTo: number }> {
  const none = { items: [], upTo: 0 };
  if (project === null || project === undefined || !isProjectId(project)) return none;
  if ((await deps.store.head(project)) === undefined) return none;
  const { state, seq: upTo } = await deps.projects.read(project);
  const items = (await itemsOf(deps, project, state)).filter(({ erased }) => !erased);
  const entries: CarriedEntry[] = [];
  let left: number = limit.projectTokensMax;
  for (const item of items.toSorted(
    (a, b) => kindRank(a.kind, a.status) - kindRank(b.kind, b.status) || b.seq - a.seq,
  )) {
    const entry = projectEntry(item);
    const tokens = roughTokens(memoryLine(entry));
    if (tokens > left) continue;
    left -= tokens;
    entries.push(entry);
  }
  return { items: entries, upTo };
}
