/** Where a session's tools come from: its own, those of its bindings, and those the program was given. */
import { nearest, SkeinError } from "../core/error.ts";
import { databaseTools } from "./database.ts";
import { checkToolName } from "./define.ts";
import { copyTree } from "./file-copy.ts";
import { restoreFiles } from "./file-restore.ts";
import { everyTree, outermost, placeIn } from "./file-tree.ts";
import { watchFiles } from "./file-watch.ts";
import { fileTools } from "./files.ts";
import type { McpWorld } from "./mcp-stdio.ts";
import { mcpTools } from "./mcp.ts";
import type { Bound, OuterTool, Tool, Toolbox, ToolSource } from "./port.ts";
import { openRoot } from "./root.ts";
import { sessionTools } from "./session.ts";
import { shellTools } from "./shell.ts";

/**
 * `tools` are those that `tool` bindings may name. Names must be fit for every provider, and each is there
 * once.
 */
export function makeToolSource(options: {
  readonly world: McpWorld;
  readonly tools?: readonly OuterTool[];
}): ToolSource {
  const given = options.tools ?? [];
  for (const { name } of given) checkToolName(name);
  checkUnique([...sessionTools, ...given]);
  return {
    async open(bound, { signal, session }) {
      await using opened = new AsyncDisposableStack();
      const tools: Tool[] = [...sessionTools];
      const of = (...kinds: readonly Bound["kind"][]) => bound.filter(({ kind }) => kinds.includes(kind));
      tools.push(...fileTools(await Promise.all(of("file", "directory").map(openRoot))));
      tools.push(...(await shellTools(options.world, of("shell"))));
      tools.push(...(await databaseTools(options.world, of("database"), opened)));
      tools.push(...(await mcpTools(options.world, of("mcp"), opened, signal)));
      tools.push(...of("tool").map(({ name }) => named(given, name)));
      signal.throwIfAborted();
      checkUnique(tools);
      const { now } = options.world;
      const files = opened.use(watchFiles(outermost(await everyTree(bound)), { now: () => now(), session }));
      const held = opened.move();
      return { tools, files, [Symbol.asyncDispose]: () => held.disposeAsync() } satisfies Toolbox;
    },
    async files(bound) {
      const { world } = options;
      const all = await everyTree(bound);
      const trees = outermost(all);
      return {
        trees,
        place: (name, path) => placeIn({ all, trees }, name, path),
        restore: (puts, blobs) => restoreFiles(world, puts, blobs),
        copy: (tree, to, puts, blobs) => copyTree(world, tree, to, { puts, blobs }),
      };
    },
  };
}

function named(given: readonly OuterTool[], name: string): OuterTool {
  const tool = given.find((one) => one.name === name);
  if (tool !== undefined) return tool;
  const names = given.map((one) => one.name);
  const near = nearest(name, names);
  throw new SkeinError("not-found", `a tool "${name}" is bound, but this program has none of that name`, {
    hint:
      near === undefined
        ? `tools it has: ${names.join(", ") || "none"}; unbind it or give it`
        : `did you mean "${near}"?`,
  });
}

function checkUnique(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) {
      throw new SkeinError("invalid", `there are two tools named "${name}"`, {
        hint: "rename one, or unbind what brings it",
      });
    }
    seen.add(name);
  }
}
