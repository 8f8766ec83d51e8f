/**
 * Requests that nobody should send: wrong types, huge, deep, truncated, odd encodings, path tricks, wrong
 * methods, slow bodies, lengths that lie, bytes that are no request. Each follows from its number alone.
 */
import { connect } from "node:net";
import { operationIds, operationOf } from "../../src/call/operations.ts";
import { makeRandom, type Random } from "../crash/random.ts";

export interface Bad {
  readonly kind: string;
  /** What is sent, piece by piece. */
  readonly pieces: readonly Buffer[];
  /** Whether it can be read as a request, so that there must be an answer. */
  readonly isWhole: boolean;
}

export interface Target {
  readonly port: number;
  readonly token: string;
  readonly session: string;
}

type Maker = (random: Random, target: Target) => Bad;

const values = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -0,
  "",
  "x",
  "\u0000",
  "\ud800",
  "\u{1f9f6}".repeat(50),
  [],
  [[]],
  {},
  { a: { b: [] } },
  ["x", 1, null],
  { __proto__: null },
  2 ** 53,
  "ses_00000000000000000000000000",
  "../../etc",
] as const;
const odd = [
  "%00",
  "%",
  "%zz",
  "%2e%2e",
  "..",
  "//",
  ".",
  "%ff",
  "%c0%af",
  " ",
  "\\",
  "ses_%",
  ";",
  "~",
  "*",
];

const head = (method: string, path: string, { port, token }: Target, more: readonly string[]): string =>
  [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    "connection: close",
    ...more,
    "",
    "",
  ].join("\r\n");

function jsonRequest(method: string, path: string, body: string | Buffer, target: Target): Buffer[] {
  const bytes = Buffer.from(body);
  const headers = ["content-type: application/json", `content-length: ${bytes.length}`];
  return [Buffer.from(head(method, path, target, headers)), bytes];
}

const changing = operationIds
  .map(operationOf)
  .filter(({ takes, gives }) => takes === "json" && gives !== "stream");
/** `cost` needs SQL, which a store in memory has not. */
const reading = operationIds
  .filter((id) => id !== "engine.cost")
  .map(operationOf)
  .filter(({ method }) => method === "GET");
const pathOf = (path: string, { session }: Target): string => path.replace("{id}", session);

