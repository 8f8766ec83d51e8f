/**
 * One connection to a bound PostgreSQL, which is used up once it breaks. The library would connect again by
 * itself, and carry out what is left of a transaction outside of it, or write to a socket that is gone, which
 * ends the process; so each of its instances gets one socket for life, and nothing is asked of it after that.
 */
import { connect, type Socket } from "node:net";
import type { Options, PostgresType, Sql } from "postgres";
import { SkeinError } from "../core/error.ts";
import type { ToolWorld } from "./port.ts";

/** The connection is gone, and nobody can tell what became of what was asked. */
export class Gone extends Error {
  override readonly name = "Gone";
}

export interface Connection {
  readonly sql: Sql;
  /** Nothing may be asked of it any more. */
  readonly isGone: boolean;
  /**
   * The answer, or `Gone` when the connection is before it comes: the library may wait for ever. One that is
   * longer than so many bytes, or an error that is, is refused, and the connection ended: the library would
   * hold it until it is whole.
   */
  orGone<T>(answer: Promise<T>, bytesMax?: number): Promise<T>;
  /** Ends it, whatever the library thinks of it. */
  end(): void;
}

export type ConnectionOptions = Options<Record<string, PostgresType>>;

/** What the library says of where to connect to. */
interface Target {
  readonly path?: string | false;
  readonly host: readonly string[];
  readonly port: readonly number[];
}

const connectMs = 10_000;
/** So often it is looked how long an answer has become. */
const lookMs = 10;

/** Made with the first statement. */
export async function openConnection(
  url: string,
  world: Pick<ToolWorld, "sleep">,
  options: ConnectionOptions,
): Promise<Connection> {
  const { default: postgres } = await import("postgres").catch((cause: unknown) => {
    throw new SkeinError("unavailable", "PostgreSQL needs the package postgres", {
      hint: "npm install postgres",
      cause,
    });
  });
  let isGone = false;
  let socket: Socket | null = null;
  const unanswered = new Set<() => void>();

  function end(): void {
    isGone = true;
    for (const lose of unanswered) lose();
    unanswered.clear();
    // It must not wait for what is never answered.
    void sql.end({ timeout: 0 }).catch(() => undefined);
    socket?.destroy();
  }

  /** The first call gives a socket that is connected; every later one fails, and nothing was sent with it. */
  async function give(target: Target): Promise<Socket> {
    if (isGone || socket !== null) throw failure("this connection was used up before");
    const made = await reach(target, world, (tried) => (socket = tried)).catch((error: unknown) => {
      // Nothing was asked of it, and nothing may be: the library would wait for it.
      isGone = true;
      throw error;
    });
    if (isGone) throw failure("this connection was ended");
    // It is closed only a moment later, and what is asked in between is never answered.
    return made.on("error", () => void (isGone = true));
  }

  /** Whether the answer that is awaited has become longer than that, before it was over. */
  async function longer(bytesMax: number, over: AbortSignal): Promise<boolean> {
    const bytes = (): number => socket?.bytesRead ?? 0;
    const most = bytes() + bytesMax;
    const isLonger = (): boolean => bytes() > most;
    while (!over.aborted && !isLonger()) await world.sleep(lookMs, over);
    return !over.aborted;
  }

  function refuse(reject: (error: unknown) => void, bytesMax: number): void {
    reject(new SkeinError("invalid", `the answer has more than ${bytesMax} bytes; ask for less`));
    end();
  }

  const own = { max: 1, connect_timeout: connectMs / 1_000, socket: give, onclose: end };
  const sql: Sql = postgres(url, { ...options, ...own } as ConnectionOptions);
  return {
    sql,
    get isGone() {
      return isGone;
    },
    orGone: (answer, bytesMax) =>
      new Promise((resolve, reject) => {
        const over = new AbortController();
        const lose = (): void => {
          over.abort();
          reject(new Gone("the connection broke"));
        };
        const answered = (): void => {
          over.abort();
          unanswered.delete(lose);
        };
        answer.then(resolve, reject).finally(answered);
        if (isGone) return lose();
        unanswered.add(lose);
        if (bytesMax !== undefined)
          void longer(bytesMax, over.signal).then((is) => is && refuse(reject, bytesMax));
      }),
    end,
  };
}

const failure = (message: string): Error => Object.assign(new Error(message), { code: "CONNECT_TIMEOUT" });

/** A socket to the first of the hosts that answers. */
async function reach(
  { path, host, port }: Target,
  world: Pick<ToolWorld, "sleep">,
  tried: (socket: Socket) => void,
): Promise<Socket> {
  const ways =
    typeof path === "string"
      ? [{ name: "localhost", open: () => connect(path) }]
      : host.map((name, place) => ({ name, open: () => connect(port[place] ?? 0, name) }));
  let wrong: unknown = failure("there is no address");
  for (const { name, open } of ways) {
    const made = open();
    tried(made);
    try {
      await connected(made, world);
      made.removeAllListeners().setNoDelay(true);
      // The library reads it to know whose certificate it is to be shown.
      return Object.assign(made, { host: name });
    } catch (error) {
      made.on("error", () => undefined).destroy();
      wrong = error;
    }
  }
  throw wrong;
}

async function connected(socket: Socket, world: Pick<ToolWorld, "sleep">): Promise<void> {
  const over = new AbortController();
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve).once("error", reject);
      socket.once("close", () => reject(failure("the connection was ended")));
      void world.sleep(connectMs, over.signal).then(() => reject(failure("the server does not answer")));
    });
  } finally {
    over.abort();
  }
}
