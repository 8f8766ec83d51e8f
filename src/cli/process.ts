/** The command line as a process: its output, its signals, its exit code. */
import { constants } from "node:os";
import { checkWords } from "./input.ts";
import { runWords } from "./run.ts";
import { processSurface } from "./screen.ts";

export async function runProcess(words: readonly string[]): Promise<number> {
  const plain = words.includes("--no-color") || (process.env["NO_COLOR"] ?? "") !== "";
  const surface = processSurface(!plain);
  quietly(process.stdout, surface.owing);
  quietly(process.stderr, () => false);
  const stop = makeStop();
  const code = await runWords(words, { surface, untilStopped: stop.signal, check: () => checkWords(words) });
  await surface.flush();
  return stop.code() ?? code;
}

/**
 * Whoever reads the output may stop at any time (`skein log … | head`): that is no error, and nobody is
 * left to tell. A bundle of which a part is missing is one, and the verb that writes it tells it.
 */
function quietly(stream: NodeJS.WriteStream, owing: () => boolean): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (owing()) return;
    if (error.code === "EPIPE") process.exit(0);
    if (stream === process.stdout)
      process.stderr.write(`skein: the output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}

/**
 * Signals end most verbs at once, which the store survives. A verb that goes on until it is stopped asks
 * for the signal, and then ends by itself; a second signal ends it at once.
 */
function makeStop(): { signal(): AbortSignal; code(): number | null } {
  let controller: AbortController | null = null;
  let code: number | null = null;
  return {
    signal() {
      if (controller !== null) return controller.signal;
      const stopped = new AbortController();
      controller = stopped;
      for (const name of ["SIGINT", "SIGTERM"] as const) {
        process.once(name, () => {
          code = 128 + constants.signals[name];
          stopped.abort(name);
        });
      }
      return stopped.signal;
    },
    code: () => code,
  };
}
