/**
 * The files that a started process would inherit. Node marks its own files as close-on-exec; files this
 * process was started with (a lock of a shell script, a socket of a supervisor) stay open in every child,
 * including a sandbox. Node cannot close a descriptor for a child, but it can put another file in its place.
 */
import { constants, openSync, readdirSync, readFileSync } from "node:fs";

type Stream = "ignore" | "pipe" | "ipc";

/** O_CLOEXEC in /proc, which is octal. */
const closeOnExec = 0o2000000;

/** One for the process: an open /dev/null. */
let nothing: number | undefined;

/**
 * The options that give a child its standard streams, and /dev/null for everything else that it would
 * inherit. Nothing is needed without /proc: on macOS Node's children inherit nothing.
 */
export function withoutInherited(streams: readonly Stream[]): (Stream | number)[] {
  const inherited = inheritedFiles(streams.length);
  if (inherited.length === 0) return [...streams];
  nothing ??= openSync("/dev/null", constants.O_RDWR);
  const given = Array.from<Stream | number>({ length: Math.max(...inherited) + 1 }).fill("ignore");
  for (const [place, stream] of streams.entries()) given[place] = stream;
  for (const file of inherited) given[file] = nothing;
  return given;
}

function inheritedFiles(from: number): readonly number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter((file) => file >= from && isInherited(file));
  } catch {
    return [];
  }
}

function isInherited(file: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, "utf8")) ?? [];
    return (Number.parseInt(flags ?? "", 8) & closeOnExec) === 0;
  } catch {
    // It was closed meanwhile.
    return false;
  }
}
