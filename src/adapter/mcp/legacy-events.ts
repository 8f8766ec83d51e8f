/**
 * The last messages of one session of the legacy era: a client whose stream broke gets the missed ones.
 * Bounded, and gone with the process: the log has all that matters.
 */
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

const messagesMax = 500;
const bytesMax = 4_194_304;

interface StoredMessage {
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export function makeEventStore(): EventStore {
  const stored = new Map<string, StoredMessage>();
  let [count, bytes] = [0, 0];

  return {
    async storeEvent(stream, message) {
      count += 1;
      const id = `${stream}_${count}`;
      const size = JSON.stringify(message).length;
      stored.set(id, { stream, message, bytes: size });
      bytes += size;
      for (const [oldest, { bytes: freed }] of stored) {
        if (stored.size <= messagesMax && bytes <= bytesMax) break;
        stored.delete(oldest);
        bytes -= freed;
      }
      return id;
    },
    getStreamIdForEventId: async (id) => stored.get(id)?.stream,
    async replayEventsAfter(last, { send }) {
      const stream = stored.get(last)?.stream ?? "";
      const from = positionOf(last);
      for (const [id, one] of stored)
        if (one.stream === stream && positionOf(id) > from) await send(id, one.message);
      return stream;
    },
  };
}

const positionOf = (id: string): number => Number(id.slice(id.lastIndexOf("_") + 1));