const makers: Readonly<Record<string, Maker>> = {
  types(random, target) {
    const operation = random.pick(changing);
    const names = [...Object.keys(operation.params.shape), "nobody", "__proto__", "constructor"];
    const given = Array.from(
      { length: 1 + random.below(4) },
      () => `"${random.pick(names)}":${JSON.stringify(random.pick(values))}`,
    );
    const body = `{${given.join(",")}}`;
    const path = pathOf(operation.path, target);
    return { kind: "types", pieces: jsonRequest("POST", path, body, target), isWhole: true };
  },
  query(random, target) {
    const operation = random.pick(reading);
    const names = [...Object.keys(operation.params.shape), "nobody"];
    const pairs = Array.from({ length: 1 + random.below(3) }, () => {
      const value = random.pick([...odd, "1", "-1", "true", "[", '{"a":', "1e999", "ses_1"]);
      return `${random.pick(names)}=${value.replace(/[ \\]/g, "+")}`;
    });
    const path = `${pathOf(operation.path, target)}?${pairs.join("&")}&follow=false&limit=2`;
    return { kind: "query", pieces: [Buffer.from(head("GET", path, target, []))], isWhole: true };
  },
  paths(random, target) {
    const pieces = Array.from({ length: 1 + random.below(5) }, () =>
      random.pick(["v1", "sessions", target.session, "events", ...odd.filter((one) => one !== " ")]),
    );
    const method = random.pick(["GET", "POST", "DELETE"]);
    return {
      kind: "paths",
      pieces: [Buffer.from(head(method, `/${pieces.join("/")}`, target, ["content-length: 0"]))],
      isWhole: true,
    };
  },
  methods(random, target) {
    const operation = random.pick([...changing, ...reading]);
    const method = random.pick([
      "PUT",
      "PATCH",
      "HEAD",
      "TRACE",
      "OPTIONS",
      "BREW",
      "get",
      "PROPFIND",
      "CONNECT",
    ]);
    const text = head(method, pathOf(operation.path, target), target, ["content-length: 0"]);
    return {
      kind: "methods",
      pieces: [Buffer.from(text)],
      isWhole: method !== "CONNECT" && method !== "BREW",
    };
  },
  deep(random, target) {
    const levels = 60 + random.below(20_000);
    const [open, close] = random.pick([
      ["[", "]"],
      ['{"a":', "}"],
    ] as const);
    const body = `{"kind":"fact","key":"k","value":${open.repeat(levels)}1${close.repeat(levels)}}`;
    const path = `/v1/sessions/${target.session}/record`;
    return { kind: "deep", pieces: jsonRequest("POST", path, body, target), isWhole: true };
  },
  huge(random, target) {
    const path = `/v1/sessions/${target.session}/append`;
    const body = `{"records":"${"x".repeat(random.pick([1_100_000, 2_097_152, 2_200_000]))}"}`;
    return { kind: "huge", pieces: jsonRequest("POST", path, body, target), isWhole: true };
  },
  truncated(random, target) {
    const body = '{"objective":"Cut","labels":{"team":"web"}}';
    const whole = Buffer.concat(jsonRequest("POST", "/v1/sessions", body, target));
    const length = 1 + random.below(whole.length - 1);
    return { kind: "truncated", pieces: [whole.subarray(0, length)], isWhole: false };
  },
  broken(random, target) {
    const body = '{"kind":"fact","key":"k","value":{"a":[1,2,"three"]}}';
    const place = random.below(body.length);
    const spoiled =
      body.slice(0, place) + random.pick(["", "\u0001", '"', "}", "\\u12", "\ufeff"]) + body.slice(place + 1);
    const path = `/v1/sessions/${target.session}/record`;
    return { kind: "broken", pieces: jsonRequest("POST", path, spoiled, target), isWhole: true };
  },
  encodings(random, target) {
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0xc3, 0x28, random.below(256), 0x22, 0x7d]);
    const type = random.pick(["application/json", "application/json; charset=utf-16", "text/json", "a", "%"]);
    const encoding = random.pick([
      "",
      "content-encoding: gzip",
      "content-encoding: br",
      "content-encoding: x",
    ]);
    const headers = [`content-type: ${type}`, `content-length: ${bytes.length}`, encoding].filter(
      (one) => one !== "",
    );
    const text = head("POST", "/v1/sessions", target, headers);
    return { kind: "encodings", pieces: [Buffer.from(text), bytes], isWhole: true };
  },
  lengths(random, target) {
    const length = random.pick(["-1", "1e3", "99999999999999999999", "x", "5", "40", "1073741825"]);
    const text = head("POST", "/v1/sessions", target, [
      "content-type: application/json",
      `content-length: ${length}`,
    ]);
    return { kind: "lengths", pieces: [Buffer.from(text), Buffer.from('{"objective":"x"}')], isWhole: false };
  },
  headers(random, target) {
    const name = random.pick([
      "idempotency-key",
      "if-match",
      "last-event-id",
      "accept",
      "cookie",
      "origin",
      "expect",
    ]);
    const value = random.pick([
      "",
      "x".repeat(300),
      '"',
      "*",
      "text/html",
      "\u00e9",
      "-1",
      "0",
      "null",
      "100-continue",
    ]);
    const more = [`${name}: ${value}`, "content-type: application/json", "content-length: 17"];
    const text = head("POST", `/v1/sessions/${target.session}/rename`, target, more);
    return {
      kind: "headers",
      pieces: [Buffer.from(text, "latin1"), Buffer.from('{"name":"header"}')],
      isWhole: true,
    };
  },
  wide(random, target) {
    const more = Array.from(
      { length: 20 + random.below(200) },
      (_, place) => `x-${place}: ${"y".repeat(100)}`,
    );
    return { kind: "wide", pieces: [Buffer.from(head("GET", "/v1/stats", target, more))], isWhole: false };
  },
  slow(random, target) {
    const pieces = jsonRequest("POST", "/v1/sessions", '{"objective":7}', target).flatMap((piece) => {
      const cut = 1 + random.below(piece.length - 1);
      return [piece.subarray(0, cut), piece.subarray(cut)];
    });
    return { kind: "slow", pieces, isWhole: true };
  },
  noise(random) {
    const bytes = Buffer.from(Array.from({ length: 1 + random.below(300) }, () => random.below(256)));
    return { kind: "noise", pieces: [bytes, Buffer.from("\r\n\r\n")], isWhole: false };
  },
  chunks(random, target) {
    const text = head("POST", "/v1/sessions", target, [
      "content-type: application/json",
      "transfer-encoding: chunked",
    ]);
    const chunk = random.pick([
      '5\r\n{"a":\r\n',
      "zz\r\n{}\r\n0\r\n\r\n",
      "ffffffffff\r\n{}",
      "2\r\n{}\r\n0\r\n\r\n",
      "-1\r\n",
    ]);
    return { kind: "chunks", pieces: [Buffer.from(text), Buffer.from(chunk)], isWhole: false };
  },
};

