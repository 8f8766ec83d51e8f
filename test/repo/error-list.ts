/** Finds every error text that src can show: where it is made, its code, its message and its hint. */
import { posix } from "node:path";
import { isNode, lineAt, nameOf, placesIn, type Node, type Source } from "./source.ts";

/** One place that makes an error, or a reason that stands in one. */
export interface ErrorText {
  readonly where: string;
  /** The class, function or field that takes the text, as `SkeinError`, `refuse` or `reason:`. */
  readonly made: string;
  readonly code: string | null;
  /** The message as written, with `${…}` for each value. Alternatives are joined by ` | `. */
  readonly message: string;
  readonly hint: string | null;
  /** The literal parts of message and hint, without the code between them. */
  readonly literals: readonly string[];
}

/** Fields of objects that hold a text for the user. */
const textFields = new Set(["message", "hint", "error", "reason", "detail", "complaint", "flaw", "problem"]);
/** Names of constants and functions that hold or return one. */
const textNames = /(?:hint|flaw|complaint|reason|wayOut|titles|problem|violation)s?$/i;
/** Functions with a message and a hint as plain parameters. */
const knownMakers = ["refuse", "makeProblem", "assert"];

/** Every text of the sources, in the order of files and lines. */
export function errorTexts(sources: readonly Source[]): ErrorText[] {
  const makers = new Set(knownMakers);
  for (const source of sources)
    for (const { node } of placesIn(source.program))
      if (node.type === "ClassDeclaration" && (nameOf(node["superClass"]) ?? "").endsWith("Error"))
        makers.add(nameOf(node["id"]) ?? "");
  for (const plain of ["Error", "TypeError", "RangeError"]) makers.add(plain);
  // A helper that builds the error from its arguments makes errors too, and so does a helper of that helper.
  const helpers = new Map<string, Set<string>>();
  for (let round = 0; round < 3; round++) for (const source of sources) findHelpers(source, makers, helpers);
  return sources.flatMap((source) => textsIn(source, makers, helpers));
}

function findHelpers(source: Source, makers: ReadonlySet<string>, helpers: Map<string, Set<string>>): void {
  for (const { node } of placesIn(source.program)) {
    const [name, body, params] = functionOf(node);
    if (name === undefined || params.size === 0 || makers.has(name)) continue;
    const results = resultsOf(body).filter((result) => !isNothing(result));
    if (!results.every((result) => isMaking(source, result, makers, helpers))) continue;
    if (!results.some((call) => argumentsOf(call).some((argument) => mentions(argument, params)))) continue;
    const files = helpers.get(name) ?? new Set();
    helpers.set(name, files.add(source.path));
  }
}

function functionOf(node: Node): [string | undefined, Node, Set<string>] {
  const made = node.type === "VariableDeclarator" && isNode(node["init"]) ? node["init"] : node;
  const isFunction = /Function(?:Declaration|Expression)$/.test(made.type);
  if (!isFunction || !isNode(node["id"]) || !isNode(made["body"])) return [undefined, made, new Set()];
  const params = (made["params"] as readonly Node[]).flatMap(
    (param) => nameOf(param.type === "RestElement" ? param["argument"] : param) ?? [],
  );
  return [nameOf(node["id"]), made["body"], new Set(params)];
}

/** What a function returns or throws: the expressions themselves, not what they are computed from. */
function resultsOf(body: Node): Node[] {
  const ends = [...placesIn(body)].filter(({ node }) => /^(?:Return|Throw)Statement$/.test(node.type));
  const results = ends.map(({ node }) => node["argument"]).filter(isNode);
  const pending = body.type === "BlockStatement" ? results : [body];
  return pending.flatMap(choices);
}

const isNothing = (node: Node): boolean =>
  (node.type === "Literal" && node["value"] === null) || nameOf(node) === "undefined";

/** The alternatives of `a ? b : c` and `a ?? b`. */
function choices(node: Node): Node[] {
  const fields = { ConditionalExpression: ["consequent", "alternate"], LogicalExpression: ["left", "right"] };
  const parts = fields[node.type as keyof typeof fields];
  return parts === undefined ? [node] : parts.flatMap((field) => choices(node[field] as Node));
}

const argumentsOf = (call: Node): readonly Node[] =>
  Array.isArray(call["arguments"]) ? (call["arguments"] as readonly Node[]) : [];

function mentions(argument: Node, names: ReadonlySet<string>): boolean {
  const parts = [argument, ...[...placesIn(argument)].map(({ node }) => node)];
  return parts.some((node) => node.type === "Identifier" && names.has(nameOf(node) ?? ""));
}

function isMaking(
  source: Source,
  node: Node,
  makers: ReadonlySet<string>,
  helpers: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  if (node.type !== "NewExpression" && node.type !== "CallExpression") return false;
  const name = nameOf(node["callee"]) ?? "";
  if (node.type === "NewExpression") return makers.has(name);
  const files = helpers.get(name);
  const isLocalMaker = files !== undefined && (files.has(source.path) || files.has(importOf(source, name)));
  return knownMakers.includes(name) || isLocalMaker;
}

/** The file that a name is imported from; empty for a name that is not. */
function importOf(source: Source, name: string): string {
  for (const node of source.program["body"] as readonly Node[]) {
    if (node.type !== "ImportDeclaration") continue;
    const names = (node["specifiers"] as readonly Node[]).map(({ local }) => nameOf(local));
    if (names.includes(name)) return posix.join(posix.dirname(source.path), nameOf(node["source"]) ?? "");
  }
  return "";
}

