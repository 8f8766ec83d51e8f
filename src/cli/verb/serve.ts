/** Serves the engine over HTTP until it is stopped, with a built-in worker. */
import { once } from "node:events";
import { homedir } from "node:os";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import { version } from "../../core/version.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { realWorld } from "../../runtime/world.ts";
import { makeAuthorizer } from "../../server/auth/authorize.ts";
import { serve as listen } from "../../server/http/server.ts";
import { logForms, troubleLine } from "../../server/outbound/request-log.ts";
import { cookieKeyFrom, localTokenPath, loginLink, openLocalToken } from "../../server/auth/local-token.ts";
import { checkBinding, isLoopback } from "../../server/http/cross-origin.ts";
import { otlpFrom } from "../../server/outbound/otlp.ts";
import { openOutward } from "../../server/outbound/outbound.ts";
import { makeTenants, oneTenant } from "../../server/http/tenants.ts";
import { LocalTranscripts } from "../../transcripts/local-transcripts.ts";
import { locateStore } from "../../store/registry.ts";
import { oneOf } from "../command/args.ts";
import { present } from "../command/input.ts";
import type { Screen } from "../command/screen.ts";
import { isConsoleOld, readConsole, readDocs } from "../open/console-files.ts";
import { makeMountList, pushFrom } from "../open/mounts.ts";
import { makeOpening } from "../open/open-engine.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";
import { priceOf } from "../open/model-lookup.ts";
import { recordingProxy, upstreamsFrom } from "../open/recording-proxy.ts";

const hostUsual = "127.0.0.1";
const portUsual = 7717;
const concurrencyUsual = 4;

export const serve = verb({
  name: "serve",
  line: "Serve the engine over HTTP, with a built-in worker, until it is stopped.",
  args: [],
  options: {
    host: { type: "text", value: "ADDRESS", what: `the address to listen at; by default ${hostUsual}` },
    port: { type: "count", short: "p", value: "N", what: `by default ${portUsual}; 0 is any free one` },
    origin: {
      type: "list",
      value: "URL",
      what: "another allowed origin, also as the name of this server behind a proxy",
    },
    concurrency: {
      type: "count",
      short: "c",
      value: "N",
      what: `the number of sessions to run at once; by default ${concurrencyUsual}, 0 turns the worker off`,
    },
    log: {
      type: "text",
      value: logForms.join("|"),
      what: "a line on stderr for each request; by default none",
    },
    "relay-address": {
      type: "text",
      value: "URL",
      what: "the address of this server for others of the store; by default where it listens",
    },
    "other-stores": {
      type: "flag",
      what: "let tokens with operate name other stores, which the server opens as its own user",
    },
    "import-from": {
      type: "list",
      value: "DIR",
      what: "let tokens with operate import other tools' sessions from this folder or home; none forbids it",
    },
    "allow-private": {
      type: "flag",
      what: "allow webhooks at addresses of this machine and private networks",
    },
    "push-secret": {
      type: "text",
      value: "NAME",
      what: "call URLs that A2A and Durable Streams clients name; this variable has the signing secret",
    },
    upstream: {
      type: "list",
      value: "NAME=URL",
      what: "where /proxy/NAME forwards to; by default Anthropic, OpenAI and Google at their addresses",
    },
    "proxy-budget-usd": {
      type: "number",
      value: "USD",
      what: "the most that one conversation through /proxy may cost; by default unlimited",
    },
    "proxy-unrecorded": {
      type: "flag",
      what: "forward calls to /proxy that cannot be recorded; by default they are refused",
    },
    otlp: {
      type: "text",
      value: "URL",
      what: "send traces and metrics to this collector; by default OTEL_EXPORTER_OTLP_ENDPOINT",
    },
  },
  about: [
    "/ is the console. Below /v1 is every call of the library, under the same name; /openapi.json " +
      "describes them, /api is a page for them, /docs the documentation. Every request needs a token. " +
      'Yours is in a file beside the store that only you can read, and in the printed link; "skein ' +
      'tokens add" makes others.',
    "Only this machine can reach the server, unless --host names another address. The connection is " +
      "not encrypted: put a proxy with TLS in front, and name it with --origin.",
    "Tokens with operate can import the sessions of Claude Code, Codex and other tools from your home " +
      "while only this machine can reach the server; --import-from DIR names other folders, and is needed " +
      "with --host, --origin or tenants.",
    "/healthz and /readyz are for monitoring, /metrics for Prometheus, with a token that has " +
      "operate. Webhooks of triggers are called at /v1/hooks/TOKEN.",
    "/proxy/anthropic, /proxy/openai and /proxy/google record the calls that other programs make there: " +
      "see skein proxy.",
    "Several servers may share a store: each of them streams the deltas of all. They reach one " +
      "another where they listen, or at --relay-address.",
    "Ctrl-C ends streams, finishes the steps in progress and releases everything; a second one ends " +
      "it at once. Nothing acknowledged is lost either way.",
  ],
  examples: [
    `skein serve  # at ${hostUsual}:${portUsual}, until Ctrl-C`,
    "skein serve --port 0 --concurrency 0 --json  # any port, no worker, output for a program",
    "skein serve --host 0.0.0.0 --origin https://skein.example.com  # behind a proxy, from everywhere",
  ],
  async run({ options, out, engine, place, untilStopped }) {
    const { host = hostUsual, port = portUsual, concurrency = concurrencyUsual } = options;
    checkNumbers({ port, concurrency });
    checkBinding(host, { named: options.host !== undefined });
    const world = realWorld();
    const push = pushFrom(options["push-secret"], world, options["allow-private"]);
    const at = await locateStore(place);
    const fresh = !at.exists();
    const opened = await engine({ create: true, walled: true });
    if (fresh) out.note(out.dim(`created a new store: ${place}`));
    const tokenFile = localTokenPath(at.files[0] ?? place, process.env, world.digest);
    const { token } = await openLocalToken(opened, { world, path: tokenFile });
    const stopped = untilStopped();
    await using others = makeTenants({
      world,
      open: (tenant) => openTenant(at.tenancy?.addressOf(tenant) ?? place),
    });
    const tenants = async (tenant: string): Promise<Engine | null> =>
      at.tenancy === undefined || tenant === at.tenancy.tenant
        ? oneTenant(opened)(tenant)
        : others.engineOf(tenant);
    const log = oneOf("--log", options.log ?? "none", logForms);
    const write = (line: string): void => void process.stderr.write(`${line}\n`);
    const trouble = (error: unknown): void => {
      const said = errorText(error);
      const line = troubleLine({ form: log, now: world.now }, said);
      if (line === null) out.note(out.red(`trouble: ${oneLine(said)}`));
      else write(line);
    };
    const recording = recordingProxy({
      upstreams: upstreamsFrom(options.upstream),
      budgetUsd: options["proxy-budget-usd"],
      unrecorded: options["proxy-unrecorded"] ? "forward" : "refuse",
      trouble,
    });
    const mounts = [...makeMountList(push), recording];
    const outward = await openOutward(opened, {
      world,
      version,
      tenants,
      trouble,
      log,
      write,
      allowPrivate: options["allow-private"],
      mounts,
      otlp: otlpFrom(process.env, options.otlp),
    });
    // Also when the port is taken: the feed readers would keep the process alive.
    await using _ = { [Symbol.asyncDispose]: outward.stop };
    const page = await readConsole();
    await using server = await listen({
      ...outward.serve,
      ...(page === null ? {} : { page }),
      docs: readDocs,
      host,
      port,
      world,
      version,
      engines: [opened],
      mounts,
      otherStores: options["other-stores"],
      transcripts: localTranscripts(options["import-from"], {
        isLocal: isLoopback(host) && options.origin.length === 0 && at.tenancy === undefined,
        now: world.now,
      }),
      ...present({ relayAddress: options["relay-address"] }),
      authorizer: (bound) =>
        makeAuthorizer({
          ...bound,
          world,
          origins: options.origin,
          tenants,
          cookieKey: cookieKeyFrom(token, world.digest),
        }),
      trouble,
    });
    const worker = concurrency === 0 ? null : await opened.work({ concurrency });
    const notes = await consoleNotes(page !== null, out);
    await out.answer({ url: server.url, tokenFile, worker: worker?.name ?? null }, () => [
      `Skein listens at ${out.bold(server.url)}`,
      `log in:   ${loginLink(server.url, token)}`,
      ...notes,
      out.dim(worker === null ? "no worker; Ctrl-C stops it" : workerLine(worker.name, concurrency)),
    ]);
    if (!stopped.aborted) await once(stopped, "abort");
    out.note(out.dim("finishing requests in progress; Ctrl-C again ends at once"));
    await server.stop();
    await worker?.stop();
  },
});

