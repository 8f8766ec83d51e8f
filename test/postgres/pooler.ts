/**
 * A pooler in transaction mode, as strict as PgBouncer before it knew of prepared statements: a client has a
 * connection of the server for the length of a transaction, and the next one is another's. What a client
 * leaves in a connection is found by somebody else.
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { clientMessages, gssRequest, int32, message, serverMessages, sslRequest, zeroEnded } from "./wire.ts";
import type { Message } from "./wire.ts";

export interface Pooler extends AsyncDisposable {
  readonly port: number;
  /** The same URL, through the pooler. */
  through(url: string): string;
  close(): Promise<void>;
}

/** For one user and one database: those of the first client. */
export async function startPooler(options: {
  readonly port: number;
  readonly size: number;
}): Promise<Pooler> {
  const clients = new Set<Socket>();
  const pool = makePool(options);
  const listener = createServer({ noDelay: true }, (client) => {
    clients.add(client);
    client.on("error", () => undefined).on("close", () => clients.delete(client));
    attend(client, pool);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const client of clients) client.destroy();
    pool.close();
    if (listener.listening) await new Promise((resolve) => listener.close(resolve));
  };
  return {
    port,
    through: (url) => Object.assign(new URL(url), { port: String(port) }).href,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A connection to the server. `hear` gets its messages for as long as a client has it. */
interface Server {
  readonly socket: Socket;
  hear(received: Message): void;
}

type Pool = ReturnType<typeof makePool>;

function makePool({ port, size }: { readonly port: number; readonly size: number }) {
  const idle: Server[] = [];
  const waiting: ((server: Server) => void)[] = [];
  const all = new Set<Server>();

  const give = (server: Server): void => {
    server.hear = () => undefined;
    const next = waiting.shift();
    if (next !== undefined) next(server);
    else idle.push(server);
  };
  const open = (start: Buffer): void => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    // Ready for the first time, it joins the others.
    const server: Server = { socket, hear: ({ tag }) => tag === "Z" && give(server) };
    const answers = serverMessages();
    all.add(server);
    socket
      .on("error", () => undefined)
      .on("close", () => {
        all.delete(server);
        if (idle.includes(server)) idle.splice(idle.indexOf(server), 1);
      });
    socket.on("data", (chunk: Buffer) => {
      for (const received of answers.cut(chunk)) server.hear(received);
    });
    socket.write(start);
  };
  return {
    /** The one that has rested longest, so that a client hardly ever gets the same twice. */
    take(start: Buffer, taken: (server: Server) => void): void {
      const server = idle.shift();
      if (server !== undefined) return taken(server);
      waiting.push(taken);
      if (all.size < size) open(start);
    },
    give,
    close(): void {
      for (const { socket } of all) socket.destroy();
    },
  };
}

/** What PgBouncer lets a client set as it starts. */
const startWords =
  /^(user|database|client_encoding|datestyle|timezone|standard_conforming_strings|application_name)$/i;

function attend(client: Socket, pool: Pool): void {
  const cut = clientMessages();
  const held: Buffer[] = [];
  let start: Buffer | undefined;
  let server: Server | "asked for" | undefined;
  let open = 0;

  const hear = (received: Message): void => {
    client.write(received.bytes);
    if (received.tag !== "Z") return;
    open -= 1;
    const isOver = received.body.toString("latin1") === "I" && open === 0;
    if (!isOver || server === undefined || server === "asked for") return;
    const left = server;
    server = undefined;
    pool.give(left);
  };
  const have = (taken: Server): void => {
    if (client.destroyed) return pool.give(taken);
    server = taken;
    taken.hear = hear;
    taken.socket.write(Buffer.concat(held.splice(0)));
  };
  const pass = ({ tag, bytes }: Message, first: Buffer): void => {
    if (tag === "Q" || tag === "S") open += 1;
    if (server !== undefined && server !== "asked for") return void server.socket.write(bytes);
    held.push(Buffer.from(bytes));
    if (server === undefined) {
      server = "asked for";
      pool.take(first, have);
    }
  };

  client.on("data", (chunk: Buffer) => {
    for (const received of cut(chunk)) {
      if (client.writableEnded) return; // It was refused.
      if (received.tag === "X") client.end();
      else if (start !== undefined) pass(received, start);
      else start = welcome(client, received);
    }
  });
  // A transaction that nobody will end ends with its connection.
  client.on("close", () => {
    if (server !== undefined && server !== "asked for") server.socket.destroy();
  });
}

/** Gives the client's first message once it is let in. */
function welcome(client: Socket, { body, bytes }: Message): Buffer | undefined {
  if ([sslRequest, gssRequest].includes(body.readInt32BE(0))) return void client.write("N");
  const words = body.toString("utf8", 4).split("\0");
  const foreign = words.find((word, at) => at % 2 === 0 && word !== "" && !startWords.test(word));
  if (foreign !== undefined) {
    const told = ["SFATAL", "VFATAL", "C08P01", `Munsupported startup parameter: ${foreign}`];
    client.end(message("E", ...told.map(zeroEnded), Buffer.of(0)));
    return undefined;
  }
  const parameters = message("S", zeroEnded("client_encoding"), zeroEnded("UTF8"));
  const ready = message("Z", Buffer.from("I"));
  client.write(Buffer.concat([message("R", int32(0)), parameters, message("K", int32(1), int32(1)), ready]));
  return Buffer.from(bytes);
}
