/**
 * Speaks to an MCP server over its standard input and output: a message of JSON a line. The server is the
 * leader of a process group, which is ended as a whole. What it prints besides is kept for complaints.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { errorText } from "../core/first-error.ts";
import { makeCapture } from "./capture.ts";
import type { Child, ToolWorld } from "./port.ts";

export interface PipedChild extends Child {
  write(text: string): Promise<void>;
  end(): void;
}

/** A world that can also start what is spoken to. */
export interface McpWorld extends ToolWorld {
  spawnPiped(...given: Parameters<ToolWorld["spawn"]>): Promise<PipedChild>;
}

const stdioLimit = {
  lineBytesMax: 33_554_432,
  /** Lines that are no messages, such as banners, before the server is given up. */
  strayLinesMax: 1_000,
  /** How long a server may take to end by itself once its input is closed, or it reads no more. */
  graceMs: 1_000,
  /** How long the last words of a server that has ended are waited for. */
  lastWordsMs: 200,
} as const;

/** Nobody has heard what was to be sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

export interface StdioTransport extends Transport {
  /** What is known of why it does not work: how it ended, what it printed that is no message. */
  complaint(): string;
}

export function makeStdioTransport(
  world: McpWorld,
  child: PipedChild,
  parse: (line: string) => JSONRPCMessage,
): StdioTransport {
  const printed = makeCapture(500, 1_000);
  const strays: string[] = [];
  let ended: string | undefined;
  /** Why it was killed here; without this, "ended by SIGKILL" would be all that is known. */
  let killedFor: string | undefined;
  const giveUp = (reason: string): void => {
    killedFor ??= reason;
    child.kill();
  };
  // The client may have begun to close it already; whoever closes it again waits for the same end.
  let closing: Promise<void> | undefined;
  let watching: Promise<void> | undefined;
  const within = async (ms: number, work: Promise<unknown> | undefined): Promise<void> => {
    const over = new AbortController();
    await Promise.race([work, world.sleep(ms, over.signal)]);
    over.abort();
  };
  const takeLine = (line: string): void => {
    if (line.trim() === "") return;
    try {
      transport.onmessage?.(parse(line));
    } catch (error) {
      strays.push(line.slice(0, 200));
      transport.onerror?.(new Error(`no message: ${line.slice(0, 200)}: ${errorText(error)}`));
      if (strays.length > stdioLimit.strayLinesMax)
        giveUp(`it was stopped after ${stdioLimit.strayLinesMax} lines that are no messages`);
    }
  };
  const watch = async (reading: Promise<void>): Promise<void> => {
    const { code, signal } = await child.exited;
    await within(stdioLimit.lastWordsMs, reading);
    ended = killedFor ?? (code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`);
    transport.onclose?.();
  };
  const close = async (): Promise<void> => {
    child.end();
    await within(stdioLimit.graceMs, child.exited);
    child.kill();
    await child.exited;
  };
  const send = async (message: JSONRPCMessage): Promise<void> => {
    try {
      await child.write(`${JSON.stringify(message)}\n`);
    } catch (cause) {
      // Most often it has ended; how, and what it said last, tells more than that it does not read.
      await within(stdioLimit.graceMs, watching);
      throw new NotSent("it does not read what it is told", { cause });
    }
  };
  const transport: StdioTransport = {
    start: async () => {
      const reading = readAll(child.stderr, (bytes) => printed.add(bytes));
      void readAll(
        child.stdout,
        lineSplitter(takeLine, () => giveUp(tooLong)),
      );
      watching = watch(reading);
      return Promise.resolve();
    },
    send,
    close: () => (closing ??= close()),
    complaint: () => {
      const said = printed.text().trim();
      const stray =
        strays[0] === undefined ? undefined : `it printed what is no message: ${JSON.stringify(strays[0])}`;
      return [ended, stray, said === "" ? undefined : `it said: ${said}`].filter(Boolean).join("; ");
    },
  };
  return transport;
}

async function readAll(stream: AsyncIterable<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    for await (const bytes of stream) take(bytes);
  } catch {
    // Cut off: how the process ended tells more.
  }
}

const tooLong = `it was stopped: it sent a message of more than ${stdioLimit.lineBytesMax} bytes`;

/** Cuts a stream into lines; gives up when one does not end. */
function lineSplitter(takeLine: (line: string) => void, giveUp: () => void): (bytes: Uint8Array) => void {
  let [pieces, length]: [Uint8Array[], number] = [[], 0];
  return (bytes) => {
    let start = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      takeLine(Buffer.concat([...pieces, bytes.subarray(start, end)]).toString("utf8"));
      [pieces, length, start] = [[], 0, end + 1];
    }
    pieces.push(Buffer.from(bytes.subarray(start)));
    length += bytes.length - start;
    if (length <= stdioLimit.lineBytesMax) return;
    [pieces, length] = [[], 0];
    giveUp();
  };
}
