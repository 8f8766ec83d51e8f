/**
 * What puts load on a server, in a process of its own: requests over so many connections that are kept, and
 * readers of streams. Told by its first argument what to do; prints what it found as one line of JSON.
 */
import { connect, type Socket } from "node:net";

/** So many connections, each asking again as soon as it was answered. */
interface Flood {
  readonly kind: "flood";
  readonly port: number;
  readonly token: string;
  /** The path of each connection. */
  readonly paths: readonly string[];
  readonly body: string;
  readonly requests: number;
}

/** So many readers of one session, while it is appended to. */
interface Following {
  readonly kind: "follow";
  readonly port: number;
  readonly token: string;
  readonly path: string;
  readonly body: string;
  readonly readers: number;
  readonly appends: number;
  readonly everyMs: number;
}

export type Load = Flood | Following;

const given = JSON.parse(process.argv[2] ?? "{}") as Load;
const found = JSON.stringify(given.kind === "flood" ? await flood(given) : await follow(given));
process.stdout.write(found, () => process.exit(0));

function requestOf(method: string, path: string, how: { port: number; token: string; body?: string }) {
  const { body } = how;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${how.port}`,
    `authorization: Bearer ${how.token}`,
  ];
  if (body === undefined) lines.push("accept: text/event-stream");
  else lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

/** Tells of each answer on a connection that is kept. Answers are ASCII with a length. */
function answers(socket: Socket, heard: () => void): void {
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    for (;;) {
      const end = text.indexOf("\r\n\r\n");
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2)) ?? [];
      const bytes = end + 4 + Number(length ?? 0);
      if (end === -1 || text.length < bytes) return;
      if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 500));
      text = text.slice(bytes);
      heard();
    }
  });
}

async function flood({ port, token, paths, body, requests }: Flood): Promise<{ ms: number }> {
  let left = requests;
  const one = (path: string): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = requestOf("POST", path, { port, token, body });
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }).on("error", reject);
    const ask = (): void => {
      if (left-- > 0) socket.write(request);
      else resolve(void socket.destroy());
    };
    answers(socket, ask);
    socket.once("connect", ask);
    return promise;
  };
  const startMs = performance.now();
  await Promise.all(paths.map(one));
  return { ms: performance.now() - startMs };
}

async function follow({ port, token, path, body, readers, appends, everyMs }: Following) {
  const sentMs: number[] = [];
  const delaysMs: number[] = [];
  const whole = Promise.withResolvers<void>();
  const reader = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let text = "";
    const socket = connect({ port, host: "127.0.0.1" }, () =>
      socket.write(requestOf("GET", `${path}/events?deltas=false`, { port, token })),
    ).on("error", reject);
    socket.on("data", (chunk: Buffer) => {
      const nowMs = performance.now();
      text += chunk.toString("latin1");
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const seq = Number(/(?:^|\n)id: (\d+)/.exec(frame)?.[1] ?? 0);
        if (seq === 1) resolve();
        if (seq > 1) delaysMs.push(nowMs - (sentMs[seq - 2] ?? Number.NaN));
      }
      if (delaysMs.length === readers * appends) whole.resolve();
    });
    return promise;
  };
  await Promise.all(Array.from({ length: readers }, reader));
  const writer = connect({ port, host: "127.0.0.1", noDelay: true });
  const request = requestOf("POST", `${path}/append`, { port, token, body });
  let answered = Promise.withResolvers<void>();
  answers(writer, () => answered.resolve());
  for (let count = 0; count < appends; count++) {
    await new Promise((resolve) => setTimeout(resolve, everyMs));
    answered = Promise.withResolvers();
    sentMs.push(performance.now());
    writer.write(request);
    await answered.promise;
  }
  await whole.promise;
  return { delaysMs };
}
