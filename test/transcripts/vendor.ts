/** The tools' own readers, installed by npm into a folder that later runs find again. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Pinned: a format has no promise of stability. */
const packages = {
  "claude-agent-sdk": { name: "@anthropic-ai/claude-agent-sdk@0.3.325", more: ["--omit=optional"] },
  codex: { name: "@openai/codex@0.166.0", more: [] },
  opencode: { name: "opencode-ai@1.18.33", more: [] },
  // Not all packages that it names can be had: its bundle stands alone.
  pi: { name: "@earendil-works/pi-coding-agent@1.5.0", more: ["--no-package-lock", "--omit=dev"] },
} as const;

/** The folder `node_modules` of a tool; a sentence when it cannot be installed. */
export function installVendor(tool: keyof typeof packages): { readonly modules: string } | string {
  const { name, more } = packages[tool];
  const folder = join(tmpdir(), "skein-vendors", name.replaceAll(/[^a-z0-9.-]/g, "-"));
  const modules = join(folder, "node_modules");
  if (existsSync(join(folder, "installed"))) return { modules };
  mkdirSync(modules, { recursive: true });
  const words =
    tool === "pi"
      ? ["pack", name, "--pack-destination", folder]
      : ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...more, "--prefix", folder, name];
  const done = spawnSync("npm", words, { cwd: folder, encoding: "utf8", timeout: 480_000 });
  if (done.status !== 0) return `${name} cannot be installed: ${done.stderr.slice(-300)}`;
  const [packed] = globSync(join(folder, "*.tgz"));
  if (packed !== undefined) spawnSync("tar", ["xzf", packed, "-C", modules]);
  mkdirSync(join(folder, "installed"));
  return { modules };
}

/** Calls of `codex app-server`: JSON lines on standard input and output. */
export function startCodex(program: string, home: string) {
  const env = { PATH: process.env["PATH"], HOME: home, CODEX_HOME: home };
  const child = spawn(program, ["app-server"], { env, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, ...answer } = JSON.parse(line) as Record<string, unknown>;
    if (typeof id !== "number") return;
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  let count = 0;
  const write = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  return {
    async call(method: string, params: object): Promise<Record<string, unknown>> {
      const id = ++count;
      write({ id, method, params });
      const answer = await new Promise<Record<string, unknown>>((done) => waiting.set(id, done));
      if (answer["error"] !== undefined) throw new Error(`${method}: ${JSON.stringify(answer["error"])}`);
      return answer["result"] as Record<string, unknown>;
    },
    notify: (method: string): void => write({ method }),
    stop: (): void => void child.kill(),
  };
}
