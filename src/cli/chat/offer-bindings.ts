/**
 * An imported session is bound to nothing. Its directory is a fact that another tool recorded: binding it is
 * offered, and done only when a person at a terminal says so.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { shortId } from "../../core/text/short-id.ts";
import { unsafeDefault } from "../../core/tool/permission.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { shellWord } from "../command/pastable-command.ts";
import type { Screen } from "../command/screen.ts";
import { oneLine } from "../format/text.ts";
import type { TypedLines } from "./typed-lines.ts";

/** Offers the directory of an imported session that has no bindings, if it exists here. */
export async function offerBindings(
  session: Session,
  {
    out,
    lines,
  }: { readonly out: Screen; readonly lines: Pick<TypedLines, "interactive" | "prompt" | "next"> },
): Promise<void> {
  const { source, bindings, permissions } = (await session.fold()).standing;
  if (source === null || bindings.size > 0 || out.json) return;
  const path = await importedDirectory(session);
  if (path === null) return;
  if (!lines.interactive) return noteCommands(session, path, out);
  await out.line(`This conversation took place in ${path}, to which the session has no access yet.`);
  await out.line(
    "  r  let it read files there    w  read and write    s  also run sandboxed commands    n  no",
  );
  await lines.prompt("Bind it? [r/w/s/N] ");
  const answer = (await lines.next())?.trim().toLowerCase() ?? "";
  if (!["r", "w", "s"].includes(answer))
    return out.note(out.dim("nothing is bound; skein bind does it later"));
  const hasDefault = [...permissions.values()].some(({ effect }) => effect !== undefined);
  // As in a session that is opened here: what is bound later asks, too.
  if (!hasDefault) await session.grant(unsafeDefault("ask", "unsafe tools ask by default"));
  await session.bind({ kind: "directory", path, mode: answer === "r" ? "read" : "write" });
  if (answer === "s") await session.bind({ kind: "shell", path, mode: "write", sandbox: true });
  out.note(out.dim(`bound ${path}; skein unbind ${shortId(session.id)} NAME takes it back`));
}

function noteCommands(session: Session, path: string, out: Screen): void {
  const id = shortId(session.id);
  const place = `--path ${shellWord(path)} --mode write`;
  out.note("its directory is not bound; to let it work there:");
  out.note(`  ${out.command(`bind ${id} directory ${place}`)}`);
  out.note(`  ${out.command(`bind ${id} shell --sandbox ${place}`)}`);
}

/** The directory that the other tool worked in; null if it is unknown or does not exist here. */
async function importedDirectory(session: Session): Promise<string | null> {
  for await (const { content } of session.events({ types: ["source.imported"], reverse: true, limit: 5 })) {
    const { cwd } = (content ?? {}) as { readonly cwd?: unknown };
    if (typeof cwd !== "string") continue;
    // A path is offered only as it is shown.
    return isAbsolute(cwd) && oneLine(cwd) === cwd && isDirectory(cwd) ? cwd : null;
  }
  return null;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