function textsIn(
  source: Source,
  makers: ReadonlySet<string>,
  helpers: ReadonlyMap<string, ReadonlySet<string>>,
): ErrorText[] {
  const found: ErrorText[] = [];
  const covered: Node[] = [];
  const isCovered = (node: Node): boolean =>
    covered.some(({ start, end }) => start <= node.start && node.end <= end);
  const add = (
    node: Node,
    made: string,
    code: string | null,
    message: Node | null,
    hint: Node | null,
  ): void => {
    const parts = [message, hint].flatMap((part) => (part === null ? [] : literalsOf(part)));
    if (!parts.some((part) => part.trim() !== "")) return;
    found.push({
      where: `${source.path}:${lineAt(source, node.start)}`,
      made,
      code,
      message: message === null ? "" : shown(source, message),
      hint: hint === null ? null : shown(source, hint),
      literals: parts,
    });
    covered.push(node);
  };
  for (const { node, parent, field } of placesIn(source.program)) {
    if (isMaking(source, node, makers, helpers)) {
      const call = describeCall(node);
      if (!isCovered(node)) add(node, nameOf(node["callee"]) ?? "", call.code, call.message, call.hint);
    } else if (node.type === "Property" && textFields.has(nameOf(node["key"]) ?? "")) {
      const value = node["value"] as Node;
      if (parent.type === "ObjectExpression" && field === "properties" && isProse(value) && !isCovered(node))
        add(node, `${nameOf(node["key"])}:`, null, value, null);
    } else {
      for (const text of namedTexts(node)) if (!isCovered(text)) add(text, namedAs(node), null, text, null);
    }
  }
  return found;
}

const namedAs = (node: Node): string => `${nameOf(node["id"]) ?? ""}=`;

/** The texts of a constant or a function whose name says that it holds a reason, a flaw or a hint. */
function namedTexts(node: Node): Node[] {
  if (!textNames.test(nameOf(node["id"]) ?? "")) return [];
  if (node.type !== "VariableDeclarator" && node.type !== "FunctionDeclaration") return [];
  const outer = [...placesIn(node)].filter(({ node: text, parent }) => isText(text) && isResult(parent));
  return outer.map(({ node: text }) => text).filter(isProse);
}

const isResult = ({ type }: Node): boolean =>
  /^(?:ReturnStatement|VariableDeclarator|Property|ConditionalExpression|ArrowFunctionExpression)$/.test(
    type,
  );

const isText = (node: Node): boolean =>
  node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node["value"] === "string");

const isProse = (node: Node): boolean => literalsOf(node).some((text) => text.includes(" "));

interface Call {
  readonly code: string | null;
  readonly message: Node | null;
  readonly hint: Node | null;
}

function describeCall(node: Node): Call {
  const given = argumentsOf(node);
  const options = given.find(({ type }) => type === "ObjectExpression");
  const properties = (options?.["properties"] ?? []) as readonly Node[];
  const hintProperty = properties.find(({ key }) => nameOf(key) === "hint")?.["value"];
  const [first, second, third] = given;
  const code = first !== undefined && isText(first) && /^[a-z]+(?:-[a-z]+)*$/.test(nameOf(first) ?? "");
  const texts = given.filter((argument) => argument !== options && literalsOf(argument).length > 0);
  const message = code ? second : (texts[0] ?? first);
  const rest = code ? third : texts[1];
  const hint = isNode(hintProperty) ? hintProperty : rest !== undefined && rest !== options ? rest : null;
  return { code: code ? (nameOf(first) ?? null) : null, message: message ?? null, hint };
}

/** The literal texts of an expression: its quasis and strings, not those that are compared or looked up. */
function literalsOf(node: Node): string[] {
  if (node.type === "Literal") return typeof node["value"] === "string" ? [node["value"]] : [];
  if (node.type === "TemplateLiteral") {
    const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
    const inner = (node["expressions"] as readonly Node[]).flatMap(literalsOf);
    return [...quasis.map(({ value }) => value.cooked), ...inner].filter((text) => text !== "");
  }
  if (node.type === "ConditionalExpression")
    return [node["consequent"], node["alternate"]].flatMap((part) => literalsOf(part as Node));
  if (node.type === "BinaryExpression" && node["operator"] === "+")
    return [node["left"], node["right"]].flatMap((part) => literalsOf(part as Node));
  if (node.type === "LogicalExpression")
    return [node["left"], node["right"]].flatMap((part) => literalsOf(part as Node));
  if (node.type === "ArrayExpression")
    return (node["elements"] as readonly Node[]).flatMap((part) => literalsOf(part));
  return [];
}

function shown(source: Source, node: Node): string {
  if (node.type === "Literal") return String(node["value"]);
  if (node.type === "TemplateLiteral") {
    const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
    const values = node["expressions"] as readonly Node[];
    return quasis
      .map(({ value }, at) => {
        const next = values[at];
        return value.cooked + (next === undefined ? "" : `\${${shown(source, next)}}`);
      })
      .join("");
  }
  if (node.type === "ConditionalExpression")
    return [node["consequent"], node["alternate"]].map((part) => shown(source, part as Node)).join(" | ");
  if (node.type === "BinaryExpression" && node["operator"] === "+")
    return [node["left"], node["right"]].map((part) => shown(source, part as Node)).join("");
  return source.text.slice(node.start, node.end).replaceAll(/\s+/g, " ");
}
