/**
 * The library reference: every exported name with its signature, its doc comment, its example and its members,
 * read from the syntax trees. TypeScript 7 has no compiler API; oxc-parser gives the trees in half a second.
 */
import { commentAbove, docOf, makeModules, publicNames } from "../../test/repo/closure.ts";
import type { Modules, PublicName } from "../../test/repo/closure.ts";
import { entryPoints, isNode, nameOf, type Node, type Source } from "../../test/repo/source.ts";
import type { Member } from "./markdown.ts";
import { makeAnchors } from "./site-page.ts";

export interface ApiReference {
  /** Markdown by slug. */
  readonly pages: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, { readonly slug: string; readonly anchor: string }>;
}

/** Handles with a page of their own. */
const handles: Readonly<Record<string, string>> = { Engine: "api/engine", Session: "api/session" };

const slugOfSubpath = (subpath: string): string =>
  subpath === "." ? "api/skein" : `api/skein-${subpath.slice(2)}`;
const importOf = (subpath: string): string => subpath.replace(".", "skein");
const anchorOf = (heading: string): string => makeAnchors()(heading);

export function describeApi(): ApiReference {
  const modules = makeModules();
  const all = publicNames(modules);
  const names = new Map<string, { slug: string; anchor: string }>();
  for (const { exported, subpath } of all.toReversed())
    names.set(exported, { slug: handles[exported] ?? slugOfSubpath(subpath), anchor: anchorOf(exported) });
  const pages = new Map<string, string>([["api", overviewPage(modules, all)]]);
  for (const [subpath, members] of Map.groupBy(all, (one) => one.subpath))
    pages.set(slugOfSubpath(subpath), subpathPage(modules, subpath, members));
  for (const one of all) {
    const slug = handles[one.exported];
    if (slug === undefined || one.subpath !== ".") continue;
    pages.set(slug, handlePage(modules, one));
    const variable = one.exported.toLowerCase();
    for (const { name } of membersOf(modules, one))
      names.set(`${variable}.${name}`, { slug, anchor: anchorOf(name) });
  }
  return { pages, names };
}

function overviewPage(modules: Modules, all: readonly PublicName[]): string {
  const parts = [...Map.groupBy(all, (one) => one.subpath)].map(([subpath, members]) => {
    const rows = members.toSorted(byKind(modules)).map((one) => {
      const text = firstSentence(parseDoc(docOf(modules, one)).text);
      return { name: one.exported, type: "", text, tag: kindOf(modules, one) };
    });
    return [`## ${importOf(subpath)}`, "", subpathText(modules, subpath), "", membersFence(rows)].join("\n");
  });
  const intro =
    "Every name the package exports, by the subpath to import it from. The pages are generated from the doc " +
    "comments of the sources; `surface.json` fixes the list, and a test fails when a public signature mentions " +
    "a type without a public name.";
  return [`# Library API`, "", intro, "", ...parts].join("\n");
}

/** The sentence that begins the file behind a subpath. */
function subpathText(modules: Modules, subpath: string): string {
  const file = entryPoints().find((one) => one.subpath === subpath)?.file;
  const header = file === undefined ? undefined : modules.load(file).source.comments[0]?.value;
  return parseDoc(header ?? null).text;
}

function subpathPage(modules: Modules, subpath: string, members: readonly PublicName[]): string {
  const sorted = members.toSorted(byKind(modules));
  const example = sorted
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ exported }) => exported)
    .slice(0, 3);
  const [first = sorted[0]?.exported ?? ""] = example;
  const isType = example.length === 0;
  const line = `import ${isType ? "type " : ""}{ ${isType ? first : example.join(", ")} } from "${importOf(subpath)}";`;
  return [
    `# ${importOf(subpath)}`,
    "",
    subpathText(modules, subpath),
    "",
    fence(line, "ts"),
    "",
    ...sorted.map((one) => describeName(modules, one)),
  ].join("\n");
}

const order = ["function", "class", "constant", "interface", "type"];
const byKind =
  (modules: Modules) =>
  (a: PublicName, b: PublicName): number =>
    order.indexOf(kindOf(modules, a)) - order.indexOf(kindOf(modules, b)) ||
    a.exported.localeCompare(b.exported, "en");

function declarationOf(modules: Modules, { file, name }: PublicName): Node | undefined {
  const nodes = modules.load(file).declared.get(name) ?? [];
  return nodes.find(({ type }) => type !== "VariableDeclaration") ?? nodes[0];
}

