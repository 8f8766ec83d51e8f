/**
 * One connection to PostgreSQL, which ends for good when it breaks. The client library would reconnect and
 * run the rest of a transaction outside of it, or write to a closed socket, which crashes the process. So
 * each of its instances gets one socket for life, and no statement is sent after that.
 */
import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { makeHostRing, type HostPort, type HostRing } from "./host-ring.ts";

interface Sleeper {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The library's connection target. */
interface Target {
  readonly path?: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
}

const connectMs = 5_000;

/** An error with a code, like the library's for an unreachable server. */
export const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });

interface SocketSource {
  /** Connects once. Every later call fails, with nothing sent. */
  give(target: Target): Promise<Socket>;
  /** Closes the socket, and lets the next connection try another host. */
  leaveHost(): void;
  /** Closes the socket without the library. */
  drop(): void;
  /** Bytes received. */
  readonly bytes: number;
}

function makeSocketSource(world: Sleeper, hosts: HostRing | null, onError: () => void): SocketSource {
  let socket: Socket | null = null;
  let isDropped = false;
  let used: HostPort | null = null;

  /** Connected, or an error with nothing sent. */
  async function reach(made: Socket): Promise<Socket> {
    socket = made;
    const over = new AbortController();
    try {
      await new Promise<void>((resolve, reject) => {
        made.once("connect", resolve).once("error", reject);
        made.once("close", () => reject(failure("CONNECT_TIMEOUT", "the connection was ended")));
        const late = failure("CONNECT_TIMEOUT", "the server does not answer");
        void world.sleep(connectMs, over.signal).finally(() => reject(late));
      });
      return made;
    } catch (error) {
      made.on("error", () => undefined).destroy();
      throw error;
    } finally {
      over.abort();
    }
  }

  /** The first reachable host. */
  async function reachAny(ring: HostRing): Promise<Socket> {
    let wrong: unknown = failure("CONNECT_TIMEOUT", "the address names no host");
    for (const one of ring.order()) {
      try {
        const made = await reach(connect(one.port, one.host));
        used = one;
        ring.use(one);
        return made;
      } catch (error) {
        wrong = error;
        ring.skip(one);
        if (isDropped) break;
      }
    }
    throw wrong;
  }

  return {
    async give({ path, host, port }) {
      if (isDropped || socket !== null) throw failure("CONNECT_TIMEOUT", "this connection has ended");
      const named = host.map((name, index) => ({ host: name, port: port[index] ?? 0 }));
      const made =
        typeof path === "string" ? await reach(connect(path)) : await reachAny(hosts ?? makeHostRing(named));
      made.removeAllListeners().setNoDelay(true);
      // The socket closes a moment later, and a statement sent in between is never answered.
      made.on("error", onError);
      // The library checks the server's certificate against this name.
      return Object.assign(made, { host: used?.host ?? host[0] ?? "localhost" });
    },
    leaveHost() {
      if (used !== null) hosts?.skip(used);
      isDropped = true;
      socket?.destroy();
    },
    drop() {
      isDropped = true;
      socket?.destroy();
    },
    get bytes() {
      return socket?.bytesRead ?? 0;
    },
  };
}

export interface PostgresConnection {
  readonly sql: postgres.Sql;
  /** No statement may be sent on it. */
  readonly isGone: boolean;
  /** Statements without an answer yet. */
  asked: number;
  /** Appends among them. */
  appends: number;
  /** The server has accepted the login and reported its settings; before that no statement is sent. */
  readonly isLetIn: boolean;
  /** Bytes received so far, also of an incomplete answer. */
  readonly bytes: number;
  /** Whether a transaction uses it. */
  taken: boolean;
  /** Ends it, at once or after its answers; statements without an answer by then fail. */
  end(waitSeconds?: number): Promise<void>;
}

export type PostgresConnectionOptions = Omit<
  postgres.Options<Record<string, postgres.PostgresType>>,
  "onclose"
> & {
  readonly onclose?: () => void;
  /** Its statements get no answer any more, even if the library waits for one. */
  readonly onlost?: (connection: PostgresConnection) => void;
  /** Several hosts: the writable one is used. */
  readonly hosts?: HostRing | null;
  readonly onnotify?: (channel: string, text: string) => void;
};

/** Connects with the first statement. */
export function openPostgresConnection(
  url: string,
  world: Sleeper,
  { onclose, onlost, hosts = null, ...options }: PostgresConnectionOptions,
): PostgresConnection {
  let isGone = false;
  let isLetIn = false;
  /** The server reports it with the login, before it takes a statement. */
  let takesNoWrites = false;
  const socket = makeSocketSource(world, hosts, () => void (isGone = true));
  const fail = (): void => onlost?.(connection);
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
  const connection: PostgresConnection = {
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
  return connection;
}

/** How often the length of an answer is checked: a nearby server sends some megabytes meanwhile. */
const lookMs = 10;

/**
 * Resolves to true if more than so many bytes arrive before the signal; the library buffers an answer, or an
 * error, until it is complete, and cannot skip the rest.
 */
export async function exceedsBytes(
  connection: Pick<PostgresConnection, "bytes">,
  bytesMax: number,
  world: Sleeper,
  over: AbortSignal,
): Promise<boolean> {
  const before = connection.bytes;
  while (!over.aborted && connection.bytes - before <= bytesMax) await world.sleep(lookMs, over);
  return !over.aborted;
}
