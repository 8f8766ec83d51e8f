/** The transcript of a session as scenes with a title and text. Each format renders its own page of them. */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { transcriptRanges } from "../../core/state.ts";
import {
  blocksTextOf,
  buildTranscript,
  isOf,
  lostRanges,
  noteDetail,
  transcriptTypes,
  type CallHistory,
  type Input,
  type SessionTranscriptEntry,
} from "../../core/transcript.ts";
import type { SessionItem } from "../../runtime/read/projection.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { VerifyReport } from "../../runtime/govern/verify.ts";

/** The header and footer of a page. */
export interface TranscriptPage {
  readonly id: string;
  readonly title: string;
  readonly objective: string;
  readonly status: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly items: readonly SessionItem[];
  readonly head: { readonly seq: number; readonly hash: string };
  readonly verified: VerifyReport;
  scenes(): AsyncGenerator<Scene>;
}

/** One entry. */
export interface Scene {
  readonly seq: number;
  readonly at: number;
  /** Who or what: a person, the model, a tool; or the session itself. */
  readonly who: "person" | "model" | "reasoning" | "call" | "result" | "note";
  readonly title: string;
  readonly said: readonly TextBlock[];
  /** It was rewound away, and no longer counts. */
  readonly lost: boolean;
}

export type TextBlock =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "image"; readonly blob: string; readonly mediaType: string };

export async function transcriptPageOf(session: Session): Promise<TranscriptPage> {
  const [{ standing, mind }, view] = [await session.fold(), await session.state()];
  const { seq, hash } = await session.head();
  const goal = view.objective ?? "an objective that was erased";
  return {
    id: session.id,
    title: view.name ?? goal,
    objective: goal,
    status: standing.status,
    agent: standing.agent?.name ?? null,
    model: standing.model,
    items: await session.items(),
    head: { seq, hash },
    verified: await session.verify(),
    async *scenes() {
      const events = await Array.fromAsync(session.events({ toSeq: seq, types: transcriptTypes }));
      const stretch = { events, fromSeq: 1, toSeq: seq, ranges: transcriptRanges(mind), at: () => undefined };
      const unfolded = new Set(lostRanges(stretch).map(([from]) => from));
      const { entries, untaken } = buildTranscript({ ...stretch, unfolded });
      yield* entries.flatMap(scenesOf);
      yield* untaken.map((input) => ({ ...inputScene(input), lost: false }));
    },
  };
}

const scenesOf = (entry: SessionTranscriptEntry): Scene[] =>
  partsOf(entry).map((scene) => ({ ...scene, lost: entry.isLost }));

type Part = Omit<Scene, "lost">;

function partsOf(entry: SessionTranscriptEntry): Part[] {
  switch (entry.kind) {
    case "input":
      return [inputScene(entry.input)];
    case "answer":
      return answerScenes(entry.answer);
    case "call":
      return callScenes(entry.call);
    case "note":
      return noteScenes(entry);
    case "lost":
      return [];
  }
}

const sceneOf = (
  { seq, at }: SessionEvent,
  who: Scene["who"],
  title: string,
  said: readonly TextBlock[],
): Part => ({
  seq,
  at,
  who,
  title,
  said,
});

function inputScene(input: Input): Part {
  const from = isOf(input, "input.received") ? (input.body.from ?? "user") : null;
  const other = from === null ? `Message from ${input.body.from}` : `Input (${from})`;
  const said = input.erased ? gone : saidIn(input.content?.blocks);
  return sceneOf(input, "person", from === "user" ? "Person" : other, said);
}

function answerScenes(answer: EventOf<"model.responded">): Part[] {
  const { erased, content } = answer;
  const { model } = answer.body;
  const reasoning = asText(blocksTextOf(content?.blocks, "reasoning"));
  return [
    sceneOf(answer, "reasoning", `Reasoning of ${model}`, reasoning),
    sceneOf(answer, "model", model, erased ? gone : saidIn(content?.blocks)),
  ].filter(({ said }) => said.length > 0);
}

function callScenes({ request, denied, settled, late }: CallHistory): Part[] {
  const input = request.erased ? gone : asCode(request.content?.input);
  const scenes = [sceneOf(request, "call", `Call: ${request.body.tool}`, input)];
  if (denied !== undefined) scenes.push(sceneOf(denied, "result", "Denied", asText(denied.content?.reason)));
  for (const result of [settled, late]) {
    if (result === undefined) continue;
    const { erased, body, content } = result;
    const said = erased ? gone : [...asCode(content?.output), ...saidIn(content?.blocks)];
    scenes.push(sceneOf(result, "result", `Result: ${body.status}`, said));
  }
  return scenes;
}

function noteScenes({ event, text }: Extract<SessionTranscriptEntry, { readonly kind: "note" }>): Part[] {
  const note = sceneOf(event, "note", text, asCode(noteDetail(event) ?? undefined));
  if (!isOf(event, "model.failed") || event.content?.partial === undefined) return [note];
  const { partial } = event.content;
  return [sceneOf(event, "model", `${event.body.model} (interrupted)`, asText(partial)), note];
}

type Blocks = readonly { readonly type: string; readonly [field: string]: unknown }[] | undefined;

function saidIn(blocks: Blocks): TextBlock[] {
  return (blocks ?? []).flatMap(({ type, text, blob, mediaType, name }): TextBlock[] => {
    if (type === "text") return asText(text);
    if (type === "image") return [{ kind: "image", blob: String(blob), mediaType: String(mediaType) }];
    return type === "file" ? asText(`[file ${String(name ?? mediaType)}]`) : [];
  });
}

const asText = (value: unknown): TextBlock[] =>
  typeof value === "string" && value !== "" ? [{ kind: "text", text: value }] : [];

/** Replaces an erased content. */
const gone = asText("(erased)");

function asCode(value: unknown): TextBlock[] {
  if (value === undefined) return [];
  return [{ kind: "code", text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }];
}

/** The result of the verification, in one line. */
export function verdictOf({ verified, head }: TranscriptPage): string {
  const { ok, records, contents, erased, firstBad } = verified;
  const gone = erased === 0 ? "" : `, ${erased} erased`;
  const counted = `${records} records and ${contents} contents${gone}`;
  if (ok) return `Verified: ${counted}; every hash agrees up to ${head.seq}.`;
  return `Not verified: record ${firstBad?.seq ?? 0}: ${firstBad?.problem ?? ""}.`;
}
