/**
 * Breaks the client's own sockets with an error of choice. The system reports some errors (EHOSTUNREACH,
 * ENETUNREACH, even ECONNREFUSED) on a connection that was established long ago, when the retransmissions of
 * what was sent are refused on the way; no proxy can bring that about.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

export interface SocketBreaker extends Disposable {
  /**
   * Lets the next write that contains the text pass, holds back every answer on that connection, and breaks
   * it with the error once `isDone` resolves to true. Resolves when the connection broke.
   */
  breakAfter(text: string, code: string, isDone: () => Promise<boolean>): Promise<void>;
}

interface Fault {
  readonly text: string;
  happened(socket: Socket): void;
}

/** Sees every socket that this process connects from now on. */
export function watchSockets(): SocketBreaker {
  const faults: Fault[] = [];
  const channel = "net.client.socket";
  const seen = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    // Connecting sets `write` again.
    socket.once("connect", () => watch(socket));
  };
  const watch = (socket: Socket): void => {
    const write = socket.write.bind(socket);
    const writeWatched = (chunk: Uint8Array | string, ...rest: never[]): boolean => {
      const text = Buffer.from(chunk as Uint8Array).toString("latin1");
      const place = faults.findIndex((fault) => text.includes(fault.text));
      if (place !== -1) {
        socket.pause();
        faults.splice(place, 1)[0]?.happened(socket);
      }
      return write(chunk, ...rest);
    };
    socket.write = writeWatched;
  };
  subscribe(channel, seen);
  return {
    async breakAfter(text, code, isDone) {
      const socket = await new Promise<Socket>((happened) => void faults.push({ text, happened }));
      while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 5));
      socket.destroy(Object.assign(new Error(`read ${code}`), { code, syscall: "read" }));
    },
    [Symbol.dispose]: () => void unsubscribe(channel, seen),
  };
}
