/** Types and actors as numbers, so that records do not repeat their text. */
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";

export interface Names {
  /** The number of a name, assigned now if it is new. Inside a transaction only. */
  id(name: string): number;
  /** True if the name may have to be written first. */
  isNew(name: string): boolean;
  /** The number of a name, if it was ever written. */
  known(name: string): number | undefined;
  name(id: number): string;
  /** After a rollback: numbers assigned in it are void. */
  forget(): void;
}

export function makeNames(database: DatabaseSync): Names {
  const byName = database.prepare("SELECT id FROM names WHERE name = ?");
  const byId = database.prepare("SELECT name FROM names WHERE id = ?");
  const insert = database.prepare("INSERT INTO names (name) VALUES (?)");
  const ids = new Map<string, number>();
  const texts = new Map<number, string>();

  const learn = (id: number, name: string) => {
    ids.set(name, id);
    texts.set(id, name);
  };

  function known(name: string): number | undefined {
    const cached = ids.get(name);
    if (cached !== undefined) return cached;
    const row = byName.get(name);
    if (row === undefined) return undefined;
    learn(Number(row["id"]), name);
    return Number(row["id"]);
  }

  return {
    isNew: (name) => !ids.has(name),
    known,
    id(name) {
      const there = known(name);
      if (there !== undefined) return there;
      const id = Number(insert.run(name).lastInsertRowid);
      learn(id, name);
      return id;
    },
    name(id) {
      const cached = texts.get(id);
      if (cached !== undefined) return cached;
      const row = byId.get(id);
      if (row === undefined) throw new SkeinError("corrupt", `name ${id} is missing from the store`);
      learn(id, String(row["name"]));
      return String(row["name"]);
    },
    forget() {
      ids.clear();
      texts.clear();
    },
  };
}
