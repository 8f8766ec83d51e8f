/** docs/event-catalog.md: the reference of all events, derived from the catalog. */
import * as z from "zod";
import { projectCatalog, sessionSlices, workspaceCatalog } from "../src/core/catalog.ts";
import type { CatalogEntry } from "../src/core/catalog-entry.ts";

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema | false;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | false;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

const intro = `# Events

After this page you can read every record of a log. Each is one of these, or a record of another program
(\`x.…\`), which Skein keeps and ignores.

- The **body** has at most 4,096 bytes and no free text, and is never erased. The **content** has what people,
  models and tools said; it can be [erased](erasure.md).
- Both are shown as TypeScript types: \`?\` marks a field that may be absent, and \`seq\` is a position in the
  log. A newer version of Skein may add fields.
- Erased says what remains known when the content is erased. Summary is the line that the command line and the
  console show, here for a sample.

Generated from \`src/core\` by \`npm run docs\`. The [log format](log-format.md) describes the bytes of a
record.

Inputs, answers and results of tools consist of blocks:
`;

export function describeEvents(): string {
  const sections = Object.entries({
    ...sessionSlices,
    project: projectCatalog,
    workspace: workspaceCatalog,
  }).map(([family, events]) => {
    const rows = Object.entries<CatalogEntry>(events).map(([type, entry]) => describeEvent(type, entry));
    return `## ${family}\n\n${rows.join("\n")}`;
  });
  return `${intro}\n\`\`\`ts nocheck\n${blockType()}\n\`\`\`\n\n${sections.join("\n")}`;
}

/** The union of all blocks, from the content of an input. */
function blockType(): string {
  const content = z.toJSONSchema(sessionSlices.turn["input.received"].content, { unrepresentable: "any" });
  const { blocks } = (content as Schema).properties ?? {};
  const forms = blocks?.items === undefined || blocks.items === false ? [] : (formsOf(blocks.items) ?? []);
  return `type Block =\n${forms.map((form) => `  | ${typeText(form, "  ")}`).join("\n")};`;
}

const formsOf = ({ anyOf, oneOf }: Schema): readonly Schema[] | undefined => anyOf ?? oneOf;

/** Whether a union is that of the blocks: the field `type` tells its members apart. */
const isBlock = (forms: readonly Schema[]): boolean =>
  ["text", "tool-call"].every((type) => forms.some(({ properties }) => properties?.["type"]?.const === type));

function describeEvent(type: string, entry: CatalogEntry): string {
  const { content } = entry;
  return [
    `### ${type}\n`,
    `${entry.meaning}${entry.v === 1 ? "" : ` Version ${entry.v}.`}\n`,
    "```ts nocheck",
    `body: ${formOf(entry.body)}`,
    ...(content instanceof z.ZodUndefined
      ? []
      : [`content${content instanceof z.ZodOptional ? "?" : ""}: ${formOf(content)}`]),
    "```\n",
    ...(content instanceof z.ZodUndefined ? [] : [`- Erased: ${entry.erased}`]),
    `- Summary: ${codeText(entry.summary(entry.sample.body, entry.sample.content))}\n`,
  ].join("\n");
}

const codeText = (text: string): string => `\`${text.replaceAll("`", "'")}\``;

function formOf(schema: z.ZodType): string {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  return typeText(z.toJSONSchema(inner, { unrepresentable: "any" }) as Schema, "");
}

const columns = 100;

/** The type, on one line where it fits and no field has a note. */
function typeText(schema: Schema, indent: string): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const forms = formsOf(schema);
  if (forms !== undefined && isBlock(forms)) return "Block";
  if (forms !== undefined) return [...new Set(forms.map((one) => typeText(one, indent)))].join(" | ");
  if (schema.prefixItems !== undefined)
    return `[${schema.prefixItems.map((one) => typeText(one, indent)).join(", ")}]`;
  if (schema.type === "array") return listText(schema, indent);
  if (schema.type === "object") return objectText(schema, indent);
  if (schema.type === "integer") return "number";
  return schema.type ?? "unknown";
}

function listText({ items }: Schema, indent: string): string {
  if (items === undefined || items === false) return "unknown[]";
  const one = typeText(items, indent);
  return / \| /.test(one) && !one.endsWith("}") ? `(${one})[]` : `${one}[]`;
}

function objectText({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const fields = Object.entries(properties ?? {});
  if (fields.length === 0) {
    const values =
      additionalProperties === undefined || additionalProperties === false ? {} : additionalProperties;
    return Object.keys(values).length === 0 ? "{}" : `Record<string, ${typeText(values, indent)}>`;
  }
  const deeper = `${indent}  `;
  const lines = fields.map(([name, field]) => {
    const text = `${name}${required.includes(name) ? "" : "?"}: ${typeText(field, deeper)}`;
    return { text, note: noteOf(field) };
  });
  const flat = `{ ${lines.map(({ text }) => text).join("; ")} }`;
  const isFlat = lines.every(({ note, text }) => note === "" && !text.includes("\n"));
  if (isFlat && flat.length + indent.length <= columns) return flat;
  const rows = lines.map(({ text, note }) => `${deeper}${text};${note === "" ? "" : ` // ${note}`}`);
  return `{\n${rows.join("\n")}\n${indent}}`;
}

/** What a type cannot say: the form of an id or a hash, and limits. */
function noteOf({ pattern = "", maxLength, maxItems, items }: Schema): string {
  const prefix = /^\^([a-z]{3}_)/.exec(pattern)?.[1];
  if (prefix !== undefined) return `${prefix}…`;
  if (pattern === "^[0-9a-f]{64}$") return "SHA-256, hexadecimal";
  if (maxLength !== undefined) return `at most ${maxLength.toLocaleString("en")} characters`;
  if (maxItems !== undefined) return `at most ${maxItems.toLocaleString("en")}`;
  return items === undefined || items === false ? "" : noteOf(items);
}
