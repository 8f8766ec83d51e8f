/** Uploads one transcript file from this computer. */
import { useId, useState, type ReactNode } from "react";
import type { TranscriptResult } from "../../../client/connect.ts";
import { refresh } from "../../query-cache.ts";
import { useRefusal } from "../../scopes.ts";
import { engine } from "../../server.ts";
import { LoadError } from "../../ui/load-error.tsx";
import { brief } from "../../ui/visible.ts";
import { Result } from "./found-table.tsx";

export function Upload(): ReactNode {
  const id = useId();
  const refusal = useRefusal("engine.uploadTranscript");
  const [sending, setSending] = useState<string | null>(null);
  const [results, setResults] = useState<readonly TranscriptResult[]>([]);
  const [error, setError] = useState<unknown>(null);
  const send = async (file: File): Promise<void> => {
    setSending(file.name);
    setError(null);
    setResults([]);
    try {
      setResults(await engine.uploadTranscript(file, { name: file.name.slice(-500) }));
      refresh("sessions");
      refresh("imported");
    } catch (failure) {
      setError(failure);
    }
    setSending(null);
  };
  return (
    <section className="import-upload" aria-label="Upload">
      <div className="row wrap">
        <label htmlFor={id}>Upload a transcript</label>
        <input
          id={id}
          type="file"
          accept=".jsonl,.json,.zip"
          disabled={sending !== null || refusal !== undefined}
          title={refusal}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file !== undefined) void send(file);
            target.value = "";
          }}
        />
        <span className="faint small">
          .jsonl of Claude Code, Codex, pi; .json or .zip exports of ChatGPT and Claude.ai
        </span>
      </div>
      {sending === null ? null : <p role="status">Importing {brief(sending, 100)}…</p>}
      {error === null ? null : <LoadError error={error} />}
      {results.length === 0 ? null : (
        <ul role="status">
          {results.map((one, place) => (
            <li key={place} className="row wrap">
              <span dir="auto">{brief(one.title ?? one.tool, 100)}</span>
              <Result of={one} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
