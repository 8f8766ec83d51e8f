/** Sorts what several files did in one process by file. */
import type { TestEvent } from "node:test/reporters";
import type { Entry, Times } from "./inside.ts";
import type { FileResult } from "./test-file.ts";

interface ProcessResult {
  readonly entries: readonly Entry[];
  readonly events: readonly TestEvent[];
  readonly output: string;
  readonly times: Times;
  /** Why the process failed, beyond its failed tests. */
  readonly problem: string | null;
}

/**
 * A file's suite ends with an event of its name. A problem of the process is that of the file that was under
 * way; if all had ended, that of the last one.
 */
export function resultsOf(files: readonly string[], result: ProcessResult): readonly FileResult[] {
  const { entries, times, problem, output } = result;
  const begins = entries.flatMap((entry) => ("file" in entry ? [entry.at] : []));
  const began = files.slice(0, Math.max(1, begins.length));
  const events = eventsByFile(began, result.events);
  const ends = [...begins.slice(1), times];
  const zero = { seconds: 0, cpuSeconds: 0 };
  return began.map((file, place) => {
    const isLast = place === began.length - 1;
    // What the process took to start is the first file's.
    const from = place === 0 ? zero : (begins[place] ?? zero);
    const to = ends[place] ?? times;
    const own = events[place] ?? [];
    const hasPassed = own.some(
      ({ type, data }) => type === "test:pass" && "nesting" in data && data.nesting > 0,
    );
    const hasFailed = own.some(({ type }) => type === "test:fail");
    return {
      file,
      events: own,
      output: place === 0 ? output : "",
      seconds: to.seconds - from.seconds,
      cpuSeconds: Math.max(0, to.cpuSeconds - from.cpuSeconds),
      problem:
        isLast && problem !== null ? problem + alsoRan(began) : hasPassed || hasFailed ? null : "no test ran",
    };
  });
}

const alsoRan = (began: readonly string[]): string =>
  began.length < 2 ? "" : `; before it the process ran ${began.slice(0, -1).join(", ")}`;

/** Suites follow one another, and the event of a suite's end is its last. */
function eventsByFile(
  files: readonly string[],
  events: readonly TestEvent[],
): readonly (readonly TestEvent[])[] {
  let place = 0;
  const byFile: TestEvent[][] = files.map(() => []);
  for (const event of events) {
    byFile[place]?.push(event);
    const isEnd = event.type === "test:pass" || event.type === "test:fail";
    if (isEnd && event.data.nesting === 0 && event.data.name === files[place] && place < files.length - 1)
      place += 1;
  }
  return byFile;
}
