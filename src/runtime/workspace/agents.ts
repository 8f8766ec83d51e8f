/**
 * Agents of a workspace. Each version is an `agent.defined` in the workspace's log, numbered 1, 2, 3… for
 * each name without gaps: a version is written only if the log has not moved since the number was chosen.
 */
import { readRecords } from "../read/record-pages.ts";
import { agentDigest, checkAgent, isStoredAgent, type AgentDefinition } from "../../core/workspace/agent.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { RunLimit } from "../../core/trigger/schedule.ts";
import type { Store } from "../../store/port.ts";
import type { EngineState } from "../deps.ts";
import { contentOf } from "../read/content.ts";
import { checkMeant, safeJson } from "../log/redact.ts";
import { checkKindSchemas } from "../message/contract-schema.ts";
import { writeOnce, type WorkspaceDeps } from "../log/workspace-log.ts";

/** A version of an agent with its definition. */
export interface AgentVersion {
  readonly name: string;
  readonly version: number;
  /** The digest of the definition; equal definitions have equal ones. */
  readonly digest: string;
  readonly at: number;
  readonly actor: string;
  readonly definition: AgentDefinition;
}

/** An agent in a list: its newest version without instructions. */
export interface AgentSummary {
  readonly name: string;
  /** The newest, and so how many there are. */
  readonly version: number;
  readonly digest: string;
  readonly at: number;
  /** Null when the agent has none, or its text was erased. */
  readonly description: string | null;
  readonly model: string | null;
}

/** Adds a version. Adding the newest definition again changes nothing. */
export async function addAgent(
  deps: WorkspaceDeps & AgentDeps,
  definition: AgentDefinition,
): Promise<AgentVersion> {
  const { store, world } = deps;
  const given = checkAgent(definition);
  checkKindSchemas(given.kinds ?? {});
  // Text for the model may lose a secret; settings for the program may not.
  const { instructions: _, description: __, ...meant } = given;
  checkMeant(world.redactor, `the definition of agent ${quote(given.name)}`, meant);
  const checked = safeJson(world, given);
  const digest = agentDigest(world.digest, checked);
  let version = 0;
  const before = await writeOnce(deps, async () => {
    const newest = await newestOf(deps, checked.name);
    version = newest?.version ?? 0;
    // After a lost answer this also finds the version that was written after all.
    if (newest?.digest === digest && !(await isErased(store, newest))) return [];
    version += 1;
    const body = { agent: checked.name, version, digest };
    return [{ type: "agent.defined", body, content: { definition: checked } }];
  });
  const { seq: _seq, ...added } =
    before === null ? await versionOf(deps, checked.name, version) : definedBy(before);
  return { ...added, definition: checked };
}

