/**
 * How long a request may take to come in. A body has a time in all, so that nobody keeps a connection by
 * sending slowly; bytes, which may be many, go on for as long as they keep a pace. Heads are left to Node.
 */
import type { IncomingMessage } from "node:http";
import { limit } from "../../core/limit.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

/** What is looked at of a request. */
export type Arriving = Pick<IncomingMessage, "headers" | "complete" | "destroyed" | "readableLength"> & {
  readonly socket: { readonly bytesRead: number };
};

interface Coming {
  sinceMs: number;
  /** What the connection had brought by then; null: the time is for all of it. */
  bytes: number | null;
  readonly late: (problem: Problem) => void;
}

export interface Arrivals {
  /** `late` hears when the body takes too long; again after as long, if it is still coming. */
  begin(request: Arriving, late: (problem: Problem) => void): void;
  /** From now on it has time for as long as it keeps the pace. */
  pace(request: Arriving): void;
  /** It was answered. What is still coming has its time in all again, for nobody reads it. */
  end(request: Arriving): void;
  /** To be called every now and then. */
  look(): void;
}

export function makeArrivals(clock: () => number): Arrivals {
  const coming = new Map<Arriving, Coming>();

  function check(request: Arriving, one: Coming): void {
    const { bytesRead } = request.socket;
    // What is there and not yet read waits for us, not for the caller.
    const isOn = one.bytes !== null && (bytesRead - one.bytes >= limit.uploadPaceBytes || isUnread(request));
    if (!isOn && clock() - one.sinceMs < limit.requestMs) return;
    one.sinceMs = clock();
    if (!isOn) return one.late(one.bytes === null ? slowBody() : slowBytes());
    one.bytes = bytesRead;
  }

  return {
    begin(request, late) {
      const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
      if (length === "0" && encoding === undefined) return;
      coming.set(request, { sinceMs: clock(), bytes: null, late });
    },
    pace(request) {
      const one = coming.get(request);
      if (one !== undefined) one.bytes = request.socket.bytesRead;
    },
    end(request) {
      const one = coming.get(request);
      if (one === undefined || request.complete) return void coming.delete(request);
      [one.sinceMs, one.bytes] = [clock(), null];
    },
    look() {
      for (const [request, one] of coming)
        if (request.complete || request.destroyed) coming.delete(request);
        else check(request, one);
    },
  };
}

const isUnread = ({ readableLength }: Arriving): boolean => readableLength > 0;

const seconds = limit.requestMs / 1_000;

const slowBody = (): Problem =>
  makeProblem("timed-out", `the body did not come within ${seconds} seconds`, {
    hint: "send it again; what is large goes as bytes, with put-blob or import, which have no limit in all",
  });

const slowBytes = (): Problem =>
  makeProblem("timed-out", `less than ${limit.uploadPaceBytes} bytes came within ${seconds} seconds`, {
    hint: "send it again; it may take as long as it needs while that much comes",
  });
