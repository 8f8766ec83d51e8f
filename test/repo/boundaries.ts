/** Which folder of src may import which, and which globals it may touch. */
import { posix } from "node:path";
import type { Finding, Node, Place, Source } from "./source.ts";
import { finding, isNode, nameOf, placesIn } from "./source.ts";

interface Layer {
  /** Folders and files of src. `(types)` allows type-only imports; `own` is the importer's own driver. */
  readonly src: readonly string[];
  /** Modules of Node: all, none, or these. */
  readonly node: "all" | "none" | readonly string[];
  /** npm packages: all that package.json has, or these. */
  readonly packages: "all" | readonly string[];
}

const ports = ["store/port", "model/port", "tool/port"];
const layers: Readonly<Record<string, Layer>> = {
  core: { src: ["core"], node: "none", packages: ["zod"] },
  // What store, tools and runtime all need of the machine: no session, no log.
  platform: { src: ["core", "platform"], node: "all", packages: "all" },
  store: {
    src: [
      "core",
      "platform",
      "store/port",
      "store/driver",
      "store/judge",
      "store/blob-pieces",
      "store/capabilities",
      "store/paging",
      "store/worker-rows",
      "store/word-rank",
      "store/sql",
      "store/feed-position",
      "own",
    ],
    node: "all",
    packages: "all",
  },
  model: { src: ["core", "model"], node: "all", packages: "all" },
  tool: { src: ["core", "platform", "tool"], node: "all", packages: "all" },
  // The description of every call: library, server, client, command line and console are derived from it.
  call: { src: ["core", "call"], node: "none", packages: ["zod"] },
  // The engine validates what callers pass against the descriptions; it knows nothing of HTTP.
  // It writes sessions for other tools by pure functions; readers of their files stay outside.
  runtime: {
    src: ["core", "call", "platform", "runtime", "transcripts (types)", "transcripts/writers", ...ports],
    node: "all",
    packages: "all",
  },
  // A program on the public engine: its types, the checks of its options, and the machine.
  tickets: {
    src: ["core", "platform", "runtime (types)", "runtime/options", "runtime/world", "tickets"],
    node: "all",
    packages: ["zod"],
  },
  // Sessions of other tools: files in, a model out. No session and no log of Skein.
  // Following their files needs the clock and timers of the world.
  transcripts: {
    src: ["core", "platform", "runtime (types)", "runtime/world", "transcripts"],
    node: "all",
    packages: [],
  },
  protocol: { src: ["core", "call", "protocol"], node: "none", packages: ["zod"] },
  server: {
    src: ["core", "call", "platform", "runtime", "tickets", "transcripts", "protocol", "server"],
    node: "all",
    packages: "all",
  },
  // The interfaces that it keeps to are those of the engine and its handles: types only, nothing that runs.
  // Plain tools for texts may run anywhere.
  client: {
    src: [
      "core (types)",
      "core/text",
      "core/present",
      "call",
      "runtime (types)",
      "tickets (types)",
      "protocol",
      "client",
    ],
    node: "none",
    packages: [],
  },
  // Subpaths of the package: names of every layer below, no code.
  entry: { src: ["core", "store", "model", "tool", "runtime"], node: "none", packages: [] },
  // One folder a product, none imports another. A protocol that the server speaks is a mount.
  adapter: {
    src: [
      "core",
      "call",
      "platform",
      "protocol",
      "runtime",
      "client",
      "server/http/mount",
      "server/http/problem",
      "server/stream/sink",
      "server/outbound/feed-follow",
      "adapter/answer-segment",
      "adapter/open-once",
      "adapter/drawer",
      "adapter/feed-jobs",
      "adapter/push-calls",
      "adapter/session-run",
      "adapter/session-updates",
      "adapter/stream-frames",
      "own",
    ],
    node: "all",
    packages: "all",
  },
  cli: {
    src: [
      "core",
      "platform",
      "store",
      "model",
      "tool",
      "runtime",
      "tickets",
      "call",
      "protocol",
      "server",
      "client",
      "adapter",
      "transcripts",
      "cli",
    ],
    node: "all",
    packages: "all",
  },
  // The console shows the same summaries and transcript as the command line: pure functions of the events.
  console: {
    src: [
      "core (types)",
      "core/text",
      "core/item/kind",
      "core/present",
      "core/catalog",
      "core/summary",
      "core/transcript",
      "call",
      "client",
      "protocol",
      "console",
    ],
    node: "none",
    packages: "all",
  },
};

/** Files whose place in the table is not that of their folder. */
const seats: Readonly<Record<string, Layer>> = {
  "src/index.ts": { src: ["core", "store", "model", "tool", "runtime"], node: "all", packages: "all" },
  // What a driver lacks is supplied by the parts of the memory driver.
  "src/store/complete-store.ts": { src: ["core", "store"], node: "none", packages: [] },
  // The one table of drivers: it loads each of them.
  "src/store/registry.ts": { src: ["core", "store"], node: "none", packages: [] },
  "src/store/conformance/conformance.ts": {
    src: ["core", "store/port", "store/capabilities", "store/complete-store", "own"],
    node: ["node:test", "node:assert", "node:assert/strict"],
    packages: [],
  },
  // Read when the page is built; it is no part of it.
  "src/console/vite.config.ts": { src: [], node: ["node:path"], packages: ["vite"] },
};

