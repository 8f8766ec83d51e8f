/** What is said when a database that is bound for reading is to be changed. */
import { SkeinError } from "../core/error.ts";
import { ReadOnly } from "./port.ts";

/** `where` are the words of `skein bind` that name the database. */
export const readOnly = (name: string, where: string, why = "nothing was changed"): SkeinError =>
  new SkeinError("refused", `${name}: the database is bound for reading only; ${why}`, {
    hint: `to let it be written, bind it again: skein bind ID database ${where} --name ${name} --mode write`,
    cause: new ReadOnly(name),
  });
