/**
 * The tool ledger: brings every open call to an outcome. A new call is recorded as started before it runs. A
 * call that a dead runner had started is settled by its declared effect: a read or idempotent one runs again
 * with the same key; an unsafe one is probed (`probe`), or unknown.
 */
import type { CommandOf } from "../../core/command.ts";
import type { HeldBack } from "../../core/tool/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { agentRules, type AgentRules } from "../../core/workspace/agent.ts";
import type { TreeChange } from "../../core/tool/file-version.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { OuterTool, Tool, WatchedCalls } from "../../tool/port.ts";
import { performAct } from "./session-actions.ts";
import { readContent } from "../read/content.ts";
import { judgeTool, rulesOf, type RunContext } from "./run-context.ts";
import type { Drive } from "./drive.ts";
import { noteRest, watchCalls } from "./file-changes.ts";
import type { Deps } from "../deps.ts";
import { pathRules, type CallRules } from "../govern/rules.ts";
import { toolErrorText, shapeOutput } from "./tool-output.ts";
import { runTool, type ToolRunOutcome } from "./tool-run.ts";
import { commandOf, findApproval, listApprovals } from "../workspace/approvals.ts";
import { momentOf } from "../read/lease-status.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { readBindings } from "../read/bindings.ts";

export interface LedgerWorld {
  readonly deps: Deps;
  readonly drive: Drive;
  readonly runContext: RunContext;
  readonly signal: AbortSignal;
  /** True when the lease is still certainly ours: checked right before a tool runs. */
  readonly isHeld: () => Promise<boolean>;
  /** Has the conversation compressed before the next step. */
  readonly compress: (instructions: string | undefined) => void;
}

type Ready = Entry & { readonly tool: OuterTool };

interface Entry {
  readonly id: string;
  readonly open: OpenCall;
  readonly input: unknown;
  readonly tool: Tool | undefined;
}

/** Resolves when every call has its outcome, or when the session is suspended or interrupted. */
export async function settleCalls(ledger: LedgerWorld, state: State): Promise<void> {
  const entries = await readEntries(ledger, state);
  const asked = entries.filter(({ open }) => open.phase === "asked");
  if (asked.length > 0) {
    const on = asked.map(({ open }) => open.seq).slice(0, 100);
    await ledger.drive.change({ do: "suspend", by: "approval", on, reason: "tool calls wait for approval" });
    return;
  }
  const ready: Ready[] = [];
  const unsure: Entry[] = [];
  for (const entry of entries) {
    if (ledger.signal.aborted) return;
    const { tool } = entry;
    if (tool?.effect === "session") {
      if (!(await isHeldBack(ledger, entry, tool))) await actOn(ledger, entry, tool);
    } else if (isAwaited(entry)) continue;
    else if (isCutOff(entry) && !(await isUndone(ledger, entry))) unsure.push(entry);
    else if (tool === undefined) await gone(ledger, entry);
    else ready.push({ ...entry, tool });
  }
  if (ready.length > 0 && !(await runAll(ledger, ready))) return;
  // Last, since a question about one suspends the session, and nothing more is started then.
  const open = (await ledger.drive.state()).mind.calls;
  for (const { id, open: call } of unsure) if (open.has(id)) await unknown(ledger, id, call);
  await waitForResults(ledger);
}

/** Suspends the session until its external calls have an outcome. It needs no lease and no worker then. */
async function waitForResults({ deps, drive, runContext }: LedgerWorld): Promise<void> {
  await settleOverdue(deps, drive.session, await drive.state(), runContext.rules);
  const now = await drive.state();
  if (now.standing.status !== "running" || awaitedOf(now).length === 0) return;
  await drive.change((state) => {
    const on = awaitedOf(state).slice(0, 100);
    if (on.length === 0) throw new SkeinError("conflict", "the last result has arrived");
    const many =
      on.length === 1 ? "an external call waits for its" : `${on.length} external calls wait for their`;
    return { do: "suspend", by: "tool", on, reason: `${many} result` };
  });
}

const awaitedOf = ({ mind }: State): number[] =>
  [...mind.calls.values()].flatMap(({ deadlineMs, seq }) => (deadlineMs === undefined ? [] : [seq]));

/** False when the session is suspended or interrupted, and must do nothing more. */
async function runAll(ledger: LedgerWorld, ready: readonly Ready[]): Promise<boolean> {
  const { drive, deps, runContext, signal } = ledger;
  const run = ready.filter(({ tool }) => tool.external !== true);
  const watched = await watchCalls(deps, runContext.files, run);
  let going: readonly Ready[] = ready;
  let rules: CallRules | null = null;
  // Rules may have changed since the calls were requested or approved: the current ones decide.
  const started = await drive.change(async (state) => {
    const denied: HeldBack[] = [];
    const approved: HeldBack[] = [];
    const now = await rulesOf(deps, drive.session, state, runContext);
    rules = now;
    for (const entry of ready) {
      const held = await heldBackBy(ledger, { state, rules: now }, entry, entry.tool);
      if (held !== null) (held.allow ? approved : denied).push({ call: entry.id, reason: held.reason });
    }
    going = ready.filter(({ id }) => !denied.some(({ call }) => call === id));
    const calls = going.map(({ id }) => id);
    return { do: "start", calls, nowMs: deps.world.now(), denied, approved };
  });
  if (started.state.standing.status !== "running") {
    await watched?.over();
    return false;
  }
  going = going.filter(({ tool }) => tool.external !== true);
  const ended = await Promise.all(going.map((entry) => runEntry(ledger, entry, { watched, rules })));
  const left = going.find((_, place) => ended[place] === "left");
  if (left === undefined) await watched?.over();
  else if (watched !== undefined) await noteRest(drive, watched, left.open);
  return !signal.aborted;
}

