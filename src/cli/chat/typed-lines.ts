/** Lines that a person types, or that a program writes to standard input. */
import { createInterface } from "node:readline";
import { readLines } from "../command/input.ts";

export interface TypedLines {
  /** True when a person types them, who sees what happens in between and may type at any time. */
  readonly interactive: boolean;
  /** The next line; null at the end. */
  next(): Promise<string | null>;
  /** Shows the prompt for a line. */
  prompt(text: string): Promise<void>;
  /** Stops waiting for a line: `next` returns null from now on. */
  close(): void;
}

/** `interrupted` is called for each Ctrl-C, `ended` when the process should end. */
export function typedLines(heard: { interrupted(): void; ended(): void }): TypedLines & Disposable {
  const { stdin, stdout } = process;
  const interactive = stdin.isTTY && stdout.isTTY;
  const lines = interactive ? keyboard(heard) : piped();
  process.on("SIGINT", heard.interrupted);
  process.on("SIGTERM", heard.ended);
  return {
    interactive,
    ...lines,
    [Symbol.dispose]() {
      lines.close();
      process.off("SIGINT", heard.interrupted);
      process.off("SIGTERM", heard.ended);
    },
  };
}

/** Asks on a terminal only: without one the result is false. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const end = (): void => lines.close();
  using lines = typedLines({ interrupted: end, ended: end });
  await lines.prompt(`${question} [y/N] `);
  return /^y(es)?$/i.test((await lines.next())?.trim() ?? "");
}

type Lines = Pick<TypedLines, "next" | "prompt" | "close">;

function keyboard(heard: { interrupted(): void }): Lines {
  const input = createInterface({ input: process.stdin, output: process.stdout, historySize: 1_000 });
  const typed: string[] = [];
  let isClosed = false;
  let waiting: ((line: string | null) => void) | null = null;
  const give = (): void => {
    if (waiting === null || (typed.length === 0 && !isClosed)) return;
    const take = waiting;
    waiting = null;
    take(typed.shift() ?? null);
  };
  input.on("line", (line) => {
    typed.push(line);
    give();
  });
  input.on("close", () => {
    isClosed = true;
    give();
  });
  input.on("SIGINT", () => {
    // The next message must not stand behind the typed text.
    process.stdout.write("\n");
    heard.interrupted();
  });
  return {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve;
        give();
      }),
    async prompt(text) {
      // Earlier output comes first; it is written when the program waits.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      if (isClosed) return;
      input.setPrompt(text);
      input.prompt(true);
    },
    close: () => input.close(),
  };
}

function piped(): Lines {
  const lines = readLines();
  const closed = Promise.withResolvers<null>();
  let isClosed = false;
  return {
    async next() {
      if (isClosed) return null;
      const line = lines.next().then(({ done, value }) => (done === true ? null : value));
      return Promise.race([line, closed.promise]);
    },
    prompt: async () => {},
    close() {
      if (isClosed) return;
      isClosed = true;
      closed.resolve(null);
      // A pipe that another process holds open would keep the process from ending.
      process.stdin.destroy();
    },
  };
}
