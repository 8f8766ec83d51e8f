/** Import: the sessions of other tools on the server's machine, and files from this one. */
import { useId, useState, type ReactNode } from "react";
import type { TranscriptRow, TranscriptsFound, TranscriptTool } from "../../../client/connect.ts";
import { Link } from "../../link.tsx";
import { useReading } from "../../query-cache.ts";
import { goWith, withParams } from "../../route.ts";
import { useRefusal } from "../../scopes.ts";
import { engine } from "../../server.ts";
import { bytes, count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, LoadError } from "../../ui/load-error.tsx";
import { Ago } from "../../ui/moment.tsx";
import { NumberHead } from "../../ui/number-head.tsx";
import { now } from "../../world.ts";
import { Imported } from "./import-stats.tsx";
import { useImport, type ImportRunState } from "./import-run.ts";
import { FoundTable } from "./found-table.tsx";
import { Preview } from "./preview.tsx";
import { Upload } from "./upload.tsx";
import "./import.css";

interface ImportProps {
  /** `stats`, or nothing. */
  readonly name: string | null;
  readonly params: URLSearchParams;
}

export function Import({ name, params }: ImportProps): ReactNode {
  const isStats = name === "stats";
  return (
    <div className="import">
      <div className="head">
        <h1 className="spread">Import</h1>
        <nav className="import-choice" aria-label="View">
          <Link to="/import" aria-current={isStats ? undefined : "true"}>
            Sessions
          </Link>
          <Link to="/import/stats" aria-current={isStats ? "true" : undefined}>
            Stats
          </Link>
        </nav>
      </div>
      {isStats ? <Imported /> : <Finder params={params} />}
    </div>
  );
}

const dayMs = 86_400_000;
const ages = [7, 30, 90] as const;

interface Filter {
  readonly tool: string | null;
  readonly text: string;
  readonly project: string;
  readonly days: number | null;
}

const filterOf = (params: URLSearchParams): Filter => ({
  tool: params.get("tool"),
  text: params.get("q") ?? "",
  project: params.get("project") ?? "",
  days: ages.find((one) => String(one) === params.get("days")) ?? null,
});

const isFiltered = ({ tool, text, project, days }: Filter): boolean =>
  tool !== null || text !== "" || project !== "" || days !== null;

function Finder({ params }: { readonly params: URLSearchParams }): ReactNode {
  const filter = filterOf(params);
  const { tool, text, project, days } = filter;
  const refusal = useRefusal("engine.findTranscripts");
  const key = JSON.stringify(filter);
  const { value, error } = useReading(refusal === undefined ? `transcripts/${key}` : null, () =>
    engine.findTranscripts({
      ...(tool === null ? {} : { tool }),
      ...(text === "" ? {} : { text }),
      ...(project === "" ? {} : { project }),
      ...(days === null ? {} : { since: now() - days * dayMs }),
    }),
  );
  return (
    <div className="stack import-parts">
      <Upload />
      {refusal === undefined ? null : <p className="soft">{refusal}</p>}
      {error === undefined || value !== undefined ? null : <LoadError error={error} />}
      {value === undefined ? null : <Found found={value} filter={filter} />}
      {value === undefined && error === undefined && refusal === undefined ? (
        <p className="waiting" role="status">
          Loading…
        </p>
      ) : null}
    </div>
  );
}

function Found({ found, filter }: { readonly found: TranscriptsFound; readonly filter: Filter }): ReactNode {
  const run = useImport();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState<TranscriptRow | null>(null);
  const rows = found.sessions;
  const picked = rows.filter(({ key }) => chosen.has(key));
  if (found.tools.length === 0 && found.failed.length === 0) {
    return (
      <Empty title="No sessions of other tools on this machine">
        <p>Skein looks for Claude Code, Codex, opencode, pi and Gemini CLI. You can upload a file.</p>
      </Empty>
    );
  }
  const start = async (): Promise<void> => {
    await run.start(picked);
    setChosen(new Set());
  };
  return (
    <>
      <Tools tools={found.tools} filter={filter} />
      {found.failed.map(({ tool, title, reason }) => (
        <p key={`${tool} ${reason}`} className="soft">
          {title}: {reason}
        </p>
      ))}
      <Filters filter={filter} />
      <div className="import-bar">
        <p className="spread number" role="status">
          {summaryOf(found, picked.length)}
        </p>
        {run.progress === null ? null : <Progress progress={run.progress} stop={run.stop} />}
        <Button
          kind="main"
          act={start}
          disabled={picked.length === 0 || run.progress !== null}
          refusal={useRefusal("engine.importTranscripts")}
        >
          {picked.length === 0 ? "Import" : `Import ${plural(picked.length, "session")}`}
        </Button>
      </div>
      {rows.length === 0 ? null : (
        <FoundTable
          rows={rows}
          tools={found.tools}
          chosen={chosen}
          choose={setChosen}
          preview={setShown}
          results={run.results}
        />
      )}
      <p className="faint small">
        Imported sessions arrive suspended: nothing of them runs before you activate them. Secrets are
        redacted. Importing again adds only what is new.
      </p>
      {shown === null ? null : <Preview row={shown} close={() => setShown(null)} />}
    </>
  );
}

