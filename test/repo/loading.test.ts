/** Keeps the root light: what `import "skein"` loads, in modules and milliseconds. */
// Process of its own: it asks what an import loads.
import assert from "node:assert/strict";
import { relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { runCommand } from "./command.ts";
import { entryPoints, root } from "./source.ts";

/** What a program that only opens a store must not pay for. */
const forbidden = [
  /^src\/(server|client|cli|console|tickets|protocol)\//,
  /^src\/store\/(postgres|sqlite|memory)\//,
  /^src\/model\/(?!port|model-config)/,
  /^src\/tool\/(?!define|port)/,
  /^node_modules\/(?!zod\/|@cfworker\/json-schema\/)/,
];
/** Modules of ours: 332, with accept checks, projects with plans and budgets, amendments. More raises it. */
const ownMax = 334;

interface Loaded {
  readonly ms: number;
  readonly modules: readonly string[];
}

/** Starts a process that imports one file, and gives what it loaded. */
async function load(file: string): Promise<Loaded> {
  const program = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    const from = performance.now();
    await import(${JSON.stringify(new URL(file, `file://${root}/`).href)});
    console.log(JSON.stringify({ ms: performance.now() - from, urls }));`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await runCommand(process.execPath, args, { cwd: root });
  const { ms, urls } = JSON.parse(stdout) as { readonly ms: number; readonly urls: readonly string[] };
  const paths = urls.flatMap((url) => (url.startsWith("file:") ? [fileURLToPath(url)] : []));
  return { ms, modules: paths.map((path) => relative(root, path)) };
}

test("the root loads no provider, driver, server, tool client or PostgreSQL code", async (t) => {
  const { ms, modules } = await load("src/index.ts");
  const own = modules.filter((path) => path.startsWith("src/"));
  t.diagnostic(
    `import "skein": ${own.length} modules, ${modules.length} with packages, ${Math.round(ms)} ms`,
  );
  assert.ok(own.length > 20, "the hook saw no modules");
  assert.deepEqual(
    modules.filter((path) => forbidden.some((one) => one.test(path))),
    [],
  );
  assert.ok(own.length <= ownMax, `the root loads ${own.length} modules of ours, at most ${ownMax}`);
});

test("a subpath loads only what its values need", async (t) => {
  for (const { subpath, file } of entryPoints().filter((one) => one.file.startsWith("src/entry/"))) {
    const { ms, modules } = await load(file);
    t.diagnostic(`import "skein${subpath.slice(1)}": ${modules.length} modules, ${Math.round(ms)} ms`);
    // Reading an agent's file takes the YAML library.
    const max = subpath === "./admin" ? 250 : 40;
    assert.ok(modules.length <= max, `${subpath} loads ${modules.length} modules`);
  }
});

test("importing the descriptions of calls builds the schema of no call", async () => {
  await import("../../src/core/catalog.ts");
  await import("../../src/core/workspace/agent.ts");
  let described = 0;
  const add = z.globalRegistry.add.bind(z.globalRegistry);
  z.globalRegistry.add = (...args) => {
    described++;
    return add(...args);
  };
  const { operationIds, operationOf } = await import("../../src/call/operations.ts");
  const atImport = described;
  for (const id of operationIds) void operationOf(id).params.shape;
  // Shared fields of one value, such as a position, are constants.
  assert.ok(atImport <= 40, `${atImport} descriptions of fields were built at import`);
  assert.ok(described > 200, `the registry saw ${described} descriptions`);
});
