/** The command line as a process: its output, its signals, its exit code. */
import { constants } from "node:os";
import { checkWords } from "./input.ts";
import { runWords } from "./run.ts";
import type { StopOptions } from "./verb.ts";
import { processSurface } from "./screen.ts";

export async function runProcess(words: readonly string[]): Promise<number> {
  const plain = words.includes("--no-color") || (process.env["NO_COLOR"] ?? "") !== "";
  const surface = processSurface(!plain);
  quietly(process.stdout, surface.failed);
  quietly(process.stderr, surface.failed);
  const stop = makeStop();
  const code = await runWords(words, { surface, untilStopped: stop.signal, check: () => checkWords(words) });
  await surface.flush();
  return stop.code() ?? code;
}

/**
 * A reader may close its end at any time (`skein log … | head`). That is not an error: a verb that only reads
 * ends, and any other one finishes its work without printing, and its exit code says how that went.
 */
function quietly(stream: NodeJS.WriteStream, failed: ReturnType<typeof processSurface>["failed"]): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    const then = failed(stream, error);
    if (then === "continue") return;
    if (then === "end") process.exit(0);
    if (stream === process.stdout)
      process.stderr.write(`skein: the output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}

/**
 * Signals end most verbs at once, which the store survives. A long-running verb asks for the signal, and then
 * ends cleanly; a second signal ends it at once. The exit code names the signal unless the verb says that a
 * signal is its regular end.
 */
function makeStop(): { signal(options?: StopOptions): AbortSignal; code(): number | null } {
  let controller: AbortController | null = null;
  let code: number | null = null;
  return {
    signal({ isRegularEnd = false } = {}) {
      if (controller !== null) return controller.signal;
      const stopped = new AbortController();
      controller = stopped;
      for (const name of ["SIGINT", "SIGTERM"] as const) {
        process.once(name, () => {
          code = isRegularEnd ? null : 128 + constants.signals[name];
          stopped.abort(name);
        });
      }
      return stopped.signal;
    },
    code: () => code,
  };
}
