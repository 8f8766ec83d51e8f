/**
 * A turn as it happens, for whoever watches: the answer as it is made, tool calls and what came of them, and
 * why the session stands still. For programs, every event and delta is a line of JSON.
 */
import { zoneHint, type Zone } from "../core/zone.ts";
import type { Heard } from "../runtime/ask.ts";
import type { Event } from "../runtime/event-reader.ts";
import type { LiveDelta } from "../runtime/live.ts";
import { plain } from "./event-line.ts";
import { money } from "./money.ts";
import type { Screen } from "./screen.ts";
import { count, cut, oneLine, safePieces } from "./text.ts";
import { ending } from "./title.ts";

export interface Hearing {
  hear(one: Heard): Promise<void>;
  /** Ends the line that an answer has left open. */
  rest(): Promise<void>;
  /** How the last turn ended that was heard to end. */
  outcome(): string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Columns that a line about a tool call may take where nobody cuts it. */
const lineColumnsMax = 200;

/** `note` takes what is not the answer itself; by default it goes to standard error. */
export function makeHearing(
  out: Screen,
  options: { readonly note?: (text: string) => void | Promise<void> } = {},
): Hearing {
  const say = options.note ?? ((text: string) => out.note(text));
  const answer = makeAnswer(out);
  let outcome: string | null = null;
  /** The tool of each call that was heard of, by the call's id. */
  const tools = new Map<unknown, string>();

  const note = async (text: string): Promise<void> => {
    if (text === "") return;
    await answer.rest();
    await say(text);
  };
  return {
    async hear(one) {
      if (one.type === "turn.ended") outcome = String((one.body as Fields)["outcome"]);
      if (out.json) return out.emit("content" in one ? { ...one, content: one.content ?? null } : one);
      if (one.type === "delta") {
        const delta = one as LiveDelta;
        if (answer.isFirst(delta) && delta.delta.type === "reasoning") await note(out.dim("(thinking)"));
        return answer.delta(delta);
      }
      const event = one as Event;
      if (event.type === "model.responded") return answer.whole(event);
      const body = event.body as Fields;
      if (event.type === "tool.requested") tools.set(body["call"], plain(body["tool"]));
      const tool = tools.get(body["call"]) ?? event.actor.replace(/^(?!tool:).*$|^tool:/, "");
      const told = notes[event.type]?.({ ...body, tool }, (event.content ?? {}) as Fields, event, out);
      if (told !== undefined) await note(told);
    },
    rest: () => answer.rest(),
    outcome: () => outcome,
  };
}

/** The text of answers. What was not heard while it was made, in another process, is shown whole. */
function makeAnswer(out: Screen) {
  let pieces = safePieces();
  let heardSeq = 0;
  let spoke = false;
  let open = false;
  const write = async (text: string): Promise<void> => {
    // White space before the first word would only be an empty line.
    const shown = spoke ? text : text.trimStart();
    if (shown === "") return;
    spoke = true;
    open = !shown.endsWith("\n");
    await out.text(shown);
  };
  const rest = async (): Promise<void> => {
    if (open) await out.text("\n");
    [open, spoke, pieces] = [false, false, safePieces()];
  };
  return {
    rest,
    isFirst: ({ requestSeq }: LiveDelta): boolean => requestSeq !== heardSeq,
    async delta({ requestSeq, delta }: LiveDelta): Promise<void> {
      if (requestSeq !== heardSeq) await rest();
      heardSeq = requestSeq;
      if (delta.type === "text") await write(pieces(delta.text));
    },
    async whole(event: Event): Promise<void> {
      const { blocks = [] } = (event.content ?? {}) as { readonly blocks?: readonly Fields[] };
      const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => plain(text));
      if (event.cause !== heardSeq || heardSeq === 0) await write(pieces(texts.join("")));
      if (event.erased) await write("(erased)");
      await rest();
    },
  };
}

type Note = (body: Fields, content: Fields, event: Event, out: Screen) => string;