function checkConcurrency(concurrency: number): void {
  const { concurrencyMax: most } = limit;
  if (concurrency <= most) return;
  throw new SkeinError("invalid", `--concurrency: expected at most ${most}, got ${concurrency}`, {
    hint: `at most ${most}`,
  });
}

/** What is wrong with the built console. */
async function consoleNotes(isBuilt: boolean, out: Screen): Promise<string[]> {
  if (!isBuilt) return [out.dim('no console: "npm run build:console" makes it; / is the API')];
  const old = 'the console is older than its sources: "npm run build:console" builds it';
  return (await isConsoleOld()) ? [out.yellow(old)] : [];
}

/** Throws for numbers that no server can have. */
function checkNumbers({ port, concurrency }: { readonly port: number; readonly concurrency: number }): void {
  if (port > 65_535)
    throw new SkeinError("invalid", `--port: expected 0 to 65535, got ${port}`, {
      hint: "0 chooses a free port",
    });
  checkConcurrency(concurrency);
}

/** By default this user's home, and only if no other machine and no other tenant can ask. */
function localTranscripts(
  given: readonly string[],
  { isLocal, now }: { readonly isLocal: boolean; readonly now: () => number },
): LocalTranscripts {
  const usual = isLocal ? "home" : null;
  const from = given.includes("none") ? null : given.length > 0 ? given : usual;
  return new LocalTranscripts({ from, machine: { home: homedir(), env: process.env }, now, price: priceOf });
}

const workerLine = (name: string, concurrency: number): string =>
  `${name} runs up to ${plural(concurrency, "session")} at once; Ctrl-C stops it`;

/** Another tenant of the same database; null when there is none of this name. */
async function openTenant(place: string): Promise<Engine | null> {
  try {
    return await makeOpening(place).engine({ create: false, walled: true });
  } catch (error) {
    const isMissing = error instanceof SkeinError && ["not-found", "invalid"].includes(error.code);
    if (isMissing) return null;
    if (!(error instanceof SkeinError) || error.code !== "refused") throw error;
    // The server is up: a refusal of its database is not the caller's fault.
    const { message, hint, where } = error;
    throw new SkeinError("unavailable", message, { hint, where, cause: error });
  }
}