function kindOf(modules: Modules, one: PublicName): string {
  const { type = "" } = declarationOf(modules, one) ?? {};
  if (type === "FunctionDeclaration") return "function";
  if (type === "ClassDeclaration") return one.typeOnly ? "interface" : "class";
  if (type === "VariableDeclaration") return "constant";
  return type === "TSInterfaceDeclaration" ? "interface" : "type";
}

function describeName(modules: Modules, one: PublicName): string {
  const { exported } = one;
  const { text, example } = parseDoc(docOf(modules, one));
  const slug = handles[exported];
  const head = [`## ${exported}`, "", text, ""];
  if (slug !== undefined && one.subpath === ".")
    return [...head, `See [${exported}](${slug.replace("api/", "")}.html) for every method.`, ""].join("\n");
  const node = declarationOf(modules, one);
  const { source } = modules.load(one.file);
  const members = node === undefined ? [] : membersOf(modules, one);
  const isListed = members.length > 0 && node?.type !== "TSTypeAliasDeclaration";
  return [
    ...head,
    ...(node === undefined ||
    (isListed && node.type === "TSInterfaceDeclaration" && bases(node, source) === "")
      ? []
      : [fence(signatureOf(node, source, exported), "ts api"), ""]),
    ...(isListed ? [membersFence(members.map(asMember)), ""] : []),
    ...(example === "" ? [] : ["Example:", "", fence(example, "ts"), ""]),
  ].join("\n");
}

function handlePage(modules: Modules, one: PublicName): string {
  const { text, example } = parseDoc(docOf(modules, one));
  const members = membersOf(modules, one).toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  return [
    `# ${one.exported}`,
    "",
    text,
    "",
    ...(example === "" ? [] : [fence(example, "ts"), ""]),
    ...members.flatMap(({ name, signature, doc }) => [
      `## ${name}`,
      "",
      doc.text,
      "",
      fence(signature, "ts api"),
      "",
      ...(doc.example === "" ? [] : ["Example:", "", fence(doc.example, "ts"), ""]),
    ]),
  ].join("\n");
}

interface ApiMember {
  readonly name: string;
  readonly signature: string;
  readonly type: string;
  readonly isOptional: boolean;
  readonly doc: Doc;
}

/** The public members of a class or an interface; those of a base without a public name count as its own. */
function membersOf(
  modules: Modules,
  declaration: { readonly file: string; readonly name: string },
): ApiMember[] {
  const { file, name } = declaration;
  const { source, declared } = modules.load(file);
  return (declared.get(name) ?? []).flatMap((node) => {
    const body = isNode(node["body"]) ? (node["body"]["body"] as Node[] | undefined) : undefined;
    if (!/^(ClassDeclaration|TSInterfaceDeclaration)$/.test(node.type) || body === undefined) return [];
    const base = nameOf(node["superClass"]);
    const target = base === undefined ? null : modules.resolveName(file, base);
    const own = body.flatMap((member) => memberOf(member, source) ?? []);
    const inherited = target === null ? [] : membersOf(modules, target);
    return [...own, ...inherited.filter((one) => !own.some((mine) => mine.name === one.name))];
  });
}

function memberOf(member: Node, source: Source): ApiMember | null {
  const comment = commentAbove(source, member);
  const name = nameOf(member["key"]);
  const isHidden =
    name === undefined ||
    member["kind"] === "constructor" ||
    member["static"] === true ||
    member["accessibility"] === "private" ||
    (isNode(member["key"]) && member["key"].type === "PrivateIdentifier") ||
    comment?.includes("@internal") === true;
  if (isHidden) return null;
  const isOptional = member["optional"] === true;
  const callable =
    isNode(member["value"]) && /Function/.test(member["value"].type) ? member["value"] : member;
  const isCall = Array.isArray(callable["params"]);
  const annotation = isNode(member["typeAnnotation"]) ? textOf(source, member["typeAnnotation"]) : "";
  const type =
    isCall && member["kind"] !== "get"
      ? callText(callable, source)
      : (annotation || returned(callable, source) || literal(member, source)).replace(/^:\s*/, "");
  const signature = `${name}${isOptional ? "?" : ""}${isCall && member["kind"] !== "get" ? "" : ": "}${type}`;
  return { name, signature, type, isOptional, doc: parseDoc(comment) };
}

