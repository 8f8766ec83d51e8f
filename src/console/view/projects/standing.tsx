/** The status of a project, and what its sessions do. */
import type { ReactNode } from "react";
import type { engine } from "../../server.ts";

type Row = Awaited<ReturnType<typeof engine.projects>>[number];

/** Its status unless it is open, and what its sessions do. */
export function Standing({
  row: { status, outcome, active },
}: {
  readonly row: Pick<Row, "status" | "outcome" | "active">;
}): ReactNode {
  return (
    <>
      {status === "open" ? null : (
        <span className="mark" data-tone={outcome === "failed" ? "bad" : undefined}>
          {status === "closed" ? (outcome ?? status) : status}
        </span>
      )}
      {active.running === 0 ? null : (
        <span className="mark" data-tone="busy">
          <span className="dot" data-beats />
          {active.running} running
        </span>
      )}
      {active.suspended === 0 ? null : (
        <span className="mark" data-tone="warn">
          <span className="dot" />
          {active.suspended} waiting
        </span>
      )}
    </>
  );
}
