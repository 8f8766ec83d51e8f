/** opencode: the database since 1.2, the folder `storage` before it, and the JSON of `opencode export`. */
import { join } from "node:path";
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedChild,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  TranscriptPlan,
  TranscriptReader,
} from "../model.ts";
import type { SourceFile, SourceFolder } from "../read/source-folder.ts";
import { listRows } from "../read/sqlite-copy.ts";
import { originOf, rangeOf } from "./draft.ts";
import { folderOf as toolFolder, type TranscriptFormat } from "./format.ts";
import { fieldsOf, listOf, nameOf, parsedOr, textOf, timeOf, type Fields } from "./json-value.ts";
import { answerOf, blocksOf, callOf, knownParts, typedByPerson } from "./opencode-part.ts";
import { ReportCounter } from "./report.ts";
import { readMark } from "./skein-mark.ts";
import { TaskList } from "./task-list.ts";

export const opencode: TranscriptFormat = {
  name: "opencode",
  title: "opencode",
  expects: "opencode.db, a storage folder, or a .json file of opencode export",
  folders: (on) => [join(toolFolder(on, "XDG_DATA_HOME", join(on.home, ".local", "share")), "opencode")],
  async find(folder) {
    const files = await folder.list();
    const found: FoundTranscript[] = [];
    const stored = indexStorage(files);
    for (const file of files) {
      if (file.bytes === 0 || (folder.only !== null && file.path !== folder.only)) continue;
      if (file.path.endsWith(".db"))
        found.push(...(await folder.collect(file.path, () => findRows(folder, file))));
      else if (isStoredSession(file.path)) found.push(findStored(file, stored));
      else if (folder.only !== null && file.path.endsWith(".json"))
        found.push(plain(file, file.path, [file.path]));
    }
    return found;
  },
  split(found, file) {
    if (file.endsWith(".db")) {
      const of = (table: string, where: string) => ({ table, where, parameter: found.sourceId });
      const tables = ["message", "part", "todo"].map((table) => of(table, "session_id = ?"));
      return { by: "rows", queries: [of("session", "id = ?"), ...tables] };
    }
    return found.files.length > 1 ? { by: "document" } : { by: "field", field: "messages" };
  },
  reader: (found) => new OpencodeReader(found),
};

/** Sessions of the old form are `<name>.json` at any depth below a folder `session`. */
function isStoredSession(path: string): boolean {
  const folders = path.split("/");
  const name = folders.pop() ?? "";
  return name.endsWith(".json") && name !== ".json" && folders.includes("session");
}

function plain(
  { bytes, modifiedAtMs }: SourceFile,
  sourceId: string,
  files: readonly string[],
): FoundTranscript {
  return { tool: "opencode", sourceId, files, piece: null, parentId: null, bytes, modifiedAtMs };
}

async function findRows(folder: SourceFolder, file: SourceFile): Promise<FoundTranscript[]> {
  const database = await folder.database(file.path);
  const tables = listRows(database, "SELECT name FROM sqlite_master WHERE type = 'table'");
  if (!tables.some(({ name }) => name === "session") || !tables.some(({ name }) => name === "message"))
    return [];
  return listRows(database, "SELECT * FROM session").map((row) => ({
    ...plain(file, textOf(row["id"]) ?? "", [file.path]),
    parentId: nameOf(row["parent_id"]),
    modifiedAtMs: timeOf(row["time_updated"]) ?? file.modifiedAtMs,
  }));
}

/** Files of the old folder by the folder they lie in: `message/<session>` and `part/<message>`. */
function indexStorage(files: readonly SourceFile[]): ReadonlyMap<string, readonly SourceFile[]> {
  return Map.groupBy(
    files.filter(({ path }) => /(^|\/)(message|part)\/[^/]+\/[^/]+\.json$/.test(path)),
    ({ path }) => path.slice(0, path.lastIndexOf("/")),
  );
}

function findStored(file: SourceFile, stored: ReturnType<typeof indexStorage>): FoundTranscript {
  const top = /^(.*\/)?session\//.exec(file.path)?.[1] ?? "";
  const name =
    file.path
      .split("/")
      .at(-1)
      ?.replace(/\.json$/, "") ?? "";
  // The file of a session is named after its id; test data has it with another prefix.
  const id = [name, name.replace(/^ses_/, "")].find((one) => stored.has(`${top}message/${one}`)) ?? name;
  const messages = stored.get(`${top}message/${id}`) ?? [];
  const parts = [...stored].flatMap(([folder, list]) => (folder.startsWith(`${top}part/`) ? list : []));
  const all = [file, ...messages, ...partsOf(messages, parts, top)];
  return {
    ...plain(
      file,
      id,
      all.map(({ path }) => path),
    ),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    modifiedAtMs: Math.max(...all.map(({ modifiedAtMs }) => modifiedAtMs)),
  };
}

