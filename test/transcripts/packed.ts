/** Transcripts in archives and databases, made of the golden ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { deflateRawSync } from "node:zlib";
import { opencodeExport } from "./golden.ts";

/** The bytes of a database of opencode with the golden session. */
export function opencodeDatabase(folder: string): Buffer {
  const path = join(folder, "golden.db");
  const database = new DatabaseSync(path);
  database.exec(
    "CREATE TABLE session (id TEXT, title TEXT, directory TEXT, revert TEXT, time_created INT);" +
      "CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);" +
      "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)",
  );
  database.prepare("INSERT INTO session VALUES ('ses_1', 'T', '/tmp', NULL, 1)").run();
  const { messages } = JSON.parse(opencodeExport) as {
    messages: { info: { id: string }; parts: { id: string }[] }[];
  };
  for (const { info, parts } of messages) {
    database.prepare("INSERT INTO message VALUES (?, 'ses_1', 1, ?)").run(info.id, JSON.stringify(info));
    for (const part of parts)
      database
        .prepare("INSERT INTO part VALUES (?, ?, 'ses_1', ?)")
        .run(part.id, info.id, JSON.stringify(part));
  }
  database.close();
  return readFileSync(path);
}

/** A zip archive of deflated entries. */
export function zipOf(
  entries: Readonly<Record<string, string>>,
  { declared }: { declared?: number } = {},
): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(entries)) {
    const packed = deflateRawSync(Buffer.from(text));
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(8, 10);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(declared ?? Buffer.byteLength(text), 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), packed);
    directory.push(central, Buffer.from(name));
    offset += 30 + name.length + packed.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(entries).length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, listing, end]);
}
