/**
 * What a session starts with besides its options: the pinned agent, AGENTS.md from the bound directories
 * upwards, initial files, and memory. All of it is read before the session is opened, and is part of its
 * first append: so the log says what the model saw, whatever happens to the files later.
 */
import type { Binding, Permission } from "../../core/tool/commands.ts";
import type { CommandOf } from "../../core/command.ts";
import type { LoadedDocument, OpenOptions, Pin } from "../../core/session/commands.ts";
import { resolve } from "node:path";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import { bindingName } from "../../core/tool/drafts.ts";
import { budgetLeft } from "../../core/budget/budget.ts";
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Amounts } from "../../core/state.ts";
import type { WakeTrigger } from "../../core/trigger/trigger.ts";
import { showAgent } from "../workspace/agents.ts";
import { checkBound } from "../log/redact.ts";
import { prepareChecks } from "./accepted.ts";
import { noMemory } from "./memory-selection.ts";
import {
  assertAgent,
  carriedInProject,
  journalDocument,
  journalPath,
  projectStart,
} from "./project-start.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "../read/find.ts";
import { initialFilesOf, listCarryOver, type CarryOver } from "./carry-over.ts";
import { carryOn, takenNames, takeOver, type TakenOver } from "./predecessor.ts";
import { instructionFiles } from "./instruction-files.ts";
import { ifMissing, loadDocument } from "./load-document.ts";
import { handoffDocument } from "./handoff.ts";
import { headOf } from "../read/position.ts";
import { assertTakesSessions } from "../project/project-status.ts";
import { readContent } from "../read/content.ts";
import { guardRules, needForModel, strictRules, withRules } from "../govern/rules.ts";

type Opening = Omit<CommandOf<"open">, "do" | "workspace" | "parent">;

interface PreparedSession {
  readonly opening: Opening;
  readonly carriedOver: CarryOver | null;
}

export const prepareOpening = async (deps: Deps, options: OpenOptions): Promise<Opening> =>
  (await prepareCarried(deps, options)).opening;

/** The same, with the list of what carries over from the earlier session. */
export async function prepareCarried(deps: Deps, options: OpenOptions): Promise<PreparedSession> {
  const { files = [], handoffs = [], wake = [], after, accept, ...rest } = options;
  const carried = options.from === undefined ? null : await carryOn(deps, options.from, options.objective);
  const { objective = options.objective ?? "", from, handoff, taken } = carried ?? {};
  const inProject = await projectStart(deps, options);
  const project = inProject.project ?? taken?.project;
  if (inProject.project === undefined) await assertTakesSessions(deps, project, "open: from");
  const before = carried === null ? null : await carriedBefore(deps, carried, options);
  // Without another name it is the agent as the earlier session had it.
  const same = taken !== undefined && options.agent === undefined;
  // The project's agent works where nobody names one.
  const wanted = options.agent ?? (taken === undefined ? inProject.agent : undefined);
  const pinned = same ? (taken.pin ?? null) : await pinOf(deps, wanted);
  const definition = pinned?.definition as AgentDefinition | undefined;
  for (const binding of options.bind ?? []) checkBound(deps.world, binding);
  const own = [...(same ? [] : (definition?.bind ?? [])), ...(taken?.bind ?? []), ...(options.bind ?? [])];
  const bind = lastOfName(own.map(absolute));
  const instructionFilesOf = options.instructionFiles ?? taken?.instructionFiles;
  const documents = [
    // In front, since later documents may be cut when there are too many.
    ...(handoff === undefined ? [] : [handoff]),
    ...(await handoffDocuments(deps, handoffs)),
    ...(await journalDocument(deps, project)),
    ...(await instructionFiles(deps, bind, instructionFilesOf)),
    ...(before?.files ?? []).filter(({ path }) => project === undefined || path !== journalPath(project)),
    ...(await initialFiles(deps, files)),
  ];
  const grant = grantsFor(deps, options.grant ?? [], { taken, definition, same });
  const agent = pinned?.agent ?? wanted ?? taken?.agent;
  await assertAgent(deps, project, agent?.replace(/@\d+$/, ""));
  const model = options.model ?? (same ? taken.model : (definition?.model ?? taken?.model));
  needForModel(deps, options.model);
  const limits = before?.limits ?? undefined;
  const budget = options.budget ?? (limits === undefined ? definition?.budget : undefined);
  const whose = { objective, agent: agent ?? null, definition, project };
  const remembered = options.memory === false ? noMemory : await carriedInProject(deps, whose);
  const opening: Opening = {
    ...(taken === undefined ? {} : described(taken)),
    ...rest,
    ...inProject,
    objective,
    bind,
    ...(project === undefined ? {} : { project }),
    ...(grant.length === 0 ? {} : { grant }),
    ...present({ from, agent, model, budget, limits, instructionFiles: instructionFilesOf }),
    ...(pinned === null ? {} : { pin: pinned }),
    ...(documents.length === 0 ? {} : { documents: distinct(documents) }),
    ...(remembered === null ? {} : { carried: remembered }),
    ...present({
      checks: accept === undefined ? carried?.checks : prepareChecks(deps, accept, "open: accept"),
    }),
    ...(await awaited(deps, wake, after, bind)),
  };
  return { opening, carriedOver: before?.carriedOver ?? null };
}

