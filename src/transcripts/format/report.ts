/** Counts what a reader sees, for the report at the end. */
import { tooLong } from "../read/splitter.ts";
import type { SourceRange, TranscriptReport, TranscriptUsage } from "../model.ts";

const maxListed = 100;
const maxTypes = 500;

export class ReportCounter {
  readonly #records = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  readonly #unmapped = new Map<string, number>();
  readonly #damaged: { range: SourceRange; reason: string }[] = [];
  #damagedCount = 0;
  #tooLarge = 0;
  #lastMs = -Infinity;
  #timesOutOfOrder = 0;
  gaps = 0;
  unpairedCalls = 0;
  missingAttachments = 0;

  count(type: string): void {
    add(this.#records, type);
  }

  unknown(type: string): void {
    add(this.#unknown, type);
  }

  unmapped(type: string): void {
    add(this.#unmapped, type);
  }

  damage(range: SourceRange, reason: string): void {
    this.#damagedCount += 1;
    if (reason.endsWith(tooLong)) this.#tooLarge += 1;
    if (this.#damaged.length < maxListed) this.#damaged.push({ range, reason });
  }

  time(atMs: number | null): void {
    if (atMs === null) return;
    if (atMs < this.#lastMs) this.#timesOutOfOrder += 1;
    this.#lastMs = atMs;
  }

  /** Figures that only the plan knows come as arguments, so that planning twice gives the same report. */
  report({ gaps = 0, unpairedCalls = 0, missingAttachments = 0 } = {}): TranscriptReport {
    return {
      records: Object.fromEntries(this.#records),
      unknownTypes: Object.fromEntries(this.#unknown),
      unmapped: Object.fromEntries(this.#unmapped),
      damaged: this.#damaged,
      damagedCount: this.#damagedCount,
      tooLarge: this.#tooLarge,
      gaps: this.gaps + gaps,
      unpairedCalls: this.unpairedCalls + unpairedCalls,
      missingAttachments: this.missingAttachments + missingAttachments,
      timesOutOfOrder: this.#timesOutOfOrder,
    };
  }
}

/** Types come from the file: there may be as many as lines. */
function add(counts: Map<string, number>, type: string): void {
  const key = counts.has(type) || counts.size < maxTypes ? type.slice(0, 100) : "(others)";
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export const noUsage: TranscriptUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: null,
};

export function addUsage(a: TranscriptUsage | null, b: TranscriptUsage | null): TranscriptUsage | null {
  if (a === null || b === null) return a ?? b;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    costUsd: a.costUsd === null && b.costUsd === null ? null : (a.costUsd ?? 0) + (b.costUsd ?? 0),
  };
}
