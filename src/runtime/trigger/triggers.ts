/** Sets triggers: validates one now, and records the current digest of what it watches. */
import { readRecords } from "../read/record-pages.ts";
import { present } from "../../core/present.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { TriggerSetting } from "../../core/trigger/commands.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State, TriggerRef } from "../../core/state.ts";
import {
  checkMissed,
  checkTrigger,
  checkTriggerName,
  type MissedRule,
  type TriggerSpec,
  type WakeTrigger,
} from "../../core/trigger/trigger.ts";
import { changedBefore } from "../log/request-scope.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import type { Change } from "../log/writer.ts";
import { specOf } from "./fire.ts";
import { sources } from "./sources.ts";
import { checkTime, isTimeSpec, nextTime } from "./times.ts";
import { makeToken, type TriggerOwner } from "./webhook-token.ts";

/** Options of `session.trigger`. */
export interface TriggerOptions {
  /** How to handle missed times: `once`, the default, `all` or `skip`. */
  readonly missed?: MissedRule;
}

/** The trigger, and the token of a webhook, which is shown only once. */
export interface SetTrigger {
  readonly change: Change;
  readonly token: string | null;
}

export async function setTrigger(
  deps: Deps,
  session: SessionId,
  name: string,
  given: TriggerSpec,
  options: TriggerOptions = {},
): Promise<SetTrigger> {
  const { writer, actor } = deps;
  checkTriggerName(name);
  const where = `trigger ${quote(name)}`;
  const missed = checkMissed(options.missed, where);
  const spec = checkTrigger(given, where);
  // Its time may have passed since, and what it watches may be missing.
  const done = spec.kind === "webhook" ? null : await changedBefore(deps, session);
  if (done !== null) return { change: done, token: null };
  const bindings = await bindingsOf(deps, session, await writer.current(session));
  const wanted = { name, spec, where, bindings, session, owner: session };
  const again = (times: number): string => `${deps.once}/${times}`;
  let before: Change | null = null;
  for (let times = 1; ; times++) {
    const { setting, token } = await prepareTrigger(deps, wanted);
    const command = { do: "trigger", ...setting, ...present({ missed }) } as const;
    const key = times === 1 ? undefined : again(times);
    const first = before;
    const change: Change = await writer.change(session, command, { actor, key }).catch((error: unknown) => {
      const isRefused = error instanceof SkeinError && error.code === "refused";
      if (first !== null && isRefused) return first;
      throw error;
    });
    if (!change.duplicate || token === null) return { change, token };
    if (change === before) return { change, token: null };
    // A removed or replaced one is not set again. Otherwise a new token replaces the lost one.
    const isThere = change.state.standing.triggers.get(name)?.seq === change.firstSeq;
    if (!isThere && (await writer.keyed(session, again(times + 1))) === undefined)
      return { change, token: null };
    before = change;
  }
}

/** The triggers of a session about to be opened, ready for its first append. */
export async function prepareWake(
  deps: Deps,
  wake: readonly WakeTrigger[],
  bindings: readonly Binding[],
): Promise<readonly TriggerSetting[]> {
  const settings = new Map<string, TriggerSetting>();
  for (const [place, one] of wake.entries()) {
    const where = `wake[${place}]`;
    if (typeof one !== "object" || one === null) {
      throw new SkeinError("invalid", `${where}: expected a trigger object`, {
        hint: 'for example { kind: "cron", cron: "0 9 1 * *" }',
      });
    }
    const { name: called, missed: rule, ...given } = one;
    const spec = checkTrigger(given, where);
    if (spec.kind === "webhook") {
      throw new SkeinError(
        "invalid",
        `${where}: kind: a webhook cannot be set while opening a session, because its token is shown once`,
        {
          hint: 'open the session, then call session.trigger("name", { kind: "webhook" })',
        },
      );
    }
    const name = called === undefined ? freeName(spec.kind, settings) : checkTriggerName(called, where);
    if (settings.has(name)) throw new SkeinError("invalid", `${where}: name: ${quote(name)} is used twice`);
    const missed = checkMissed(rule, where);
    const wanted = { name, spec, where, bindings, session: null, owner: null };
    const { setting } = await prepareTrigger(deps, wanted);
    settings.set(name, { ...setting, ...present({ missed }) });
  }
  return [...settings.values()];
}

/** `cron`, and if that name is taken, `cron-2`. */
function freeName(kind: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? kind : `${kind}-${number}`;
    if (!taken.has(name)) return name;
  }
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

