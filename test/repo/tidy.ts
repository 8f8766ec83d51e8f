/** Rules of size, naming and shape that no linter knows. Each is a function from one file to its breaches. */
import { basename } from "node:path";
import type { Finding, Node, Place, Source } from "./source.ts";
import { finding, isNode, lineAt, nameOf, placesIn } from "./source.ts";

const limit = {
  fileLines: 500,
  oneSubjectLines: 700,
  functionLines: 70,
  unitLines: 300,
  oneSubjectUnitLines: 480,
  lineColumns: 110,
} as const;

/** A file is cut by concept. One that has a single subject, and says so in its header, may be longer. */
export function fileLength({ path, text, comments }: Source): Finding[] {
  const lines = text.trimEnd().split("\n").length;
  const most = comments[0]?.value.includes("One subject:") ? limit.oneSubjectLines : limit.fileLines;
  return lines <= most ? [] : [`${path}: ${lines} lines, at most ${most}; split it by concept`];
}

/**
 * Functions inside a function count for themselves: a driver is a function that returns an object, and a
 * factory of many small closures is no long function. The bodies of `describe` and `suite` are chapters and
 * may be longer.
 */
export function functionLength(source: Source): Finding[] {
  return [...placesIn(source.program)].flatMap((place) => {
    const { node } = place;
    if (!isFunction(node) || isChapter(place)) return [];
    const lines =
      linesOf(source, node) - innerFunctions(node).reduce((sum, one) => sum + linesOf(source, one) - 1, 0);
    if (lines <= limit.functionLines) return [];
    return [
      finding(source, node.start, `a function of ${lines} lines, at most ${limit.functionLines}; split it`),
    ];
  });
}

/**
 * A class, and a function with all closures in it, share what they close over: past 300 lines nobody sees any
 * more which of them changes it. One that is the single subject of its file, as a public handle with a method
 * a call, may have 480.
 */
export function unitLength(source: Source): Finding[] {
  const isOneSubject = source.comments[0]?.value.includes("One subject:") === true;
  const most = isOneSubject ? limit.oneSubjectUnitLines : limit.unitLines;
  return [...placesIn(source.program)].flatMap((place) => {
    const { node } = place;
    if (node.type !== "ClassDeclaration" && (!isFunction(node) || isChapter(place))) return [];
    const lines = linesOf(source, node);
    if (lines <= most) return [];
    return [finding(source, node.start, `${lines} lines that share state, at most ${most}; cut by concept`)];
  });
}

const linesOf = (source: Source, node: Node): number =>
  lineAt(source, node.end) - lineAt(source, node.start) + 1;

/** The functions that stand directly inside a node, not those inside them. */
function innerFunctions(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .flatMap((inner) => (!isNode(inner) ? [] : isFunction(inner) ? [inner] : innerFunctions(inner)));
}

/** Tables of Markdown and lines that are one unbreakable address are let through. */
export function lineLength({ path, text }: Pick<Source, "path" | "text">): Finding[] {
  return text.split("\n").flatMap((line, before) => {
    const columns = Array.from(line).length;
    const isFree = path.endsWith(".md") && (line.startsWith("|") || /^\S*https?:\S+$/.test(line.trim()));
    if (columns <= limit.lineColumns || isFree) return [];
    return [`${path}:${before + 1}: ${columns} columns, at most ${limit.lineColumns}`];
  });
}

const vagueFiles = /^(utils?|helpers?|common|shared|lib|libs|types|misc)$/;

export function fileName({ path }: Source): Finding[] {
  const parts = path.split("/").map((part) => part.replace(/(\.test|\.config)?\.tsx?$/, ""));
  const vague = parts.find((part) => vagueFiles.test(part));
  if (vague) return [`${path}: "${vague}" accepts anything; name the noun that the file holds`];
  if (!parts.every((part) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(part))) return [`${path}: use lower-case kebab`];
  const isBarrel = basename(path) === "index.ts" && path !== "src/index.ts";
  return isBarrel ? [`${path}: only src/index.ts is an index; import from the file that owns the name`] : [];
}

/** Words that say nothing at the end of a name, or at the start of a type's name, and what to do instead. */
const emptyWords: Readonly<Record<string, string>> = {
  V2: "give the old one a name of its own",
  New: "say what differs",
  Base: "use a function or a union instead of a base",
  Impl: "name what is special about this one",
  Manager: "name what it does",
  Helper: "name what it does",
  Util: "name what it does",
  Utils: "name what it does",
  Service: "name what it does",
  Data: "name what it holds",
  Info: "name what it holds",
};
/** The merge base is a noun of the domain. */
const nounsWithEmptyWords = /merge_?base$/i;

