/** An import in progress: sessions go to the server in small batches, so that its progress is seen. */
import { useEffect, useRef, useState } from "react";
import type { TranscriptResult, TranscriptRow } from "../../../client/connect.ts";
import { refresh } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { showError } from "../../ui/toast.tsx";

export interface ImportRunState {
  readonly done: number;
  readonly of: number;
  readonly doneBytes: number;
  readonly bytes: number;
}

export interface ImportRun {
  /** Null while nothing is imported. */
  readonly progress: ImportRunState | null;
  /** By key. */
  readonly results: ReadonlyMap<string, TranscriptResult>;
  start(rows: readonly TranscriptRow[]): Promise<void>;
  /** After the batch in progress. */
  stop(): void;
}

const batchRows = 10;
const batchBytes = 4_194_304;

/** Few and small enough that a batch takes about a second. */
function batchesOf(rows: readonly TranscriptRow[]): readonly (readonly TranscriptRow[])[] {
  const batches: TranscriptRow[][] = [];
  let size = Infinity;
  for (const row of rows) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= batchRows || size + row.bytes > batchBytes) {
      batches.push([row]);
      size = row.bytes;
    } else {
      last.push(row);
      size += row.bytes;
    }
  }
  return batches;
}

const bytesOf = (rows: readonly TranscriptRow[]): number => rows.reduce((sum, { bytes }) => sum + bytes, 0);

export function useImport(): ImportRun {
  const [progress, setProgress] = useState<ImportRunState | null>(null);
  const [results, setResults] = useState<ReadonlyMap<string, TranscriptResult>>(new Map());
  const isStopped = useRef(false);
  useEffect(() => () => void (isStopped.current = true), []);
  const start = async (rows: readonly TranscriptRow[]): Promise<void> => {
    isStopped.current = false;
    let shown: ImportRunState = { done: 0, of: rows.length, doneBytes: 0, bytes: bytesOf(rows) };
    setProgress(shown);
    try {
      for (const batch of batchesOf(rows)) {
        if (isStopped.current) break;
        const made = await engine.importTranscripts(batch.map(({ key }) => key));
        setResults((known) => new Map([...known, ...made.map((one) => [one.key, one] as const)]));
        shown = {
          ...shown,
          done: shown.done + batch.length,
          doneBytes: shown.doneBytes + bytesOf(batch),
        };
        setProgress(shown);
      }
    } catch (error) {
      showError(error);
    }
    setProgress(null);
    refresh("sessions");
    refresh("imported");
  };
  return { progress, results, start, stop: () => void (isStopped.current = true) };
}
