/**
 * Projects the events of one input and its turn, and the live deltas of its answers, into a task of A2A and
 * the updates of its stream. Pure. What a client has in the end depends on the log alone: deltas only bring
 * text earlier, and a text that the log does not confirm is replaced.
 */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { isOf } from "../../core/transcript.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { answerId, callId, messageId, taskId } from "./ids.ts";

/** The types of the events that tasks are made of. */
export const taskTypes: readonly string[] = [
  "input.received turn.started turn.ended model.requested model.responded model.failed",
  "tool.requested tool.approved tool.denied tool.settled session.suspended session.activated",
  "session.rewound lease.released item.recorded item.retracted",
].flatMap((line) => line.split(" "));

type State = "SUBMITTED" | "WORKING" | "COMPLETED" | "FAILED" | "CANCELED" | "INPUT_REQUIRED" | "REJECTED";

/** A part of the protocol: a text, or data. */
type OutPart = { readonly text: string } | { readonly data: unknown };

interface OutMessage {
  readonly messageId: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly role: "ROLE_USER" | "ROLE_AGENT";
  readonly parts: readonly OutPart[];
}

interface Artifact {
  readonly artifactId: string;
  readonly name: string;
  readonly description?: string;
  readonly parts: readonly OutPart[];
}

/** A task as a client gets it. */
export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: `TASK_STATE_${State}`;
    readonly timestamp: string;
    readonly message?: OutMessage;
  };
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly OutMessage[];
  readonly metadata?: { readonly outcome: string };
}

/** What a stream sends. */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly statusUpdate: Pick<Task, "contextId" | "status" | "metadata"> & { readonly taskId: string } }
  | { readonly artifactUpdate: object };

/** A call of the task that has no outcome, or had none. */
export interface TaskCall {
  readonly tool: string;
  readonly input: unknown;
  readonly isExternal: boolean;
  isAsked: boolean;
  isOpen: boolean;
}

interface Answer {
  readonly requestSeq: number;
  text: string;
}

const erasedText = "[erased]";

/** The answers and the artifact items of a task. */
class TaskArtifacts {
  readonly #artifacts = new Map<string, Artifact>();
  readonly #place: { readonly taskId: string; readonly contextId: string };
  #answer: Answer | null = null;

  constructor(place: { readonly taskId: string; readonly contextId: string }) {
    this.#place = place;
  }

