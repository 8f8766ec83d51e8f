/** Pretends to be a PostgreSQL, or something else that listens on its port. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { clientMessages, gssRequest, int16, int32, message, sslRequest, textsOf, zeroEnded } from "./wire.ts";
import type { Message } from "./wire.ts";

/**
 * What it is like: a PostgreSQL of some version, with some settings; a server that refuses everybody with an
 * error; something that speaks another language; something that takes connections and never says a word.
 */
export type Disguise =
  | {
      readonly kind: "postgres";
      readonly version: string;
      readonly settings?: Readonly<Record<string, string>>;
      /** Told to everybody who is let in, beside what all servers tell. */
      readonly told?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "refusing"; readonly code: string; readonly message: string }
  | { readonly kind: "nonsense" }
  | { readonly kind: "silent" };

export interface FakeServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The statements that it was asked, first to last. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

export async function startFakeServer(disguise: Disguise): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    if (disguise.kind === "silent") return void socket.resume();
    if (disguise.kind === "nonsense") return void socket.once("data", () => socket.end(nonsense));
    const cut = clientMessages();
    socket.on("data", (chunk: Buffer) => {
      for (const received of cut(chunk)) answer(socket, disguise, received, asked);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    port,
    url: `postgres://skein@127.0.0.1:${port}/skein`,
    asked,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What a web server says to somebody who does not speak its language. */
const nonsense = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

type Speaking = Extract<Disguise, { kind: "postgres" | "refusing" }>;

function answer(socket: Socket, disguise: Speaking, { tag, body }: Message, asked: string[]): void {
  if (tag === "" && [sslRequest, gssRequest].includes(body.readInt32BE(0))) return void socket.write("N");
  if (disguise.kind === "refusing") return void socket.end(refusal(disguise.code, disguise.message));
  if (tag === "") return void socket.write(welcome(disguise));
  if (tag === "X") return void socket.end();
  const statement = tag === "Q" ? textsOf(body, 1)[0] : tag === "P" ? textsOf(body, 2)[1] : undefined;
  if (statement !== undefined) asked.push(statement);
  const row = rowOf(asked.at(-1) ?? "", {
    ...usualSettings,
    ...versionSettings(disguise),
    ...disguise.settings,
  });
  const replies: Readonly<Record<string, readonly Buffer[]>> = {
    Q: [description(row), values(row), done, ready],
    P: [message("1")],
    // Of a statement the parameters are described too, and it is taken to have none.
    D:
      body.toString("latin1", 0, 1) === "S" ? [message("t", int16(0)), description(row)] : [description(row)],
    B: [message("2")],
    E: [values(row), done],
    C: [message("3")],
    S: [ready],
  };
  socket.write(Buffer.concat(replies[tag] ?? []));
}

const ready = message("Z", Buffer.from("I"));
const done = message("C", zeroEnded("SELECT 1"));

const refusal = (code: string, text: string): Buffer =>
  message(
    "E",
    zeroEnded("SFATAL"),
    zeroEnded("VFATAL"),
    zeroEnded(`C${code}`),
    zeroEnded(`M${text}`),
    Buffer.of(0),
  );

function welcome({ version, told: more = {} }: Extract<Disguise, { kind: "postgres" }>): Buffer {
  const told = { server_version: version, server_encoding: "UTF8", client_encoding: "UTF8", ...more };
  const parameters = Object.entries(told).map(([name, value]) =>
    message("S", zeroEnded(name), zeroEnded(value)),
  );
  return Buffer.concat([message("R", int32(0)), ...parameters, message("K", int32(1), int32(1)), ready]);
}

const usualSettings: Readonly<Record<string, string>> = {
  server_encoding: "UTF8",
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  transaction_read_only: "off",
  max_connections: "100",
};

function versionSettings({
  version,
}: Extract<Disguise, { kind: "postgres" }>): Readonly<Record<string, string>> {
  const [major = "0", minor = "0"] = version.split(".");
  return { server_version: version, server_version_num: String(Number(major) * 10_000 + Number(minor)) };
}

type Column = readonly [name: string, value: string];

/** It knows its settings, and of everything else nothing but zero: a row of texts for any statement. */
function rowOf(statement: string, settings: Readonly<Record<string, string>>): readonly Column[] {
  const shown = /^\s*show\s+(\w+)/i.exec(statement)?.[1];
  if (shown !== undefined) return [[shown, settings[shown] ?? ""]];
  return selected(statement).map((expression): Column => {
    const setting = /^current_setting\('(\w+)'/i.exec(expression)?.[1];
    const name = /\bas\s+(\w+)$/i.exec(expression)?.[1] ?? /^\w+/.exec(expression)?.[0] ?? "?column?";
    return [name, setting === undefined ? "0" : (settings[setting] ?? "")];
  });
}

/** What stands between the commas of a statement that are in no brackets. */
function selected(statement: string): string[] {
  const [, list = ""] = /^\s*select\s(.*)$/is.exec(statement) ?? [];
  const parts = [""];
  let depth = 0;
  for (const letter of list) {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (letter === "," && depth === 0) parts.push("");
    else parts.push(`${parts.pop()}${letter}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

const textType = 25;

const description = (row: readonly Column[]): Buffer =>
  row.length === 0
    ? message("n")
    : message(
        "T",
        int16(row.length),
        ...row.map(([name]) =>
          Buffer.concat([
            zeroEnded(name),
            int32(0),
            int16(0),
            int32(textType),
            int16(-1),
            int32(-1),
            int16(0),
          ]),
        ),
      );

const values = (row: readonly Column[]): Buffer =>
  row.length === 0
    ? Buffer.alloc(0)
    : message(
        "D",
        int16(row.length),
        ...row.map(([, value]) => Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)])),
      );