export function emptyName(source: Source): Finding[] {
  return declarationsOf(source).flatMap(({ name, position }) => {
    const words = wordsOf(name);
    const word = [words.at(0), words.at(-1)].find((candidate = "") => Object.hasOwn(emptyWords, candidate));
    if (word === undefined || nounsWithEmptyWords.test(name)) return [];
    return [finding(source, position, `"${word}" in "${name}" says nothing: ${emptyWords[word]}`)];
  });
}

/** Identifiers use the glossary's noun for the thing itself. Drivers and adapters use the words of others. */
const glossary: Readonly<Record<string, string>> = {
  chat: "session",
  conversation: "session",
  thread: "session",
  assistant: "agent",
  bot: "agent",
};

export function avoidedWord(source: Source): Finding[] {
  if (/^src\/(model|adapter)\//.test(source.path)) return [];
  return declarationsOf(source).flatMap(({ name, position }) => {
    const words = wordsOf(name).map((part) => part.toLowerCase().replace(/s$/, ""));
    const word = words.find((part) => Object.hasOwn(glossary, part));
    return word ? [finding(source, position, `"${word}" in "${name}": say "${glossary[word]}"`)] : [];
  });
}

const shapes: Readonly<Record<string, string>> = {
  TSEnumDeclaration: "no enum; use a union of strings",
  ExportDefaultDeclaration: "no default export; give it a name",
  ExportAllDeclaration: "no `export *`; list the names",
};

export function shape(source: Source): Finding[] {
  // Vite takes its configuration, and node:test its reporter, as the default export and in no other way.
  if (source.path.endsWith("/vite.config.ts") || source.path === "test/runner/inside.ts") return [];
  return [...placesIn(source.program)].flatMap(({ node }) => {
    const isNamespace = node.type === "TSModuleDeclaration" && node["kind"] === "namespace";
    const asDefault = node.type === "ExportSpecifier" && nameOf(node["exported"]) === "default";
    const message = isNamespace
      ? "no namespace; a file is one"
      : shapes[asDefault ? "ExportDefaultDeclaration" : node.type];
    return message ? [finding(source, node.start, message)] : [];
  });
}

/** Of `{ z }` a bundler keeps every part, with all languages; of a namespace only what is used. */
export function wholeZod(source: Source): Finding[] {
  return [...placesIn(source.program)].flatMap(({ node, parent }) => {
    const isPart = node.type === "ImportSpecifier" && nameOf(parent["source"]) === "zod";
    if (!isPart || parent["importKind"] === "type") return [];
    return [finding(source, node.start, 'write `import * as z from "zod"`; the client goes into pages')];
  });
}

export function header({ path, text, comments }: Source): Finding[] {
  const first = comments[0];
  const before = first ? text.slice(0, first.start).replace(/^#!.*/, "").trim() : "";
  const isSentence = first !== undefined && before === "" && /^\*\s.*[.:?!]/s.test(first.value);
  return isSentence ? [] : [`${path}:1: begin with a sentence in /** … */ that says what the file is`];
}

export function leftover(source: Source): Finding[] {
  return source.comments.flatMap(({ value, start }) => {
    const word = /\b(TODO|FIXME|XXX|HACK)\b/.exec(value)?.[0];
    return word ? [finding(source, start, `${word}: do it, or write down why not`)] : [];
  });
}

function isFunction(node: Node): boolean {
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

function isChapter({ parent, field }: Place): boolean {
  return field === "arguments" && /^(describe|suite)$/.test(nameOf(parent["callee"]) ?? "");
}

/** The names that a file gives to its types, classes, functions and variables. */
function declarationsOf(source: Source): { readonly name: string; readonly position: number }[] {
  const declaring = /^(TSTypeAlias|TSInterface|Class|Function)Declaration$|^VariableDeclarator$/;
  return [...placesIn(source.program)].flatMap(({ node }) => {
    const id = node["id"];
    const name = declaring.test(node.type) ? nameOf(id) : undefined;
    return name !== undefined && isNode(id) ? [{ name, position: id.start }] : [];
  });
}

/** `parseSessionV2` is `parse`, `Session`, `V2`. */
function wordsOf(name: string): string[] {
  return name.match(/[A-Z]?[a-z]+|[A-Z]\d+|[A-Z]+(?![a-z])|\d+/g) ?? [name];
}
