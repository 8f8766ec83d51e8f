/** Runs examples/web-chat: its server as a process, its page's script with what it asks of a browser. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { openEngine, type Engine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve, type RunningServer } from "../../src/server/http/server.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";
import { root } from "../repo/source.ts";
import { frames } from "../server/served.ts";

const folder = join(root, "examples/web-chat");

suite("examples/web-chat", () => {
  const stack = new AsyncDisposableStack();
  let engine: Engine;
  let skein: RunningServer;
  let base = "";

  before(async () => {
    engine = stack.use(await openEngine({ store: "memory:" }));
    const world = realWorld();
    const { token } = await engine.addToken({ scopes: ["read", "write"] });
    skein = stack.use(
      await serve({
        world,
        version: "0.0.0",
        authorizer: (bound) => makeAuthorizer({ ...bound, world, tenants: oneTenant(engine) }),
      }),
    );
    stack.use(await engine.work());
    const env = { ...process.env, SKEIN_URL: skein.url, SKEIN_TOKEN: token, PORT: "0" };
    const child = spawn(process.execPath, [join(folder, "server.ts")], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    stack.defer(async () => {
      child.kill();
      await once(child, "exit");
    });
    for await (const line of createInterface({ input: child.stdout })) {
      base = line;
      break;
    }
  });
  after(() => stack.disposeAsync());

  test("shows the transcript, streams the answer, and resumes after a reload and a disconnect", async () => {
    using page = openPage(base, "/");
    await page.say("count to 3");
    await page.until((lines) => lines.at(-1)?.className === "model" && lines.at(-1)!.textContent !== "");
    assert.match(page.path(), /^\/s\/ses_\w{26}$/);
    using again = openPage(base, page.path());
    await again.until((lines) => lines.length === page.lines().length);
    await again.say("remember colour is blue");
    const isKnown = (lines: readonly Line[]): boolean =>
      lines.at(-1)?.textContent.includes("colour") ?? false;
    for (const one of [page, again])
      await one.until((lines) => isKnown(lines) && lines.at(-1)?.className === "model");
    assert.deepEqual(page.lines(), again.lines());
    page.cut();
    await again.say("what is colour?");
    const last = (lines: readonly Line[]): boolean => lines.at(-1)?.textContent.includes("blue") ?? false;
    for (const one of [page, again]) await one.until((lines) => last(lines));
    assert.deepEqual(page.lines(), again.lines());
    assert.ok(page.deltas() > 0, "no delta came");
    // Nothing of it is kept in the page: a third one has it all from the store.
    using third = openPage(base, page.path());
    await third.until((lines) => lines.length === page.lines().length);
    assert.deepEqual(third.lines(), page.lines());
  });

  test("hands on nothing else, and not the token", async () => {
    const { id } = await engine.open({ objective: "Private", model: "offline/offline" });
    for (const path of ["/v1/sessions", `/s/${id}/state`, `/s/${id}/../../sessions`, "/s/ses_1/events", "/s"])
      assert.equal((await fetch(base + path)).status, 404, path);
    const plain = { method: "POST", body: '{"input":"hi"}', headers: { "content-type": "text/plain" } };
    assert.equal((await fetch(`${base}/s/${id}/input`, plain)).status, 404);
    assert.doesNotMatch(await (await fetch(base)).text(), /skn_/);
  });

  test("is there under its own names alone", async () => {
    const { port } = new URL(base);
    const statusFor = async (host: string): Promise<number | undefined> => {
      const asked = request({ port, host: "127.0.0.1", path: "/", headers: { host } }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    const hosts = [`localhost:${port}`, `127.0.0.1:${port}`, `evil.example:${port}`, "localhost"];
    assert.deepEqual(await Promise.all(hosts.map(statusFor)), [200, 200, 421, 421]);
  });

  test("is under 150 lines in all", () => {
    const texts = ["server.ts", "index.html"].map((name) => readFileSync(join(folder, name), "utf8"));
    assert.ok(texts.join("").split("\n").length - 1 < 150);
  });
});

interface Line {
  readonly className: string;
  readonly textContent: string;
}

/** A browser, as far as the page asks for one. */
function openPage(base: string, path: string) {
  const lines: Line[] = [];
  const location = { pathname: path };
  const field = { value: "" };
  const cuts = new Set<AbortController>();
  const closed = new AbortController();
  let deltas = 0;
  let submit: (event: { preventDefault(): void }) => Promise<void> = () =>
    Promise.reject(new Error("no form"));

  class EventSource {
    readonly #hearers = new Map<string, (event: { readonly data: string }) => void>();
    constructor(address: string) {
      void this.#read(address);
    }
    addEventListener(type: string, hear: (event: { readonly data: string }) => void): void {
      this.#hearers.set(type, hear);
    }
    async #read(address: string): Promise<void> {
      let last = "";
      while (!closed.signal.aborted) {
        const cut = new AbortController();
        cuts.add(cut);
        try {
          const headers = last === "" ? {} : { "last-event-id": last };
          for await (const frame of frames(await fetch(base + address, { headers, signal: cut.signal }))) {
            if (frame.event === "delta") deltas += 1;
            this.#hearers.get(frame.event ?? "message")?.({ data: frame.data ?? "" });
            last = frame.id ?? last;
          }
        } catch (error) {
          if (!cut.signal.aborted) throw error;
        }
        cuts.delete(cut);
      }
    }
  }

  const form = {
    elements: { text: field },
    reset: () => (field.value = ""),
    addEventListener: (_: string, hear: typeof submit) => (submit = hear),
  };
  const said = { append: (line: Line) => lines.push(line) };
  const document = {
    querySelector: (name: string) => (name === "#said" ? said : form),
    createElement: () => ({ className: "", textContent: "", scrollIntoView: () => null }),
  };
  const history = { replaceState: (_: null, __: string, to: string) => (location.pathname = to) };
  const ask = (to: string, init: RequestInit): Promise<Response> => fetch(base + to, init);
  const html = readFileSync(join(folder, "index.html"), "utf8");
  const [, script = ""] = /<script type="module">([\s\S]*)<\/script>/.exec(html) ?? [];
  runInNewContext(script, { document, location, history, EventSource, crypto, fetch: ask });

  return {
    path: () => location.pathname,
    lines: () => lines.map(({ className, textContent }) => ({ className, textContent })),
    deltas: () => deltas,
    async say(text: string): Promise<void> {
      field.value = text;
      await submit({ preventDefault: () => null });
      assert.equal(field.value, "", JSON.stringify(lines));
    },
    async until(isThere: (now: readonly Line[]) => boolean): Promise<void> {
      for (let tries = 0; tries < 500; tries++) {
        if (isThere(lines)) return;
        await pause(10);
      }
      assert.fail(`it never came: ${JSON.stringify(lines)}`);
    },
    cut(): void {
      for (const one of cuts) one.abort();
    },
    [Symbol.dispose](): void {
      closed.abort();
      this.cut();
    },
  };
}