/**
 * What carries over besides the standing: initial files, and the rest of the budget unless one is given.
 * Triggers stay: the earlier session is not closed, and each cause fires once. All of it is read at the
 * position of the handoff, so that a repeated call gets the same result.
 */
async function carriedBefore(
  { store, states }: Deps,
  {
    from,
    handoff: { path = "" },
  }: { readonly from: SessionId; readonly handoff: Pick<LoadedDocument, "path"> },
  { budget }: OpenOptions,
): Promise<{ files: readonly LoadedDocument[]; limits: Amounts | null; carriedOver: CarryOver }> {
  const state = await states.at(from, Number(path.split("@")[1]));
  const { files, erased: erasedFiles } = await initialFilesOf(store, from, state);
  const left = budgetLeft(state);
  const limits = budget === undefined && Object.keys(left).length > 0 ? left : null;
  const names = [...state.standing.triggers.keys()];
  const triggers = { settings: [], left: new Map(names.map((name) => [name, triggersStay] as const)) };
  const taken = takenNames(await takeOver(store, from, state));
  const made = { state, files, erasedFiles, limits, triggers, handoff: true, ...taken };
  return { files, limits, carriedOver: listCarryOver(from, made) };
}

/** The list of a session that a call with the same key opened before. */
export async function carriedAgain(
  deps: Deps,
  next: SessionId,
  options: OpenOptions,
): Promise<CarryOver | null> {
  if (options.from === undefined) return null;
  const { store, states } = deps;
  const { mind } = await states.at(next, (await headOf({ store }, next)).seq);
  const loaded = [...mind.documents.values()].find(({ kind }) => kind === "handoff");
  const content = loaded === undefined ? undefined : await readContent(store, next, loaded.seq);
  const handoff = (content ?? {}) as Pick<LoadedDocument, "path">;
  const from = await findSession(store, options.from);
  if (handoff.path?.startsWith(`${from}@`) !== true) return null;
  return (await carriedBefore(deps, { from, handoff }, options)).carriedOver;
}

const triggersStay =
  "it stays with the earlier session; clear --handoff moves triggers, skein trigger add sets one here";

/**
 * The rules it starts with. A session that continues another one under a different agent keeps what the
 * earlier agent denied and asked about, since it inherits the bindings that those rules were for.
 */
