/**
 * What a session of a project starts with: the project's objective, instructions and constraints, and its
 * items beside what it remembers.
 */
import { roughTokens } from "../../core/context/token-count.ts";
import { isProjectId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { kindRank } from "../../core/item/kind.ts";
import { limit } from "../../core/limit.ts";
import { memoryLine, type CarriedEntry } from "../../core/memory/choice.ts";
import type { OpenOptions } from "../../core/session/commands.ts";
import type { Deps } from "../deps.ts";
import { findProject } from "../project/project-reader.ts";
import { assertTakesSessions } from "../project/project-status.ts";
import { itemsOf, openingOf } from "../project/projects.ts";
import { projectEntry } from "../context/project-news.ts";
import { carriedFor, type CarryAsked } from "./memory-selection.ts";

/** The project that a session is opened in, with its texts before those of the session. */
export async function projectStart(
  deps: Deps,
  { project: named, instructions, constraints = [] }: OpenOptions,
): Promise<Pick<OpenOptions, "project" | "instructions" | "constraints">> {
  if (named === undefined) return {};
  const project = await findProject(deps.projects, named);
  await deps.projects.read(project);
  await assertTakesSessions(deps, project, "open");
  const opened = await openingOf(deps, project);
  const goal = opened === undefined ? undefined : `This session is part of a project: ${opened.objective}`;
  const texts = [goal, opened?.instructions, instructions].filter((text) => text !== undefined);
  const rules = [...(opened?.constraints ?? []), ...constraints];
  return {
    project,
    ...(texts.length === 0 ? {} : { instructions: texts.join("\n\n") }),
    ...(rules.length === 0 ? {} : { constraints: [...new Set(rules)] }),
  };
}

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
