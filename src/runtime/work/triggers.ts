/** Setting triggers: what is wrong with one is told now, and how what it watches is now is written with it. */
import type { Binding } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { checkTrigger, type TriggerSpec } from "../../core/trigger.ts";
import { readContent } from "../content.ts";
import type { Context } from "../engine-context.ts";
import type { Change } from "../writer.ts";
import { sources } from "./sources.ts";
import { checkTime, isTimeSpec, nextTime } from "./times.ts";

export interface TriggerOptions {
  /** What becomes of times that pass while nobody is there: `once`, the default, `all` or `skip`. */
  readonly missed?: "once" | "all" | "skip";
}

export async function setTrigger(
  context: Context,
  session: SessionId,
  name: string,
  given: TriggerSpec,
  { missed }: TriggerOptions = {},
): Promise<Change> {
  const { writer, actor } = context;
  const ready = await prepare(context, session, checkTrigger(given));
  const rule = missed === undefined ? {} : { missed };
  return writer.change(session, { do: "trigger", name, ...ready, ...rule }, { actor });
}

interface Prepared {
  readonly kind: TriggerSpec["kind"];
  readonly spec: TriggerSpec;
  readonly nextMs?: number;
  readonly digest?: string;
  readonly topic?: string;
  readonly from?: string;
}

async function prepare(context: Context, session: SessionId, spec: TriggerSpec): Promise<Prepared> {
  const { kind } = spec;
  if (isTimeSpec(spec)) {
    const nowMs = context.world.now();
    checkTime(spec, nowMs);
    const nextMs = nextTime(spec, nowMs);
    return { kind, spec, ...(nextMs === null ? {} : { nextMs }) };
  }
  if (spec.kind === "message") {
    const { topic, from } = spec;
    return { kind, spec, ...(topic === undefined ? {} : { topic }), ...(from === undefined ? {} : { from }) };
  }
  const source = sources.find(({ kinds }) => kinds.includes(kind));
  if (source === undefined) {
    throw new SkeinError("invalid", `triggers of kind "${kind}" are not there yet`);
  }
  const bindings = await bindingsOf(context, session, await context.writer.current(session));
  const ready = await source.prepare(context, { session, spec, bindings });
  return { kind, spec: ready.spec, ...(ready.digest === null ? {} : { digest: ready.digest }) };
}

async function bindingsOf({ store }: Context, session: SessionId, state: State): Promise<Binding[]> {
  const bindings: Binding[] = [];
  for (const [name, { kind, mode, seq }] of state.standing.bindings.entries()) {
    const content = await readContent(store, session, seq);
    if (content !== undefined) bindings.push({ ...(content as object), name, kind, mode });
  }
  return bindings;
}
