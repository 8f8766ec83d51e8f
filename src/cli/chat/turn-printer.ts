/**
 * Prints a turn as it happens: the streaming answer, tool calls and their results, and why the session is
 * suspended. Without a terminal, only whole messages of an answer are written, since one that breaks off and
 * is retried could not be taken back. For programs, every event and delta is a line of JSON.
 */
import { lackedText } from "../../core/text/lacked-text.ts";
import { shortId } from "../../core/text/short-id.ts";
import { limit } from "../../core/limit.ts";
import { splitHint, zoneHint, type Zone } from "../../core/context/zone.ts";
import type { SessionUpdate } from "../../runtime/turn/ask.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { money } from "../format/money.ts";
import type { Screen } from "../command/screen.ts";
import { plain, count, cut, oneLine, safePieces } from "../format/text.ts";
import type { SessionEvent } from "../../core/event.ts";

export interface UpdatePrinter {
  hear(one: SessionUpdate): Promise<void>;
  /** Ends an open line of an answer. */
  rest(): Promise<void>;
  /** The outcome of the last ended turn. */
  outcome(): string | null;
  /** True when a turn has taken the caller's input. */
  isTaken(): boolean;
}

export interface HearingOptions {
  /** Receives everything except the answer itself; defaults to standard error. */
  readonly note?: (text: string) => void | Promise<void>;
  /** The first input is the caller's: turns that do not take it are not shown. */
  readonly ownOnly?: boolean;
  /** Called when that input is still queued, and another process may run the session. */
  readonly waiting?: () => Promise<void>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Columns of a line about a tool call without a terminal. */
const lineColumnsMax = 200;

export function makeHearing(out: Screen, options: HearingOptions = {}): UpdatePrinter {
  const say = options.note ?? ((text: string) => out.note(text));
  const answer = makeAnswer(out);
  const own = options.ownOnly === true ? makeOwn() : null;
  let outcome: string | null = null;
  /** The tool of each call, by the call's id. */
  const tools = new Map<unknown, string>();

  const note = async (text: string): Promise<void> => {
    if (text === "") return;
    await answer.rest();
    await say(text);
  };
  let closed: SessionEvent | null = null;
  const tellClosed = async (): Promise<void> => {
    const event = closed;
    closed = null;
    const line =
      event === null
        ? undefined
        : notes[event.type]?.(fieldsOf(event.body), fieldsOf(event.content), event, out);
    if (line !== undefined) await note(line);
  };
  const goOn = async ({ session, body }: SessionEvent): Promise<void> => {
    const reason = closed === null ? undefined : fieldsOf(closed.content)["reason"];
    closed = null;
    own?.goOn();
    answer.goOn();
    const { to } = body as { readonly to: string };
    await note(out.dim(withReason(`${shortId(session)} continues as ${shortId(to)}`, reason)));
  };
  return {
    async hear(one) {
      const isOwn = own?.isOwn(one) ?? true;
      const mayWait = one.type === "input.received" || one.type === "lease.taken";
      if (own?.isTaken() === false && mayWait) await options.waiting?.();
      if (one.type === "turn.ended" && isOwn) outcome = String((one.body as Fields)["outcome"]);
      if (out.json) return out.emit("content" in one ? { ...one, content: one.content ?? null } : one);
      if (!isOwn) return;
      if (one.type === "delta") {
        const delta = one as LiveDelta;
        if (answer.isFirst(delta) && delta.delta.type === "reasoning") await note(out.dim("(thinking)"));
        return answer.delta(delta);
      }
      const event = one as SessionEvent;
      if (event.type === "session.continued") return goOn(event);
      // Closed as the append that opens the next one, or for good: the next update says which.
      await tellClosed();
      if (event.type === "session.closed") return void (closed = event);
      if (event.type === "model.responded") return answer.whole(event);
      if (event.type === "model.failed") await answer.broken(event);
      if (event.type === "model.requested") answer.requested();
      if (event.type === "turn.ended") await answer.ended();
      const body = event.body as Fields;
      if (event.type === "tool.requested") tools.set(body["call"], plain(body["tool"]));
      const tool = tools.get(body["call"]) ?? event.actor.replace(/^(?!tool:).*$|^tool:/, "");
      const line = notes[event.type]?.({ ...body, tool }, (event.content ?? {}) as Fields, event, out);
      if (line !== undefined) await note(line);
    },
    async rest() {
      await tellClosed();
      await answer.rest();
    },
    outcome: () => outcome,
    isTaken: () => own?.isTaken() ?? true,
  };
}

const fieldsOf = (value: unknown): Fields => (value ?? {}) as Fields;

const takesInputs = (type: string): boolean => type === "turn.started" || type === "model.requested";

const said = (content: unknown): string => JSON.stringify(fieldsOf(content)["blocks"] ?? null);

/** Selects what belongs to the turn that took the first input. */
function makeOwn() {
  let inputSeq: number | null = null;
  /** Its content, by which it is found again in a session that took it over. */
  let input: string | null = null;
  const turns = new Set<number | null>();
  const requests = new Set<number>();
  return {
    isTaken: () => turns.size > 0,
    /** The next session has other positions and turns; its first inputs continue the turn. */
    goOn(): void {
      if (turns.size > 0) input = null;
      inputSeq = null;
      turns.clear();
      requests.clear();
    },
    isOwn(one: SessionUpdate): boolean {
      if (one.type === "delta") return requests.has((one as LiveDelta).requestSeq);
      const { type, seq, turn, body, content } = one as SessionEvent;
      if (type === "input.received" && (input ?? said(content)) === said(content)) {
        inputSeq ??= seq;
        input = said(content);
      }
      if (takesInputs(type)) {
        const { inputs } = body as { readonly inputs: readonly (readonly [number, number])[] };
        if (inputs.some(([taken]) => taken === inputSeq)) turns.add(turn);
      }
      const isOwn = turns.has(turn);
      if (type === "model.requested" && isOwn) requests.add(seq);
      // Changes of the session concern every caller.
      return isOwn || turn === null || type.startsWith("session.");
    },
  };
}

/** The text of answers. What was not streamed, in another process or without a terminal, is shown whole. */
function makeAnswer(out: Screen) {
  const isLive = out.columns !== null;
  let pieces = safePieces();
  let heardSeq = 0;
  let shownSeq = 0;
  let spoke = false;
  /** The request whose text was shown, whatever was printed after it. */
  let spokenSeq = 0;
  let open = false;
  /** The text of an interrupted answer that may be retried: it could not be taken back. */
  let held: string | null = null;
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
    goOn(): void {
      [heardSeq, shownSeq, spokenSeq, held] = [0, 0, 0, null];
    },
    isFirst: ({ requestSeq }: LiveDelta): boolean => requestSeq !== heardSeq,
    async delta({ requestSeq, delta }: LiveDelta): Promise<void> {
      if (requestSeq !== heardSeq) await rest();
      heardSeq = requestSeq;
      if (delta.type !== "text" || !isLive) return;
      shownSeq = requestSeq;
      await write(pieces(delta.text));
      if (spoke) spokenSeq = requestSeq;
    },
    /** Shows the text of an interrupted answer, if it was not streamed, and marks it. */
    async broken({ cause, content }: SessionEvent): Promise<void> {
      const { partial } = (content ?? {}) as Fields;
      held = isLive || typeof partial !== "string" ? null : partial;
      if (held !== null) return;
      const isShown = cause === spokenSeq && spokenSeq !== 0;
      if (!isShown && typeof partial === "string") await write(pieces(partial));
      if (isShown || typeof partial === "string") {
        await out.text(out.dim(" … (interrupted)"));
        open = true;
      }
      await rest();
    },
    requested(): void {
      held = null;
    },
    async ended(): Promise<void> {
      if (held === null) return;
      await write(pieces(held));
      await out.text(out.dim(" … (interrupted)"));
      held = null;
      open ||= spoke;
      await rest();
    },
    async whole(event: SessionEvent): Promise<void> {
      const { blocks = [] } = (event.content ?? {}) as { readonly blocks?: readonly Fields[] };
      const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => plain(text));
      if (event.cause !== shownSeq || shownSeq === 0) await write(pieces(texts.join("")));
      if (event.erased) await write("(erased)");
      await rest();
    },
  };
}