const notes: Readonly<Record<string, Note>> = {
  "tool.requested": ({ tool, ask }, { input }, _, out) =>
    fitted(out, `→ ${plain(tool)} ${argumentsOf(input)}${ask === true ? "  (asks first)" : ""}`),
  "tool.approved": (_body, { reason }, _event, out) => out.dim(withReason("  approved", reason)),
  "tool.denied": (_body, { reason }, _event, out) => out.dim(withReason("  denied", reason)),
  "tool.settled": ({ status, ms, late, tool }, { output }, _, out) => {
    const name = tool === "" ? "" : `${plain(tool)} `;
    const took = typeof ms === "number" ? ` in ${duration(ms)}` : "";
    const came = late === true ? " (too late)" : "";
    const paint = status === "ok" ? out.green : status === "error" ? out.red : out.yellow;
    const head = `${paint(plain(status))}${took}${came}`;
    const said = oneLine(plain(output).slice(0, 2_000));
    return `← ${name}${head}${said === "" ? "" : `: ${cut(said, room(out) - name.length - 24)}`}`;
  },
  "model.failed": ({ model, error, retryable }, { message }, _, out) => {
    if (error === "interrupted" || error === "crashed") return "";
    const told = withReason(`${plain(model)}: ${plain(error)}`, message);
    return out.yellow(`${told}${retryable === true ? "; asked again" : ""}`);
  },
  "zone.crossed": ({ zone, tokens, windowTokens }, _content, _event, out) => {
    const share = Math.round((Number(tokens) / Math.max(1, Number(windowTokens))) * 100);
    const hint = zoneHint(zone as Zone, [`${share}% of the window`]);
    return hint === "" ? "" : out.yellow(hint);
  },
  "transcript.compacted": ({ strategy, tokensBefore, tokensAfter, costNanoUsd }, _content, _event, out) => {
    const cost = costNanoUsd === undefined ? "" : ` for ${money(costNanoUsd as number | null)}`;
    const sizes = `${count(Number(tokensBefore))} to ${count(Number(tokensAfter))} tokens`;
    return out.dim(`the context was compacted (${plain(strategy)}): ${sizes}${cost}`);
  },
  "session.suspended": (_body, { reason }, { session }, out) =>
    out.yellow(withReason(`session ${ending(session)} is suspended`, reason)),
  "session.slept": ({ untilMs }, { reason }, _, out) =>
    out.dim(
      withReason(
        `it sleeps${typeof untilMs === "number" ? ` until ${new Date(untilMs).toISOString()}` : ""}`,
        reason,
      ),
    ),
  "session.interrupted": (_body, { reason }, _event, out) => out.yellow(withReason("interrupted", reason)),
  "session.closed": ({ outcome }, { reason }, _, out) =>
    out.yellow(withReason(`it is closed: ${plain(outcome)}`, reason)),
  "turn.ended": ({ outcome }, _content, _event, out) => {
    const told = endings[plain(outcome)];
    return told === undefined ? "" : out.yellow(told);
  },
};

/** What people are told of a turn that did not come to its end by itself. */
const endings: Readonly<Record<string, string>> = {
  refused: "the model refused to answer",
  length: "the answer was cut off: it was too long, or the turn took too many steps",
  failed: "the turn failed",
};

const withReason = (text: string, reason: unknown): string =>
  reason === undefined || reason === "" ? text : `${text}: ${oneLine(plain(reason))}`;

const room = (out: Screen): number => Math.max(40, out.columns ?? lineColumnsMax);
const fitted = (out: Screen, text: string): string => cut(text, room(out));

/** The arguments of a call as people would write them. */
export function argumentsOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return oneLine(plain(input).slice(0, 2_000));
  return Object.entries(input)
    .map(([name, value]) => `${oneLine(name)}=${cut(oneLine(plain(value).slice(0, 500)), 80)}`)
    .join(" ");
}

const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
