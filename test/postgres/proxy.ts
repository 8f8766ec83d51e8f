/**
 * Stands between a client and a PostgreSQL and is the network on a bad day: connections are cut, answers come
 * late or never, and a statement's answer is lost after the server has done what it says.
 */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { makeRandom } from "../crash/random.ts";
import { relay, type Loss, type Relay } from "./relay.ts";

export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** The same URL, through the proxy. */
  through(url: string): string;
  /** How many connections there are now, and have been. */
  readonly count: { readonly open: number; readonly ever: number };
  /** How many were cut by chance. */
  readonly cuts: number;
  /** Cuts every connection now: every other one by a reset, the rest by an end in mid-sentence. */
  cutAll(): void;
  /** Cuts a connection that chance chooses, again and again until the returned function is called. */
  cutOneEvery(everyMs: number, seed: number): () => void;
  /** Whatever passes does so this much later, in either direction. */
  delay(delayMs: number): void;
  /** New connections are cut as soon as they are made; false lets them in again. */
  refuse(refused: boolean): void;
  /** Nothing passes, and nobody is told; with false it passes after all. */
  hang(hanging: boolean): void;
  /**
   * The next statement like this is done by the server, but its answer is lost and the connection cut.
   * Resolves when that has happened.
   */
  loseReply(like: RegExp): Promise<LostReply>;
  /** The next statement like this never gets to the server: the connection is cut before. */
  loseRequest(like: RegExp): Promise<{ readonly statement: string }>;
  close(): Promise<void>;
}

export interface LostReply {
  readonly statement: string;
  /** Whether the server refused it: the answer that was lost was an error. */
  readonly failed: boolean;
}

/** A proxy on a port of its own, in front of the server on a port of this machine. */
export async function startProxy(options: { readonly port: number }): Promise<Proxy> {
  const relays = new Set<Relay>();
  const losses: Loss[] = [];
  const weather = { delayMs: 0, hanging: false, refused: false };
  const timers = new Set<NodeJS.Timeout>();
  let ever = 0;
  let cuts = 0;

  const server = createServer({ noDelay: true }, (client) => {
    client.on("error", () => undefined);
    if (weather.refused) return void client.resetAndDestroy();
    ever += 1;
    const resets = ever % 2 === 0;
    const ended = () => relays.delete(made);
    const made = relay(client, { port: options.port, resets, weather, losses, ended });
    relays.add(made);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const lose = (kind: Loss["kind"], like: RegExp): Promise<LostReply> =>
    new Promise((resolve) => void losses.push({ kind, like, happened: resolve }));
  const cutAll = (): void => {
    for (const one of relays) one.cut();
  };
  const close = async (): Promise<void> => {
    for (const timer of timers) clearInterval(timer);
    cutAll();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };

  return {
    port,
    through: (url) => Object.assign(new URL(url), { port: String(port) }).href,
    get count() {
      return { open: relays.size, ever };
    },
    get cuts() {
      return cuts;
    },
    cutAll,
    cutOneEvery(everyMs, seed) {
      const random = makeRandom(seed);
      const timer = setInterval(() => {
        if (relays.size === 0) return;
        random.pick([...relays]).cut();
        cuts += 1;
      }, everyMs).unref();
      timers.add(timer);
      return () => clearInterval(timer);
    },
    delay: (delayMs) => void (weather.delayMs = delayMs),
    refuse: (refused) => void (weather.refused = refused),
    hang(hanging) {
      weather.hanging = hanging;
      if (!hanging) for (const one of relays) one.flush();
    },
    loseReply: (like) => lose("reply", like),
    loseRequest: (like) => lose("request", like),
    close,
    [Symbol.asyncDispose]: close,
  };
}
