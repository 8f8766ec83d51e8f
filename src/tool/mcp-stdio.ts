/**
 * Talks to an MCP server over its standard input and output: one JSON message per line. The server leads a
 * process group, which is killed as a whole. Its other output is kept for error messages.
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

/** A world that can also start such a process. */
export interface McpWorld extends ToolWorld {
  spawnPiped(...given: Parameters<ToolWorld["spawn"]>): Promise<PipedChild>;
}

const stdioLimit = {
  lineBytesMax: 33_554_432,
  /** Lines that are not messages, such as banners, before the server counts as broken. */
  strayLinesMax: 1_000,
  /** How long a server may take to exit after its input is closed, or it stops reading. */
  graceMs: 1_000,
  /** How long to wait for the last output of an exited server. */
  lastWordsMs: 200,
} as const;

/** The message was never sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

export interface StdioTransport extends Transport {
  /** What is known of the failure: how it exited, and its other output. */
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
  /** Why Skein killed it; without this only "ended by SIGKILL" would be known. */
  let killedFor: string | undefined;
  const giveUp = (reason: string): void => {
    killedFor ??= reason;
    child.kill();
  };
  // The client may already be closing it; a second close waits for the same end.
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
      transport.onerror?.(new Error(`not a JSON-RPC message: ${line.slice(0, 200)}: ${errorText(error)}`));
      if (strays.length > stdioLimit.strayLinesMax)
        giveUp(`it was stopped after ${stdioLimit.strayLinesMax} lines that are not JSON-RPC messages`);
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
      // It has usually exited; its exit and last output tell more than a failed write.
      await within(stdioLimit.graceMs, watching);
      throw new NotSent("it does not read its standard input", { cause });
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
        strays[0] === undefined
          ? undefined
          : `it printed a line that is not JSON-RPC: ${JSON.stringify(strays[0])}`;
      return [ended, stray, said === "" ? undefined : `stderr: ${said}`].filter(Boolean).join("; ");
    },
  };
  return transport;
}

async function readAll(stream: AsyncIterable<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    for await (const bytes of stream) take(bytes);
  } catch {
    // Truncated: the exit of the process tells more.
  }
}

const tooLong = `it was stopped: it sent a message of more than ${stdioLimit.lineBytesMax} bytes`;

/** Splits a stream into lines; gives up if a line does not end. */
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
