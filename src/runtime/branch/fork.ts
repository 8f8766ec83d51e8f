/** Forking: builds the command for a fork at a position. */
import type { CommandOf } from "../../core/command.ts";
import type { ForkOptions } from "../../core/branch/commands.ts";
import { present } from "../../core/present.ts";
import { withdrawnBindings } from "../../core/branch/decide.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { isUnreviewed } from "../../core/govern/review.ts";
import { rulesForFork } from "../../core/tool/permission-order.ts";
import type { State } from "../../core/state.ts";
import type { ForkAmendment, ForkChange } from "./amend.ts";
import { freshSessionId, madeBefore } from "../log/request-scope.ts";
import { carriedForFork, noMemory } from "./memory-selection.ts";
import type { Deps } from "../deps.ts";
import { erasedBefore } from "../govern/erase-fork.ts";
import { readRules, withRules } from "../govern/rules.ts";
import { assertTakesSessions } from "../project/project-status.ts";

export interface ForkPlan {
  readonly command: CommandOf<"fork">;
  /** The parent's state at the fork point. */
  readonly from: State;
  readonly parent: { readonly session: SessionId; readonly seq: number };
}

/** The fork point, and the directory for its files. */
export interface ForkPlace {
  /** A position, the name of a checkpoint, or a time; by default the last position. */
  readonly atSeq?: number | string;
  /**
   * A new directory. It gets a copy of what is bound for writing, as it was then, and the fork is bound to
   * it.
   */
  readonly files?: string;
}

/** Forks a session. */
export async function forkSession(
  deps: Deps,
  session: SessionId,
  seq: number,
  { files, ...given }: ForkOptions & ForkAmendment & { readonly files: string | undefined },
): Promise<SessionId> {
  const { writer, actor } = deps;
  const before = await madeBefore(deps);
  if (before !== null) return before;
  const { agent, model, instructions, temperature, reasoning, outputTokensMax, ...options } = given;
  const amends = present({ agent, model, instructions, temperature, reasoning, outputTokensMax });
  const plain = await forkCommand(deps, session, seq, options, amends);
  if (files !== undefined && (typeof files !== "string" || files === "" || files.includes("\0")))
    throw new SkeinError("invalid", "fork: files: expected a path", {
      hint: "pass the path of a new directory",
    });
  const plan =
    files === undefined
      ? plain
      : await (await import("./fork-files.ts")).withFiles(deps, session, plain, files);
  const { objective, memory } = options;
  const carried = memory === false ? noMemory : await carriedForFork(deps, session, plan.from, objective);
  const command = carried === null ? plan.command : { ...plan.command, carried };
  const id = await freshSessionId(deps);
  await writer.begin(id, { ...plan, command }, { actor });
  return id;
}

/** A fork never has more rights than its parent has now. */
export async function forkCommand(
  deps: Deps,
  session: SessionId,
  seq: number,
  options: ForkOptions,
  amends: ForkAmendment = {},
): Promise<ForkPlan> {
  const { store, states, writer } = deps;
  const from = await states.at(session, seq);
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  const now = await writer.current(session);
  await assertTakesSessions(deps, now.standing.project, "fork");
  const unbind = withdrawnBindings(from, now);
  const point = await readRules(store, session, from);
  const grant = rulesForFork(point, await readRules(store, session, now));
  // The parent named in the fork's first record is this session, also where the position is older than
  // itself.
  const erased = await erasedBefore(store, session, seq, now);
  const rules = withRules(point, grant);
  const isAmended = Object.keys(amends).length > 0 || from.standing.agent?.seq !== now.standing.agent?.seq;
  const changed: ForkChange = isAmended
    ? await (await import("./amend.ts")).forkAmendment(deps, session, { from, now, rules }, amends)
    : { grant: [] };
  const rights = {
    unbind,
    grant: [...grant, ...changed.grant],
    erased,
    ...(isUnreviewed(now) ? { unreviewed: true } : {}),
    ...present({ amendment: changed.amendment, pin: changed.pin }),
  };
  return {
    command: { do: "fork", parentHash: record?.hash ?? "", by: "person", ...rights, ...options },
    from: { ...from, standing: { ...from.standing, session } },
    parent: { session, seq },
  };
}
