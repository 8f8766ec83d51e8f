/**
 * One connection to PostgreSQL, which is used up once it breaks. The library would connect again by itself,
 * and then carry out what is left of a transaction outside of it, or write to a socket that is gone; so each
 * of its instances gets one socket for life, and nothing is asked of it after that.
 */
import { connect, type Socket } from "node:net";
import postgres from "postgres";
import type { StoreWorld } from "../../port.ts";
import type { HostPort, HostRing } from "./host-ring.ts";

/** What the library says of where to connect to. */
interface Target {
  readonly path?: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
}

const connectMs = 5_000;

/** An error that the library gives when there is no way to the server, or one of ours like it. */
export const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });

interface OneSocket {
  /** The first call gives one that is connected; every later one fails, and nothing was sent with it. */
  give(target: Target): Promise<Socket>;
  /** Ends it, and lets the next one go to another host. */
  leaveHost(): void;
  /** Ends it whatever the library thinks of it. */
  drop(): void;
  /** What came in through it. */
  readonly bytes: number;
}

function oneSocket(world: Pick<StoreWorld, "sleep">, hosts: HostRing | null, broke: () => void): OneSocket {
  let socket: Socket | null = null;
  let dropped = false;
  let used: HostPort | null = null;

  /** Connected, or an error: nothing was sent. */
  async function reach(made: Socket): Promise<void> {
    socket = made;
    const over = new AbortController();
    try {
      await new Promise<void>((resolve, reject) => {
        made.once("connect", resolve).once("error", reject);
        made.once("close", () => reject(failure("CONNECT_TIMEOUT", "the connection was ended")));
        const late = failure("CONNECT_TIMEOUT", "the server does not answer");
        void world.sleep(connectMs, over.signal).finally(() => reject(late));
      });
    } catch (error) {
      made.on("error", () => undefined).destroy();
      throw error;
    } finally {
      over.abort();
    }
  }

  /** The first of several that can be reached. */
  async function reachAny(ring: HostRing): Promise<Socket> {
    let wrong: unknown = null;
    for (const one of ring.order()) {
      const made = connect(one.port, one.host);
      try {
        await reach(made);
        used = one;
        ring.use(one);
        return made;
      } catch (error) {
        wrong = error;
        ring.skip(one);
        if (dropped) break;
      }
    }
    throw wrong;
  }

  return {
    async give(target) {
      if (dropped || socket !== null) throw failure("CONNECT_TIMEOUT", "this connection was used up before");
      const [host = "", port = 0] = [target.host[0], target.port[0]];
      const reachOne = async (): Promise<Socket> => {
        const one = typeof target.path === "string" ? connect(target.path) : connect(port, host);
        await reach(one);
        return one;
      };
      const made = await (hosts === null ? reachOne() : reachAny(hosts));
      made.removeAllListeners().setNoDelay(true);
      // It is closed only a moment later, and what is asked in between is never answered.
      made.on("error", broke);
      // The library reads it to know whose certificate it is to be shown.
      return Object.assign(made, { host: used?.host ?? host });
    },
    leaveHost() {
      if (used !== null) hosts?.skip(used);
      dropped = true;
      socket?.destroy();
    },
    drop() {
      dropped = true;
      socket?.destroy();
    },
    get bytes() {
      return socket?.bytesRead ?? 0;
    },
  };
}

export interface Single {
  readonly sql: postgres.Sql;
  /** Nothing may be asked of it any more. */
  readonly isGone: boolean;
  /** How much was asked of it and is not answered. */
  asked: number;
  /** How many appends are among that. */
  appends: number;
  /** The server has let it in, and said how it is set: before that nothing of what was asked is sent. */
  readonly isLetIn: boolean;
  /** What came from the server so far, also of an answer that is not whole yet. */
  readonly bytes: number;
  /** A transaction is under way on it. */
  taken: boolean;
  /** Ends it, at once or as soon as it has answered; what is not answered in time fails. */
  end(waitSeconds?: number): Promise<void>;
}

export type SingleOptions = Omit<postgres.Options<Record<string, postgres.PostgresType>>, "onclose"> & {
  readonly onclose?: () => void;
  /** What was asked of it is not answered any more, whatever the library waits for. */
  readonly onlost?: (single: Single) => void;
  /** Several hosts, of which the one that takes writes is wanted. */
  readonly hosts?: HostRing | null;
  readonly onnotify?: (channel: string, text: string) => void;
};

/** A connection that is made with the first statement. */
export function openSingle(
  url: string,
  world: Pick<StoreWorld, "sleep">,
  { onclose, onlost, hosts = null, ...options }: SingleOptions,
): Single {
  let isGone = false;
  let isLetIn = false;
  /** The server reports it when it lets a connection in, and before it takes a statement. */
  let takesNoWrites = false;
  const socket = oneSocket(world, hosts, () => void (isGone = true));
  const fail = (): void => onlost?.(single);
  const end = async (waitSeconds = 0): Promise<void> => {
    isGone = true;
    if (waitSeconds === 0) fail();
    await sql.end({ timeout: waitSeconds });
    fail();
    socket.drop();
  };
  const closed = (): void => {
    onclose?.();
    void end().catch(() => undefined);
  };
  const onparameter = (name: string, value: unknown): void => {
    isLetIn = true;
    const isRefused = name === "in_hot_standby" || name === "default_transaction_read_only";
    if (hosts === null || !isRefused || value !== "on") return;
    takesNoWrites = true;
    socket.leaveHost();
  };
  const own = {
    onparameter,
    max: 1,
    connect_timeout: connectMs / 1_000,
    socket: socket.give,
    onclose: closed,
  };
  const sql: postgres.Sql = postgres(url, { ...options, ...own }) as never;
  const single: Single = {
    sql,
    asked: 0,
    appends: 0,
    taken: false,
    get isGone() {
      return isGone;
    },
    get isLetIn() {
      return isLetIn && !takesNoWrites;
    },
    get bytes() {
      return socket.bytes;
    },
    end,
  };
  return single;
}