const asMember = ({ name, type, isOptional, doc }: ApiMember): Member => ({
  name,
  type,
  text: [doc.text, doc.example === "" ? "" : fence(doc.example, "ts")]
    .filter((one) => one !== "")
    .join("\n\n"),
  ...(isOptional ? { tag: "optional" } : {}),
});

const textOf = (source: Source, node: Node): string => source.text.slice(node.start, node.end);
const returned = (node: Node, source: Source): string =>
  isNode(node["returnType"]) ? textOf(source, node["returnType"]) : "";

/** A field without a type says it by its value: `readonly name = "SkeinError"`. */
const literal = (member: Node, source: Source): string =>
  isNode(member["value"]) && member["value"].type === "Literal" ? textOf(source, member["value"]) : "";

const lineColumns = 88;

/** `(a: string, options?: X): Promise<Y>`, broken into lines where it is long. */
function callText(node: Node, source: Source): string {
  const params = ((node["params"] ?? []) as Node[]).map((one) => paramText(one, source));
  const types = isNode(node["typeParameters"]) ? textOf(source, node["typeParameters"]) : "";
  const end = returned(node, source);
  const inline = `${types}(${params.join(", ")})${end}`;
  if (inline.length <= lineColumns && !inline.includes("\n")) return inline;
  return `${types}(\n${params.map((one) => `  ${one.replaceAll("\n", "\n  ")},`).join("\n")}\n)${end}`;
}

/** A parameter with a default is optional to the caller. */
function paramText(node: Node, source: Source): string {
  const left = isNode(node["left"]) ? node["left"] : node;
  const text = textOf(source, left).replaceAll(/\n\s{4}/g, "\n");
  if (left === node) return text;
  const isPattern = left.type === "ObjectPattern";
  const annotation = isNode(left["typeAnnotation"]) ? textOf(source, left["typeAnnotation"]) : "";
  return isPattern ? `options?${annotation}` : text.replace(/^(\w+):/, "$1?:");
}

function bases(node: Node, source: Source): string {
  const heritage = ((node["extends"] ?? []) as Node[]).map((one) => textOf(source, one));
  return heritage.length === 0 ? "" : ` extends ${heritage.join(", ")}`;
}

function signatureOf(node: Node, source: Source, name: string): string {
  const types = isNode(node["typeParameters"]) ? textOf(source, node["typeParameters"]) : "";
  if (node.type === "FunctionDeclaration") return `function ${name}${callText(node, source)}`;
  if (node.type === "TSInterfaceDeclaration") return `interface ${name}${types}${bases(node, source)}`;
  if (node.type === "ClassDeclaration") {
    const base = nameOf(node["superClass"]);
    return `class ${name}${types}${base === undefined ? "" : ` extends ${base}`}`;
  }
  if (node.type !== "VariableDeclaration") return withoutDocs(textOf(source, node));
  const [declarator] = node["declarations"] as Node[];
  const id = declarator?.["id"] as Node | undefined;
  const init = declarator?.["init"];
  if (isNode(id?.["typeAnnotation"])) return `const ${name}${textOf(source, id["typeAnnotation"])}`;
  if (isNode(init) && /Function/.test(init.type)) return `const ${name}: ${callText(init, source)}`;
  return withoutDocs(textOf(source, node));
}

const withoutDocs = (text: string): string => text.replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, "");

interface Doc {
  readonly text: string;
  readonly example: string;
}

/** The text of a doc comment and its `@example`. */
function parseDoc(comment: string | null): Doc {
  const lines = (comment ?? "")
    .replace(/^\*/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const at = lines.findIndex((line) => line.trim().startsWith("@example"));
  const text = (at < 0 ? lines : lines.slice(0, at)).join("\n").trim();
  const code = at < 0 ? [] : lines.slice(at + 1).filter((line) => !/^\s*```/.test(line));
  const indents = code.filter((line) => line !== "").map((line) => line.search(/\S/));
  const example = code.map((line) => line.slice(Math.min(...indents))).join("\n");
  return { text, example: example.trim() };
}

const firstSentence = (text: string): string => /^[\s\S]*?[.:](?=\s|$)/.exec(text)?.[0] ?? text;

const fence = (code: string, marks: string): string => `\`\`\`\`${marks}\n${code}\n\`\`\`\``;
const membersFence = (members: readonly Member[]): string => fence(JSON.stringify(members), "members");
