/** The status of a session, as a word and a color; and how full its context is. */
import type { ReactNode } from "react";

const tones: Readonly<Record<string, string>> = {
  running: "busy",
  suspended: "warn",
  sleeping: "rest",
  open: "accent",
  failed: "bad",
};

/** The word carries the meaning; the color helps. */
export function Status({ status }: { readonly status: string }): ReactNode {
  return (
    <span className="mark" data-tone={tones[status]}>
      <span className="dot" data-beats={status === "running" || undefined} />
      {status}
    </span>
  );
}

const zones = { smart: ["OK", 1], strained: ["strained", 2], full: ["full", 3] } as const;

/** Three steps: OK, strained, full. */
export function Zone({ zone }: { readonly zone: string }): ReactNode {
  const [word, steps] = zones[zone as keyof typeof zones] ?? zones.smart;
  return (
    <span className="zone" data-zone={zone} title={`Context: ${word}`}>
      <span className="aside">{word}</span>
      {[1, 2, 3].map((step) => (
        <span key={step} data-on={step <= steps || undefined} />
      ))}
    </span>
  );
}
