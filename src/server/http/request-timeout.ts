/**
 * Limits how long a request may take to arrive. A body has a total time, so that a slow sender cannot hold a
 * connection; uploads, which may be large, may continue as long as they keep a pace. Node limits the heads.
 */
import type { IncomingMessage } from "node:http";
import { limit } from "../../core/limit.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

/** The relevant parts of a request. */
export type ArrivingRequest = Pick<
  IncomingMessage,
  "headers" | "complete" | "destroyed" | "readableLength"
> & {
  readonly socket: { readonly bytesRead: number };
};

interface BodyDeadline {
  sinceMs: number;
  /** The bytes of the connection by then; null: the total time applies. */
  bytes: number | null;
  readonly late: (problem: Problem) => void;
}

export interface Arrivals {
  /** Calls `late` when the body takes too long; again after as long, if it is still arriving. */
  begin(request: ArrivingRequest, late: (problem: Problem) => void): void;
  /** From now on it has time as long as it keeps the pace. */
  pace(request: ArrivingRequest): void;
  /** It was answered. The rest of the body has the total time again, since it is discarded. */
  end(request: ArrivingRequest): void;
  /** Call it periodically. */
  look(): void;
}

export function makeArrivals(clock: () => number): Arrivals {
  const coming = new Map<ArrivingRequest, BodyDeadline>();

  function check(request: ArrivingRequest, one: BodyDeadline): void {
    const { bytesRead } = request.socket;
    // Unread bytes wait for the server, not for the client.
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

const isUnread = ({ readableLength }: ArrivingRequest): boolean => readableLength > 0;

const seconds = limit.requestMs / 1_000;

const slowBody = (): Problem =>
  makeProblem("timed-out", `the request body did not arrive within ${seconds} seconds`, {
    hint: "retry; send large data with put-blob or import, which have no total limit",
  });

const slowBytes = (): Problem =>
  makeProblem(
    "timed-out",
    `upload too slow: less than ${limit.uploadPaceBytes} bytes in ${seconds} seconds`,
    {
      hint: "retry on a faster connection; there is no total time limit",
    },
  );
