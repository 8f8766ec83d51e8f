/** The actions of bound session tools with which a model directs its own session. */
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import { handoffSession } from "../branch/handoff.ts";
import { mergeCommand } from "../branch/merge.ts";
import type { Deps } from "../deps.ts";
import { readContent } from "../read/content.ts";
import { findSession } from "../read/find.ts";
import type { Drive } from "./drive.ts";
import type { ActCall, ControlAct } from "./session-actions.ts";
import { shapeOutput } from "./tool-output.ts";

export async function performControl(
  deps: Deps,
  drive: Drive,
  call: ActCall,
  act: ControlAct,
): Promise<void> {
  const settle = { do: "settle", call: call.id, status: "ok" } as const;
  switch (act.act) {
    case "save": {
      const { name, note } = act;
      const output = `saved as ${name}; rewind leads back here`;
      await drive.change({ ...settle, output, act: { do: "save", name, ...present({ note }) } });
      return;
    }
    case "rewind":
      return rewind(deps, drive, act);
    case "merge": {
      const from = await relative(deps, drive.session, act.from);
      const { report, command } = await mergeCommand(deps, drive.session, { ...act, from });
      const { ok, conflicts, taken, same } = report;
      const shown = conflicts.map(({ name, ours, theirs }) => ({
        name,
        ours: ours.value,
        theirs: theirs.value,
      }));
      const merged = { merged: taken.map(({ kind, key }) => `${kind} ${key}`), same: same.length };
      const output = ok ? merged : { merged: [], conflicts: shown };
      const shaped = await shapeOutput(deps, output, call.open.seq);
      await drive.change({ ...settle, ...shaped, ...(command === null ? {} : { act: command }) });
      return;
    }
    case "handoff": {
      const { text } = await handoffSession(deps, drive.session, {});
      await drive.change({ ...settle, ...(await shapeOutput(deps, text, call.open.seq)) });
      return;
    }
    case "trigger":
      return trigger(deps, drive, call, act);
    case "compress": {
      const output = "the older part of the conversation is summarized before the next step";
      await drive.change({ ...settle, output });
      call.compress(act.instructions);
    }
  }
}

/** One append ends the turn, goes back, and brings the input to go on with. */
async function rewind(
  deps: Deps,
  drive: Drive,
  { to, because }: Extract<ControlAct, { act: "rewind" }>,
): Promise<void> {
  const state = await drive.state();
  const point = state.standing.checkpoints.get(to);
  if (point === undefined) {
    const names = [...state.standing.checkpoints.keys()];
    throw new SkeinError("not-found", `rewind: to: there is no saved point ${quote(to)}`, {
      hint: names.length === 0 ? "nothing is saved" : `saved: ${names.join(", ")}`,
    });
  }
  if (state.mind.calls.size > 1)
    throw new SkeinError("refused", "rewind: other calls of this step are open", { hint: "call it alone" });
  const earlier = await deps.states.at(drive.session, point);
  const told =
    `You went back to ${to} from position ${state.seq}, and what came after it is forgotten here; what was ` +
    `done to files and elsewhere stays done. Your reason: ${because}\n\nGo on from here.`;
  await drive.change({ do: "rewind", earlier, requeue: true, reason: because, told });
}

/** A fork or child of this session: nobody else's work is merged at a model's word. */
async function relative(deps: Deps, session: SessionId, idOrEnding: string): Promise<SessionId> {
  const from = await findSession(deps.store, idOrEnding);
  const { fork, parent } = (await deps.writer.current(from)).standing;
  if (fork?.parent === session || parent?.session === session) return from;
  throw new SkeinError("refused", `merge: from: ${from} is not a fork or child of this session`);
}

async function trigger(
  deps: Deps,
  drive: Drive,
  call: ActCall,
  { name, spec }: Extract<ControlAct, { act: "trigger" }>,
): Promise<void> {
  const settle = { do: "settle", call: call.id, status: "ok" } as const;
  const before = (await drive.state()).standing.triggers.get(name);
  // A person's trigger, and one that waits for a child, stay as they are.
  if (before !== undefined && !(await isOwn(deps, drive.session, before.seq)))
    throw new SkeinError("refused", `trigger: name: ${quote(name)} was not set by this tool`, {
      hint: "use another name",
    });
  if (spec === undefined) {
    const act = { do: "untrigger", name } as const;
    await drive.change({ ...settle, output: `removed ${name}`, act });
    return;
  }
  const { prepareTrigger } = await import("../trigger/triggers.ts");
  const where = `trigger ${quote(name)}`;
  const { session } = drive;
  const { setting } = await prepareTrigger(deps, {
    name,
    spec,
    where,
    bindings: [],
    session,
    owner: session,
  });
  const next = setting.nextMs === undefined ? "never" : new Date(setting.nextMs).toISOString();
  await drive.change({ ...settle, output: `set; next at ${next}`, act: { do: "trigger", ...setting } });
}

async function isOwn(deps: Deps, session: SessionId, seq: number): Promise<boolean> {
  const [record] = await deps.store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record?.actor === "tool:trigger" && (await readContent(deps.store, session, seq)) !== undefined;
}
