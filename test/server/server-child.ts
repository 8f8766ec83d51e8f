/** Starts server-runner.ts, kills it, and asks it for its memory. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface ServerChild extends AsyncDisposable {
  readonly port: number;
  readonly token: string;
  readonly pid: number;
  /** What only a fault explains, as far as it told. */
  readonly troubles: string[];
  rssBytes(): Promise<number>;
  /** As when the power of that one process is cut. */
  kill(): Promise<void>;
}

interface Told {
  readonly port?: number;
  readonly token?: string;
  readonly rss?: number;
  readonly trouble?: string;
}

export async function startServer(store: string, port = 0): Promise<ServerChild> {
  const child = fork(join(import.meta.dirname, "server-runner.ts"), [store, String(port)], {
    execArgv: ["--conditions=skein-source", "--expose-gc"],
  });
  const troubles: string[] = [];
  const bound = Promise.withResolvers<Told>();
  let rss = Promise.withResolvers<number>();
  child.on("message", (told: Told) => {
    if (told.port !== undefined) bound.resolve(told);
    if (told.rss !== undefined) rss.resolve(told.rss);
    if (told.trouble !== undefined) troubles.push(told.trouble);
  });
  child.once("exit", (code) => bound.reject(new Error(`the server ended with ${code}`)));
  const { port: boundPort = 0, token = "" } = await bound.promise;
  return {
    port: boundPort,
    token,
    pid: child.pid ?? 0,
    troubles,
    async rssBytes() {
      rss = Promise.withResolvers();
      child.send("rss");
      return rss.promise;
    },
    kill: () => end(child),
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
