/** What every writer shares: counting what does not map, times that never go back, plain text of blocks. */
import type { ForeignEntry, Transcript, TranscriptBlock } from "../model.ts";

export class LeftOver {
  readonly #counts = new Map<string, number>();

  add(what: string, count = 1): void {
    if (count > 0) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  list(): readonly string[] {
    return [...this.#counts].map(([what, count]) => `${count} × ${what}`);
  }
}

/** Tools order by time or show it: the clock of a written file goes forward by at least a millisecond. */
export class Clock {
  #lastMs: number;

  constructor({ header, entries }: Transcript) {
    this.#lastMs = header.startedAtMs ?? entries.find(({ atMs }) => atMs !== null)?.atMs ?? 0;
  }

  at(atMs: number | null): number {
    this.#lastMs = Math.max(this.#lastMs + 1, Math.round(atMs ?? 0));
    return this.#lastMs;
  }
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();

export type AnswerEntry = Extract<ForeignEntry, { kind: "answer" }>;

export function textOfBlocks(blocks: readonly TranscriptBlock[]): string {
  return blocks
    .flatMap((block) => {
      if (block.type === "text") return block.text;
      return block.type === "attachment" ? `[attachment: ${block.name ?? block.mediaType}]` : [];
    })
    .join("\n");
}

/** The text of a result: some tools refuse a session in which a call has none. */
export function resultText(call: AnswerEntry["calls"][number]): string {
  if (call.status === "unknown") return "The session ended before this call had a result.";
  return textOfBlocks(call.output);
}

export function asRecord(input: unknown): Record<string, unknown> {
  const isRecord = typeof input === "object" && input !== null && !Array.isArray(input);
  return isRecord ? (input as Record<string, unknown>) : { input };
}

export function providerOf(model: string | null): string {
  if (model === null) return "unknown";
  if (model.startsWith("claude")) return "anthropic";
  if (model.startsWith("gemini")) return "google";
  return /^(gpt|o\d|codex)/.test(model) ? "openai" : "unknown";
}

/** Left by all targets but the model itself; a tool gets its own structured results back. */
export function countCommon(transcript: Transcript, left: LeftOver, target?: string): void {
  left.add("task of the to-do list", transcript.tasks.length);
  for (const entry of transcript.entries) {
    if (entry.kind === "answer") {
      if (transcript.header.tool !== target)
        left.add(
          "structured result of a call",
          entry.calls.filter((call) => call.structured !== undefined).length,
        );
      left.add("call without a result, written as an error", entry.calls.filter(isOpen).length);
    }
  }
}

const isOpen = ({ status }: { readonly status: string }): boolean => status === "unknown";
