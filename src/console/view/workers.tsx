/** Workers: the processes that run sessions of this store, and which; and the size of the store. */
import { useEffect, type ReactNode } from "react";
import { Link } from "../link.tsx";
import { bytes, count, plural } from "../ui/amount.ts";
import { Ago, Due } from "../ui/moment.tsx";
import { Empty, WhenRead } from "../ui/load-error.tsx";
import { brief } from "../ui/visible.ts";
import { refresh, useReading } from "../query-cache.ts";
import { sessionPath } from "../route.ts";
import { engine } from "../server.ts";
import { every, now } from "../world.ts";
import { useHeard } from "./use-refetch-on-event.ts";
import { useRowKeys } from "./row-keys.ts";
import "../ui/page.css";

type Worker = Awaited<ReturnType<typeof engine.workers>>[number];
type Row = Awaited<ReturnType<typeof engine.sessions>>["rows"][number];

const lookMs = 5_000;
const runningMax = 500;

export function Workers(): ReactNode {
  const reading = useReading("workers", async () => {
    const [workers, running, open] = await Promise.all([
      engine.workers(),
      engine.sessions({ status: "running", limit: runningMax }),
      engine.sessions({ status: "open", limit: runningMax }),
    ]);
    return { workers, running: running.rows, due: open.rows.filter(({ runnable }) => runnable).length };
  });
  useRowKeys(".places-row");
  useHeard(/^(?:lease|turn)\./, ["workers"]);
  // A dead worker does not announce it: the page has to poll.
  useEffect(() => every(lookMs, () => document.hidden || refresh("workers")), []);
  return (
    <div className="places">
      <div className="head">
        <h1>Workers</h1>
      </div>
      <WhenRead of={reading}>{(value) => <Shown {...value} />}</WhenRead>
      <Store />
    </div>
  );
}

interface ShownProps {
  readonly workers: readonly Worker[];
  readonly running: readonly Row[];
  /** Sessions with work that no worker has taken. */
  readonly due: number;
}

/** A holder is the worker's name, or the worker at a process. */
const isRunBy = ({ runBy }: Row, name: string): boolean =>
  runBy === name || runBy?.startsWith(`${name}@`) === true;

function Shown({ workers, running, due }: ShownProps): ReactNode {
  const nowMs = now();
  const present = workers.filter(({ untilMs }) => untilMs > nowMs);
  const gone = workers.filter(({ untilMs }) => untilMs <= nowMs);
  const others = running.filter((row) => !present.some(({ name }) => isRunBy(row, name)));
  return (
    <>
      {present.length === 0 ? (
        <Empty title="No workers">
          <p>
            Sessions run only on request. <code>skein up</code> starts a worker; so does{" "}
            <code>skein serve</code> unless started with <code>--concurrency 0</code>.
          </p>
        </Empty>
      ) : null}
      {due === 0 ? null : (
        <p className="places-note">
          {due === 1 ? "One session has" : `${count(due)} sessions have`} queued work.
        </p>
      )}
      <ul>
        {present.map((worker) => (
          <WorkerRow
            key={worker.name}
            worker={worker}
            rows={running.filter((row) => isRunBy(row, worker.name))}
          />
        ))}
      </ul>
      {others.length === 0 ? null : (
        <section>
          <h2>Running outside of workers</h2>
          <p className="soft">Programs run these sessions directly.</p>
          <Rows rows={others} />
        </section>
      )}
      {gone.length === 0 ? null : (
        <section>
          <h2>Ended in the last hour</h2>
          {gone.map(({ name, untilMs }) => (
            <p key={name} className="soft">
              <span className="mono said">{brief(name, 100)}</span>, expired <Due at={untilMs} />
            </p>
          ))}
        </section>
      )}
    </>
  );
}

function WorkerRow({ worker, rows }: { readonly worker: Worker; readonly rows: readonly Row[] }): ReactNode {
  const { name, sinceMs, untilMs, concurrency, limits } = worker;
  return (
    <li tabIndex={-1} className="places-row places-stack">
      <p className="row wrap">
        <span className="mark" data-tone={rows.length > 0 ? "busy" : "good"}>
          <span className="dot" data-beats={rows.length > 0 || undefined} />
          {rows.length > 0 ? "running" : "ready"}
        </span>
        <b className="mono said">{brief(name, 100)}</b>
      </p>
      <p className="soft">
        {rows.length} of {plural(concurrency, "slot")} used. Started <Ago at={sinceMs} />
        {limits.length === 0 ? "." : `. ${plural(limits.length, "limit")}.`}{" "}
        <span className="faint">
          Next heartbeat due <Due at={untilMs} />.
        </span>
      </p>
      <Places taken={rows.length} of={concurrency} />
      <Rows rows={rows} />
    </li>
  );
}

const placesShown = 32;

/** Visual only: the text says the same. */
function Places({ taken, of }: { readonly taken: number; readonly of: number }): ReactNode {
  return (
    <div className="places-slots" aria-hidden="true">
      {Array.from({ length: Math.min(of, placesShown) }, (_, place) => (
        <span key={place} data-on={place < taken || undefined} />
      ))}
    </div>
  );
}

function Rows({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  return (
    <ul>
      {rows.map(({ session, name, objective, agent, runBy }) => (
        <li key={session} className="row wrap">
          <Link to={sessionPath(session)} dir="auto">
            {brief(name ?? objective ?? session, 100)}
          </Link>
          <span className="soft said">{brief(agent ?? "", 60)}</span>
          {runBy === null ? <span className="faint small">lease expired</span> : null}
        </li>
      ))}
    </ul>
  );
}

function Store(): ReactNode {
  const reading = useReading("workers/store", () => engine.stats());
  return (
    <section>
      <h2>Store</h2>
      <WhenRead of={reading}>
        {({ driver, version, durability, sessions, records, bytes: size, blobs }) => (
          <dl className="facts">
            <dt>driver</dt>
            <dd>
              {driver} {version}, durable on {durability}
            </dd>
            <dt>content</dt>
            <dd className="number">
              {plural(sessions, "session")}, {plural(records, "record")}, {plural(blobs, "blob")}
            </dd>
            <dt>size</dt>
            <dd className="number">{size === null ? "unknown" : bytes(size)}</dd>
          </dl>
        )}
      </WhenRead>
    </section>
  );
}
