/** Mutants: small changes of a source file that its tests should notice, made from the syntax tree. */
import { isNode, lineAt, nameOf, type Node, type Source } from "../repo/source.ts";

export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** Where in the text. */
  readonly start: number;
  readonly end: number;
  readonly from: string;
  readonly to: string;
}

const binary: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
};

const methods: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  endsWith: "startsWith",
};

/** Every mutant of a file, in the order of the text. */
export function mutantsOf(source: Source): Mutant[] {
  const { path: file, text } = source;
  const found: Mutant[] = [];
  const add = (node: Pick<Node, "start" | "end">, to: string): void => {
    const from = text.slice(node.start, node.end);
    found.push({ file, line: lineAt(source, node.start), start: node.start, end: node.end, from, to });
  };
  for (const { node, isMessage } of nodesOf(source.program)) mutate(text, node, isMessage, add);
  return found.toSorted((one, other) => one.start - other.start);
}

type Add = (node: Pick<Node, "start" | "end">, to: string) => void;

function mutate(text: string, node: Node, isMessage: boolean, add: Add): void {
  if (node.type === "ExpressionStatement" && isEffect(node["expression"])) add(node, ";");
  if (node.type === "ThrowStatement") add(node, ";");
  if (isMessage) return;
  if (node.type === "BinaryExpression" || node.type === "LogicalExpression") mutateOperator(text, node, add);
  if (node.type === "UnaryExpression" && node["operator"] === "!" && isNode(node["argument"]))
    add({ start: node.start, end: node["argument"].start }, "");
  if (node.type === "IfStatement" && isNode(node["test"])) {
    add(node["test"], "true");
    add(node["test"], "false");
  }
  if (node.type === "ConditionalExpression" && isNode(node["test"]))
    add(node["test"], `!(${text.slice(node["test"].start, node["test"].end)})`);
  if (node.type === "Literal" && typeof node["value"] === "boolean") add(node, String(!node["value"]));
  if (node.type === "Literal" && typeof node["value"] === "number") add(node, `(${node["value"]} + 1)`);
  if (node.type === "MemberExpression" && node["computed"] !== true && isNode(node["property"])) {
    const name = nameOf(node["property"]) ?? "";
    const other = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (other !== undefined) add(node["property"], other);
  }
}

function mutateOperator(text: string, node: Node, add: Add): void {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== "string") return;
  const to = binary[operator];
  const isText = [left, right].some(
    ({ type, value }) => type === "TemplateLiteral" || typeof value === "string",
  );
  if (to === undefined || (operator === "+" && isText)) return;
  const start = left.end + text.slice(left.end, right.start).indexOf(operator);
  add({ start, end: start + operator.length }, to);
}

/** A statement that does something: a call, an assignment. `super()` has to stay. */
function isEffect(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === "AwaitExpression") return isEffect(node["argument"]);
  if (node.type === "UnaryExpression" && node["operator"] === "void") return isEffect(node["argument"]);
  if (node.type === "CallExpression") return isNode(node["callee"]) && node["callee"].type !== "Super";
  return node.type === "AssignmentExpression" || node.type === "UpdateExpression";
}

/** All nodes but those of types and imports. `isMessage`: it stands in the text of an error. */
function* nodesOf(
  node: Node,
  isMessage = false,
): Generator<{ readonly node: Node; readonly isMessage: boolean }> {
  yield { node, isMessage };
  for (const value of Object.values(node)) {
    for (const inner of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (!isNode(inner) || isErased(inner)) continue;
      yield* nodesOf(inner, isMessage || speaks(node, inner));
    }
  }
}

const speaks = (parent: Node, node: Node): boolean =>
  node.type === "TemplateLiteral" ||
  (parent.type === "NewExpression" && (nameOf(parent["callee"]) ?? "").endsWith("Error"));

/** Gone at run time, or of no account to a test. */
const isErased = ({ type }: Node): boolean =>
  /^(Import|ExportAll)|^TS(?!AsExpression|NonNullExpression|SatisfiesExpression)/.test(type);