  /** With what there is of an answer in progress. */
  list(): readonly Artifact[] {
    const answer = this.#answer;
    const open = answer === null || answer.text === "" ? [] : [answerArtifact(answer)];
    return [...this.#artifacts.values(), ...open];
  }

  clear(): void {
    this.#artifacts.clear();
  }

  begin(requestSeq: number): void {
    this.#answer = { requestSeq, text: "" };
  }

  delta({ requestSeq, delta }: LiveDelta): StreamResponse[] {
    const answer = this.#answer;
    if (answer?.requestSeq !== requestSeq || delta.type !== "text" || delta.text === "") return [];
    const isFirst = answer.text === "";
    answer.text += delta.text;
    return [this.#update(answerArtifact({ ...answer, text: delta.text }), { append: !isFirst })];
  }

  /** Sends the rest of an answer; or all of it, if other text was sent. */
  complete(text: string): StreamResponse[] {
    const answer = this.#answer;
    if (answer === null) return [];
    if (text === "") return this.drop();
    this.#answer = null;
    const artifact = answerArtifact({ ...answer, text });
    this.#artifacts.set(artifact.artifactId, artifact);
    const sent = answer.text;
    if (sent === "" || !text.startsWith(sent))
      return [this.#update(artifact, { append: false, lastChunk: true })];
    const rest = answerArtifact({ ...answer, text: text.slice(sent.length) });
    return [this.#update(rest, { append: true, lastChunk: true })];
  }

  /** Closes an answer that nothing confirms. What was sent of it is replaced. */
  drop(): StreamResponse[] {
    const answer = this.#answer;
    this.#answer = null;
    if (answer === null || answer.text === "") return [];
    return [this.#update(answerArtifact({ ...answer, text: "" }), { append: false, lastChunk: true })];
  }

  item(event: EventOf<"item.recorded"> | EventOf<"item.retracted">): StreamResponse[] {
    const { kind, key } = event.body;
    if (kind !== "artifact") return [];
    const artifactId = `item_${key}`;
    if (event.type === "item.retracted") {
      this.#artifacts.delete(artifactId);
      return [];
    }
    const { content, erased } = event;
    const value: unknown = erased ? erasedText : (content?.value ?? null);
    const because = content?.because;
    const artifact: Artifact = {
      artifactId,
      name: key,
      ...(because === undefined ? {} : { description: because }),
      parts: [typeof value === "string" ? { text: value } : { data: value }],
    };
    this.#artifacts.set(artifactId, artifact);
    return [this.#update(artifact, { append: false, lastChunk: true })];
  }

  #update(artifact: Artifact, how: { readonly append: boolean; readonly lastChunk?: true }): StreamResponse {
    return { artifactUpdate: { ...this.#place, artifact, ...how } };
  }
}

/** Feed it the events from the task's input on, in order. */
export class TaskProjection {
  readonly id: string;
  readonly #session: string;
  readonly #inputSeq: number;
  readonly #inputs = new Map<number, EventOf<"input.received">>();
  readonly #history: OutMessage[] = [];
  readonly #artifacts: TaskArtifacts;
  readonly #compactions = new Set<number>();
  readonly #calls = new Map<number, TaskCall>();
  #startedSeq = 0;
  #wait: { readonly by: string; readonly seq: number; readonly reason: string | undefined } | null = null;
  #failure: { readonly seq: number; readonly text: string } | null = null;
  #state: State = "SUBMITTED";
  #outcome: string | null = null;
  #atMs = 0;

  constructor(session: string, inputSeq: number) {
    this.#session = session;
    this.#inputSeq = inputSeq;
    this.id = taskId(session, inputSeq);
    this.#artifacts = new TaskArtifacts({ taskId: this.id, contextId: session });
  }

  /** Whether its input was seen. */
  get isFound(): boolean {
    return this.#inputs.has(this.#inputSeq);
  }

  get isStarted(): boolean {
    return this.#startedSeq > 0;
  }

  get isOver(): boolean {
    return !["SUBMITTED", "WORKING", "INPUT_REQUIRED"].includes(this.#state);
  }

  /** Why the turn waits; null while it runs, and after its end. */
  get waitsFor(): string | null {
    return this.#wait?.by ?? null;
  }

  get state(): string {
    return `TASK_STATE_${this.#state}`;
  }

  get atMs(): number {
    return this.#atMs;
  }

  /** Its calls by position. */
  get calls(): ReadonlyMap<number, TaskCall> {
    return this.#calls;
  }

  /** Drops the texts, for lists. */
  forget(): void {
    this.#artifacts.clear();
    this.#history.length = 0;
  }

  task({ historyLength }: { readonly historyLength?: number | undefined } = {}): Task {
    const history = historyLength === undefined ? this.#history : lastOf(this.#history, historyLength);
    return {
      id: this.id,
      contextId: this.#session,
      status: this.#status(),
      artifacts: this.#artifacts.list(),
      history,
      ...this.#metadata(),
    };
  }

  /** The updates of an event of the log. */
  event(event: SessionEvent): StreamResponse[] {
    if (this.isOver) return [];
    if (isOf(event, "input.received")) return this.#received(event);
    if (isOf(event, "session.rewound")) return this.#rewound(event);
    if (isOf(event, "turn.started")) return this.#take(event.body.inputs, event);
    if (isOf(event, "model.requested")) return this.#request(event);
    return this.isStarted ? this.#turnEvent(event) : [];
  }

  /** The updates of a live delta. One of another answer, or after the answer, gives none. */
  delta(delta: LiveDelta): StreamResponse[] {
    return this.#artifacts.delta(delta);
  }

  #turnEvent(event: SessionEvent): StreamResponse[] {
    if (isOf(event, "model.responded")) return this.#respond(event);
    if (isOf(event, "model.failed")) return this.#fail(event);
    if (isOf(event, "tool.requested")) return this.#call(event);
    if (isOf(event, "tool.approved", "tool.denied")) return this.#answered(event);
    if (isOf(event, "tool.settled")) return this.#settled(event);
    if (isOf(event, "item.recorded", "item.retracted")) return this.#artifacts.item(event);
    if (isOf(event, "turn.ended")) return this.#end(event);
    if (isOf(event, "session.suspended")) {
      this.#wait = { by: event.body.by, seq: event.seq, reason: event.content?.reason };
      return this.#become("INPUT_REQUIRED", event);
    }
    if (!isOf(event, "session.activated")) return [];
    this.#wait = null;
    return this.#become("WORKING", event);
  }

  #received(event: EventOf<"input.received">): StreamResponse[] {
    if (event.body.from !== undefined && event.body.from !== "user") return [];
    this.#inputs.set(event.seq, event);
    if (event.seq !== this.#inputSeq) return [];
    this.#atMs = event.at;
    this.#history.push(this.#user(event));
    return [];
  }

  #user({ seq, content, erased }: EventOf<"input.received">): OutMessage {
    const parts = erased ? [{ text: erasedText }] : (content?.blocks ?? []).flatMap(partOf);
    return this.#message(seq, "ROLE_USER", parts.length === 0 ? [{ text: "" }] : parts);
  }

  #message(seq: number, role: OutMessage["role"], parts: readonly OutPart[]): OutMessage {
    const id = messageId(this.#session, seq);
    return { messageId: id, contextId: this.#session, taskId: this.id, role, parts };
  }

  /** Inputs that a turn, or a step of it, takes. */
  #take(inputs: readonly (readonly [number, number])[], event: SessionEvent): StreamResponse[] {
    const isOwn = inputs.some(([seq]) => seq === this.#inputSeq);
    if (!this.isStarted && !isOwn) return [];
    for (const [seq] of inputs) {
      const input = this.#inputs.get(seq);
      if (input !== undefined && seq !== this.#inputSeq) this.#history.push(this.#user(input));
    }
    if (!isOwn) return [];
    this.#startedSeq = event.seq;
    return this.#become("WORKING", event);
  }

  #request(event: EventOf<"model.requested">): StreamResponse[] {
    const { seq, body } = event;
    if (body.purpose === "compaction") {
      this.#compactions.add(seq);
      return [];
    }
    const updates = this.#take(body.inputs, event);
    if (!this.isStarted) return updates;
    const dropped = this.#artifacts.drop();
    this.#artifacts.begin(seq);
    return [...updates, ...dropped];
  }

  #respond(event: EventOf<"model.responded">): StreamResponse[] {
    if (event.cause !== null && this.#compactions.has(event.cause)) return [];
    const blocks = event.content?.blocks ?? [];
    const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
    return this.#artifacts.complete(event.erased ? erasedText : text);
  }

  #fail(event: EventOf<"model.failed">): StreamResponse[] {
    if (event.cause !== null && this.#compactions.has(event.cause)) return [];
    const { body, content, erased, seq } = event;
    this.#failure = { seq, text: erased ? erasedText : (content?.message ?? "the model call failed") };
    const kept = body.error === "interrupted" && (body.partialChars ?? 0) > 0;
    return kept
      ? this.#artifacts.complete(erased ? erasedText : (content?.partial ?? ""))
      : this.#artifacts.drop();
  }

  #call({ seq, body, content, erased }: EventOf<"tool.requested">): StreamResponse[] {
    this.#calls.set(seq, {
      tool: body.tool,
      input: erased ? erasedText : (content?.input ?? {}),
      isExternal: body.external !== undefined,
      isAsked: body.ask === true,
      isOpen: true,
    });
    return [];
  }

  #answered({ cause }: SessionEvent): StreamResponse[] {
    const call = this.#calls.get(cause ?? 0);
    if (call !== undefined) call.isAsked = false;
    return [];
  }

  #settled(event: EventOf<"tool.settled">): StreamResponse[] {
    const call = this.#calls.get(event.cause ?? 0);
    if (call === undefined || !call.isOpen || event.body.late === true) return [];
    call.isOpen = false;
    call.isAsked = false;
    return [];
  }

  /** Inputs that wait are not rewound; one that was taken is gone, or waits again. */
  #rewound(event: EventOf<"session.rewound">): StreamResponse[] {
    const { toSeq, requeued } = event.body;
    if (!this.isStarted || toSeq >= this.#startedSeq) return [];
    const dropped = this.#artifacts.drop();
    this.#wait = null;
    if (requeued) {
      this.#startedSeq = 0;
      this.#artifacts.clear();
      this.#calls.clear();
      this.#history.splice(1);
      return [...dropped, ...this.#become("SUBMITTED", event)];
    }
    this.#outcome = "rewound";
    return [...dropped, ...this.#become("CANCELED", event)];
  }

  #end(event: EventOf<"turn.ended">): StreamResponse[] {
    const { outcome } = event.body;
    const dropped = this.#artifacts.drop();
    this.#wait = null;
    for (const call of this.#calls.values()) call.isOpen = false;
    if (outcome !== "completed") this.#outcome = outcome;
    return [...dropped, ...this.#become(states[outcome] ?? "FAILED", event)];
  }

  #become(state: State, { at }: SessionEvent): StreamResponse[] {
    const isSame = this.#state === state && state !== "INPUT_REQUIRED";
    this.#state = state;
    this.#atMs = at;
    if (isSame) return [];
    const { id, contextId, status, metadata } = this.task();
    const more = metadata === undefined ? {} : { metadata };
    return [{ statusUpdate: { taskId: id, contextId, status, ...more } }];
  }

  #status(): Task["status"] {
    const timestamp = new Date(this.#atMs).toISOString();
    const message = this.#statusMessage();
    return {
      state: `TASK_STATE_${this.#state}`,
      timestamp,
      ...(message === null ? {} : { message }),
    };
  }

  #statusMessage(): OutMessage | null {
    if (this.#state === "FAILED" && this.#failure !== null)
      return this.#message(this.#failure.seq, "ROLE_AGENT", [{ text: this.#failure.text }]);
    if (this.#state !== "INPUT_REQUIRED" || this.#wait === null) return null;
    return this.#message(this.#wait.seq, "ROLE_AGENT", this.#question(this.#wait));
  }

  /** What the task waits for, as a text and as data. */
  #question({
    by,
    reason,
  }: {
    readonly by: string;
    readonly reason: string | undefined;
  }): readonly OutPart[] {
    const open = [...this.#calls].filter(([, call]) => call.isOpen);
    const asked = open.filter(([, { isAsked }]) => isAsked);
    const waiting = asked.length > 0 ? asked : open.filter(([, { isExternal }]) => isExternal);
    if (waiting.length === 0 || (by !== "approval" && by !== "tool"))
      return [{ text: reason ?? waitTexts[by] ?? by }];
    const names = waiting.map(([, { tool }]) => tool).join(", ");
    const needs = asked.length > 0 ? "approval" : "result";
    const calls = waiting.map(([seq, { tool, input }]) => ({ call: callId(seq), tool, input, needs }));
    const text =
      needs === "approval" ? `Approval is needed to call ${names}.` : `Results are needed: ${names}.`;
    return [{ text }, { data: { calls } }];
  }

  #metadata(): { readonly metadata?: { readonly outcome: string } } {
    return this.#outcome === null ? {} : { metadata: { outcome: this.#outcome } };
  }
}

/** The state of a task whose turn ended so. */
const states: Readonly<Record<string, State>> = {
  completed: "COMPLETED",
  length: "COMPLETED",
  interrupted: "CANCELED",
  cancelled: "CANCELED",
  refused: "REJECTED",
  failed: "FAILED",
};

const waitTexts: Readonly<Record<string, string>> = {
  budget: "The budget is used up.",
  error: "The model call failed. Send a message to try again.",
  unknown: "The outcome of a tool call is unknown. Send a message to continue.",
  person: "An operator suspended the session.",
};

const answerArtifact = ({ requestSeq, text }: Answer): Artifact => ({
  artifactId: answerId(requestSeq),
  name: "answer",
  parts: [{ text }],
});

/** Images and files are named: their bytes stay in the store. */
function partOf(block: ContentBlock): readonly OutPart[] {
  if (block.type === "text") return [{ text: block.text }];
  if (block.type !== "image" && block.type !== "file") return [];
  return [{ text: `[${block.type}: ${block.mediaType}]` }];
}

const lastOf = <T>(list: readonly T[], count: number): readonly T[] =>
  count === 0 ? [] : list.slice(-count);