/**
 * Why a call may not run by the current rules, or which saved approval allows it; null when it may run. A
 * call that a person approved, or that had started before a crash, runs unless it is denied. Invalid
 * arguments are reported when it runs.
 */
async function heldBackBy(
  { deps, drive }: LedgerWorld,
  { state, rules }: { readonly state: State; readonly rules: CallRules },
  { input, open }: Entry,
  tool: Tool,
): Promise<{ readonly allow: boolean; readonly reason: string } | null> {
  const checked = await tool.check(input);
  if (!checked.ok) return null;
  const { rule, reason } = judgeTool(rules, tool, { input, checked: checked.value });
  if (rule === "deny") return { allow: false, reason: `not allowed${reason === null ? "" : `: ${reason}`}` };
  if (rule === "allow" || open.phase === "approved" || open.attempts > 0) return null;
  const command = commandOf(tool, checked.value, await readBindings(deps, drive.session, state));
  const saved = command && findApproval(await listApprovals(deps), tool.name, command);
  if (saved !== undefined) return { allow: true, reason: `always allowed: ${saved.name}` };
  const late = "not run: a rule set since the request asks for approval of this call; request it again";
  return { allow: false, reason: late };
}

/** The same for a session tool, which is settled here if it may not run. */
async function isHeldBack(ledger: LedgerWorld, entry: Entry, tool: Tool): Promise<boolean> {
  const { deps, drive, runContext } = ledger;
  const state = await drive.state();
  const rules = await rulesOf(deps, drive.session, state, runContext);
  const held = await heldBackBy(ledger, { state, rules }, entry, tool);
  if (held === null) return false;
  const denied = [{ call: entry.id, reason: held.reason }];
  await drive.change({ do: "start", calls: [], nowMs: deps.world.now(), denied });
  return true;
}

async function readEntries({ deps, drive, runContext }: LedgerWorld, state: State): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const [id, open] of state.mind.calls.entries()) {
    const content = (await readContent(deps.store, drive.session, open.seq)) as
      | { input?: unknown }
      | undefined;
    entries.push({ id, open, input: content?.input, tool: runContext.tools.get(open.tool) });
  }
  return entries.toSorted((a, b) => a.open.seq - b.open.seq);
}

async function actOn(
  { deps, drive, runContext, compress }: LedgerWorld,
  { id, open, input }: Entry,
  tool: Extract<Tool, { effect: "session" }>,
): Promise<void> {
  const checked = await tool.check(input);
  if (!checked.ok) {
    await drive.change({ do: "settle", call: id, status: "error", output: toolErrorText(checked.message) });
    return;
  }
  await performAct(deps, drive, { id, open, actor: runContext.actor, compress }, tool.act(checked.value));
}

/** The tool no longer exists: unbound since, or of another program. */
async function gone(ledger: LedgerWorld, { id, open }: Entry): Promise<void> {
  const output = `tool ${open.tool} is no longer available`;
  await ledger.drive.change({ do: "settle", call: id, status: "error", output });
}

/** True for an external call that was started: only its result or its deadline settles it. */
const isAwaited = ({ open }: Entry): boolean => open.deadlineMs !== undefined && open.phase === "started";

/** True when a dead runner was in the middle of it. Its effect at the request counts, not today's. */
const isCutOff = ({ open }: Entry): boolean => open.phase === "started" && open.effect === "unsafe";

/** True when it certainly did not happen. If it certainly did, it is settled so. */
async function isUndone(ledger: LedgerWorld, { id, open, tool, input }: Entry): Promise<boolean> {
  const { deps, drive, signal } = ledger;
  if (tool === undefined || tool.effect === "session") return false;
  const checked = await tool.check(input);
  if (!checked.ok) return false;
  const ask = () => tool.probe?.(drive.key(open.seq), { input: checked.value, signal }).catch(() => null);
  let probed = await ask();
  // An earlier holder that is still alive may be about to run it: probed again once it must have stopped.
  const waitMs = drive.lease.aloneFromMs - momentOf(deps.world).steadyMs;
  if (probed?.outcome === "not-done" && waitMs > 0) {
    await deps.world.sleep(waitMs, signal);
    probed = signal.aborted ? null : await ask();
  }
  if (probed?.outcome === "done") {
    const shaped = await shapeOutput(deps, probed.output ?? "it had been done", open.seq);
    await settleResult(drive, { do: "settle", call: id, ...shaped, status: "ok" });
  }
  return probed?.outcome === "not-done";
}

