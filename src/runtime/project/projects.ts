/**
 * Projects: opened with a log of their own, listed in the workspace's log, and changed by decisions on their
 * state. A change is written only if the log still ends where it was decided.
 */
import { checkCall } from "../../call/check.ts";
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, makeProjectId, type ProjectId, type SessionId } from "../../core/ids.ts";
import type { ItemKind, ItemStatus } from "../../core/item/kind.ts";
import { possibleConflicts, type PossibleConflict } from "../../core/item/possible-conflict.ts";
import { present } from "../../core/present.ts";
import type {
  ProjectCommand,
  ProjectItemRef,
  ProjectOutcome,
  ProjectState,
  ProjectStatus,
} from "../../core/project/project.ts";
import type { Part, Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { seal } from "../log/seal.ts";
import { contentOf, readContent } from "../read/content.ts";
import { findSession } from "../read/find.ts";
import { readRecords } from "../read/record-pages.ts";
import { changeProject, writeOnceIn } from "./change.ts";
import { standingRows, type SessionSummary } from "../read/session-list.ts";
import { findProject, type ReadProject } from "./project-reader.ts";
import { standingOf, type ProjectStanding } from "./project-standing.ts";

/** Options of `engine.openProject`. */
export interface OpenProjectOptions {
  /** The goal that its sessions share. */
  readonly objective: string;
  readonly name?: string;
  /** For the model, in every session of the project. */
  readonly instructions?: string;
  /** Rules that every session of the project keeps. */
  readonly constraints?: readonly string[];
}

/** A project in a list. */
export interface ProjectSummary {
  readonly project: ProjectId;
  /** Null when it was erased. */
  readonly objective: string | null;
  readonly name: string | null;
  readonly status: ProjectStatus;
  readonly outcome: ProjectOutcome | null;
  readonly openedAt: number;
  readonly activeAt: number;
  readonly sessions: number;
  readonly items: number;
  readonly notes: number;
  /** Tickets of its plan, and those that are not done. */
  readonly tickets: { readonly all: number; readonly open: number };
  readonly head: { readonly seq: number; readonly hash: string };
}

/** A project in the list of all, with how its sessions stand. */
export interface ProjectRow extends ProjectSummary, ProjectStanding {}

/** An item of a project with its value. */
export interface ProjectItem extends ProjectItemRef {
  /** Null when it was erased. */
  readonly value: unknown;
  readonly because: string | null;
  readonly erased: boolean;
}

/** An entry of a project's journal. */
export interface ProjectNote {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly session: string | null;
  /** Null when it was erased. */
  readonly text: string | null;
}

/** A project whole: what it is for, what it knows, who works on it. */
export interface ProjectView extends Omit<ProjectSummary, "sessions" | "items" | "notes">, ProjectStanding {
  readonly instructions: string | null;
  readonly constraints: readonly string[];
  /** Ids, in the order in which they joined. */
  readonly sessions: readonly string[];
  readonly items: readonly ProjectItem[];
  /** The sessions of the latest activity, that first. */
  readonly latest: readonly SessionSummary[];
  /** The newest entries of the journal, the latest last. */
  readonly journal: readonly ProjectNote[];
  /** Names of its legal holds. */
  readonly holds: readonly string[];
  /** Items that may contradict each other: one subject under other keys, with other values. */
  readonly conflicts: readonly PossibleConflict[];
}

/** Options of `engine.recordInProject`. */
export interface ProjectRecordOptions {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because?: string;
  readonly status?: ItemStatus;
}

/** Entries of the journal that a view has. */
const journalMax = 100;
/** Sessions that a view has with their current state. */
const latestMax = 20;

/** Opens a project: its first record and its place in the workspace's list are one append. */
export async function openProject(deps: Deps, options: OpenProjectOptions): Promise<ProjectSummary> {
  checkCall("engine.openProject", options);
  const { store, world, writer, actor, once = null } = deps;
  if (options.objective.trim() === "") {
    throw new SkeinError("invalid", "project open: objective: missing", {
      hint: "state the project's goal in a sentence",
    });
  }
  const { name, constraints, ...rest } = options;
  const has = name === undefined ? ["objective"] : ["objective", "name"];
  const content = present({ ...rest, name, constraints: constraints && [...constraints] });
  const opened: DraftEvent = { type: "project.opened", body: { workspace: store.workspace, has }, content };
  const id = makeProjectId({ nowMs: world.now(), random: world.random(10) });
  const listed = seal(world, [{ type: "project.listed", body: { project: id } }], { actor, key: once });
  const { drafts, blobs } = seal(world, [opened], { actor, key: null });
  const before = await writeOnceIn(deps, store.workspace, async () => {
    const { seq, hash } = await writer.workspace.read();
    const expect = seq === 0 ? "absent" : { seq, hash };
    const list: Part = { session: store.workspace, expect, drafts: listed.drafts };
    return { parts: [list, { session: id, expect: "absent", drafts }], blobs };
  });
  if (before === null) return summaryNow(deps, id);
  // Opened by an earlier call with this key: as it was then.
  const { project } = JSON.parse(before.body) as { project: ProjectId };
  const [first] = await store.read(project, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  if (first === undefined) throw new Error("invariant: a listed project has a log");
  return summaryOf(deps, project, await deps.projects.at(project, first));
}

/** The projects of the workspace, the most recently active first. */
export async function listProjects(
  deps: Deps,
  { status }: { readonly status?: ProjectStatus } = {},
): Promise<ProjectRow[]> {
  checkCall("engine.projects", present({ status }));
  const rows: ProjectRow[] = [];
  for (const id of await deps.projects.ids()) {
    const row = await summaryNow(deps, id).catch(ifMissing);
    if (row === null || (status ?? row.status) !== row.status) continue;
    rows.push({ ...row, ...(await standingOf(deps.store, await sessionsOf(deps, id), row.activeAt)) });
  }
  return rows.toSorted((a, b) => b.activeAt - a.activeAt || (a.project < b.project ? -1 : 1));
}

/** A project with its items, its journal and its sessions. */
export async function showProject(deps: Deps, idOrEnding: string): Promise<ProjectView> {
  const { store, world } = deps;
  const id = await findProject(deps.projects, idOrEnding);
  const summary = await summaryNow(deps, id);
  const { state } = await deps.projects.read(id);
  const ids = [...state.sessions.keys()].filter((session) => isSessionId(session));
  const latest = store.list({ sessions: ids }, { limit: latestMax });
  const [opened, standing, rows, items, journal] = await Promise.all([
    openingOf(deps, id),
    standingOf(store, ids, summary.activeAt),
    latest.then((page) => standingRows(store, page.rows, world.now())),
    itemsOf(deps, id, state),
    journalOf(store, id, state.seq),
  ]);
  return {
    ...summary,
    ...standing,
    instructions: opened?.instructions ?? null,
    constraints: opened?.constraints ?? [],
    sessions: [...state.sessions.keys()],
    items,
    latest: rows,
    journal,
    holds: [...state.holds.keys()],
    conflicts: possibleConflicts(items),
  };
}

/** Records an item of the project: all its sessions start with it. */
export const recordInProject = (
  deps: Deps,
  idOrEnding: string,
  options: ProjectRecordOptions,
): Promise<ProjectSummary> => {
  checkCall("engine.recordInProject", options, { project: idOrEnding });
  return change(deps, idOrEnding, { do: "record", ...options });
};

/** Retracts an item of the project. */
export const retractInProject = (
  deps: Deps,
  idOrEnding: string,
  options: { readonly kind: ItemKind; readonly key: string; readonly because?: string },
): Promise<ProjectSummary> => {
  checkCall("engine.retractInProject", options, { project: idOrEnding });
  return change(deps, idOrEnding, { do: "retract", ...options });
};

/** Adds an entry to the project's journal. */
export async function noteInProject(
  deps: Deps,
  idOrEnding: string,
  { text, ...options }: { readonly text: string; readonly session?: string },
): Promise<ProjectSummary> {
  checkCall("engine.noteInProject", { text, ...options }, { project: idOrEnding });
  const session = options.session === undefined ? undefined : await findSession(deps.store, options.session);
  return change(deps, idOrEnding, { do: "note", text, ...present({ session }) });
}

/** Closes it. Its sessions go on; no other may join. */
export const closeProject = (
  deps: Deps,
  idOrEnding: string,
  { outcome = "completed", ...rest }: { readonly outcome?: ProjectOutcome; readonly reason?: string } = {},
): Promise<ProjectSummary> => {
  checkCall("engine.closeProject", { outcome, ...rest }, { project: idOrEnding });
  return change(deps, idOrEnding, { do: "close", outcome, ...rest });
};

/** Opens a closed or archived project again. */
export const reopenProject = (
  deps: Deps,
  idOrEnding: string,
  options: { readonly reason?: string } = {},
): Promise<ProjectSummary> => {
  checkCall("engine.reopenProject", options, { project: idOrEnding });
  return change(deps, idOrEnding, { do: "reopen", ...options });
};

/** Makes a closed project read-only. */
export const archiveProject = (
  deps: Deps,
  idOrEnding: string,
  options: { readonly reason?: string } = {},
): Promise<ProjectSummary> => {
  checkCall("engine.archiveProject", options, { project: idOrEnding });
  return change(deps, idOrEnding, { do: "archive", ...options });
};

/** Protects the project and its sessions, also later ones, from erasure and deletion. */
export const holdProject = (
  deps: Deps,
  idOrEnding: string,
  name: string,
  options: { readonly reason?: string } = {},
): Promise<ProjectSummary> => {
  checkCall("engine.holdProject", options, { project: idOrEnding, name });
  return change(deps, idOrEnding, { do: "hold", name, ...options });
};

/** Lifts a hold of the project; those of its sessions stay. */
export const liftProject = (
  deps: Deps,
  idOrEnding: string,
  name: string,
  options: { readonly reason?: string } = {},
): Promise<ProjectSummary> => {
  checkCall("engine.liftProject", options, { project: idOrEnding, name });
  return change(deps, idOrEnding, { do: "lift", name, ...options });
};

const change = async (deps: Deps, idOrEnding: string, command: ProjectCommand): Promise<ProjectSummary> => {
  const { id, read } = await changeProject(deps, idOrEnding, command);
  return summaryOf(deps, id, read);
};

const summaryNow = async (deps: Deps, id: ProjectId): Promise<ProjectSummary> =>
  summaryOf(deps, id, await deps.projects.read(id));

async function summaryOf(
  deps: Deps,
  id: ProjectId,
  { state, seq, hash }: ReadProject,
): Promise<ProjectSummary> {
  const opened = await openingOf(deps, id);
  const { status, outcome, openedAt, activeAt, notes } = state;
  return {
    project: id,
    objective: opened?.objective ?? null,
    name: opened?.name ?? null,
    status,
    outcome,
    openedAt,
    activeAt,
    sessions: state.sessions.size,
    items: state.items.size,
    notes,
    tickets: ticketsOf(state),
    head: { seq, hash },
  };
}

function ticketsOf({ plan }: ProjectState): ProjectSummary["tickets"] {
  const all = [...plan.tickets.values()];
  return { all: all.length, open: all.filter(({ settled }) => settled?.outcome !== "done").length };
}

/** The sessions that joined it. */
export async function sessionsOf(deps: Deps, idOrEnding: string): Promise<readonly SessionId[]> {
  const { state } = await deps.projects.read(await findProject(deps.projects, idOrEnding));
  return [...state.sessions.keys()].filter((id) => isSessionId(id));
}

/** What it was opened with; undefined when that was erased. */
export const openingOf = async (
  { store }: Pick<Deps, "store">,
  id: ProjectId,
): Promise<OpenProjectOptions | undefined> =>
  (await readContent(store, id, 1)) as OpenProjectOptions | undefined;

/** The items with their values, in the order of the log. */
export async function itemsOf(
  { store }: Pick<Deps, "store">,
  id: ProjectId,
  state: ProjectState,
): Promise<ProjectItem[]> {
  const wanted = new Map([...state.items.values()].map((item) => [item.seq, item]));
  const only = { types: ["item.recorded"], contents: true };
  const items: ProjectItem[] = [];
  for await (const record of readRecords(store, id, [1, state.seq], only)) {
    const item = wanted.get(record.seq);
    if (item === undefined) continue;
    const content = (await contentOf(store, record)) as { value?: unknown; because?: string } | undefined;
    const { value = null, because = null } = content ?? {};
    items.push({ ...item, value, because, erased: content === undefined });
  }
  return items;
}

export async function journalOf(store: Store, id: ProjectId, toSeq: number): Promise<ProjectNote[]> {
  const types = ["project.noted", "ticket.settled"];
  const range = { fromSeq: 1, toSeq, reverse: true, limit: journalMax, types };
  const notes: ProjectNote[] = [];
  for (const record of await store.read(id, { ...range, contents: true })) {
    const { session = null, ...body } = JSON.parse(record.body) as NoteBody;
    const content = (await contentOf(store, record)) as { text?: string; reason?: string } | undefined;
    const { seq, at, actor, type } = record;
    const text = type === "ticket.settled" ? settledText(body, content?.reason) : (content?.text ?? null);
    notes.push({ seq, at, actor, session, text });
  }
  return notes.toReversed();
}

interface NoteBody {
  readonly session?: string;
  readonly ticket?: string;
  readonly outcome?: string;
}

/** How a ticket ended, as an entry of the journal. */
const settledText = ({ ticket, outcome }: NoteBody, reason: string | undefined): string =>
  `Ticket ${ticket}: ${outcome}${reason === undefined ? "" : `\n${reason}`}`;

/** A project whose log another tenant or a restore took away is not listed. */
function ifMissing(error: unknown): null {
  if (error instanceof SkeinError && error.code === "not-found") return null;
  throw error;
}