function grantsFor(
  { need }: Deps,
  set: readonly Permission[],
  from: {
    readonly taken: TakenOver | undefined;
    readonly definition: AgentDefinition | undefined;
    readonly same: boolean;
  },
): readonly Permission[] {
  const { taken, definition, same } = from;
  if (taken === undefined) {
    guardRules(need, { before: [], after: set });
    return set;
  }
  const earlier = taken.pin?.definition as AgentDefinition | undefined;
  const before = [...taken.grant, ...(same ? [] : strictRules(earlier, taken.grant, "from"))];
  const ofAgent = same ? [] : (definition?.permissions ?? []).filter(({ rule }) => rule === "allow");
  guardRules(need, { before, after: [...withRules(before, set), ...ofAgent] });
  return withRules(before, set);
}

/** What wakes it; with `after` it sleeps from the beginning, until the named sessions have ended. */
async function awaited(
  deps: Deps,
  wake: readonly WakeTrigger[],
  after: OpenOptions["after"],
  bind: readonly Binding[],
): Promise<Pick<Opening, "triggers" | "sleeps">> {
  const ends = after === undefined ? [] : [await endsOf(deps, after)];
  const all = [...ends, ...wake];
  if (all.length === 0) return {};
  const triggers = await deps.late.prepareWake(deps, all, bind);
  return ends.length === 0 ? { triggers } : { triggers, sleeps: ["after"] };
}

async function endsOf({ store }: Deps, after: NonNullable<OpenOptions["after"]>): Promise<WakeTrigger> {
  const isNamed = typeof after === "object" && after !== null && "sessions" in after;
  const { sessions, give } = isNamed ? after : { sessions: after };
  if (!Array.isArray(sessions) || sessions.length === 0) {
    throw new SkeinError("invalid", "open: after: expected a list of session ids", {
      hint: 'for example { after: ["ses_…"] }',
    });
  }
  const ids = new Set<SessionId>();
  for (const one of sessions as readonly string[]) ids.add(await findSession(store, one));
  const given = present({ give });
  return { kind: "session", name: "after", sessions: [...ids], on: "end", all: true, ...given };
}

/** What a session inherits unless it is given. */
const described = ({ labels, priority, instructions, constraints, expiresAfterIdleMs }: TakenOver) =>
  present({ labels, priority, instructions, constraints, expiresAfterIdleMs });

/** The last of several bindings with one name counts: an option replaces the agent's. */
const lastOfName = (bind: readonly Binding[]): Binding[] => [
  ...new Map(bind.map((one) => [bindingName(one), one])).values(),
];

/** The handoffs of sessions, written first where they are missing or stale. */
async function handoffDocuments(deps: Deps, sessions: readonly string[]): Promise<LoadedDocument[]> {
  const documents: LoadedDocument[] = [];
  for (const one of sessions) documents.push(await handoffDocument(deps, await findSession(deps.store, one)));
  return documents;
}

/**
 * `name` pins the newest version, `name@2` the second. An undefined name stays a bare name: the session then
 * runs without an agent's instructions.
 */
export async function pinOf(deps: Deps, agent: string | undefined): Promise<Pin | null> {
  if (agent === undefined) return null;
  const [, name = agent, version] = /^(.*)@(\d{1,9})$/.exec(agent) ?? [];
  const found =
    version === undefined
      ? await showAgent(deps, name).catch(ifMissing)
      : await showAgent(deps, name, Number(version));
  if (found === null) return null;
  const { definition, digest } = found;
  return { agent: name, version: found.version, digest, definition };
}

/** Resolves a relative path where the session is opened, since it may run from elsewhere. */
export function absolute(binding: Binding): Binding {
  const { path, name } = binding;
  if (path === undefined || path === "" || path.includes("\0")) return binding;
  const named = name === undefined && binding.kind !== "shell" ? { name: path } : {};
  return { ...binding, path: resolve(path), ...named };
}

async function initialFiles(deps: Deps, files: readonly string[]): Promise<LoadedDocument[]> {
  const documents: LoadedDocument[] = [];
  for (const file of files) documents.push(await loadDocument(deps, "file", resolve(file)));
  return documents;
}

/** Two paths may lead to the same text; it is loaded once. */
export const distinct = (documents: readonly LoadedDocument[]): LoadedDocument[] => [
  ...new Map(documents.map((one) => [one.digest, one])).values(),
];
