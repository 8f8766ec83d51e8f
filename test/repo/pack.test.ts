/** Keeps the package whole: packed and installed in an empty folder, it works without the checkout. */
// Process of its own: it takes longest, and the others would wait for it.
import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, globSync, linkSync, mkdirSync, mkdtempSync } from "node:fs";
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import type * as Client from "../../src/client/connect.ts";
import { buildPage } from "../browser/chromium.ts";
import { sliced } from "../slice.ts";
import { runCommand } from "./command.ts";
import { copyLibrary, tsc } from "./library.ts";
import { blocksOf } from "./markdown.ts";
import { root } from "./source.ts";

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

type Needs = Readonly<
  Record<"dependencies" | "optionalDependencies" | "peerDependencies", Readonly<Record<string, string>>>
>;

const scratch = mkdtempSync(join(tmpdir(), "skein-pack-"));
const app = join(scratch, "app");
const bin = join(app, "node_modules/.bin/skein");
/** Hard links do not reach from one file system into another. */
const isOneDisk = statSync(scratch).dev === statSync(join(root, "node_modules")).dev;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

suite("the packed package, installed in an empty folder", () => {
  let packed: readonly string[] = [];
  before(async () => {
    packed = await pack();
    mkdirSync(app);
    linkDependencies(join(app, "node_modules"));
    await sliced(unpack, install)(join(scratch, `skein-${manifest.version}.tgz`));
  });
  after(() => rmSync(scratch, { recursive: true }));

  test("holds the program and the docs, not the sources", () => {
    for (const path of [
      "dist/index.js",
      "dist/index.d.ts",
      "dist/store/conformance/conformance.js",
      "dist/client/connect.js",
      "dist/entry/admin.js",
      "dist/entry/session.d.ts",
      "dist/tickets/tickets.js",
      "dist/cli/main.js",
      "dist/console/index.html",
      "dist/docs/index.html",
      "dist/docs/tutorial.html",
    ]) {
      assert.ok(packed.includes(path), `${path} is missing`);
    }
    assert.deepEqual(
      packed.filter((path) => /^(src|test|bench|examples)\/|(?<!\.d)\.ts$/.test(path)),
      [],
    );
  });

  test("runs the first program of the README, and its types agree", async () => {
    const program = blocksOf({ path: "README.md", text: readFileSync(join(root, "README.md"), "utf8") }).find(
      ({ marks }) => marks[0] === "ts",
    );
    assert.ok(program, "README.md has no ts block");
    writeFileSync(join(app, "program.ts"), program.code);
    await run(process.execPath, ["program.ts"], app);
    writeFileSync(
      join(app, "others.ts"),
      'import { connect } from "skein/client";\nimport { conformance } from "skein/conformance";\n' +
        "export const given: readonly [number, number] = [connect.length, conformance.length];\n",
    );
    const compiler = [tsc, "--noEmit", "--singleThreaded", "--strict", "--target", "esnext"];
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
    for (const found of [
      ["--module", "nodenext"],
      ["--module", "esnext", "--moduleResolution", "bundler"],
    ])
      await run(process.execPath, [...compiler, ...types, ...found, "program.ts", "others.ts"], app);
  });

  test("runs the CommonJS program of docs/runtimes.md", async () => {
    const page = { path: "docs/runtimes.md", text: readFileSync(join(root, "docs/runtimes.md"), "utf8") };
    const program = blocksOf(page).find(({ marks }) => marks[0] === "js");
    assert.ok(program, "docs/runtimes.md has no js block");
    writeFileSync(
      join(app, "program.cjs"),
      `${program.code}\nconsole.log(typeof require("skein/client"));\n`,
    );
    assert.match(await run(process.execPath, ["program.cjs"], app), /object/);
  });

  test("says its version", async () => {
    assert.match(
      await run(process.execPath, [bin, "--version"], app),
      new RegExp(`\\b${manifest.version}\\b`),
    );
  });

  test("serves the console, with what the page asks for, and the docs", async () => {
    await whileServed(async ({ url }) => {
      const page = await (await fetch(`${url}/s/any`)).text();
      const [, script = ""] = /<script type="module"[^>]* src="(\/assets\/[^"]+\.js)"/.exec(page) ?? [];
      const answer = await fetch(url + script);
      assert.deepEqual(
        [answer.status, answer.headers.get("content-type"), answer.headers.get("content-encoding")],
        [200, "text/javascript; charset=utf-8", "gzip"],
      );
      assert.ok((await answer.text()).length > 10_000);
      const docs = await fetch(`${url}/docs/tutorial`);
      assert.deepEqual([docs.status, docs.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
      assert.match(await docs.text(), /Five-minute tutorial/);
    });
  });

  test("has a client that a bundle for browsers takes whole", async () => {
    const entry = join(app, "page.js");
    writeFileSync(entry, 'export { connect } from "skein/client";\n');
    const lib = { entry, formats: ["es" as const], fileName: "bundle" };
    await build({ root: app, configFile: false, logLevel: "silent", build: { lib, outDir: "bundled" } });
    const file = join(app, "bundled/bundle.js");
    assert.doesNotMatch(readFileSync(file, "utf8"), /^import\b|\bfrom ?["']node:|browser-external/m);
    const { connect } = (await import(pathToFileURL(file).href)) as typeof Client;
    await whileServed(async ({ url, tokenFile }) => {
      await using engine = await connect(url, { token: readFileSync(tokenFile, "utf8").trim() });
      const { id } = await engine.open({ objective: "Keep the rates", model: "offline/offline" });
      assert.equal((await engine.session(id)).id, id);
    });
  });

  test("says in one line that Node is too old", async (t) => {
    const oldNode = await findOldNode();
    if (oldNode === undefined) return t.skip("this machine has no Node older than 24");
    const { code, stdout, stderr } = await runCommand(oldNode, [bin, "--version"], { cwd: app });
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /^.*Node(\.js)? (>= ?)?24.*\n$/);
  });

  test("the library says which Node it needs when it is imported on an older one", async (t) => {
    const oldNode = await findOldNode();
    if (oldNode === undefined) return t.skip("this machine has no Node older than 24");
    const file = join(app, "on-old-node.mjs");
    writeFileSync(
      file,
      'await import("skein").then(() => console.log("imported"), (e) => console.log(e.message))',
    );
    const { stdout } = await runCommand(oldNode, [file], { cwd: app });
    assert.match(stdout, /^skein requires Node 24 or later; this is Node \d+\.\d+\.\d+\n$/);
    // As it is when nobody catches it.
    writeFileSync(file, 'import "skein";');
    const { code, stderr } = await runCommand(oldNode, [file], { cwd: app });
    assert.equal(code, 1);
    assert.match(stderr, /^Error: skein requires Node 24 or later/m);
    assert.doesNotMatch(stderr, /SyntaxError/);
  });
});

interface Served {
  readonly url: string;
  readonly tokenFile: string;
}

/** Runs the installed server for as long as the work takes. */
async function whileServed(work: (served: Served) => Promise<void>): Promise<void> {
  const words = ["--store", join(app, "skein.db"), "serve", "--port", "0", "--concurrency", "0", "--json"];
  const child = spawn(process.execPath, [bin, ...words], { cwd: app, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    await work(JSON.parse(line) as Served);
  } finally {
    child.kill("SIGINT");
    await ended;
  }
}

const appPackage = { private: true, type: "module" };

/** Without an audit and the like, which a machine that reaches nothing waits for in vain. */
async function install(tarball: string): Promise<void> {
  writeFileSync(join(app, "package.json"), JSON.stringify(appPackage));
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
  await run("npm", ["install", "--offline", "--ignore-scripts", ...quiet, tarball], app, true);
}

/** What an installation comes to, for a quarter of its time; npm says whether the dependencies fit. */
async function unpack(tarball: string): Promise<void> {
  const { version, bin: programs } = manifest;
  writeFileSync(
    join(app, "package.json"),
    JSON.stringify({ ...appPackage, dependencies: { skein: version } }),
  );
  const modules = join(app, "node_modules");
  for (const folder of ["skein", ".bin"]) mkdirSync(join(modules, folder));
  await run("tar", ["xzf", tarball, "--strip-components=1", "-C", join(modules, "skein")], app);
  for (const [name, file] of Object.entries(programs)) {
    chmodSync(join(modules, "skein", file), 0o755);
    symlinkSync(join("..", "skein", file), join(modules, ".bin", name));
  }
  await run("npm", ["ls", "--all", "--offline", "--no-update-notifier"], app, true);
}

/**
 * Takes the dependencies, and theirs, from the checkout: npm finds each at a version that fits, and asks no
 * registry. What the package needs and does not declare is missing.
 */
function linkDependencies(folder: string): void {
  const from = join(root, "node_modules");
  const found = new Set<string>();
  const add = (place: string, names: readonly string[]): void => {
    for (const name of names) {
      const path = installedAt(from, place, name);
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      const file = readFileSync(join(from, path, "package.json"), "utf8");
      const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(file) as Partial<Needs>;
      add(path, Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    }
  };
  add("", Object.keys(manifest.dependencies));
  for (const path of found) {
    linkTree(join(from, path), join(folder, path));
  }
}

/** A folder without its node_modules, its files as links: to copy them took 4 s of processor time. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name === "node_modules") continue;
    if (entry.isDirectory()) linkTree(source, target);
    else if (isOneDisk) linkSync(source, target);
    else cpSync(source, target);
  }
}

/** Where Node finds a package from another one, within node_modules. */
function installedAt(from: string, place: string, name: string): string | undefined {
  const outer = place === "" ? [] : place.split("/node_modules/");
  const paths = outer.map((_, at) => [...outer.slice(0, outer.length - at), name].join("/node_modules/"));
  return [...paths, name].find((path) => existsSync(join(from, path, "package.json")));
}

/** Builds and packs a copy, so that the checkout's own dist is left alone. Returns what is in the tarball. */
async function pack(): Promise<string[]> {
  const stage = join(scratch, "stage");
  mkdirSync(stage);
  const files = ["package.json", ...manifest.files.filter((path) => path !== "dist")];
  for (const path of globSync(files, { cwd: root })) cpSync(join(root, path), join(stage, path));
  await copyLibrary(join(stage, "dist"));
  // Console and docs of the checkout, built anew where their sources have changed since.
  buildPage();
  await run(process.execPath, ["docs/generate.ts", "--if-changed"], root);
  for (const part of ["dist/console", "dist/docs"])
    cpSync(join(root, part), join(stage, part), { recursive: true });
  const json = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch], stage);
  const [report] = JSON.parse(json) as { files: { path: string }[] }[];
  return (report?.files ?? []).map(({ path }) => path);
}

/** A `node` on the PATH, outside every node_modules, that Skein does not run on. */
async function findOldNode(): Promise<string | undefined> {
  const folders = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"));
  for (const node of folders.map((folder) => join(folder, "node")).filter(existsSync)) {
    const { stdout } = await runCommand(node, ["--version"], { cwd: scratch });
    if (Number(/^v(\d+)/.exec(stdout)?.[1] ?? 24) < 24) return node;
  }
  return undefined;
}

async function run(file: string, args: readonly string[], cwd: string, outside = false): Promise<string> {
  const { code, stdout, stderr } = await runCommand(file, args, { cwd, outside, timeoutMs: 240_000 });
  assert.equal(code, 0, `${file} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}
