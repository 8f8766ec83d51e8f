/** Finds the sessions in the files of an export: each element of a `conversations*.json` is one. */
import { quote } from "../../core/ids.ts";
import type { FoundTranscript } from "../model.ts";
import { splitElements } from "../read/json-elements.ts";
import type { SourceFolder } from "../read/source-folder.ts";
import { fieldsOf, nameOf, timeOf, type Fields } from "./json-value.ts";

const listing = /(^|\/)conversations[^/]*\.json$/i;

export async function findElements(
  folder: SourceFolder,
  tool: string,
  { container, idOf }: { readonly container: string; readonly idOf: (element: Fields) => string | null },
): Promise<FoundTranscript[]> {
  const files = await folder.list();
  const found: FoundTranscript[] = [];
  for (const file of files) {
    const isGiven =
      folder.only !== null && (file.path === folder.only || file.path.startsWith(`${folder.only}/`));
    if (folder.only !== null && !isGiven) continue;
    if (!listing.test(file.path) && !(isGiven && file.path === folder.only && file.path.endsWith(".json")))
      continue;
    const others = files.filter(({ path }) => path !== file.path && isAsset(path, file.path));
    const damaged: string[] = [];
    const splitter = splitElements(
      file.path,
      {
        record({ value, ...range }) {
          const element = fieldsOf(value);
          if (typeof element[container] !== "object" || element[container] === null) return;
          found.push({
            tool,
            sourceId: idOf(element) ?? `${file.path}#${range.from}`,
            files: [file.path, ...others.map(({ path }) => path)],
            piece: range,
            parentId: null,
            bytes: range.to - range.from,
            modifiedAtMs:
              timeOf(element["update_time"]) ?? timeOf(element["updated_at"]) ?? file.modifiedAtMs,
          });
        },
        damage: ({ from, to }, reason) => void damaged.push(`bytes ${from}–${to}: ${reason}`),
      },
      { container: null },
    );
    await folder.collect(file.path, async () => {
      await folder.scan(file.path, splitter);
      return [];
    });
    if (damaged.length > 0)
      folder.unreadable.push({ path: file.path, reason: damageText(file.path, damaged) });
  }
  return found;
}

/** Whose conversations they were is not known: the rest of the file is read. */
function damageText(path: string, damaged: readonly string[]): string {
  const many = damaged.length === 1 ? "" : `, and ${damaged.length - 1} more`;
  return `${quote(path)}: a part is damaged, ${damaged[0] ?? ""}${many}`;
}

/** Files of the same archive or folder whose name says which asset they hold. */
function isAsset(path: string, listed: string): boolean {
  const folder = listed.slice(0, listed.lastIndexOf("/") + 1);
  return path.startsWith(folder) && /(^|\/)file[-_]/.test(path);
}

export const idFields =
  (...names: readonly string[]) =>
  (element: Fields): string | null =>
    names.map((name) => nameOf(element[name])).find((id) => id !== null) ?? null;
