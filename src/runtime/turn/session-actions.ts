/** The actions of session tools: each is one append with the call's result, or a read and its result. */
import type { SessionAct } from "../../core/tool/session-action.ts";
import { beforeWords } from "../../core/context/signal.ts";
import { itemKey } from "../../core/item/fold.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { OpenCall } from "../../core/state.ts";
import type { Drive } from "./drive.ts";
import { pinnedRoomFor } from "../context/pin.ts";
import { checkItemKind } from "../workspace/item-kind.ts";
import { rememberBeside } from "../workspace/memory.ts";
import { readContent } from "../read/content.ts";
import { recall } from "../read/recall.ts";
import { sendMessage } from "../message/send.ts";
import type { Deps } from "../deps.ts";
import { doubtText } from "../../core/text/doubt-text.ts";
import { toolErrorText, shapeOutput } from "./tool-output.ts";

/** The call of a session tool. */
export interface ActCall {
  readonly id: string;
  readonly open: OpenCall;
  readonly actor: string;
  /** Has the conversation compressed before the next step. */
  readonly compress: (instructions: string | undefined) => void;
}

const controls = ["save", "rewind", "merge", "handoff", "trigger", "compress"] as const;
export type ControlAct = Extract<SessionAct, { readonly act: (typeof controls)[number] }>;
const isControl = (act: SessionAct): act is ControlAct => controls.some((one) => one === act.act);

/** Executes it, and settles the call: the model gets a refusal of the session or the store as an error. */
export async function performAct(deps: Deps, drive: Drive, call: ActCall, act: SessionAct): Promise<void> {
  try {
    if (isControl(act)) await (await import("./control-actions.ts")).performControl(deps, drive, call, act);
    else await perform(deps, drive, call, act);
  } catch (error) {
    if (!(error instanceof SkeinError) || !reportedCodes.includes(error.code)) throw error;
    await drive.change({ do: "settle", call: call.id, status: "error", output: toolErrorText(error) });
  }
}

/** A kind that is known, and room for its value if it is pinned. */
async function checkRecord(
  deps: Deps,
  drive: Drive,
  act: Extract<SessionAct, { act: "record" }>,
): ReturnType<typeof pinnedRoomFor> {
  const state = await drive.state();
  await checkItemKind(deps, drive.session, state, act);
  return pinnedRoomFor(deps, drive.session, state, act);
}

/** Errors that the model can react to. All others end the run. */
const reportedCodes: readonly SkeinError["code"][] = ["invalid", "not-found", "refused"];

/** Also in earlier sessions that lookup may search. */
async function recallIn(
  deps: Deps,
  drive: Drive,
  act: Extract<SessionAct, { act: "recall" }>,
): Promise<unknown> {
  const state = await drive.state();
  const mayRead = async (other: SessionId): Promise<boolean> => {
    const { sessionPermission } = await import("../context/lookup-sessions.ts");
    return (await (await sessionPermission(deps, drive.session, state))?.mayRead(other)) === true;
  };
  return recall(deps, drive.session, state, { ...act, mayRead });
}

async function lookupIn(
  deps: Deps,
  drive: Drive,
  { act: _, ...asked }: Extract<SessionAct, { act: "lookup" }>,
): Promise<unknown> {
  const { lookup } = await import("../context/lookup.ts");
  return lookup(deps, drive.session, await drive.state(), asked);
}

async function perform(
  deps: Deps,
  drive: Drive,
  call: ActCall,
  act: Exclude<SessionAct, ControlAct>,
): Promise<void> {
  const settle = { do: "settle", call: call.id, status: "ok" } as const;
  switch (act.act) {
    case "record":
    case "retract": {
      const { act: verb, ...rest } = act;
      const more = act.act === "record" ? await checkRecord(deps, drive, act) : {};
      const before = act.act === "record" ? await valueBefore(deps, drive, act) : "";
      const output = `${verb === "record" ? "recorded" : "retracted"} ${act.kind} ${act.key}${before}`;
      await drive.change({ ...settle, output, act: { do: verb, ...rest, ...more } as never });
      return;
    }
    case "remember": {
      const { act: _, ...asked } = act;
      const { doubt, also } = await rememberBeside(deps, drive.session, await drive.state(), asked);
      const output =
        doubt === null
          ? `later sessions will know ${act.kind} ${act.key}`
          : `${act.kind} ${act.key} waits for a person's approval: ${doubtText(doubt)}`;
      await drive.change({ ...settle, output }, { also });
      return;
    }
    case "scratch":
      await drive.change({
        ...settle,
        output: "done",
        act: { do: "scratch", key: act.key, value: act.value },
      });
      return;
    case "sleep": {
      const { forMs, reason } = act;
      const untilMs = act.untilMs ?? (forMs === undefined ? undefined : deps.store.now() + forMs);
      const until = untilMs === undefined ? {} : { untilMs };
      const why = reason === undefined ? {} : { reason };
      const output = "the session sleeps when this turn has ended";
      await drive.change({ ...settle, output, act: { do: "sleep", ...until, ...why } });
      return;
    }
    case "recall": {
      const found = await recallIn(deps, drive, act);
      await drive.change({ ...settle, ...(await shapeOutput(deps, found, call.open.seq)) });
      return;
    }
    case "lookup": {
      const found = await lookupIn(deps, drive, act);
      await drive.change({ ...settle, ...(await shapeOutput(deps, found, call.open.seq)) });
      return;
    }
    case "send": {
      const { act: _, to = null, text: value, ...message } = act;
      const { epoch, history } = drive.lease;
      const sender = { id: call.id, epoch, history, actor: call.actor };
      await sendMessage(deps, drive.session, { ...message, to, value }, sender);
      return;
    }
    case "plan":
      await actOnPlan(deps, drive, call, act);
      return;
    case "fork":
      await (await import("../branch/children.ts")).forkChild(deps, drive, call, act);
      return;
    case "open":
      await (await import("../branch/children.ts")).openChild(deps, drive, call, act);
  }
}

/** Reads the plan of the project, or proposes tickets: a record of the project's log, in the same append. */
async function actOnPlan(
  deps: Deps,
  drive: Drive,
  call: { readonly id: string; readonly open: OpenCall },
  { tickets, page = 1 }: Extract<SessionAct, { act: "plan" }>,
): Promise<void> {
  const { planForSession, proposeBeside } = await import("../project/propose.ts");
  const settle = { do: "settle", call: call.id, status: "ok" } as const;
  const state = await drive.state();
  if (tickets === undefined) {
    const shown = await planForSession(deps, state, page);
    await drive.change({ ...settle, ...(await shapeOutput(deps, shown, call.open.seq)) });
    return;
  }
  const { also, output } = await proposeBeside(deps, drive.session, state, tickets);
  await drive.change({ ...settle, output }, { also });
}

const valueCharsMax = 300;

/** For the model, and for a signal of its context: the other value that the item had. */
async function valueBefore(
  { store }: Deps,
  drive: Drive,
  { kind, key, value }: Extract<SessionAct, { act: "record" }>,
): Promise<string> {
  const item = (await drive.state()).mind.items.get(itemKey(kind, key));
  if (item === undefined) return "";
  const content = await readContent(store, drive.session, item.seq);
  const before = JSON.stringify((content as { readonly value?: unknown } | undefined)?.value);
  if (before === undefined || before === JSON.stringify(value)) return "";
  return `${beforeWords}${before.slice(0, valueCharsMax)}`;
}
