/**
 * The source of a session's tools: the session tools, those of its bindings, and those the program
 * registered.
 */
import { nearest, SkeinError } from "../core/error.ts";
import { databaseTools } from "./database.ts";
import { writableRoots } from "./bound-path.ts";
import { checkToolName } from "./define.ts";
import { copyTree } from "./file-copy.ts";
import { restoreFiles } from "./file-restore.ts";
import { everyTree, outermost, placeIn } from "./file-tree.ts";
import { watchFiles } from "./file-watch.ts";
import { fileTools } from "./files.ts";
import type { McpWorld } from "./mcp-stdio.ts";
import { mcpTools } from "./mcp.ts";
import type { StoredBinding, OuterTool, Tool, Toolbox, ToolSource } from "./port.ts";
import { reservedBy } from "./reserved-names.ts";
import { openRoot } from "./root.ts";
import { controlTools } from "./session-control.ts";
import { sessionTools } from "./session.ts";
import { shellTools } from "./shell.ts";

/** `tools` are those that `tool` bindings may name. Names must be valid for every provider, and unique. */
export function makeToolSource(options: {
  readonly world: McpWorld;
  readonly tools?: readonly OuterTool[];
  /** The store's file: no tool and no sandbox reaches it, nor a name that begins with its name. */
  readonly hidden?: readonly string[];
}): ToolSource {
  const { tools: given = [], hidden = [] } = options;
  for (const { name } of given) checkToolName(name);
  checkUnique([...sessionTools, ...given]);
  return {
    async open(bound, { signal, session }) {
      await using opened = new AsyncDisposableStack();
      const own: Tool[] = [...sessionTools];
      const of = (...kinds: readonly StoredBinding["kind"][]) =>
        bound.filter(({ kind }) => kinds.includes(kind));
      const [isReserved, writable] = [await reservedBy(hidden), await writableRoots(bound)];
      const roots = of("file", "directory").map((one) => openRoot(one, { isReserved, writable }));
      own.push(...fileTools(await Promise.all(roots), options.world));
      own.push(
        ...(await shellTools(options.world, of("shell"), {
          bound: of("file", "directory"),
          hidden,
        })),
      );
      own.push(...(await databaseTools(options.world, of("database"), opened, writable)));
      const mcp = await mcpTools(options.world, of("mcp"), opened, signal);
      const named = await Promise.all(of("tool").map((one) => namedTool(given, one)));
      for (const { name } of named) checkToolName(name);
      const all = (): readonly Tool[] => [...own, ...mcp.tools(), ...named];
      let tools = all();
      signal.throwIfAborted();
      checkUnique(tools);
      const { now } = options.world;
      const trees = outermost(await everyTree(bound));
      const files = opened.use(watchFiles(trees, { now: () => now(), session, isReserved }));
      const held = opened.move();
      return {
        get tools() {
          return tools;
        },
        async refresh(running) {
          if (!(await mcp.refresh(running)) || !isUnique(all())) return false;
          tools = all();
          return true;
        },
        files,
        [Symbol.asyncDispose]: () => held.disposeAsync(),
      } satisfies Toolbox;
    },
    async files(bound) {
      const { world } = options;
      const all = await everyTree(bound);
      const trees = outermost(all);
      const isReserved = await reservedBy(hidden);
      return {
        trees,
        place: (name, path) => placeIn({ all, trees }, name, path),
        restore: (puts, blobs) => restoreFiles(world, puts, blobs, { isReserved }),
        copy: (tree, to, puts, blobs) => copyTree(world, tree, to, { puts, blobs, isReserved }),
      };
    },
  };
}

async function namedTool(given: readonly OuterTool[], { name, options }: StoredBinding): Promise<Tool> {
  if (typeof options === "object" && options !== null && "external" in options) {
    const { boundExternalTool } = await import("./external.ts");
    return boundExternalTool(name, options);
  }
  const tool = given.find((one) => one.name === name);
  if (tool !== undefined) return tool;
  const control = controlTools.find((one) => one.name === name);
  if (control !== undefined) return control;
  const names = [...given, ...controlTools].map((one) => one.name);
  const near = nearest(name, names);
  throw new SkeinError("not-found", `tool "${name}" is bound, but not registered in this process`, {
    hint:
      near === undefined
        ? `registered tools: ${names.join(", ") || "none"}; register it, or unbind it`
        : `did you mean "${near}"?`,
  });
}

const isUnique = (tools: readonly Tool[]): boolean =>
  new Set(tools.map(({ name }) => name)).size === tools.length;

function checkUnique(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) {
      throw new SkeinError("invalid", `tool "${name}": defined twice`, {
        hint: "rename one of them, or unbind its source",
      });
    }
    seen.add(name);
  }
}
