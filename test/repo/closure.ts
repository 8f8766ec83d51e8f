/**
 * The public names and what they refer to. A type that a public function, method or option takes or returns
 * must have a public name too, or a caller cannot write it down.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { join } from "node:path";
import {
  entryPoints,
  isNode,
  nameOf,
  parseSource,
  placesIn,
  root,
  type Node,
  type Source,
} from "./source.ts";

/** A declaration at the top of a file. */
interface Declaration {
  readonly file: string;
  readonly name: string;
}

/** What a file of the sources imports, declares and exports, by name. */
interface Module {
  readonly source: Source;
  readonly imports: ReadonlyMap<string, { readonly name: string; readonly from: string }>;
  /** A schema and its type may share a name. */
  readonly declared: ReadonlyMap<string, readonly Node[]>;
  readonly exported: ReadonlyMap<
    string,
    { readonly local: string; readonly from: string | null; readonly typeOnly: boolean }
  >;
}

export interface PublicName extends Declaration {
  readonly subpath: string;
  readonly exported: string;
  /** Of a class: its instances are public, its constructor and static members are not. */
  readonly typeOnly: boolean;
}

const keyOf = ({ file, name }: Declaration): string => `${file}#${name}`;

/** The sources as modules, each parsed once. `read` replaces the files of the repository in a test. */
export function makeModules(read = (path: string): string => readFileSync(join(root, path), "utf8")) {
  const loaded = new Map<string, Module>();
  const load = (path: string): Module => {
    const known = loaded.get(path);
    if (known !== undefined) return known;
    const made = moduleOf(parseSource(path, read(path)));
    loaded.set(path, made);
    return made;
  };
  const at = (file: string, from: string): string => posix.join(posix.dirname(file), from);
  /** The declaration behind an exported name; null when it comes from a package. */
  const resolveExport = (file: string, name: string): Declaration | null => {
    const found = load(file).exported.get(name);
    if (found === undefined) return { file, name };
    if (found.from !== null)
      return found.from.startsWith(".") ? resolveExport(at(file, found.from), found.local) : null;
    return resolveName(file, found.local) ?? { file, name };
  };
  /** The declaration that a name in a file means; null for globals, type parameters and packages. */
  const resolveName = (file: string, name: string): Declaration | null => {
    const { declared, imports } = load(file);
    if (declared.has(name)) return { file, name };
    const found = imports.get(name);
    return found === undefined || !found.from.startsWith(".")
      ? null
      : resolveExport(at(file, found.from), found.name);
  };
  return { load, resolveExport, resolveName };
}
export type Modules = ReturnType<typeof makeModules>;

function moduleOf(source: Source): Module {
  const imports = new Map<string, { name: string; from: string }>();
  const declared = new Map<string, Node[]>();
  const exported = new Map<string, { local: string; from: string | null; typeOnly: boolean }>();
  for (const node of source.program["body"] as Node[]) {
    const from = nameOf(node["source"]) ?? null;
    const specifiers = (node["specifiers"] ?? []) as Node[];
    if (node.type === "ImportDeclaration") {
      for (const one of specifiers)
        imports.set(nameOf(one["local"]) ?? "", { name: nameOf(one["imported"]) ?? "*", from: from ?? "" });
      continue;
    }
    const isExport = node.type === "ExportNamedDeclaration";
    for (const one of isExport ? specifiers : []) {
      const typeOnly = node["exportKind"] === "type" || one["exportKind"] === "type";
      exported.set(nameOf(one["exported"]) ?? "", { local: nameOf(one["local"]) ?? "", from, typeOnly });
    }
    const declaration = isExport ? node["declaration"] : node;
    if (!isNode(declaration)) continue;
    for (const name of declaredNames(declaration)) {
      declared.set(name, [...(declared.get(name) ?? []), declaration]);
      if (isExport) exported.set(name, { local: name, from: null, typeOnly: false });
    }
  }
  return { source, imports, declared, exported };
}

function declaredNames(declaration: Node): string[] {
  const declarators = declaration["declarations"] as readonly Node[] | undefined;
  return (declarators ?? [declaration]).flatMap(({ id }) => nameOf(id) ?? []);
}

/** Every name that a subpath of package.json exports, with its declaration. */
export function publicNames(modules: Modules, entries = entryPoints()): PublicName[] {
  return entries.flatMap(({ subpath, file }) =>
    [...modules.load(file).exported].flatMap(([exported, { typeOnly }]) => {
      const found = modules.resolveExport(file, exported);
      return found === null ? [] : [{ ...found, subpath, exported, typeOnly }];
    }),
  );
}

