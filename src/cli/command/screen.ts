/**
 * Where a verb prints. Answers are for people or, with --json, for programs: one JSON value, or one a line.
 * Notes and progress are for people only and go to standard error.
 */
import { SkeinError } from "../../core/error.ts";
import { jsonText } from "../format/text.ts";

/** The target of a screen: standard output and standard error, or collected texts. */
export interface Surface {
  /** Resolves once more may be written. */
  out(text: string): Promise<void> | void;
  /** The same for binary output, which is useless unless complete: rejects if it cannot be written. */
  bytes(chunk: Uint8Array): Promise<void>;
  error(text: string): void;
  /** Columns of the terminal; null when there is none. */
  readonly columns: number | null;
  readonly color: boolean;
  /** True when standard error is a terminal. */
  readonly watched: boolean;
  /** From now on a closed output ends the process. */
  endUnread?(): void;
}

type Paint = (text: string) => string;

export interface Screen {
  readonly json: boolean;
  readonly columns: number | null;
  /** The whole answer of a verb. */
  answer(value: object, lines: () => readonly string[]): Promise<void>;
  /** One line of an answer for programs. */
  emit(value: object): Promise<void>;
  /** One line for people. The text must be safe already. */
  line(text: string): Promise<void>;
  /** A piece of a line for people, such as a streaming answer. Must be safe already. */
  text(text: string): Promise<void>;
  /** Binary output: a bundle. */
  bytes(chunk: Uint8Array): Promise<void>;
  /** A command line that can be pasted: with the program and the store that this one was started with. */
  command(words: string): string;
  /** A remark for people that is not part of the answer. */
  note(text: string): void;
  /** Shows the progress of a long task, on a terminal only; the returned function removes the line. */
  progress(): { show(text: string): void; end(): void };
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
}

/** A shorter task needs no progress line. */
const progressAfterMs = 1_000;
const progressEveryMs = 100;

export function makeScreen(
  surface: Surface,
  json: boolean,
  command = (words: string): string => `skein ${words}`,
): Screen {
  const paint =
    (on: number, off: number): Paint =>
    (text) =>
      surface.color && !json ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  const line = async (text: string) => surface.out(`${text}\n`);
  return {
    json,
    command,
    columns: json ? null : surface.columns,
    answer: (value, lines) => line(json ? jsonText(value) : lines().join("\n")),
    emit: (value) => line(jsonText(value)),
    line,
    text: async (text) => surface.out(text),
    bytes: (chunk) => surface.bytes(chunk),
    note(text) {
      if (!json) surface.error(`${text}\n`);
    },
    progress() {
      const startedMs = performance.now();
      let shownMs = startedMs + progressAfterMs - progressEveryMs;
      let shown = false;
      return {
        show(text) {
          const nowMs = performance.now();
          if (!surface.watched || json || nowMs - shownMs < progressEveryMs) return;
          [shownMs, shown] = [nowMs, true];
          surface.error(`\r\u001b[K${text}`);
        },
        end() {
          if (shown) surface.error("\r\u001b[K");
        },
      };
    },
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}

type ProcessSurface = Required<Surface> & {
  flush(): Promise<void>;
  /** A stream failed: decides about the process. */
  failed(stream: NodeJS.WriteStream, error: NodeJS.ErrnoException): "end" | "continue" | "fail";
};

/**
 * Standard output and standard error. Lines are gathered and written together when the program waits for
 * something. Output after the reader closed its end is dropped.
 */
export function processSurface(color: boolean): ProcessSurface {
  const { stdout, stderr } = process;
  const closed = new Set<NodeJS.WriteStream>();
  let waiting = "";
  let [rejects, endsUnread, scheduled] = [false, false, false];
  const flush = async (): Promise<void> => {
    const text = waiting;
    waiting = "";
    if (text === "" || closed.has(stdout) || stdout.write(text)) return;
    await drained(stdout);
  };
  return {
    columns: stdout.isTTY ? stdout.columns || 80 : null,
    color: color && stdout.isTTY,
    watched: stderr.isTTY,
    out(text) {
      waiting += text;
      if (waiting.length > 65_536) return flush();
      if (!scheduled) {
        scheduled = true;
        setImmediate(() => {
          scheduled = false;
          void flush();
        });
      }
      return undefined;
    },
    async bytes(chunk) {
      await flush();
      rejects = true;
      await new Promise<void>((resolve, reject) => {
        stdout.write(chunk, (cause) => (cause instanceof Error ? reject(unwritten(cause)) : resolve()));
      });
    },
    error(text) {
      // A terminal shows both: earlier output must come first.
      void flush();
      if (!closed.has(stderr)) stderr.write(text);
    },
    flush,
    endUnread: () => void (endsUnread = true),
    failed(stream, error) {
      closed.add(stream);
      // The writer of bytes gets the error as a rejection.
      if (stream === stdout && rejects) return "continue";
      if (error.code !== "EPIPE") return "fail";
      return endsUnread ? "end" : "continue";
    },
  };
}

/** Resolves also when the stream fails: then `drain` never comes. */
const drained = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      stream.off("drain", end).off("error", end).off("close", end);
      resolve();
    };
    stream.on("drain", end).on("error", end).on("close", end);
  });

/** Whether a reader closed its end of the output. */
export const isUnread = (error: unknown): boolean =>
  error instanceof SkeinError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "EPIPE";

const unwritten = (cause: Error): SkeinError =>
  new SkeinError("unavailable", `writing the output failed: ${cause.message}`, {
    hint: "check the program that reads it, or write to a file with -o FILE",
    cause,
  });

/** A surface that collects the output, as it would look in so many columns. */
export function collectingSurface(
  columns: number | null,
): Surface & { readonly collected: { stdout: string; stderr: string } } {
  const collected = { stdout: "", stderr: "" };
  return {
    collected,
    columns,
    color: false,
    watched: false,
    out: (text) => void (collected.stdout += text),
    bytes: async (chunk) => void (collected.stdout += Buffer.from(chunk).toString("latin1")),
    error: (text) => void (collected.stderr += text),
  };
}