/** Imports, re-exports, `import()` and `import("…").Type` alike. */
export function importRule(source: Source): Finding[] {
  const folder = source.path.split("/")[1] ?? "";
  const layer = seats[source.path] ?? layers[folder];
  if (!layer) return [finding(source, 0, `the table has no layer "${folder}"; put the file in one it has`)];
  return importsOf(source).flatMap((found) => {
    const complaint = complaintAbout(source.path, layer, found);
    return complaint ? [finding(source, found.position, complaint)] : [];
  });
}

export interface Import {
  readonly specifier: string | undefined;
  readonly typeOnly: boolean;
  readonly position: number;
}

export function importsOf(source: Source): Import[] {
  const importing = /^(Import|ExportNamed|ExportAll)Declaration$|^ImportExpression$|^TSImportType$/;
  return [...placesIn(source.program)]
    .filter(({ node }) => importing.test(node.type) && isNode(node["source"]))
    .map(({ node }) => ({
      specifier: nameOf(node["source"]),
      typeOnly: node.type === "TSImportType" || (node["importKind"] ?? node["exportKind"]) === "type",
      position: node.start,
    }));
}

function complaintAbout(path: string, layer: Layer, found: Import): string | undefined {
  const { specifier } = found;
  if (specifier === undefined) return "the name of an import must be a literal, or it cannot be checked";
  if (specifier.startsWith(".")) return complaintAboutFile(path, layer, { ...found, specifier });
  if (specifier.startsWith("node:")) {
    const allowed = layer.node === "all" ? specifier !== "node:test" : layer.node.includes(specifier);
    return allowed ? undefined : `may not import ${specifier}; take what it gives as a fact or a port`;
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  const allowed = name !== "skein" && (layer.packages === "all" || layer.packages.includes(name));
  return allowed ? undefined : `may not import the package "${name}"`;
}

function complaintAboutFile(
  path: string,
  layer: Layer,
  found: Import & { readonly specifier: string },
): string | undefined {
  const target = posix.join(posix.dirname(path), found.specifier);
  if (!target.startsWith("src/")) return `may not import ${target}, which is outside src`;
  const [, folder = ""] = target.split("/");
  const allowed = layer.src.some(
    (entry) =>
      entry === folder ||
      target === `src/${entry}.ts` ||
      (entry.includes("/") && target.startsWith(`src/${entry}/`)) ||
      (entry === `${folder} (types)` && found.typeOnly) ||
      (entry === "own" && driverOf(target) === driverOf(path)),
  );
  return allowed ? undefined : `may not import ${target}; it may import ${layer.src.join(", ")}`;
}

/** `store/sqlite/store.ts`, `store/sqlite-schema.ts` and `store/sqlite/rows.ts` are parts of one driver. */
function driverOf(path: string): string {
  const [, folder, name = ""] = path.split("/");
  return `${folder}/${name.replace(/\.ts$/, "").split("-")[0]}`;
}

/** What core may not name at all: it gets the world as facts. */
const worldly = ["Date", "Buffer", "process", "fetch", "crypto", "globalThis", "performance"];
/**
 * What only `runtime/world.ts`, `client/world.ts` and `console/world.ts` (they run where there is no runtime)
 * and the command line may do. All else is given its clock and its chance.
 */
const timers = ["setTimeout", "setInterval", "setImmediate"];
const random = ["randomBytes", "randomUUID", "randomInt", "getRandomValues"];
const worldModules = /^(node:)?(child_process|timers|timers\/promises)$/;

export function worldRule(source: Source): Finding[] {
  const worlds = ["src/runtime/world.ts", "src/client/world.ts", "src/console/world.ts"];
  if (worlds.includes(source.path) || source.path.startsWith("src/cli/")) return [];
  const inCore = source.path.startsWith("src/core/");
  const names = new Set(inCore ? [...timers, ...random, ...worldly] : [...timers, ...random]);
  const told = [...placesIn(source.program)].flatMap((place) => {
    const name = worldUse(place, names);
    return name ? [finding(source, place.node.start, `may not use ${name}; take it from the world`)] : [];
  });
  const modules = importsOf(source).filter(({ specifier }) => worldModules.test(specifier ?? ""));
  return [
    ...told,
    ...modules.map(({ position, specifier }) =>
      finding(source, position, `may not import ${specifier}; take it from the world`),
    ),
  ];
}

function worldUse(place: Place, names: ReadonlySet<string>): string | undefined {
  const { node } = place;
  if (node.type === "MemberExpression") return forbiddenMember(node);
  if (isCall(node) && nameOf(node["callee"]) === "Date" && isEmpty(node["arguments"]))
    return "the current Date";
  const name = node.type === "Identifier" && isReference(place) ? nameOf(node) : undefined;
  return name !== undefined && names.has(name) ? name : undefined;
}

function forbiddenMember(node: Node): string | undefined {
  const object = nameOf(node["object"]);
  const property = nameOf(node["property"]) ?? "";
  const member = `${object}.${property}`;
  if (["Date.now", "Math.random", "performance.now", "AbortSignal.timeout"].includes(member)) return member;
  if (object === "globalThis" && timers.includes(property)) return member;
  return random.includes(property) ? property : undefined;
}

function isCall(node: Node): boolean {
  return node.type === "NewExpression" || node.type === "CallExpression";
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** False for `x.name`, `{ name: x }`, the fields of a type, and names from elsewhere in an import list. */
function isReference({ parent, field }: Place): boolean {
  if (parent["computed"] === true) return true;
  if (field === "key" || field === "imported" || field === "exported") return false;
  if (parent.type === "TSQualifiedName") return field === "left";
  return !(parent.type === "MemberExpression" && field === "property");
}