type Note = (body: Fields, content: Fields, event: SessionEvent, out: Screen) => string;

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
  "model.failed": ({ model, error }, { message }, _, out) => {
    if (error === "interrupted" || error === "crashed") return "";
    return out.yellow(withReason(`${plain(model)}: ${plain(error)}`, message));
  },
  "model.requested": ({ attempt, purpose }, _content, _event, out) => {
    if (Number(attempt) <= 1 || purpose === "compaction") return "";
    return out.dim(`retrying (${plain(attempt)} of ${limit.attemptsMax})`);
  },
  "context.retrieved": ({ note }, _content, _event, out) =>
    note === "embedding-failed" ? out.yellow(lackedText("embedding-failed")) : "",
  "zone.acted": ({ action, zone, by }, { text }, { session }, out) => {
    if (action !== "tell-person") return "";
    const onward = `skein open --from ${shortId(session)}, in a chat /handoff`;
    const hint = zoneHint(zone as Zone, typeof text === "string" ? [plain(text)] : [], onward);
    const isOther = Array.isArray(by) && by.includes("drift");
    return out.yellow(isOther ? `${hint} ${splitHint(shortId(session))}` : hint);
  },
  "transcript.compacted": ({ strategy, tokensBefore, tokensAfter, costNanoUsd }, _content, _event, out) => {
    const cost = costNanoUsd === undefined ? "" : ` for ${money(costNanoUsd as number | null)}`;
    const sizes = `${count(Number(tokensBefore))} to ${count(Number(tokensAfter))} tokens`;
    return out.dim(`the context was compacted (${plain(strategy)}): ${sizes}${cost}`);
  },
  "session.suspended": (_body, { reason }, { session }, out) =>
    out.yellow(withReason(`session ${shortId(session)} is suspended`, reason)),
  "session.slept": ({ untilMs }, { reason }, _, out) =>
    out.dim(
      withReason(
        `it sleeps${typeof untilMs === "number" ? ` until ${new Date(untilMs).toISOString()}` : ""}`,
        reason,
      ),
    ),
  "session.interrupted": (_body, { reason }, _event, out) => out.yellow(withReason("interrupted", reason)),
  "session.closed": ({ outcome }, { reason }, _, out) =>
    out.yellow(withReason(`closed: ${plain(outcome)}`, reason)),
  "turn.ended": ({ outcome }, _content, _event, out) => {
    const text = endings[plain(outcome)];
    return text === undefined ? "" : out.yellow(text);
  },
};

/** What people see of a turn that did not complete. */
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