/** Types that public names refer to and that no subpath exports, each with where it was met. */
export function holesIn(modules: Modules, names: readonly PublicName[]): string[] {
  const isPublic = new Set(names.map(keyOf));
  // A class that one subpath exports as a value is met with its constructor.
  const values = new Set(names.filter(({ typeOnly }) => !typeOnly).map(keyOf));
  const seen = new Set(isPublic);
  const waiting: Declaration[] = [...new Map(names.map((one) => [keyOf(one), one])).values()];
  const holes: string[] = [];
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    const { file, name } = one;
    for (const node of modules.load(file).declared.get(name) ?? [])
      for (const reference of referencesOf(node, modules.load(file).source, !values.has(keyOf(one)))) {
        const target = modules.resolveName(file, reference.name);
        if (target === null || seen.has(keyOf(target))) continue;
        seen.add(keyOf(target));
        waiting.push(target);
        // A declaration that its file keeps to itself counts as written in place.
        const isExported = modules.load(target.file).exported.has(target.name);
        if (isExported && !reference.isBase)
          holes.push(
            `${target.name} (${target.file}) is met in ${name} (${file}), and no subpath exports it`,
          );
      }
  }
  return holes;
}

interface Reference {
  readonly name: string;
  /** A base class: callers meet its members, not its name. */
  readonly isBase: boolean;
}

/** The names in the signature of a declaration: bodies, private members and `typeof` are left out. */
function referencesOf(node: Node, source: Source, instancesOnly: boolean): Reference[] {
  if (node.type === "ClassDeclaration") return classReferences(node, source, instancesOnly);
  return signaturesOf(node).flatMap(typeNames);
}

function classReferences(node: Node, source: Source, instancesOnly: boolean): Reference[] {
  const base = nameOf(node["superClass"]);
  const members = (node["body"] as Node)["body"] as Node[];
  const shown = members.filter(
    (one) =>
      !(isNode(one["key"]) && one["key"].type === "PrivateIdentifier") &&
      one["accessibility"] !== "private" &&
      commentAbove(source, one)?.includes("@internal") !== true &&
      !(instancesOnly && (one["static"] === true || one["kind"] === "constructor")),
  );
  return [
    ...(base === undefined ? [] : [{ name: base, isBase: true }]),
    ...[node["superTypeArguments"], node["implements"], node["typeParameters"]].flatMap(typesIn),
    ...shown.flatMap((one) => signaturesOf(one).flatMap(typeNames)),
  ];
}

const typesIn = (value: unknown): Reference[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isNode).flatMap(typeNames);

/** The nodes that say what goes in and comes out. */
function signaturesOf(node: Node): Node[] {
  if (/^TS(Interface|TypeAlias)Declaration$/.test(node.type)) return [node];
  if (node.type === "VariableDeclaration")
    return (node["declarations"] as Node[]).flatMap(({ id, init }) => {
      const annotation = (id as Node)["typeAnnotation"];
      if (isNode(annotation)) return [annotation];
      return isNode(init) && /Function/.test(init.type) ? signaturesOf(init) : [];
    });
  if (isNode(node["value"]))
    return isNode(node["typeAnnotation"]) ? [node["typeAnnotation"]] : signaturesOf(node["value"]);
  const params = ((node["params"] ?? []) as Node[]).map((one) =>
    isNode(one["left"]) ? one["left"] : isNode(one["argument"]) ? one["argument"] : one,
  );
  return [
    node["typeAnnotation"],
    node["typeParameters"],
    node["returnType"],
    ...params.map((one) => one["typeAnnotation"]),
  ].filter(isNode);
}

function typeNames(type: Node): Reference[] {
  const queried = new Set<Node>();
  const names: Reference[] = [];
  const at = [{ node: type }, ...placesIn(type)];
  for (const { node } of at) {
    if (node.type === "TSTypeQuery") for (const { node: inner } of placesIn(node)) queried.add(inner);
    if (queried.has(node)) continue;
    const spelled = leftmost(node["typeName"] ?? (heritage.test(node.type) ? node["expression"] : undefined));
    if (spelled !== undefined) names.push({ name: spelled, isBase: false });
  }
  return names;
}

const heritage = /^TS(InterfaceHeritage|ClassImplements)$/;
const leftmost = (value: unknown): string | undefined =>
  isNode(value) && value.type === "TSQualifiedName" ? leftmost(value["left"]) : nameOf(value);

/** The comment right above a declaration; null when there is none. */
export function docOf(modules: Modules, { file, name }: Declaration): string | null {
  const { source } = modules.load(file);
  for (const node of source.program["body"] as Node[]) {
    const declaration = node.type === "ExportNamedDeclaration" ? node["declaration"] : node;
    if (!isNode(declaration) || !declaredNames(declaration).includes(name)) continue;
    const above = commentAbove(source, node);
    if (above !== null) return above;
  }
  return null;
}

export function commentAbove(source: Source, node: Node): string | null {
  const above = source.comments.findLast(({ start }) => start < node.start);
  if (above?.value.startsWith("*") !== true) return null;
  const end = above.start + above.value.length + "/**/".length;
  return source.text.slice(end, node.start).trim() === "" ? above.value : null;
}