function summaryOf({ sessions, more }: TranscriptsFound, picked: number): string {
  if (sessions.length === 0) return "No session fits the filter";
  const selected = picked === 0 ? "" : `, ${count(picked)} selected`;
  const cut = more === 0 ? "" : `; the newest ${count(sessions.length)} are listed`;
  return `${plural(sessions.length + more, "session")}${selected}${cut}`;
}

function Progress({
  progress: { done, of, doneBytes, bytes: all },
  stop,
}: {
  readonly progress: ImportRunState;
  readonly stop: () => void;
}): ReactNode {
  return (
    <>
      <progress aria-label="Import" max={Math.max(1, all)} value={doneBytes} />
      <span className="number soft">
        {count(done)} of {count(of)} · {bytes(doneBytes)} of {bytes(all)}
      </span>
      <button type="button" className="button" onClick={stop}>
        Stop
      </button>
    </>
  );
}

const addressOf = ({ tool, text, project, days }: Filter): string =>
  withParams("/import", { tool, q: text, project, days });

function Tools({
  tools,
  filter,
}: {
  readonly tools: readonly TranscriptTool[];
  readonly filter: Filter;
}): ReactNode {
  return (
    <table className="plain import-tools">
      <caption className="aside">Tools on this machine</caption>
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <NumberHead>Sessions</NumberHead>
          <NumberHead>Size</NumberHead>
          <NumberHead className="import-wide">Oldest</NumberHead>
          <NumberHead>Newest</NumberHead>
        </tr>
      </thead>
      <tbody>
        {tools.map(({ tool, title, sessions, bytes: size, oldestAt, newestAt }) => {
          const isOnly = filter.tool === tool;
          return (
            <tr key={tool} data-on={isOnly || undefined}>
              <th scope="row">
                <Link
                  to={addressOf({ ...filter, tool: isOnly ? null : tool })}
                  aria-current={isOnly || undefined}
                >
                  {title}
                </Link>
              </th>
              <td className="right number">{count(sessions)}</td>
              <td className="right number">{bytes(size)}</td>
              <td className="right number import-wide">
                <Ago at={oldestAt} />
              </td>
              <td className="right number">
                <Ago at={newestAt} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Filters({ filter }: { readonly filter: Filter }): ReactNode {
  const age = useId();
  return (
    <search>
      <form
        key={addressOf(filter)}
        className="import-filters"
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          const text = (name: string): string => {
            const value = given.get(name);
            return typeof value === "string" ? value.trim() : "";
          };
          goWith({ q: text("q"), project: text("project") });
        }}
      >
        <input
          name="q"
          type="search"
          className="field"
          aria-label="Title or project"
          placeholder="Filter by title or project"
          maxLength={200}
          defaultValue={filter.text}
        />
        <input
          name="project"
          className="field"
          aria-label="Project folder"
          placeholder="Project folder"
          maxLength={200}
          defaultValue={filter.project}
        />
        <label className="aside" htmlFor={age}>
          Changed in
        </label>
        <select
          id={age}
          className="field"
          value={filter.days ?? ""}
          onChange={({ target }) => goWith({ days: target.value })}
        >
          <option value="">Any time</option>
          {ages.map((days) => (
            <option key={days} value={days}>
              {days} days
            </option>
          ))}
        </select>
        <Button>Filter</Button>
        {isFiltered(filter) ? <Link to="/import">Clear</Link> : null}
      </form>
    </search>
  );
}