interface TriggerRequest {
  readonly name: string;
  readonly spec: TriggerSpec;
  /** For error messages. */
  readonly where: string;
  readonly bindings: readonly Binding[];
  /** Null for a session yet to be opened, and for a template. */
  readonly session: SessionId | null;
  /** The log that it is set in; null when that has no name yet. */
  readonly owner: TriggerOwner | null;
}

/** Validates a trigger, and inspects what it watches. */
export async function prepareTrigger(
  deps: Deps,
  { name, spec, where, bindings, session, owner }: TriggerRequest,
): Promise<{ readonly setting: TriggerSetting; readonly token: string | null }> {
  const { kind } = spec;
  if (isTimeSpec(spec)) {
    const nowMs = deps.store.now();
    // In the options of a new session it stands in a list, and has no owner yet.
    checkTime(spec, nowMs, { where, field: owner === null ? where : "spec" });
    const nextMs = nextTime(spec, nowMs);
    return { setting: { name, kind, spec, ...(nextMs === null ? {} : { nextMs }) }, token: null };
  }
  if (spec.kind === "message") {
    const { topic, from } = spec;
    const only = { ...present({ topic, from }) };
    return { setting: { name, kind, spec, ...only }, token: null };
  }
  if (spec.kind === "webhook") {
    if (spec.digest !== undefined || owner === null)
      throw new SkeinError("invalid", `${where}: digest: not allowed; Skein generates the token`);
    const signedBy = spec.secret ?? spec.signedBy;
    // It is not shown: an invalid name may be the secret itself.
    if (signedBy !== undefined && !variableName.test(signedBy))
      throw new SkeinError("invalid", `${where}: secret: expected the name of an environment variable`, {
        hint: "for example HOOK_SECRET",
      });
    const { token, digest } = makeToken(deps.world, owner, name);
    const stored = { kind: spec.kind, digest, ...present({ signedBy }) };
    return { setting: { name, kind, spec: stored }, token };
  }
  const source = sources.find(({ kinds }) => kinds.includes(kind));
  if (source === undefined)
    throw new SkeinError("invalid", `${where}: kind: "${kind}" is not supported by this engine`);
  const ready = await source.prepare(deps, { session, spec, bindings }).catch((error: unknown) => {
    throw placed(error, where);
  });
  const digest = ready.digest === null ? {} : { digest: ready.digest };
  return { setting: { name, kind, spec: ready.spec, ...digest }, token: null };
}

/** The same error with its location in front. */
function placed(error: unknown, where: string): unknown {
  if (!(error instanceof SkeinError)) return error;
  const { code, message, hint } = error;
  return new SkeinError(code, `${where}: ${message}`, { hint, cause: error });
}

async function bindingsOf({ store }: Deps, session: SessionId, state: State): Promise<Binding[]> {
  const bindings: Binding[] = [];
  for (const [name, { kind, mode, seq }] of state.standing.bindings.entries()) {
    const content = await readContent(store, session, seq);
    if (content !== undefined) bindings.push({ ...(content as object), name, kind, mode });
  }
  return bindings;
}

/** The current state of a session's trigger. */
export interface SessionTrigger extends Omit<TriggerRef, "hash" | "input" | "topic" | "from"> {
  readonly name: string;
  /** Null when it was erased, or a newer program wrote it: then it does not fire. */
  readonly spec: TriggerSpec | null;
  /** When it fired last since it was set; null when it has not. */
  readonly firedAt: number | null;
}

export async function listTriggers(deps: Deps, session: SessionId): Promise<SessionTrigger[]> {
  const { store, writer } = deps;
  const { standing, seq: toSeq } = await writer.current(session);
  const refs = [...standing.triggers.entries()];
  const isOver = ["closed", "archived", "moved"].includes(standing.status);
  const fromSeq = Math.min(Infinity, ...refs.map(([, { seq }]) => seq));
  const firedAt = new Map<string, number>();
  const types = ["trigger.fired"];
  for await (const { seq, at, body } of readRecords(store, session, [fromSeq, toSeq], { types })) {
    const { name } = JSON.parse(body) as { name: string };
    if (seq > (standing.triggers.get(name)?.seq ?? Infinity)) firedAt.set(name, at);
  }
  return Promise.all(
    refs.map(async ([name, ref]) => {
      const { kind, missed, lastCause, seq } = ref;
      // Nothing wakes a closed session.
      const nextMs = isOver ? null : ref.nextMs;
      const spec = await specOf(deps, session, ref);
      return { name, kind, missed, nextMs, lastCause, seq, spec, firedAt: firedAt.get(name) ?? null };
    }),
  );
}
