/** Runs a program whose model calls go through the recording proxy. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { SkeinError } from "../../core/error.ts";
import { version } from "../../core/version.ts";
import { realWorld } from "../../runtime/world.ts";
import { makeAuthorizer } from "../../server/auth/authorize.ts";
import { serve as listen } from "../../server/http/server.ts";
import { oneTenant } from "../../server/http/tenants.ts";
import { errorText } from "../../core/first-error.ts";
import { recordingProxy, upstreamsFrom } from "../open/recording-proxy.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const proxy = verb({
  name: "proxy",
  line: "Run a program and record the model calls that it makes.",
  args: ["COMMAND..."],
  options: {
    upstream: {
      type: "list",
      value: "NAME=URL",
      what: "where calls of a provider go; by default Anthropic, OpenAI and Google at their addresses",
    },
    "budget-usd": {
      type: "number",
      value: "USD",
      what: "the most that one conversation may cost; then the program gets the provider's error 429",
    },
    unrecorded: {
      type: "flag",
      what: "forward calls that cannot be recorded; by default they are refused",
    },
  },
  about: [
    "The program gets ANTHROPIC_BASE_URL, OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL, which name this " +
      "process. Each conversation becomes a session: what was said, tools with results, tokens and cost. " +
      "The provider's key passes through and is not stored; responses pass byte for byte.",
    "The exit code is that of the program. skein serve has the same at /proxy, for programs on other " +
      "machines.",
  ],
  examples: [
    "skein proxy -- claude  # records a session of Claude Code",
    "skein proxy --budget-usd 2 -- python agent.py  # at most $2 for each conversation",
  ],
  async run({ args, options, out, engine, untilStopped }) {
    const [program = "", ...words] = args.COMMAND;
    const opened = await engine({ create: true, walled: true });
    const world = realWorld();
    const trouble = (error: unknown): void => out.note(out.red(`not recorded: ${oneLine(errorText(error))}`));
    const { token, id } = await opened.addToken({ scopes: ["write"], name: "skein proxy" });
    const mount = recordingProxy({
      upstreams: upstreamsFrom(options.upstream),
      budgetUsd: options["budget-usd"],
      unrecorded: options.unrecorded ? "forward" : "refuse",
      trouble,
    });
    await using server = await listen({
      world,
      version,
      mounts: [mount],
      authorizer: (bound) => makeAuthorizer({ ...bound, world, tenants: oneTenant(opened) }),
      trouble,
    });
    const stopped = untilStopped({ isRegularEnd: true });
    try {
      const child = spawn(program, words, {
        stdio: "inherit",
        env: { ...process.env, ...addressesAt(`${server.url}/proxy`, token) },
      });
      stopped.addEventListener("abort", () => child.kill(stopped.reason as NodeJS.Signals), { once: true });
      await once(child, "spawn").catch((error: unknown) =>
        Promise.reject(notStarted(program, error as Error)),
      );
      const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
      return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    } finally {
      await server.stop();
      await opened.revokeToken(id);
    }
  },
});

/** The token stands in the path: programs send their provider's key in the headers. */
const addressesAt = (url: string, token: string): Record<string, string> => ({
  ANTHROPIC_BASE_URL: `${url}/anthropic/${token}`,
  OPENAI_BASE_URL: `${url}/openai/${token}/v1`,
  GOOGLE_GEMINI_BASE_URL: `${url}/google/${token}`,
});

const notStarted = (program: string, error: Error): SkeinError =>
  new SkeinError("not-found", `proxy: ${program} cannot be started: ${error.message}`, {
    hint: "give the program after --: skein proxy -- claude",
  });