/** Large ones are rare, or nothing else would be sent. */
const usual = Object.keys(makers).filter((kind) => kind !== "huge" && kind !== "deep");

export function badRequest(seed: number, target: Target): Bad {
  const random = makeRandom(seed);
  const kind = seed % 50 === 0 ? "huge" : seed % 20 === 0 ? "deep" : random.pick(usual);
  return makers[kind]!(random, target);
}

export interface Got {
  /** 0: there was no answer. */
  readonly status: number;
  readonly text: string;
}

/** Sends it over a connection of its own, and gives what comes back until that is closed. */
function send({ pieces, isWhole }: Bad, { port }: Target): Promise<Got> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const chunks: Buffer[] = [];
    const end = (): void => {
      socket.destroy();
      const text = Buffer.concat(chunks).toString("latin1");
      const [, status = "0"] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
      resolve({ status: Number(status), text });
    };
    // Whoever waits for the rest of what never comes is not waited for.
    const patience = setTimeout(end, isWhole ? 30_000 : 150);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => null);
    socket.on("close", () => {
      clearTimeout(patience);
      end();
    });
    const write = (place: number): void => {
      const piece = pieces[place];
      if (piece === undefined || socket.destroyed) return;
      socket.write(piece, () => setImmediate(() => write(place + 1)));
    };
    socket.on("connect", () => write(0));
  });
}

/** What is wrong with how it was answered; null when nothing is. */
export function fault(bad: Bad, { status, text }: Got): string | null {
  if (status >= 500) return `${status}: ${text.slice(0, 600)}`;
  if (status === 0) return bad.isWhole ? "no answer" : null;
  if (status >= 400 && !/content-type: application\/problem\+json/i.test(text))
    return `no problem: ${text.slice(0, 600)}`;
  const isShape = bad.kind === "types" && status === 400;
  return isShape && !/"(field|hint)":/.test(text) ? `names no field: ${text.slice(-600)}` : null;
}

export interface Sent {
  readonly sent: number;
  readonly faults: readonly string[];
  readonly statuses: ReadonlyMap<number, number>;
}

/** Sends many, so many at a time. */
export async function sendMany(
  target: Target,
  { from, count, atOnce = 16 }: { readonly from: number; readonly count: number; readonly atOnce?: number },
): Promise<Sent> {
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  let next = from;
  const one = async (): Promise<void> => {
    for (let seed = next++; seed < from + count; seed = next++) {
      const bad = badRequest(seed, target);
      const got = await send(bad, target);
      statuses.set(got.status, (statuses.get(got.status) ?? 0) + 1);
      const wrong = fault(bad, got);
      if (wrong !== null) faults.push(`${seed} ${bad.kind}: ${wrong}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return { sent: count, faults, statuses };
}
