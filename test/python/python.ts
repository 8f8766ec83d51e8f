/** Runs scenarios of the Python client with the system's Python. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { delimiter, join } from "node:path";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "../..");

/** Undefined on a system without it. */
export const python = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "python3"))
  .find((file) => existsSync(file));

/** The option of a test: skipped without Python, except in CI. */
export const needsPython = {
  skip: python === undefined && process.env["CI"] !== "true" ? "there is no python3 here" : false,
};

/** How Python runs here: with the client, and without leaving compiled files behind. */
export const pythonEnv = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: join(root, "clients/python"),
  PYTHONDONTWRITEBYTECODE: "1",
  PYTHONWARNINGS: "error",
});

type Printed = Readonly<Record<string, unknown>>;

/** The last line that a program prints, as JSON; `onLine` gets each line. */
export async function runPython(
  args: readonly string[],
  onLine: (line: Printed) => void = () => undefined,
): Promise<Printed> {
  const child = spawn(python ?? "python3", args, { env: pythonEnv(), stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  let errors = "";
  child.stderr.on("data", (piece: Buffer) => (errors += piece.toString("utf8")));
  let last = "";
  const ended = once(child, "close");
  for await (const line of createInterface(child.stdout)) {
    last = line;
    if (line.startsWith("{")) onLine(JSON.parse(line) as Printed);
  }
  const [code] = (await ended) as [number | null];
  clearTimeout(timer);
  if (code !== 0 || errors !== "") throw new Error(`python ended with ${code}: ${errors}${last}`);
  return JSON.parse(last) as Printed;
}

/** Runs one function of scenarios.py. */
export const runScenario = (
  name: string,
  { url, token }: { readonly url: string; readonly token: string },
  onLine?: (line: Printed) => void,
): Promise<Printed> => runPython([join(import.meta.dirname, "scenarios.py"), name, url, token], onLine);

interface Answering extends AsyncDisposable {
  readonly url: string;
}

interface Relay extends Answering {
  /** The port of the server. It must allow the relay's URL, so it starts later. */
  lead(port: number): void;
}

/**
 * A way to a server: `onBytes` gets the server's bytes of each connection, by the connection's number, and
 * says how many of them pass before the connection is cut; null: all.
 */
export async function openRelay(
  onBytes: (bytes: Buffer, connection: number, request: string) => number | null,
): Promise<Relay> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let to = 0;
  const server: Server = createServer((near) => {
    const number = connections;
    connections += 1;
    const far = connect(to, "127.0.0.1");
    let request = "";
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (bytes: Buffer) => {
      if (request.length < 4_096) request += bytes.toString("latin1");
      far.write(bytes);
    });
    far.on("data", (bytes: Buffer) => {
      const most = onBytes(bytes, number, request);
      if (most === null) near.write(bytes);
      else near.end(bytes.subarray(0, most), () => near.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    lead: (port) => void (to = port),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A server that gives each request this answer. */
export async function openAnswering(
  give: (answer: ServerResponse, request: IncomingMessage) => unknown,
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<Answering> {
  const listener = (request: IncomingMessage, answer: ServerResponse): void => void give(answer, request);
  const server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http${tls === undefined ? "" : "s"}://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