/** It never runs again automatically: model and person learn that the outcome is unknown. */
async function unknown({ drive, runContext }: LedgerWorld, id: string, { tool }: OpenCall): Promise<void> {
  const output = `the run of ${tool} was cut off: its effect is not known. Look before repeating it`;
  const ask = runContext.rules.onUnknown === "ask";
  await drive.change({ do: "settle", call: id, status: "unknown", output, ask });
}

/** How long a stopped call may still change files before they are scanned. */
const stopMs = 500;

/** `left`: the result is unwanted, and the end of the turn settles the call. */
async function runEntry(
  ledger: LedgerWorld,
  { id, open, tool, input }: Ready,
  { watched, rules }: { readonly watched: WatchedCalls | undefined; readonly rules: CallRules | null },
): Promise<"settled" | "left"> {
  const { deps, drive, signal } = ledger;
  const { world } = deps;
  const checked = await tool.check(input);
  if (!checked.ok) {
    await drive.change({ do: "settle", call: id, status: "error", output: toolErrorText(checked.message) });
    return "settled";
  }
  // After a pause longer than its lease, another process may be running this very call.
  if (!(await ledger.isHeld())) return "left";
  const begun = world.now();
  const isPathDenied =
    rules === null ? undefined : pathRules(rules, { tool: tool.name, input: checked.value });
  const call = {
    key: drive.key(open.seq),
    session: drive.session,
    seq: open.seq,
    signal,
    ...(isPathDenied === undefined ? {} : { isPathDenied }),
  };
  let ended: Promise<unknown> = Promise.resolve();
  const run: OuterTool["run"] = (...given) => (ended = tool.run(...given));
  const ran: ToolRunOutcome | null = await runTool(
    deps,
    Object.create(tool, { run: { value: run } }) as OuterTool,
    checked.value,
    call,
  );
  if (ran === null) {
    // File changes while it stops count as its work, too.
    if (watched !== undefined) await Promise.race([ended.catch(() => undefined), world.sleep(stopMs)]);
    return "left";
  }
  const ms = Math.max(0, world.now() - begun);
  const ask = ran.status === "unknown" && ledger.runContext.rules.onUnknown === "ask" ? { ask: true } : {};
  // The turn may have ended meanwhile, and settled the call with it.
  const settle = async (changed: readonly TreeChange[]) =>
    settleResult(drive, {
      do: "settle",
      call: id,
      ms,
      late: true,
      ...ask,
      ...ran,
      ...withChanges(ran, changed),
    });
  await (watched === undefined || tool.effect === "read" ? settle([]) : watched.record(settle));
  return "settled";
}

/**
 * Settles a call. A result that no record can hold is replaced by a note: the tool ran, and a call without an
 * outcome would stop the session at every run.
 */
async function settleResult(drive: Drive, result: CommandOf<"settle">): Promise<void> {
  try {
    await drive.change(result);
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "invalid") throw error;
    const { blocks: _, detail: __, ...rest } = result;
    const output = `the tool ran, but its result could not be stored: ${toolErrorText(error)}`;
    await drive.change({ ...rest, output });
  }
}

/** What changed, and in the result's detail why that may not be all. */
function withChanges(
  ran: ToolRunOutcome,
  changed: readonly TreeChange[],
): { readonly changed?: readonly TreeChange[]; readonly detail?: unknown } {
  if (changed.length === 0) return {};
  const unkept = changed.flatMap((one) => one.unkept ?? []);
  const detail: unknown = "detail" in ran ? ran.detail : {};
  const isOpen = typeof detail === "object" && detail !== null && !Array.isArray(detail);
  return { changed, ...(unkept.length > 0 && isOpen ? { detail: { ...detail, unkept } } : {}) };
}

/** Settles external calls past their deadline as unknown. Returns how many. */
export async function settleOverdue(
  deps: Deps,
  session: SessionId,
  state: State,
  given?: AgentRules,
): Promise<number> {
  const overdue = (now: State): string[] =>
    [...now.mind.calls.entries()].flatMap(([call, { deadlineMs }]) =>
      deadlineMs !== undefined && deadlineMs <= deps.store.now() ? [call] : [],
    );
  const late = overdue(state);
  if (late.length === 0) return 0;
  const rules = given ?? agentRules((await agentOf(deps, session, state)).agent);
  let count = 0;
  for (const call of late) {
    const done = await deps.writer
      .change(
        session,
        (now) => {
          const open = now.mind.calls.get(call);
          if (open?.deadlineMs === undefined)
            throw new SkeinError("conflict", `call ${quote(call)} was settled just now`);
          const until = new Date(open.deadlineMs).toISOString();
          const output = `no result of ${open.tool} arrived by ${until}: its effect is not known`;
          const ask = rules.onUnknown === "ask" && open.effect === "unsafe";
          return { do: "settle", call, status: "unknown", output, ask };
        },
        { actor: "system", asked: false },
      )
      .catch((error: unknown) => {
        const isOvertaken = error instanceof SkeinError && ["conflict", "refused"].includes(error.code);
        if (!isOvertaken) throw error;
      });
    if (done !== undefined) count += 1;
  }
  return count;
}