/** The newest version of each agent, by name. */
export async function listAgents(deps: AgentDeps): Promise<AgentSummary[]> {
  const { store } = deps;
  const newest = new Map<string, DefinedAgent>();
  for await (const defined of definitions(deps, { reverse: false })) newest.set(defined.name, defined);
  const summaries: AgentSummary[] = [];
  for (const { name, version, digest, at, seq } of newest.values()) {
    const definition = await definitionAt(store, seq);
    const { description = null, model = null } = (definition ?? {}) as Partial<AgentDefinition>;
    summaries.push({ name, version, digest, at, description, model });
  }
  return summaries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The newest versions' limits of concurrent sessions. */
export async function agentLimits(deps: AgentDeps): Promise<RunLimit[]> {
  const newest = new Map<string, number>();
  for await (const { name, seq } of definitions(deps, { reverse: false })) newest.set(name, seq);
  const limits: RunLimit[] = [];
  for (const [agent, seq] of newest) {
    const { concurrency } = ((await definitionAt(deps.store, seq)) ?? {}) as Partial<AgentDefinition>;
    if (typeof concurrency === "number") limits.push({ agent, running: concurrency });
  }
  return limits;
}

/** One version, by default the newest. Rejects with `not-found`, or `refused` when its text was erased. */
export async function showAgent(deps: AgentDeps, name: string, version?: number): Promise<AgentVersion> {
  const { store } = deps;
  const known = new Set<string>();
  let newest = 0;
  for await (const defined of definitions(deps, { reverse: true })) {
    known.add(defined.name);
    if (defined.name !== name) continue;
    newest = Math.max(newest, defined.version);
    if (version === undefined || defined.version === version) return withDefinition(store, defined);
  }
  if (newest > 0) {
    throw new SkeinError("not-found", `agent ${quote(name)} has no version ${quote(version)}`, {
      hint: newest === 1 ? "the agent has version 1" : `the agent has versions 1 to ${newest}`,
    });
  }
  const near = nearest(name, [...known]);
  throw new SkeinError("not-found", `there is no agent ${quote(name)}`, {
    hint: near === undefined ? '"skein agents add FILE" adds one' : `did you mean "${near}"?`,
  });
}

interface DefinedAgent {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  readonly at: number;
  readonly actor: string;
  readonly seq: number;
}

async function versionOf(deps: AgentDeps, name: string, version: number): Promise<DefinedAgent> {
  for await (const defined of definitions(deps, { reverse: true })) {
    if (defined.name === name && defined.version === version) return defined;
  }
  throw new Error("invariant: a version that was added is there");
}

async function newestOf(deps: AgentDeps, name: string): Promise<DefinedAgent | undefined> {
  for await (const defined of definitions(deps, { reverse: true })) {
    if (defined.name === name) return defined;
  }
  return undefined;
}

/** The definitions up to a position of the workspace's log, without the texts. */
export interface DefinedAgents {
  readonly seq: number;
  readonly times: number;
  readonly list: readonly DefinedAgent[];
}

/** With the state of an engine a long log is read once. */
type AgentDeps = Pick<WorkspaceDeps, "store" | "writer"> & { readonly shared?: Pick<EngineState, "agents"> };

/** The definitions, without the texts. */
async function* definitions(
  { store, writer, shared }: AgentDeps,
  { reverse }: { readonly reverse: boolean },
): AsyncGenerator<DefinedAgent> {
  const { seq: toSeq, times } = await writer.workspace.read();
  const kept = shared?.agents;
  const before = kept?.times === times ? kept : { seq: 0, list: [] };
  const list = [...before.list];
  const types = ["agent.defined"];
  for await (const record of readRecords(store, store.workspace, [before.seq + 1, toSeq], { types }))
    list.push(definedBy(record));
  if (shared && toSeq > before.seq) shared.agents = { seq: toSeq, times, list };
  yield* reverse ? list.toReversed() : list;
}

function definedBy({ body, at, actor, seq }: StoredRecord): DefinedAgent {
  const { agent, version, digest } = JSON.parse(body) as { agent: string; version: number; digest: string };
  return { name: agent, version, digest, at, actor, seq };
}

/** Whether a person added just this definition to the workspace: an imported session may bring another. */
export async function isDefined(
  deps: AgentDeps & WorkspaceDeps,
  definition: AgentDefinition,
): Promise<boolean> {
  const wanted = agentDigest(deps.world.digest, definition);
  for await (const { name, digest } of definitions(deps, { reverse: true }))
    if (name === definition.name && digest === wanted) return true;
  return false;
}

const isErased = async (store: Store, { seq }: DefinedAgent): Promise<boolean> =>
  (await definitionAt(store, seq)) === undefined;

async function definitionAt(store: Store, seq: number): Promise<unknown> {
  const range = { fromSeq: seq, toSeq: seq, limit: 1, contents: true };
  const [record] = await store.read(store.workspace, range);
  const content = record === undefined ? undefined : await contentOf(store, record);
  return (content as { readonly definition?: unknown } | undefined)?.definition;
}

async function withDefinition(store: Store, { seq, ...defined }: DefinedAgent): Promise<AgentVersion> {
  const definition = await definitionAt(store, seq);
  const called = `version ${defined.version} of agent ${quote(defined.name)}`;
  if (definition === undefined) {
    throw new SkeinError("refused", `the text of ${called} was erased`, { hint: "add a new version" });
  }
  if (isStoredAgent(definition)) return { ...defined, definition };
  throw new SkeinError("refused", `${called} has an unsupported format`, {
    hint: "a newer version of Skein wrote it; update, or add a new version",
  });
}
