/** What a session inherits from the one it continues: parts of the standing, nothing of the mind. */
import { present } from "../../core/present.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { LoadedDocument, OpenOptions, Pin } from "../../core/session/commands.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { NamedRule } from "../../core/tool/permission-order.ts";
import type { Ref, State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { CarriedState } from "./carry-over.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { findSession } from "../read/find.ts";
import { assertReviewed } from "../govern/review.ts";
import { readRules } from "../govern/rules.ts";
import type { DigestedCheck } from "../../core/check/commands.ts";
import { inheritedChecks } from "./accepted.ts";
import { handoffDocument } from "./handoff.ts";
import { stateNow } from "../read/state-now.ts";

export type TakenOver = Omit<OpenOptions, "objective" | "from" | "files" | "bind" | "grant" | "after"> & {
  readonly bind: readonly Binding[];
  readonly grant: readonly NamedRule[];
  /** The agent as the earlier session pinned it. */
  readonly pin?: Pin;
};

/** The names of inherited bindings and rules. */
export const takenNames = ({ bind, grant }: TakenOver): Pick<CarriedState, "bindings" | "permissions"> => ({
  bindings: bind.map(({ name, kind }) => name ?? kind),
  permissions: grant.map(({ name, tool }) => name ?? tool),
});

/**
 * A binding whose content was erased is not inherited: without its address it is useless. A deny or an ask
 * whose pattern was erased is, and holds for every call of its tool.
 */
export async function takeOver(store: Store, session: SessionId, state: State): Promise<TakenOver> {
  const { agent, model, priority, labels, bindings, expiresAfterIdleMs, project } = state.standing;
  const bind: Binding[] = [];
  for (const [name, { kind, mode, ...ref }] of bindings.entries()) {
    const content = await readContent(store, session, ref.seq);
    if (content !== undefined) bind.push({ ...content, name, kind, mode });
  }
  const grant = await readRules(store, session, state);
  const { instructions, constraints, instructionFiles } = await textsNow(store, session, state);
  return {
    priority,
    bind,
    grant,
    ...(agent === null ? {} : { agent: agent.name }),
    ...(await pinnedBy(store, session, state)),
    ...present({ instructions, constraints, instructionFiles }),
    ...(model === null ? {} : { model }),
    ...(project === null ? {} : { project }),
    ...(expiresAfterIdleMs === null ? {} : { expiresAfterIdleMs }),
    labels: Object.fromEntries(labels.entries()),
  };
}

type Texts = Pick<OpenOptions, "instructions" | "constraints" | "instructionFiles">;

/** The session's instructions and constraints, as opened or as last amended. */
async function textsNow(store: Store, session: SessionId, { standing: { texts } }: State): Promise<Texts> {
  const at = async (seq = 1): Promise<Texts> => (await readContent(store, session, seq)) ?? {};
  const { instructions } = await at(texts.instructions);
  const { constraints } = await at(texts.constraints);
  const { instructionFiles } = await at();
  return present({ instructions: instructions || undefined, constraints, instructionFiles });
}

/** The inherited objective, unless the next session is given one. */
export async function objectiveFor(
  store: Store,
  session: SessionId,
  { standing: { objective } }: State,
  given: string | undefined,
): Promise<string> {
  const objectiveText = given ?? (await fieldAt(store, session, objective, "objective"));
  if (typeof objectiveText === "string") return objectiveText;
  throw new SkeinError("refused", "the objective was erased", {
    hint: "pass an objective for the next session",
  });
}

/** The name of a session; undefined when it has none, or it was erased. */
export async function nameOf(
  store: Store,
  session: SessionId,
  { standing }: State,
): Promise<string | undefined> {
  const name = await fieldAt(store, session, standing.name, "name");
  return typeof name === "string" ? name : undefined;
}

async function fieldAt(store: Store, session: SessionId, ref: Ref | null, name: string): Promise<unknown> {
  const content = ref === null ? undefined : await readContent(store, session, ref.seq);
  return (content as Readonly<Record<string, unknown>> | undefined)?.[name];
}

/** The agent as this session pinned it: the next one works under the same version. */
async function pinnedBy(
  store: Store,
  session: SessionId,
  { standing: { agent } }: State,
): Promise<{ readonly pin?: Pin }> {
  if (agent === null || agent.version === 0) return {};
  const range = { fromSeq: agent.seq, toSeq: agent.seq, limit: 1, contents: true };
  const [record] = await store.read(session, range);
  const content = record === undefined ? undefined : await contentOf(store, record);
  if (record === undefined || content === undefined) return {};
  const { digest } = JSON.parse(record.body) as { digest: string };
  const { definition } = content as { definition: unknown };
  return { pin: { agent: agent.name, version: agent.version, digest, definition } };
}

export interface CarriedOn {
  readonly from: SessionId;
  readonly objective: string;
  readonly taken: TakenOver;
  readonly handoff: LoadedDocument;
  /** Its accept checks hold for the next session too. */
  readonly checks: readonly DigestedCheck[];
}

/**
 * The work of a session that a new one continues. Its handoff is recorded first, if it has no current one:
 * should the new session fail, the next attempt finds it.
 */
export async function carryOn(
  deps: Deps,
  idOrEnding: string,
  objective: string | undefined,
): Promise<CarriedOn> {
  const { store } = deps;
  const from = await findSession(store, idOrEnding);
  const state = await stateNow(deps, from);
  assertReviewed(from, state);
  const objectiveText = await objectiveFor(store, from, state, objective);
  const taken = await takeOver(store, from, state);
  const checks = await inheritedChecks(store, from, state);
  return { from, objective: objectiveText, taken, checks, handoff: await handoffDocument(deps, from) };
}
