/** A connection through the proxy: passes messages on, and knows which answer belongs to which statement. */
import { connect, type Socket } from "node:net";
import type { LostReply } from "./proxy.ts";
import { clientMessages, gssRequest, serverMessages, sslRequest, textsOf, type Message } from "./wire.ts";

export interface Loss {
  readonly kind: "reply" | "request";
  readonly like: RegExp;
  happened(lost: LostReply): void;
}

interface Circumstances {
  readonly port: number;
  /** A cut is a reset, as when a machine dies, or else an orderly end, as when a process does. */
  readonly resets: boolean;
  readonly weather: { readonly delayMs: number; readonly hanging: boolean };
  /** What is still to be lost, by whatever connection comes first. */
  readonly losses: Loss[];
  ended(): void;
}

export interface Relay {
  cut(): void;
  /** Lets pass what was held up. */
  flush(): void;
}

export function relay(client: Socket, circumstances: Circumstances): Relay {
  const { port, resets, weather, losses, ended } = circumstances;
  const server = connect({ port, host: "127.0.0.1", noDelay: true });
  const toServer = lane(client, server, weather);
  const toClient = lane(server, client, weather);
  const answers = serverMessages();
  const cutClient = clientMessages();
  const ledger = statementLedger(losses);
  let hasEnded = false;

  /** A reset of what is not connected never ends. */
  const drop = (socket: Socket): unknown =>
    resets && socket.readyState === "open" ? socket.resetAndDestroy() : socket.destroy();
  const cut = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    drop(client);
    drop(server);
    ended();
  };
  /** What the server was sent before is still done. */
  const cutBeforeServer = (): void => {
    drop(client);
    server.end();
  };

  for (const socket of [client, server]) socket.on("error", cut).on("close", cut);
  client.on("end", () => toServer.end());
  server.on("end", () => toClient.end());
  client.on("data", (chunk: Buffer) => {
    for (const message of cutClient(chunk)) {
      if (isAboutEncryption(message)) answers.expectBare();
      const loss = ledger.ask(message);
      if (loss !== undefined) {
        cutBeforeServer();
        return loss();
      }
      toServer.pass(message.bytes);
    }
  });
  server.on("data", (chunk: Buffer) => {
    for (const message of answers.cut(chunk)) {
      const answer = ledger.answer(message);
      if (answer === "pass") toClient.pass(message.bytes);
      else if (answer !== "drop") {
        cut();
        return answer();
      }
    }
  });
  return {
    cut,
    flush() {
      toServer.flush();
      toClient.flush();
    },
  };
}

const isAboutEncryption = ({ tag, body }: Message): boolean =>
  tag === "" && [sslRequest, gssRequest].includes(body.readInt32BE(0));

/**
 * One direction: a line of what waits, let through from its front, since two timers of one time need not end
 * in their order. A slow reader slows the writer.
 */
function lane(from: Socket, to: Socket, weather: Circumstances["weather"]) {
  const line: { readonly at: number; readonly action: () => void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const write = (bytes: Buffer): void => {
    if (to.destroyed || to.write(bytes) || from.isPaused()) return;
    from.pause();
    to.once("drain", () => from.resume());
  };
  const letThrough = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (let [first] = line; first !== undefined && !weather.hanging; [first] = line) {
      const waitMs = first.at - performance.now();
      if (waitMs > 0) return void (timer = setTimeout(letThrough, waitMs));
      line.shift();
      first.action();
    }
  };
  const later = (action: () => void): void => {
    line.push({ at: performance.now() + weather.delayMs, action });
    if (timer === undefined) letThrough();
  };
  return {
    pass: (bytes: Buffer): void => later(() => write(bytes)),
    end: (): void => later(() => to.end()),
    flush: letThrough,
  };
}

/**
 * Counts the answers: the server says "ready" once for the start, once for each simple query and once for
 * each sync, in their order. So the answer to a statement begins after a count that is known when it is
 * asked.
 */
function statementLedger(losses: Loss[]) {
  const prepared = new Map<string, string>();
  let asked = 0;
  let answered = 0;
  let losing: { readonly answer: number; readonly loss: Loss; readonly statement: string } | undefined;
  let failed = false;

  const statementOf = ({ tag, body }: Message): string | undefined => {
    if (tag === "Q") return textsOf(body, 1)[0];
    if (tag === "P") prepared.set(...(textsOf(body, 2) as [string, string]));
    // Bound, it is about to be done; when parsed it may only be described, and be bound later.
    return tag === "B" ? prepared.get(textsOf(body, 2)[1] ?? "") : undefined;
  };
  const takeLoss = (statement: string): Loss | undefined => {
    const position = losses.findIndex(({ like }) => like.test(statement));
    return position === -1 ? undefined : losses.splice(position, 1)[0];
  };

  return {
    /** Gives what to do instead of passing it on. */
    ask(message: Message): (() => void) | undefined {
      const statement = statementOf(message);
      const loss = statement === undefined || losing !== undefined ? undefined : takeLoss(statement);
      if (loss?.kind === "request") return () => loss.happened({ statement: statement ?? "", failed: false });
      if (loss !== undefined) losing = { answer: asked + 1, loss, statement: statement ?? "" };
      const isFirst = message.tag === "" && !isAboutEncryption(message);
      if (isFirst || message.tag === "Q" || message.tag === "S") asked += 1;
      return undefined;
    },
    answer({ tag }: Message): "pass" | "drop" | (() => void) {
      const isLost = losing !== undefined && answered === losing.answer - 1;
      if (tag === "Z") answered += 1;
      if (losing === undefined || !isLost) return "pass";
      if (tag === "E") failed = true;
      const { loss, statement } = losing;
      return tag === "Z" ? () => loss.happened({ statement, failed }) : "drop";
    },
  };
}
