/** The error for a write to a database that is bound read-only. */
import { SkeinError } from "../core/error.ts";
import { ReadOnly } from "./port.ts";

/** `where` are the `skein bind` arguments that name the database. */
export const readOnly = (name: string, where: string, why = "nothing was changed"): SkeinError =>
  new SkeinError("refused", `${name}: the database is bound read-only; ${why}`, {
    hint: `to allow writes: skein bind ID database ${where} --name ${name} --mode write`,
    cause: new ReadOnly(name),
  });