/** Parts lie by message id, which is the file's name in every version of the tool; else all are read. */
function partsOf(
  messages: readonly SourceFile[],
  parts: readonly SourceFile[],
  top: string,
): readonly SourceFile[] {
  const ids = new Set(
    messages.map(({ path }) =>
      path
        .split("/")
        .at(-1)
        ?.replace(/\.json$/, ""),
    ),
  );
  const own = parts.filter(({ path }) => ids.has(path.slice(top.length).split("/")[1]));
  return own.length > 0 ? own : parts;
}

interface Message {
  readonly id: string;
  readonly info: Pick<Fields, "role" | "summary">;
  readonly createdMs: number;
  readonly records: SourceRange[];
  readonly order: number;
  tail: string | null;
  parent: string | null;
}

class OpencodeReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  readonly #messages = new Map<string, Message>();
  /** Parts may come before their message. */
  readonly #parts = new Map<string, { readonly id: string; readonly range: SourceRange }[]>();
  readonly #tails = new Map<string, string>();
  readonly #tasks = new TaskList();
  readonly #todos: unknown[] = [];
  readonly #children: PlannedChild[] = [];
  #info: Fields = {};
  #unpaired = 0;
  #missing = 0;

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const value = unpackRow(fieldsOf(record.value), record.file);
    const table = tableOf(record.file);
    if (table === "todo") {
      this.#todos.push(value);
      return this.#report.count("todo");
    }
    if (table === "session") return this.#scanSession(value);
    if (table === "message") return this.#scanMessage(value, record);
    if (table === "part")
      return this.#scanPart(value, record, nameOf(value["messageID"]) ?? folderOf(record.file));
    // `opencode export`: an element of `messages`, or the rest of the document.
    if (value["parts"] === undefined && value["role"] === undefined)
      return this.#scanSession(fieldsOf(value["info"] ?? value));
    const info = fieldsOf(value["info"]);
    this.#scanMessage(info, record);
    for (const part of listOf(value["parts"])) this.#scanPart(fieldsOf(part), null, textOf(info["id"]) ?? "");
  }

  #scanSession(info: Fields): void {
    this.#report.count("session");
    this.#info = info;
  }

  #scanMessage(info: Fields, record: SourceRecord): void {
    const role = textOf(info["role"]) ?? "(none)";
    this.#report.count(`message:${role}`);
    if (role !== "user" && role !== "assistant") return this.#report.unknown(`message:${role}`);
    const id = nameOf(info["id"]) ?? `message-${record.from}`;
    const createdMs = timeOf(fieldsOf(info["time"])["created"]) ?? timeOf(info["time_created"]) ?? 0;
    this.#report.time(createdMs === 0 ? null : createdMs);
    this.#messages.set(id, {
      id,
      info: { role: info["role"], summary: info["summary"] },
      createdMs,
      records: [rangeOf(record)],
      order: this.#messages.size,
      tail: null,
      parent: nameOf(info["parentID"]),
    });
  }

  #scanPart(part: Fields, record: SourceRecord | null, message: string): void {
    const type = textOf(part["type"]) ?? "(none)";
    // The old folder holds the parts of all sessions; messages come before parts.
    if (record !== null && !record.file.includes(".db/") && !this.#messages.has(message)) return;
    this.#report.count(`part:${type}`);
    if (!knownParts.has(type)) this.#report.unknown(`part:${type}`);
    else if (!["text", "reasoning", "file", "tool", "compaction"].includes(type))
      this.#report.unmapped(`part:${type}`);
    if (record !== null) {
      const known = this.#parts.get(message) ?? [];
      known.push({ id: nameOf(part["id"]) ?? "", range: rangeOf(record) });
      this.#parts.set(message, known);
    }
    if (type === "compaction") this.#tails.set(message, nameOf(part["tail_start_id"]) ?? "");
    if (type === "file" && !(textOf(part["url"]) ?? "").startsWith("data:")) this.#missing += 1;
    if (type !== "tool") return;
    const call = callOf(part);
    if (call.status === "unknown") this.#unpaired += 1;
    if (call.name === "todowrite") this.#tasks.replace(fieldsOf(call.input)["todos"]);
    const child =
      nameOf(fieldsOf(call.structured)["sessionId"]) ?? nameOf(fieldsOf(call.structured)["sessionID"]);
    if (child !== null) this.#children.push({ sourceId: child, call: call.id, entries: [] });
  }

  plan(): TranscriptPlan {
    const info = this.#info;
    const messages = [...this.#messages.values()].toSorted(
      (a, b) => a.createdMs - b.createdMs || a.order - b.order,
    );
    const planned = messages.map((message) => this.#planMessage(message));
    const revert = nameOf(fieldsOf(parsedOr(info["revert"]))["messageID"]);
    const at = revert === null ? -1 : messages.findIndex(({ id }) => id === revert);
    const cut = at === -1 ? planned.length : at;
    const time = fieldsOf(info["time"]);
    if (this.#todos.length > 0) this.#tasks.replace(this.#todos);
    return {
      header: {
        tool: "opencode",
        toolVersion: nameOf(info["version"]),
        sourceId: nameOf(info["id"]) ?? this.#found.sourceId,
        title: nameOf(info["title"]),
        tags: [],
        cwd: nameOf(info["directory"]),
        gitBranch: null,
        gitCommit: null,
        gitRemote: null,
        startedAtMs: timeOf(time["created"]) ?? timeOf(info["time_created"]),
        parentId: nameOf(info["parentID"]) ?? nameOf(info["parent_id"]),
        forkedFrom: null,
      },
      entries: planned.slice(0, cut),
      // A tail that a revert hides is deleted by the next prompt; until then it is a branch.
      branches:
        cut === planned.length
          ? []
          : [
              {
                id: `revert-${revert ?? ""}`,
                after: planned[cut - 1]?.id ?? null,
                entries: planned.slice(cut),
              },
            ],
      tasks: this.#tasks.tasks,
      children: this.#children,
      otherUsage: null,
      report: this.#report.report({ unpairedCalls: this.#unpaired, missingAttachments: this.#missing }),
      ...writtenBy(nameOf(info["slug"])),
    };
  }

  #planMessage({ id, info, records }: Message): PlannedEntry {
    const parts = (this.#parts.get(id) ?? []).map(({ range }) => range);
    const isSummary = info["role"] === "assistant" && info["summary"] === true;
    const kind = isSummary ? "compaction" : info["role"] === "user" ? "input" : "answer";
    return { id, kind, records: [...records, ...parts] };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const [first, ...rest] = records;
    const value = unpackRow(fieldsOf(first?.value), first?.file ?? "");
    const exported = value["parts"] !== undefined;
    const info = exported ? fieldsOf(value["info"]) : value;
    const parts = exported
      ? listOf(value["parts"]).map(fieldsOf)
      : rest.map((record) => unpackRow(fieldsOf(record.value), record.file));
    const createdMs = timeOf(fieldsOf(info["time"])["created"]) ?? timeOf(info["time_created"]);
    const origin = originOf(planned, records, createdMs);
    if (planned.kind === "answer") return { ...origin, ...answerOf(info, parts) };
    const blocks = blocksOf(parts);
    if (planned.kind === "input")
      return { ...origin, kind: "input", from: typedByPerson(parts) ? "user" : "context", blocks };
    const summary = blocks.flatMap((block) => (block.type === "text" ? block.text : [])).join("\n");
    const tail = this.#tails.get(this.#messages.get(planned.id)?.parent ?? "") ?? "";
    const keptFrom = this.#messages.has(tail) ? tail : null;
    return { ...origin, kind: "compaction", summary, keptFrom, tokensBefore: null };
  }
}

/** An export has its mark in the slug, and the seed that the ids of its messages begin with. */
function writtenBy(slug: string | null): Pick<TranscriptPlan, "written"> {
  const [, mark, seed] = /^skein-(\S+)-([0-9a-f]{10})$/.exec(slug ?? "") ?? [];
  const position = readMark(mark);
  if (position === null || seed === undefined) return {};
  return { written: { ...position, holds: ({ id }) => id.startsWith(`msg_${seed}`) } };
}

/** `storage/message/…` and `opencode.db/message` alike. */
function tableOf(file: string): string | null {
  return (
    /\.db\/(\w+)$/.exec(file)?.[1] ??
    /(?:^|\/)(session|message|part)\/(?:[^/]+\/)?[^/]+\.json$/.exec(file)?.[1] ??
    null
  );
}

const folderOf = (file: string): string => file.split("/").at(-2) ?? "";

/** Most of a row is JSON in its column `data`. */
function unpackRow(value: Fields, file: string): Fields {
  if (!file.includes(".db/")) return value;
  const { data, message_id: messageID, ...row } = value;
  return { ...fieldsOf(parsedOr(data)), ...row, ...(messageID === undefined ? {} : { messageID }) };
}
